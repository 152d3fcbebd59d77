# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The simulator node: a robot in MuJoCo with the topics of a robot under ros2_control."""

import gc
import time
from dataclasses import replace

import numpy as np
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.model import KinematicTree
from opspace_control.model.assembly import BASE
from opspace_control.ros.middleware.conversions import time_message
from opspace_control.ros.middleware.endpoints import (
    LATCHED,
    NEWEST,
    Endpoints,
    Feedback,
    RobotDescription,
)
from opspace_control.ros.middleware.executor import run
from opspace_control.ros.middleware.graph import in_words, publishers
from opspace_control.ros.middleware.joint_messages import COMMAND_TYPES, joint_state
from opspace_control.ros.parameters.joints import command_joints, status_of
from opspace_control.ros.parameters.node_parameters import NodeParameters, node_arguments
from opspace_control.ros.parameters.simulator_parameters import INITIAL_POSITION, NODE
from opspace_control.ros.simulated import surroundings
from opspace_control.ros.simulated.commands import LockStep, NamedCommands, Patient, RealTime
from opspace_control.simulation import SimulatedRobot

_ABOUT = """\
Run the simulator node, opspace_simulator: a robot that publishes its joint states and takes effort
commands, until Ctrl-C."""

_CLOCK_PERIOD = 0.01  # s
_COMPLAIN_EVERY = 1.0  # s


class SimulatorNode(Node):
    """
    The node ``opspace_simulator``: a robot that publishes its state and takes effort commands.

    Like a forward controller of ros2_control it keeps the last command forever. By JointStates it
    takes positions, too: see `NamedCommands`.
    """

    def __init__(self):
        super().__init__('opspace_simulator')
        self.parameters = NodeParameters(
            self, self._check_parameters, lambda _: self._apply_changes())
        self.parameters.declare(NODE)
        self._waiting = self.parameters['wait_for_command']
        self._paused = False
        self._robot = None
        self._next_complaint = 0.0
        self._description = RobotDescription(
            self, self.parameters['robot_description'], self._start)
        if self._description.text:
            self._start()

    def _start(self):
        values = self.parameters
        self._tree = tree = KinematicTree.from_urdf(
            self._description.text, floating_base=values['floating_base'])
        self._joints = command_joints(tree, values['command_joints'])
        locked = self._status(values)[1]
        self._fixed = {name for name in locked if name not in values['locked_joints']}
        self._robot = SimulatedRobot(
            self._description.text, floating_base=values['floating_base'],
            timestep=values['timestep'], gravity=values['gravity'],
            joint_friction=values['joint_friction'], contacts=values['contacts'],
            floor=values['floor'], locked_joints=self._fixed,
            wrench_sensors=values['wrench_sensors'], friction=values['friction'],
            **surroundings.read_bodies(values))
        self._initial = self._initial_positions()
        surroundings.declare_friction(values, self._robot)
        values.accept_changes()
        self._order = {name: i for i, name in enumerate(self._robot.joint_names)}
        self._drives = np.array([self._order[name] for name in self._joints], dtype=np.intp)
        self._efforts = np.zeros(len(self._order))
        self._named = NamedCommands(self._order)
        self._make_interfaces()
        self._feedback = Feedback(self._endpoints)
        self._odometry = (surroundings.SimulatedOdometry(self._endpoints, self._robot, values)
                          if self._robot.floating_base else None)
        surroundings.add_sensors(self._feedback, self._robot, values)
        self._objects = surroundings.SimulatedObjects(
            self._endpoints, self._feedback, self._robot, values)
        self.reset()
        self.get_logger().info(
            f'{tree.name}: {len(self._joints)} joints driven by {self._commands.topic_name}, '
            f'{values["pace"].replace("_", " ")}.')
        gc.collect()
        gc.freeze()

    def _status(self, values):
        """Return the passive and the locked joints of the parameters."""
        return status_of(self._tree, self._joints, values)

    def _check_parameters(self, values, _names):
        for name in self._status(values)[0]:
            if name in self._fixed:
                raise RosInterfaceError(
                    f"passive_joints: '{name}' is fixed.", joint=name,
                    cure='Name it in command_joints, or in passive_joints from the start.')

    def _apply_changes(self):
        self._robot.reality = surroundings.read_reality(self.parameters)
        self._apply_status()

    def _apply_status(self):
        passive, locked = self._status(self.parameters)
        base = {BASE, *(self._tree.dof_names[k] for k in self._tree.joint_dofs.get(BASE, ()))}
        self._robot.set_status(passive=set(passive) - base, locked=set(locked) - base)

    def _initial_positions(self):
        """Return the initial positions of joints by name; by default those of SimulatedRobot."""
        joints = dict(zip(self._robot.joint_names, self._robot.positions.tolist(), strict=True))
        self.parameters.declare([
            replace(INITIAL_POSITION.named(f'initial_positions.{joint}'), default=position)
            for joint, position in joints.items()])
        return {joint: self.parameters[f'initial_positions.{joint}'] for joint in joints}

    def _make_interfaces(self):
        self._state = joint_state(self._robot.joint_names, 'position', 'velocity', 'effort')
        self._position = np.frombuffer(self._state.position)
        self._velocity = np.frombuffer(self._state.velocity)
        self._effort = np.frombuffer(self._state.effort)
        self._time = ClockMessage()
        values = self.parameters
        self._endpoints = endpoints = Endpoints(self)
        self._states = endpoints.publisher(JointState, 'joint_states', LATCHED)
        # The one absolute name: there is one time for all robots.
        self._time_out = (endpoints.publisher(ClockMessage, '/clock')
                          if values['publish_clock'] else None)
        if values['robot_description']:
            endpoints.publisher(String, 'robot_description', LATCHED).publish(
                String(data=values['robot_description']))
        kind = COMMAND_TYPES[values['command_type']]
        self._commands = endpoints.listen(
            kind, values['command_topic'],
            self._on_named_command if kind is JointState else self._on_command, NEWEST)
        endpoints.serve(Trigger, '~/reset', self._reset)
        endpoints.serve(SetBool, '~/pause', self._pause)
        endpoints.serve(Trigger, '~/step', self._step)
        self._pace = {
            'real_time': lambda: RealTime(self, values['timestep'], self.get_logger().warning),
            'lock_step': lambda: LockStep(self),
            'patient': lambda: Patient(self, values['timestep'])}[values['pace']]()
        endpoints.repeat(self._pace.period, self._pace.on_timer)

    @property
    def stopped(self):
        """Whether the robot does not move: before the first command, or paused."""
        return self._waiting or self._paused

    def reset(self):
        """Reset the robot to its initial state, at time zero."""
        values = self.parameters
        self._robot.reset(self._initial, **({
            'base_pose': values['initial_base_pose'], 'base_twist': values['initial_base_twist']}
            if self._robot.floating_base else {}))
        self._objects.forget()
        self._apply_status()
        self._efforts[:] = 0.0
        self._named.reset()
        self._next_clock = 0.0

    def step(self):
        """Advance by one time step and publish the state."""
        try:
            self._robot.step()
        except OpspaceError as error:
            self.get_logger().error(f'{error} The simulation restarts.')
            self.reset()
        self.publish()

    def publish(self):
        """Publish the present state."""
        robot, seen = self._robot, self._robot.measured
        self._position[:], self._velocity[:] = seen.positions, seen.velocities
        self._effort[:] = robot.efforts
        stamp = self._state.header.stamp = time_message(round(1e9 * robot.time))
        # Before the joint states, so that a state is complete when they arrive.
        if self._odometry:
            self._odometry.publish(stamp)
        self._feedback.publish(stamp)
        self._states.publish(self._state)
        if self._time_out and robot.time >= self._next_clock:
            self._next_clock = robot.time + _CLOCK_PERIOD
            self._time.clock = stamp
            self._time_out.publish(self._time)

    def _on_command(self, message):
        efforts = np.array(message.data)
        if efforts.shape != self._drives.shape or not np.isfinite(efforts).all():
            self._complain(f'{len(self._drives)} finite efforts are needed, in the order '
                           f'{", ".join(self._joints)}; {efforts.size} came, '
                           f'{np.count_nonzero(~np.isfinite(efforts))} of them not finite')
            return
        self._efforts[self._drives] = efforts
        self._waiting = False
        self._obey()

    def _on_named_command(self, message):
        """
        Take a JointState, as ros2_control's topic-based hardware sends it.

        Efforts of joints without a controller are NaN, or, before version 1 of it, zero.
        """
        efforts = np.array(message.effort)
        if efforts.size != len(message.name) or np.isinf(efforts).any():
            self._complain(
                'under ros2_control each of its joints needs an effort command interface; '
                f'{len(message.name)} joints and {efforts.size} efforts came, '
                f'{np.count_nonzero(np.isinf(efforts))} of them infinite')
            return
        self._named.take(message)
        self._efforts[:] = self._named.efforts
        self._waiting = self._waiting and not np.nan_to_num(efforts).any()
        if not self._waiting:
            self._robot.set_position(self._named.positions)
        self._obey()

    def _complain(self, reason):
        """Log why a command is ignored, and which node it is from, once a second."""
        now = time.monotonic()
        if now < self._next_complaint:  # the names of nodes take 0.1 ms
            return
        self._next_complaint = now + _COMPLAIN_EVERY
        names = [name for name, _ in publishers(self, self._commands.topic_name)]
        whom = in_words(names) if len(set(names)) < 2 else f'one of {in_words(names)}'
        self.get_logger().error(f'A command is ignored: {reason}, from {whom}.')

    def _obey(self):
        self._robot.set_effort(self._efforts)
        if not self.stopped:
            self._pace.on_command()

    def _reset(self):
        self.reset()
        self.publish()

    def _pause(self, on):
        self._paused = on

    def _step(self):
        if not self._paused:
            raise RosInterfaceError('Pause first.')
        self.step()


def main(arguments):
    """Run the simulator node until SIGINT or SIGTERM; return the exit code."""
    return run(lambda stop: SimulatorNode(), node_arguments('simulator', _ABOUT, arguments))

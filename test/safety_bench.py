# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A controller node, and a simulated robot in the test whose states reach it through faults."""

import array
import contextlib
import time

import numpy as np
import ros_nodes
from controller_bench import MODEL, ROBOT, pose_message
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.task import Future
from ros_nodes import COMMANDS, LATCHED
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from opspace_control.ros.parameters.joints import command_joints
from opspace_control.safety.envelope import LONGEST_STEP
from opspace_control.simulation import SimulatedRobot

STEP = 0.002  # s
RATE = 20.0   # 1/s, limits.effort_rate
RAMP = 0.1    # s, safety.ramp_time
RELEASE = 0.5  # s, safety.release_time: busy machines need a while for some cycles
START = dict.fromkeys(MODEL.dof_names, 0.0) | {
    f'{side}_{joint}': value for side in 'lr' for joint, value in (
        ('shoulder_pitch', -0.4), ('elbow', -1.2)) if f'{side}_{joint}' in MODEL.dof_names}
_MOST_STEPS = 5  # of a live robot at once
ORDER = command_joints(MODEL)  # of the command
LIMITS = MODEL.effort_limits[[MODEL.dof_index(name) for name in ORDER]]
PARAMETERS = {
    'robot_description': ROBOT, 'tasks': ['left', 'right'], 'left.frame': 'l_hand',
    'right.frame': 'r_hand', 'limits.effort_rate': RATE, 'safety.ramp_time': RAMP,
    'safety.release_time': RELEASE,
    # In lock-step a robot waits for the controller, for as long as a busy machine takes.
    'safety.state_timeout': 0.0,
}


class Robot:
    """
    A simulated robot between a controller node and its commands.

    In lock-step it makes a step for each command; live, time goes on without waiting.

    Parameters
    ----------
    network : Network
    **options
        Of the SimulatedRobot.

    """

    def __init__(self, network, **options):
        self.network = network
        self.physics = SimulatedRobot(ROBOT, timestep=STEP, **options)
        self.physics.reset(START)
        names = list(self.physics.joint_names)
        self._speeds = MODEL.velocity_limits[[MODEL.dof_index(name) for name in names]]
        self._index = [names.index(name) for name in ORDER]
        self.commands = []   # efforts in the order of the command, all ever
        self.fastest = 0.0   # speed of any joint so far, of its limit
        self._efforts = np.zeros(len(names))
        self._answer = Future()
        network.node.create_subscription(
            Float64MultiArray, COMMANDS, self._on_command, QoSProfile(depth=1000))

    def start(self, parameters=(), kind=ros_nodes.Node):
        """Start the controller node; return when it waits for joint states."""
        self.process = self.network.start('controller', PARAMETERS | dict(parameters), kind=kind)
        self.states = self.network.publisher(JointState, 'joint_states', LATCHED)

    def lock_step(self, seconds, change=None):
        """
        Let the robot move, one step for each command.

        Parameters
        ----------
        seconds : float
            Of the robot.
        change : callable, optional
            Makes of each joint state what is sent instead.

        """
        for _ in range(round(seconds / STEP)):
            message = self.state()
            message = change(message) if change else message
            self._answer = Future()
            for _ in range(100):
                self.states.publish(message)
                if self.network.wait(self._answer, 0.2):
                    break
            else:
                self.network.fail()
            self._move(1)

    def live_until(self, condition, change=lambda message: message):
        """Let the robot move with the clock on the wall until a condition holds, or fail."""
        if not self.live(ros_nodes.PATIENCE, change, condition):
            self.network.fail()

    def live(self, seconds, change=None, until=lambda: False):
        """
        Let the robot move with the clock on the wall; without ``change`` its states go nowhere.

        A robot does not run on while the test that simulates it is kept waiting by a busy machine.
        Returns whether ``until`` came true.
        """
        begin = last = time.monotonic()
        while time.monotonic() - begin < seconds and not until():
            now = time.monotonic()
            steps = min(int((now - last) / STEP), _MOST_STEPS)
            last = now if steps == _MOST_STEPS else last + steps * STEP
            self._move(steps)
            if change:
                self.states.publish(change(self.state()))
            self.network.spin(STEP)
        return until()

    def state(self):
        """Return the joint state as it is."""
        physics = self.physics
        message = JointState(name=list(physics.joint_names),
                             position=array.array('d', physics.positions),
                             velocity=array.array('d', physics.velocities))
        seconds, rest = divmod(round(1e9 * (1.0 + physics.time)), 1_000_000_000)
        message.header.stamp.sec, message.header.stamp.nanosec = seconds, rest
        return message

    def send_goal(self, task, offset, change=None):
        """Send a hand elsewhere, (3,), m from where it is; return when it moves."""
        start = self.hand(task)
        publisher = self.network.publisher(
            PoseStamped, f'{ros_nodes.CONTROLLER}/{task}/target_pose')
        goal = pose_message(start + np.r_[offset, np.zeros(4)], 'base_link')
        for _ in range(100):
            publisher.publish(goal)
            self.lock_step(0.01, change)
            if np.linalg.norm(self.hand(task)[:3] - start[:3]) > 1e-4:
                return start[:3] + offset
        self.network.fail()

    def arrive(self, task, goal, change=None):
        """Go on in lock-step until a hand is within 2 mm of a goal."""
        for _ in range(100):
            self.lock_step(0.1, change)
            if np.linalg.norm(self.hand(task)[:3] - goal) < 0.002:
                return
        self.network.fail()

    def recover(self, change=None):
        """Wait in lock-step until the node controls again; return what it said of it."""
        def said():
            return [line for line in self.process.said().splitlines() if 'control resumes' in line]
        before = len(said())
        for _ in range(100):
            self.lock_step(0.02, change)
            if len(said()) > before:
                return said()[-1]
        self.network.fail()

    def change(self, **parameters):
        """Change parameters."""
        result = self.network.call(
            SetParametersAtomically, f'{ros_nodes.CONTROLLER}/set_parameters_atomically',
            parameters=[Parameter(name, value=value).to_parameter_msg()
                        for name, value in parameters.items()]).result
        assert result.successful, result.reason

    def hold(self):
        """Call ~/hold."""
        assert self.network.call(Trigger, f'{ros_nodes.CONTROLLER}/hold').success

    def log(self, text):
        """Wait until the node has said something."""
        self.network.expect(lambda: text in self.process.said())

    @property
    def resting(self):
        """Whether the last command was no effort at all."""
        return not self.commands[-1].any()

    def hands(self):
        """Return where both hands are, (2, 3), m."""
        return np.array([self.hand('left')[:3], self.hand('right')[:3]])

    def hand(self, task):
        """Return the pose (7,) of a task's hand."""
        return self.physics.frame_pose(f'{task[0]}_hand')

    def check(self, since=0, step=LONGEST_STEP):
        """Check the commands from one on, ``step`` s apart."""
        check_commands(self.commands[since:], step)

    def _move(self, steps):
        if not self.commands:
            return
        self._efforts[self._index] = self.commands[-1]
        self.physics.set_effort(self._efforts)
        for _ in range(steps):
            self.physics.step()
            self.fastest = max(self.fastest, (abs(self.physics.velocities) / self._speeds).max())

    def _on_command(self, message):
        self.commands.append(np.array(message.data))
        if not self._answer.done():
            self._answer.set_result(None)


def check_commands(commands, step=LONGEST_STEP):
    """Every command is finite, within the limits, and as near to the one before as it must be."""
    efforts = np.array(commands)
    assert np.isfinite(efforts).all()
    assert (abs(efforts) <= LIMITS * (1.0 + 1e-12)).all()
    jumps = abs(np.diff(efforts, axis=0)) / LIMITS
    assert jumps.max(initial=0.0) <= RATE * step * (1.0 + 1e-9)


@contextlib.contextmanager
def robot_under_control(parameters=(), hold=True, kind=ros_nodes.Node, make=Robot):
    """
    Open a domain with a robot and its controller, which holds it when all ramps are over.

    Whatever happens then, commands stay bounded.
    """
    with ros_nodes.network() as network:
        robot = make(network)
        robot.start(parameters, kind)
        if hold:
            robot.lock_step(RAMP + 0.05)
        yield robot
        robot.check()

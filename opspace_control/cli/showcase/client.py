# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The client of the demo: it sends goals and reads the robot's state."""

import array
import math
import time
from dataclasses import dataclass

import numpy as np
import rclpy
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from opspace_control.errors import OpspaceError
from opspace_control.ros.clients.remote import Outlook
from opspace_control.ros.middleware import conversions
from opspace_control.ros.middleware.endpoints import RELIABLE

_CONTROLLER, _SIMULATOR = 'opspace_controller', 'opspace_simulator'
# Odometry and joint states of one moment are told one after the other.
_LOOKS, _BETWEEN_LOOKS = 50, 2e-4  # s
_TIMEOUT = 10.0  # s, for the answer of a service


@dataclass(frozen=True)
class Sight:
    """The state of a robot at a time of the simulation, s; rad or m, and N·m or N, by joint."""

    time: float
    positions: dict
    velocities: dict
    efforts: dict
    base: np.ndarray = None   # pose (7,) of a floating base in the world, m
    twist: np.ndarray = None  # its velocity (6,), world axes


class Client:
    """
    A node that sends goals to the controller's ``tasks`` and watches both nodes.

    A robot with a floating base has odometry. With a ``grasp``, of this name in both nodes, the
    first goals grasp its object and the next ``moves`` ones move it. Those after the last move
    disengage the grasp in the controller, which takes its ramp time, and then open the grips.
    """

    def __init__(self, tasks, command_topic, floating_base=False, grasp=None, moves=0):
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self._node = node = rclpy.create_node('opspace_demo')
        self._goals = [self._publisher(PoseStamped, f'{task}/target_pose') for task in tasks]
        self._posture = self._publisher(JointState, 'target_joint')
        self._states = Outlook(node, JointState, 'joint_states')
        self._commands = Outlook(node, Float64MultiArray, command_topic)
        self._odometry = Outlook(node, Odometry, 'odom') if floating_base else None
        self._parameters = [node.create_client(SetParameters, f'{name}/set_parameters')
                            for name in (_SIMULATOR, _CONTROLLER)]
        self._grasp, self._left, self._home = grasp, moves, None
        self._engaged = [_CONTROLLER, _SIMULATOR]
        if grasp:
            self._object = self._publisher(PoseStamped, f'{grasp}/target_pose')
            self._engage = {name: node.create_client(SetBool, f'{name}/{grasp}/engage')
                            for name in self._engaged}

    def _publisher(self, kind, topic):
        return self._node.create_publisher(kind, f'{_CONTROLLER}/{topic}', RELIABLE)

    def close(self):
        """Leave the network."""
        self._node.destroy_node()
        rclpy.try_shutdown()

    def controlled(self):
        """Return whether the robot has been seen, and a command, and goals would be heard."""
        outlooks = [self._states, self._commands, *filter(None, [self._odometry])]
        return all(outlook.look() is not None for outlook in outlooks) and all(
            publisher.get_subscription_count() for publisher in (*self._goals, self._posture)
            ) and all(client.service_is_ready() for client in self._parameters)

    def send_goals(self, poses):
        """Send each hand its goal (7,) ``[x y z qx qy qz qw]``, base frame, or their object its."""
        if not self._grasp:
            for publisher, pose in zip(self._goals, poses, strict=True):
                _publish(publisher, pose)
        elif self._home is None:
            self._home = poses
            self._switch(True, _SIMULATOR, _CONTROLLER)
        elif self._left:
            self._left -= 1
            half = 0.5 * (_heading(poses) - _heading(self._home))
            _publish(self._object, np.array([
                *poses[:, :3].mean(axis=0), 0.0, 0.0, math.sin(half), math.cos(half)]))
        else:
            self._switch(False, self._engaged.pop(0))

    def _switch(self, on, *nodes):
        """Engage the grasp in some nodes, or disengage it."""
        for name in nodes:
            future = self._engage[name].call_async(SetBool.Request(data=on))
            rclpy.spin_until_future_complete(self._node, future, timeout_sec=_TIMEOUT)
            if not (future.done() and future.result().success):
                raise OpspaceError(f'{name} does not {"" if on else "dis"}engage the grasp: '
                                   f'{future.result().message if future.done() else "no answer"}.',
                                   cure='Its log says more.')

    def send_posture(self, positions):
        """Send the posture: positions by joint, rad or m."""
        self._posture.publish(JointState(
            name=list(positions), position=array.array('d', positions.values())))

    def fail(self, passive, locked, told=True):
        """Switch drives off and brakes on, by joint; the controller is told of it, or not."""
        request = SetParameters.Request(parameters=[
            Parameter(name, Parameter.Type.STRING_ARRAY, list(joints)).to_parameter_msg()
            for name, joints in (('passive_joints', passive), ('locked_joints', locked))])
        for client in self._parameters[:2 if told else 1]:
            client.call_async(request)

    def look(self):
        """Return the state of the robot, a `Sight`."""
        state, base, twist = self._states.look(), None, None
        if self._odometry:
            odometry, state = self._both()
            base = conversions.pose_from_message(odometry.pose.pose)
            R = conversions.matrix_from_pose(base)[:3, :3]
            six = conversions.six_from_message(odometry.twist.twist)
            twist = (six.reshape(2, 3) @ R.T).ravel()

        def by_joint(values):
            return dict(zip(state.name, values, strict=True))
        return Sight(1e-9 * conversions.nanoseconds(state.header.stamp), by_joint(state.position),
                     by_joint(state.velocity), by_joint(state.effort), base, twist)

    def _both(self):
        """Return odometry and joint state of one moment, or the newest if there are none such."""
        for _ in range(_LOOKS):
            odometry, state = self._odometry.look(), self._states.look()
            if odometry.header.stamp == state.header.stamp:
                break
            time.sleep(_BETWEEN_LOOKS)
        return odometry, state


def _publish(publisher, pose):
    message = PoseStamped()
    conversions.fill_message(message.pose, pose)
    publisher.publish(message)


def _heading(poses):
    """Return the direction from the second hand to the first in the plane, rad."""
    x, y, _ = poses[0, :3] - poses[1, :3]
    return math.atan2(y, x)

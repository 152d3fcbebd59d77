# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The client of the demo: it sends goals and records the robot's state."""

import array
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

from opspace_control.ros.clients.remote import Outlook
from opspace_control.ros.middleware.conversions import (
    fill_pose,
    matrix_from_pose,
    nanoseconds,
    pose_from_message,
    six_from_message,
)
from opspace_control.ros.middleware.qos import RELIABLE

CONTROLLER, SIMULATOR = 'opspace_controller', 'opspace_simulator'
# Odometry and joint states of one moment are told one after the other.
_LOOKS, _BETWEEN_LOOKS = 50, 2e-4  # s


@dataclass(frozen=True)
class Sight:
    """What a robot does at a time of the simulation, s; rad or m, and N·m or N, by joint."""

    time: float
    positions: dict
    velocities: dict
    efforts: dict
    base: np.ndarray = None   # pose (7,) of a floating base in the world, m
    twist: np.ndarray = None  # its velocity (6,), world axes


class Client:
    """
    A node that sends goals to the controller and watches both nodes.

    Parameters
    ----------
    tasks : sequence of str
        Names of the controller's tasks.
    command_topic : str
        Topic of the effort commands.
    floating_base : bool
        Whether there is odometry.

    """

    def __init__(self, tasks, command_topic, floating_base=False):
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self._node = node = rclpy.create_node('opspace_demo')
        self._goals = [node.create_publisher(PoseStamped, f'{CONTROLLER}/{task}/target_pose',
                                             RELIABLE) for task in tasks]
        self._posture = node.create_publisher(JointState, f'{CONTROLLER}/target_joint', RELIABLE)
        self._states = Outlook(node, JointState, 'joint_states')
        self._commands = Outlook(node, Float64MultiArray, command_topic)
        self._odometry = Outlook(node, Odometry, 'odom') if floating_base else None
        self._parameters = [node.create_client(SetParameters, f'{name}/set_parameters')
                            for name in (SIMULATOR, CONTROLLER)]

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
        """Send each hand its goal (7,) ``[x y z qx qy qz qw]``, base frame."""
        for publisher, pose in zip(self._goals, poses, strict=True):
            message = PoseStamped()
            fill_pose(message.pose, pose)
            publisher.publish(message)

    def send_posture(self, positions):
        """Send the posture: positions by joint, rad or m."""
        self._posture.publish(JointState(
            name=list(positions), position=array.array('d', positions.values())))

    def fail(self, passive, locked, told=True):
        """Let drives die and brakes come on, by joint; the controller is told of it, or not."""
        request = SetParameters.Request(parameters=[
            Parameter(name, Parameter.Type.STRING_ARRAY, list(joints)).to_parameter_msg()
            for name, joints in (('passive_joints', passive), ('locked_joints', locked))])
        for client in self._parameters[:2 if told else 1]:
            client.call_async(request)

    def look(self):
        """Return what the robot does now, a `Sight`."""
        state, base, twist = self._states.look(), None, None
        if self._odometry:
            odometry, state = self._both()
            base = pose_from_message(odometry.pose.pose)
            R = matrix_from_pose(base)[:3, :3]
            twist = (six_from_message(odometry.twist.twist).reshape(2, 3) @ R.T).reshape(6)

        def by_joint(values):
            return dict(zip(state.name, values, strict=True))
        return Sight(seconds(state.header.stamp), by_joint(state.position),
                     by_joint(state.velocity), by_joint(state.effort), base, twist)

    def _both(self):
        """Return odometry and joint state of one moment, or the newest if there are none such."""
        for _ in range(_LOOKS):
            odometry, state = self._odometry.look(), self._states.look()
            if nanoseconds(odometry.header.stamp) == nanoseconds(state.header.stamp):
                break
            time.sleep(_BETWEEN_LOOKS)
        return odometry, state


def seconds(stamp):
    """Return a time stamp as a number."""
    return stamp.sec + 1e-9 * stamp.nanosec

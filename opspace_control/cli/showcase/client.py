# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The demo's side of the topics: it sends goals, and looks at what the robot does."""

import array

import numpy as np
import rclpy
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control.ros.conversions import fill_pose
from opspace_control.ros.qos import NEWEST, RELIABLE

CONTROLLER = 'opspace_controller'


class Outlook:
    """
    The newest message of a topic, taken when it is looked for.

    Nothing is called back: the demo looks some fifty times a second at what the nodes say a
    thousand times, and leaves the processor to them.
    """

    def __init__(self, node, kind, topic):
        self._kind = kind
        self._subscription = node.create_subscription(kind, topic, lambda message: None, NEWEST)
        self.newest = None

    def look(self):
        """Return the newest message so far, or None."""
        handle = self._subscription.handle
        with handle:
            while (taken := handle.take_message(self._kind, False)) is not None:
                self.newest = taken[0]
        return self.newest


class Client:
    """
    A node that sends goals to the controller and watches both nodes.

    Parameters
    ----------
    tasks : sequence of str
        Names of the controller's tasks.
    command_topic : str
        Topic of the effort commands.

    """

    def __init__(self, tasks, command_topic):
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self._node = node = rclpy.create_node('opspace_demo')
        self._goals = [node.create_publisher(PoseStamped, f'{CONTROLLER}/{task}/target_pose',
                                             RELIABLE) for task in tasks]
        self._posture = node.create_publisher(JointState, f'{CONTROLLER}/target_joint', RELIABLE)
        self._poses = [Outlook(node, PoseStamped, f'{CONTROLLER}/{task}/current_pose')
                       for task in tasks]
        self._errors = [Outlook(node, TwistStamped, f'{CONTROLLER}/{task}/error')
                        for task in tasks]
        self._states = Outlook(node, JointState, 'joint_states')
        self._commands = Outlook(node, Float64MultiArray, command_topic)

    def close(self):
        """Leave the network."""
        self._node.destroy_node()
        rclpy.try_shutdown()

    def controlled(self):
        """Return whether an effort command has been seen, and goals would be heard."""
        return self._commands.look() is not None and all(
            publisher.get_subscription_count() for publisher in (*self._goals, self._posture))

    def send_goals(self, poses):
        """Send each hand its goal (7,) ``[x y z qx qy qz qw]``, base frame."""
        for publisher, pose in zip(self._goals, poses, strict=True):
            message = PoseStamped()
            fill_pose(message.pose, pose)
            publisher.publish(message)

    def send_posture(self, joint, position):
        """Send the position of one joint of the posture, rad or m."""
        self._posture.publish(JointState(name=[joint], position=array.array('d', [position])))

    def look(self):
        """
        Return what the robot does now.

        Returns
        -------
        dict or None
            ``time`` (s, of the simulation), ``poses`` (hands, 3) m, ``errors`` (hands, 6) m and
            rad, ``positions`` and ``efforts`` by joint; None while something is still unknown.

        """
        state = self._states.look()
        poses = [outlook.look() for outlook in self._poses]
        errors = [outlook.look() for outlook in self._errors]
        if state is None or None in poses or None in errors:
            return None
        return {
            'time': seconds(state.header.stamp),
            'poses': np.array([_vector(pose.pose.position) for pose in poses]),
            'errors': np.array([[*_vector(error.twist.linear), *_vector(error.twist.angular)]
                                for error in errors]),
            'positions': dict(zip(state.name, state.position, strict=True)),
            'efforts': dict(zip(state.name, state.effort, strict=True))}


def seconds(stamp):
    """Return a time stamp as a number."""
    return stamp.sec + 1e-9 * stamp.nanosec


def _vector(message):
    return message.x, message.y, message.z


# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The demo's side of the topics: it sends goals, and looks at what the robot does."""

import array

import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control.ros.conversions import fill_pose
from opspace_control.ros.outlook import Outlook
from opspace_control.ros.qos import RELIABLE

CONTROLLER = 'opspace_controller'


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
        self._states = Outlook(node, JointState, 'joint_states')
        self._commands = Outlook(node, Float64MultiArray, command_topic)

    def close(self):
        """Leave the network."""
        self._node.destroy_node()
        rclpy.try_shutdown()

    def controlled(self):
        """Return whether the robot has been seen, and a command, and goals would be heard."""
        return None not in (self._states.look(), self._commands.look()) and all(
            publisher.get_subscription_count() for publisher in (*self._goals, self._posture))

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

    def look(self):
        """
        Return what the robot does now.

        Returns
        -------
        time : float
            s, of the simulation.
        positions, efforts : dict of str to float
            By joint; rad or m, N·m or N.

        """
        state = self._states.look()
        return (seconds(state.header.stamp), dict(zip(state.name, state.position, strict=True)),
                dict(zip(state.name, state.effort, strict=True)))


def seconds(stamp):
    """Return a time stamp as a number."""
    return stamp.sec + 1e-9 * stamp.nanosec

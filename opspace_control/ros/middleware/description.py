# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The robot description: a parameter, or else the topic that robot_state_publisher latches."""

from std_msgs.msg import String

from opspace_control.ros.middleware.qos import LATCHED


class RobotDescription:
    """
    The URDF text of the robot, once it is known.

    Parameters
    ----------
    node : rclpy.node.Node
    text : str
        Value of the parameter; if empty, the topic ``robot_description`` is waited for.
    received : callable
        Called without arguments when the topic has delivered the first description.

    """

    def __init__(self, node, text, received):
        self.text = text
        self._received = received
        self._subscription = None
        if not text:
            self._subscription = node.create_subscription(
                String, 'robot_description', self._on_description, LATCHED)
            node.get_logger().info(
                f'Waiting for the robot on {self._subscription.topic_name} '
                '(or give its URDF file on the command line).')

    def _on_description(self, message):
        # A description that changes later would be another robot; this one stays.
        if not self.text:
            self.text = message.data
            self._received()

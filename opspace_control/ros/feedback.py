# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the tasks do, on topics; computed only for who listens."""

from geometry_msgs.msg import PoseStamped, TwistStamped

from opspace_control.ros.conversions import fill_pose, fill_twist
from opspace_control.ros.qos import RELIABLE


class Feedback:
    """
    Publishers of each task's ``current_pose`` and ``error``, in the base frame.

    ``error`` is goal minus pose: metres, and the rotation vector in radians.
    """

    def __init__(self, node, controller):
        self._node = node
        self._outlets = []
        for task in controller.tasks.values():
            pose, error = PoseStamped(), TwistStamped()
            pose.header.frame_id = error.header.frame_id = controller.model.root_link
            self._outlets.append((task, pose, error, *(
                node.create_publisher(type(message), f'~/{task.name}/{topic}', RELIABLE)
                for message, topic in ((pose, 'current_pose'), (error, 'error')))))

    def publish(self, stamp):
        """Publish what the last cycle found, for a joint state of this time stamp."""
        for task, pose, error, pose_publisher, error_publisher in self._outlets:
            if pose_publisher.get_subscription_count():
                pose.header.stamp = stamp
                fill_pose(pose.pose, task.pose)
                pose_publisher.publish(pose)
            if error_publisher.get_subscription_count():
                error.header.stamp = stamp
                fill_twist(error.twist, task.error)
                error_publisher.publish(error)

    def destroy(self):
        """Withdraw the topics."""
        for *_, pose_publisher, error_publisher in self._outlets:
            self._node.destroy_publisher(pose_publisher)
            self._node.destroy_publisher(error_publisher)

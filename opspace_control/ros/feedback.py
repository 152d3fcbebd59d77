# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the tasks do, on topics; computed only for who listens."""

from functools import partial

from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped

from opspace_control.ros.conversions import fill_pose, fill_twist, fill_wrench
from opspace_control.ros.qos import RELIABLE
from opspace_control.spatial.rotations import matrix_from_quaternion


class Feedback:
    """
    Publishers whose messages are filled only if somebody has subscribed.

    Parameters
    ----------
    node : rclpy.node.Node

    """

    def __init__(self, node):
        self._node = node
        self._outlets = []

    def add(self, topic, message, fill, qos=RELIABLE):
        """Add a topic: ``fill(stamp)`` brings its one message up to date with the last cycle."""
        publisher = self._node.create_publisher(type(message), topic, qos)
        self._outlets.append((publisher, message, fill))

    def publish(self, stamp):
        """Publish what the last cycle found, for a joint state of this time stamp."""
        for publisher, message, fill in self._outlets:
            if publisher.get_subscription_count():
                fill(stamp)
                publisher.publish(message)

    def destroy(self):
        """Withdraw the topics."""
        for publisher, *_ in self._outlets:
            self._node.destroy_publisher(publisher)


def add_task_topics(feedback, controller, frames):
    """
    Add each task's ``current_pose``, ``error`` and ``wrench``.

    Pose and error are in the base frame; ``error`` is goal minus pose: metres, and the rotation
    vector in radians. ``wrench`` is what the task commands, at its frame's origin and in its axes.

    Parameters
    ----------
    feedback : Feedback
        Gets the topics.
    controller : OperationalSpaceController
        Has the tasks.
    frames : Frames
        Knows how messages call the frames.

    """
    for task in controller.tasks.values():
        for topic, kind, frame, fill in (
                ('current_pose', PoseStamped, frames.base, _fill_current_pose),
                ('error', TwistStamped, frames.base, _fill_error),
                ('wrench', WrenchStamped, frames.named(task.frame), _fill_task_wrench)):
            message = kind()
            message.header.frame_id = frame
            feedback.add(f'~/{task.name}/{topic}', message, partial(fill, task, message))


def _fill_current_pose(task, message, stamp):
    message.header.stamp = stamp
    fill_pose(message.pose, task.pose)


def _fill_error(task, message, stamp):
    message.header.stamp = stamp
    fill_twist(message.twist, task.error)


def _fill_task_wrench(task, message, stamp):
    message.header.stamp = stamp
    R = matrix_from_quaternion(task.pose[3:])
    fill_wrench(message.wrench, (task.wrench.reshape(2, 3) @ R).reshape(6))

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the tasks do, on topics; computed only for who listens."""

import array
from functools import partial

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState

from opspace_control.ros.conversions import fill_pose, fill_twist, fill_wrench
from opspace_control.ros.qos import RELIABLE
from opspace_control.tasks import JointTask, PoseTask


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
        """
        Add a topic: ``fill(stamp)`` brings its one message up to date with the last cycle.

        Where it returns False there is nothing to say.
        """
        publisher = self._node.create_publisher(type(message), topic, qos)
        self._outlets.append((publisher, message, fill))

    def publish(self, stamp):
        """Publish what the last cycle found, for a joint state of this time stamp."""
        for publisher, message, fill in self._outlets:
            if publisher.get_subscription_count() and fill(stamp) is not False:
                publisher.publish(message)

    def destroy(self):
        """Withdraw the topics."""
        for publisher, *_ in self._outlets:
            self._node.destroy_publisher(publisher)


def add_task_topics(feedback, controller, frames):
    """
    Add each task's ``current_pose``, ``error``, ``wrench`` and ``measured_wrench``.

    Pose and error are in the base frame, or in that of a relative task's reference; ``error`` is
    goal minus pose: metres, and the rotation vector in radians. ``wrench`` is what the task
    commands, at its frame's origin and in its axes; ``measured_wrench``, only of tasks with a
    sensor that is heard, what the robot applies there. A task of joints has ``joint_error``
    instead: goal minus position, and its efforts.

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
        if isinstance(task, JointTask):
            zeros = [array.array('d', bytes(8 * len(task.joints))) for _ in range(2)]
            message = JointState(name=list(task.joints), position=zeros[0], effort=zeros[1])
            feedback.add(f'~/{task.name}/joint_error', message,
                         partial(_fill_joint_error, task, message))
            continue
        own = frames.named(task.frame) if task.frame else frames.base
        base = frames.named(task.reference) if task.reference else frames.base
        for topic, kind, frame, fill, there in (
                ('current_pose', PoseStamped, base, _fill_current_pose, True),
                ('error', TwistStamped, base, _fill_error, isinstance(task, PoseTask)),
                ('wrench', WrenchStamped, own, _fill_task_wrench, True),
                ('measured_wrench', WrenchStamped, own, _fill_measured_wrench, task.force.sensor)):
            if not there:
                continue
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
    _fill_own_axes(task, message, stamp, task.wrench.reshape(2, 3))


def _fill_measured_wrench(task, message, stamp):
    measured = task.force.measured
    if measured is None:
        return False
    _fill_own_axes(task, message, stamp,
                   np.einsum('kbt,kt->kb', task.axes_in_base, measured.reshape(2, 3)))
    return True


def _fill_joint_error(task, message, stamp):
    message.header.stamp = stamp
    np.frombuffer(message.position)[:] = task.error
    np.frombuffer(message.effort)[:] = task.force


def _fill_own_axes(task, message, stamp, wrench):
    """Write a wrench (2, 3) in base axes along those of the task's frame."""
    message.header.stamp = stamp
    fill_wrench(message.wrench, (wrench @ task.rotation_in_base).reshape(6))

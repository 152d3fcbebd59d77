# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Feedback of the tasks on topics, computed only for subscribers."""

import array
from functools import partial

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState

from opspace_control.ros.middleware.conversions import fill_pose, fill_twist, fill_wrench
from opspace_control.ros.middleware.qos import RELIABLE
from opspace_control.tasks import CenterOfMassTask, JointTask, PoseTask


class Feedback:
    """
    Publishers whose messages are filled only for subscribers.

    Parameters
    ----------
    node : rclpy.node.Node

    """

    def __init__(self, node):
        self._node = node
        self._outlets = []

    def add(self, topic, message, fill, qos=RELIABLE):
        """
        Add a topic: ``fill(stamp)`` writes the last cycle's values to its message.

        If it returns False, the message is not published.
        """
        publisher = self._node.create_publisher(type(message), topic, qos)
        self._outlets.append((publisher, message, fill))

    def publish(self, stamp):
        """Publish the results of the last cycle, for a joint state of this time stamp."""
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
    goal minus pose: metres, and the rotation vector in radians. ``wrench`` is the task's command at
    its frame's origin, in its axes; ``measured_wrench``, of tasks with sensor readings, the applied
    wrench there. That of an object or a centre of mass is moved to the frame's origin, or to the
    base's without a link. A joint task has ``joint_error`` instead: goal minus position, and its
    efforts.

    Parameters
    ----------
    feedback : Feedback
        Receives the topics.
    controller : OperationalSpaceController
        Has the tasks.
    frames : Frames
        Names of frames in messages.

    """
    objects = [grasp.task for grasp in controller.grasps.values()]
    for task in controller.tasks.values():
        if isinstance(task, JointTask):
            zeros = [array.array('d', bytes(8 * len(task.joints))) for _ in range(2)]
            message = JointState(name=list(task.joints), position=zeros[0], effort=zeros[1])
            feedback.add(f'~/{task.name}/joint_error', message,
                         partial(_fill_joint_error, task, message))
            continue
        for topic, kind, fill, there in (
                ('current_pose', PoseStamped, _fill_current_pose, True),
                ('error', TwistStamped, _fill_error, isinstance(task, PoseTask))):
            if there:
                message = kind()
                message.header.frame_id = frames.of_goals(task)
                feedback.add(f'~/{task.name}/{topic}', message, partial(fill, task, message))
        own = frames.named(task.frame) if task.frame and not task.unattached else frames.base
        elsewhere = isinstance(task, CenterOfMassTask) or task in objects
        place = partial(frames.in_base, own) if elsewhere else None
        for topic, wrench_of, there in (('wrench', _commanded, True),
                                        ('measured_wrench', _measured, task.force.sensor)):
            if there:
                message = WrenchStamped()
                message.header.frame_id = own
                feedback.add(f'~/{task.name}/{topic}', message,
                             partial(_fill_wrench, wrench_of, place, task, message))


def _fill_current_pose(task, message, stamp):
    message.header.stamp = stamp
    fill_pose(message.pose, task.pose)


def _fill_error(task, message, stamp):
    message.header.stamp = stamp
    fill_twist(message.twist, task.error)


def _commanded(task):
    """Return the commanded wrench of a task at its point, (2, 3), base axes."""
    return task.wrench.reshape(2, 3)


def _measured(task):
    """Return the applied wrench there, (2, 3), base axes; None if unknown."""
    measured = task.force.measured
    return None if measured is None else np.einsum('kbt,kt->kb', task.axes_in_base,
                                                   measured.reshape(2, 3))


def _fill_wrench(wrench_of, place, task, message, stamp):
    """Write a wrench along the axes of a frame: that of the task, or one that is at ``place()``."""
    wrench = wrench_of(task)
    if wrench is None:
        return False
    R = task.rotation_in_base
    if place is not None:
        pose = place()
        R = pose[:3, :3]
        wrench[1] += np.cross(task.pose[:3] - pose[:3, 3], wrench[0])
    message.header.stamp = stamp
    fill_wrench(message.wrench, (wrench @ R).reshape(6))
    return True


def _fill_joint_error(task, message, stamp):
    message.header.stamp = stamp
    np.frombuffer(message.position)[:] = task.error
    np.frombuffer(message.effort)[:] = task.force

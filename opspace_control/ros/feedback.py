# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the tasks and the joints do, on topics; computed only for who listens."""

import array
from functools import partial

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState

from opspace_control.control.split import SOURCES, split_efforts
from opspace_control.ros.conversions import fill_pose, fill_twist, fill_wrench
from opspace_control.ros.qos import RELIABLE
from opspace_control.spatial.rotations import matrix_from_quaternion


class Feedback:
    """
    Publishers of each task's ``current_pose``, ``error`` and ``wrench``, and of the joint forces.

    Pose and error are in the base frame; ``error`` is goal minus pose: metres, and the rotation
    vector in radians. ``wrench`` is what the task commands, at its frame's origin and in its axes.
    ``controller_state`` has the joint forces commanded, the topics below it what each comes from.

    Parameters
    ----------
    node : rclpy.node.Node
    controller : OperationalSpaceController
    cycle : ControlCycle
        Knows what it saw and commanded last.
    frames : Frames
        Knows how messages call the frames.
    joints : sequence of str
        Those that are commanded, in the order of the command.

    """

    def __init__(self, node, controller, cycle, frames, joints):
        self._node = node
        self._controller = controller
        self._cycle = cycle
        self._taken = np.array([controller.model.dof_index(name) for name in joints])
        self._outlets = []
        for task in controller.tasks.values():
            for topic, kind, frame, fill in (
                    ('current_pose', PoseStamped, frames.base, _fill_current_pose),
                    ('error', TwistStamped, frames.base, _fill_error),
                    ('wrench', WrenchStamped, frames.named(task.frame), _fill_task_wrench)):
                message = kind()
                message.header.frame_id = frame
                self._add(f'~/{task.name}/{topic}', message, partial(fill, task))
        self._add('~/controller_state', _efforts(joints), self._fill_command)
        self._parts = [self._publisher(f'~/controller_state/{source}', JointState)
                       for source in SOURCES]
        self._part = _efforts(joints)

    def publish(self, stamp):
        """Publish what the last cycle found, for a joint state of this time stamp."""
        for publisher, message, fill in self._outlets:
            if publisher.get_subscription_count():
                message.header.stamp = stamp
                fill(message)
                publisher.publish(message)
        if any(publisher.get_subscription_count() for publisher in self._parts):
            self._publish_parts(stamp)

    def destroy(self):
        """Withdraw the topics."""
        for publisher in (*(outlet[0] for outlet in self._outlets), *self._parts):
            self._node.destroy_publisher(publisher)

    def _add(self, topic, message, fill):
        self._outlets.append((self._publisher(topic, type(message)), message, fill))

    def _publisher(self, topic, kind):
        return self._node.create_publisher(kind, topic, RELIABLE)

    def _fill_command(self, message):
        np.frombuffer(message.effort)[:] = self._cycle.commanded[self._taken]

    def _publish_parts(self, stamp):
        parts = split_efforts(self._controller, self._cycle.state, self._cycle.commanded)
        self._part.header.stamp = stamp
        for publisher, part in zip(self._parts, parts.values(), strict=True):
            np.frombuffer(self._part.effort)[:] = part[self._taken]
            publisher.publish(self._part)


def _fill_current_pose(task, message):
    fill_pose(message.pose, task.pose)


def _fill_error(task, message):
    fill_twist(message.twist, task.error)


def _fill_task_wrench(task, message):
    R = matrix_from_quaternion(task.pose[3:])
    fill_wrench(message.wrench, (task.wrench.reshape(2, 3) @ R).reshape(6))


def _efforts(joints):
    return JointState(name=list(joints), effort=array.array('d', bytes(8 * len(joints))))

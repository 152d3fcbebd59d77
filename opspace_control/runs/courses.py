# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Time series of each task of a recorded run."""

from dataclasses import dataclass

import numpy as np


class Series:
    """Rows that come in time: ``times`` (k,), s, and ``values`` (k, ...)."""

    def __init__(self, width):
        self._times, self._rows, self._width = [], [], width

    def add(self, time, row):
        """Add a row at a time, s."""
        self._times.append(time)
        self._rows.append(row)

    @property
    def times(self):
        """When each row was seen, s from the start."""
        return np.array(self._times)

    @property
    def values(self):
        """All rows."""
        return np.array(self._rows, dtype=float).reshape(len(self._rows), self._width)

    def __len__(self):
        return len(self._rows)


@dataclass
class TaskCourse:
    """
    What was seen of a task.

    Attributes
    ----------
    name, frame : str
    error : Series
        (6,) goal minus pose, m and a rotation vector in rad.
    pose : Series
        (7,) ``[x y z qx qy qz qw]``, base frame.
    wrench : Series
        (6,) commanded, N and N·m, in the axes of the frame.
    goals : list of float
        When a goal came, s.
    counts : (6,) bool array
        Axes that the task controls; its error in others is none.

    """

    name: str
    frame: str
    error: Series
    pose: Series
    wrench: Series
    goals: list
    counts: np.ndarray

    def sizes(self):
        """Return the sizes of the error, (k, 2), mm and degrees."""
        e = self.error.values * self.counts
        return np.stack([1e3 * np.linalg.norm(e[:, :3], axis=1),
                         np.degrees(np.linalg.norm(e[:, 3:], axis=1))], axis=1)

    def left(self):
        """Return what was left of each goal when the next came, (goals, 2), mm and degrees."""
        limits = [*self.goals[1:], np.inf]
        rows = np.searchsorted(self.error.times, limits) - 1
        return self.sizes()[rows[rows >= 0]]

    def take_error(self, time, message):
        """Take a TwistStamped of ``~/<task>/error``, seen at a time, s."""
        twist = message.twist
        self.error.add(time, [*three(twist.linear), *three(twist.angular)])

    def take_pose(self, time, message):
        """Take a PoseStamped of ``current_pose``."""
        self.pose.add(time, seven(message.pose))

    def take_wrench(self, time, message):
        """Take a WrenchStamped of ``wrench``."""
        wrench = message.wrench
        self.wrench.add(time, [*three(wrench.force), *three(wrench.torque)])

    def take_goal(self, time, _message):
        """Take a goal of ``target_pose``."""
        self.goals.append(time)

    @property
    def takers(self):
        """What takes the messages of each of its topics."""
        return {'error': self.take_error, 'current_pose': self.take_pose,
                'wrench': self.take_wrench, 'target_pose': self.take_goal}


@dataclass
class JointCourse:
    """
    What was seen of a task of joints.

    Attributes
    ----------
    name : str
    joints : tuple of str
    error : Series
        (joints,) goal minus position, rad or m.

    """

    name: str
    joints: tuple
    error: Series

    def take_error(self, time, message):
        """Take a JointState of ``~/<task>/joint_error``, seen at a time, s."""
        if tuple(message.name) == self.joints and len(message.position) == len(self.joints):
            self.error.add(time, message.position)

    @property
    def takers(self):
        """What takes the messages of each of its topics."""
        return {'joint_error': self.take_error}


def three(vector):
    """Return a geometry_msgs/Vector3 or Point as a tuple."""
    return vector.x, vector.y, vector.z


def seven(pose):
    """Return a geometry_msgs/Pose as a tuple ``(x y z qx qy qz qw)``."""
    o = pose.orientation
    return *three(pose.position), o.x, o.y, o.z, o.w

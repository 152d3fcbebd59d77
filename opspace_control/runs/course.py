# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What happened in a recorded run, in numbers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opspace_control.dynamics import RobotModel
from opspace_control.errors import OpspaceError
from opspace_control.model import RobotState

_LAST = 1.0  # s, at the end of a run: where it came to rest


@dataclass(frozen=True)
class TaskCourse:
    """
    What a task did.

    ``times`` (k,) are in s from the begin, ``errors`` (k, 2) the lengths of goal minus pose, m and
    rad, and ``path`` (j, 3) is where its frame was, m.
    """

    name: str
    times: np.ndarray
    errors: np.ndarray
    path: np.ndarray

    @property
    def largest(self):
        """Largest errors, (2,), m and rad."""
        return self.errors.max(axis=0)

    @property
    def last(self):
        """Largest errors in the last second, (2,), m and rad."""
        return self.errors[self.times >= self.times[-1] - _LAST].max(axis=0)


class Course:
    """
    The course of a run.

    Parameters
    ----------
    recording : Recording

    """

    def __init__(self, recording):
        self.recording = recording
        self.controller = recording.controller

    @cached_property
    def model(self):
        """The RobotModel, or None if the recording has none, or none of a fixed base."""
        try:
            return RobotModel.from_urdf(self.recording.description())
        except OpspaceError:
            return None

    @cached_property
    def tasks(self):
        """A TaskCourse for each task that was recorded at all."""
        found = []
        for name in self.recording.tasks:
            topic = f'{self.controller}/{name}'
            times, errors = self.recording.series(f'{topic}/error', _errors)
            _, path = self.recording.series(f'{topic}/current_pose', _position)
            if times.size:
                found.append(TaskCourse(name, times, errors, path))
        return found

    @cached_property
    def efforts(self):
        """Times (k,), s, names of the joints, and the efforts commanded (k, n), N·m or N."""
        topic = f'{self.controller}/controller_state'
        first = next(self.recording.messages(topic), None)
        if first is None:
            return np.zeros(0), [], np.zeros((0, 0))
        return (*self._of_joints(topic, 'effort', first[1].name),)

    @cached_property
    def positions(self):
        """Times (k,), s, names of the joints, and their positions (k, n), rad or m."""
        topic = next((topic for topic in self.recording.counts
                      if topic.endswith('/joint_states')), '')
        first = next(self.recording.messages(topic), None)
        if first is None:
            return np.zeros(0), [], np.zeros((0, 0))
        return (*self._of_joints(topic, 'position', first[1].name),)

    @cached_property
    def loads(self):
        """Times, names of the joints that have effort limits, and the parts used of these."""
        times, names, efforts = self.efforts
        if self.model is None:
            return times, [], np.zeros((len(times), 0))
        limits = dict(zip(self.model.dof_names, self.model.effort_limits, strict=True))
        used = [(i, limits[name]) for i, name in enumerate(names)
                if 0.0 < limits.get(name, np.inf) < np.inf]
        columns = [efforts[:, i] / limit for i, limit in used]
        return (times, [names[i] for i, _ in used],
                np.array(columns).T.reshape(len(times), len(used)))

    @cached_property
    def periods(self):
        """Times between two commands, (k,), s, as the recorder received them."""
        return np.diff(self.recording.times(self.recording.command_topic))

    @cached_property
    def diagnostics(self):
        """A (time, level, text, facts) of each word of the controller about itself."""
        found = []
        for time, message in self.recording.messages('/diagnostics'):
            for status in message.status:
                if status.name.startswith(f'{self.controller[1:]}:'):
                    facts = {item.key: item.value for item in status.values}
                    found.append((time, _level(status.level), status.message, facts))
        return found

    @cached_property
    def complaints(self):
        """Warnings and errors that were logged, as (time, who, text)."""
        return [(time, message.name, message.msg)
                for time, message in self.recording.messages('/rosout') if message.level >= 30]

    def links_at(self, moment):
        """Return the links' origins as lines (k, 2, 3), m, at a part of the run from 0 to 1."""
        times, names, positions = self.positions
        if self.model is None or self.model.floating_base or not times.size:
            return np.zeros((0, 2, 3))
        row = positions[round(moment * (len(times) - 1))]
        given = dict(zip(names, row, strict=True))
        q = np.array([given.get(name, 0.0) for name in self.model.dof_names])
        if len(q) != self.model.nq:
            return np.zeros((0, 2, 3))
        state = RobotState(self.model, q, np.zeros(self.model.nv))
        poses = self.model.forward_kinematics(state, self.model.frame_names)
        parents = parents_of(self.recording.description())
        return np.array([(poses[parent][:3, 3], poses[child][:3, 3])
                         for child, parent in parents.items()]).reshape(-1, 2, 3)

    def _of_joints(self, topic, field, names):
        """Return times, names, and a field of the messages that name the same joints."""
        names = list(names)
        times, rows = [], []
        for time, message in self.recording.messages(topic, 0.01):
            if list(message.name) == names and len(getattr(message, field)) == len(names):
                times.append(time)
                rows.append(np.array(getattr(message, field)))
        return np.array(times), names, np.array(rows).reshape(-1, len(names))


def parents_of(text):
    """Return child -> parent of the links of a URDF."""
    from opspace_control.model.urdf import read_urdf
    return {joint.child: joint.parent for joint in read_urdf(text).joints.values()}


def _errors(message):
    a, b = message.twist.linear, message.twist.angular
    return np.linalg.norm([[a.x, a.y, a.z], [b.x, b.y, b.z]], axis=1)


def _position(message):
    p = message.pose.position
    return p.x, p.y, p.z


def _level(level):
    return level if isinstance(level, int) else int.from_bytes(level, 'little')

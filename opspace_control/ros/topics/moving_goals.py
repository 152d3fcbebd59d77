# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Goals that change between messages: feed-forward that fades, trajectories that go on.

Time is that of the joint states, so that a simulation at any speed gives the same motion.
"""

import numpy as np

_SECOND = 1_000_000_000  # ns

# Without a cycle for longer than this a trajectory ends where it is: its goal must not jump.
_LONGEST_PAUSE = _SECOND // 10


class MovingGoals:
    """
    What moves the goals of tasks.

    Attributes
    ----------
    timeout : float
        Age in s at which feed-forward begins to fade; at twice this age it is zero.

    """

    def __init__(self):
        self.timeout = 0.1
        self._motions = {}

    def advance(self, time):
        """Move all goals to where they are at the time of a state, ns."""
        if self._motions:
            for task, motion in tuple(self._motions.items()):
                if not motion.move(task, time):
                    del self._motions[task]

    def stop(self, task=None):
        """Let the goal of a task, or of all, stay where it is."""
        for moving in tuple(self._motions) if task is None else (task,):
            if self._motions.pop(moving, None):
                moving.set_feed_forward()

    def follow(self, task, trajectory, start):
        """Let a task's goal follow a PoseTrajectory that begins at the time ``start``, ns."""
        self._motions[task] = _Following(trajectory, start)

    def following(self, task):
        """Return whether a task's goal follows a trajectory."""
        return isinstance(self._motions.get(task), _Following)

    def feed_forward(self, task, name, values, time):
        """Give a task's goal a ``twist`` or an ``acceleration`` (6,), as of a time, ns."""
        motion = self._motions.setdefault(task, _FeedForward(self))
        motion.parts[name] = values, time


class _FeedForward:
    """A twist and an acceleration, each as old as its last message."""

    def __init__(self, goals):
        self._goals = goals
        self.parts = {}

    def move(self, task, time):
        scaled = {name: self._left(time - since) * values
                  for name, (values, since) in self.parts.items()}
        task.set_feed_forward(**scaled)
        return any(values.any() for values in scaled.values())

    def _left(self, age):
        """Return how much is left of something ``age`` ns old; nothing if time went backwards."""
        return np.clip(2.0 - age / (_SECOND * self._goals.timeout), 0.0, 1.0) if age >= 0 else 0.0


class _Following:
    """A trajectory and when it began."""

    def __init__(self, trajectory, start):
        self._trajectory = trajectory
        self._start = start
        self._last = None

    def move(self, task, time):
        if self._last is not None and not 0 <= time - self._last <= _LONGEST_PAUSE:
            task.set_feed_forward()
            return False
        self._last = time
        elapsed = (time - self._start) / _SECOND
        task.set_target(*self._trajectory.sample(elapsed))
        return elapsed < self._trajectory.duration

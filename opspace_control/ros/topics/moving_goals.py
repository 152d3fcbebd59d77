# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Moving goals, in time of the joint states: fading feed-forward, trajectories and plans."""

import numpy as np

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware import conversions
from opspace_control.tasks.arguments import read_six
from opspace_control.tasks.trajectory import PoseTrajectory

_SECOND = 1_000_000_000  # ns

# A trajectory ends after a longer time without a cycle, because its goal would jump.
_LONGEST_PAUSE = _SECOND // 10


class MovingGoals:
    """The motions of goals; feed-forward fades from the age ``timeout``, s, to twice this age."""

    def __init__(self):
        self.timeout = 0.1
        self._motions = {}
        self._playing = None

    def advance(self, time):
        """Move all goals to the time of a state, ns."""
        if self._playing:
            if not self._playing.move(time):
                self.stop(reason=self._playing.reason)
        elif self._motions:
            for task, motion in tuple(self._motions.items()):
                if not motion.move(task, time):
                    del self._motions[task]

    def stop(self, task=None, reason='another goal has come'):
        """Stop the goal of a task, or of all tasks; a Playback ends for this reason."""
        playing, self._playing = self._playing, None
        if playing:
            playing.stop(reason)
        for moving in tuple(self._motions) if task is None else (task,):
            if self._motions.pop(moving, None):
                moving.set_feed_forward()

    def follow(self, task, trajectory, start):
        """Let a task's goal follow a PoseTrajectory that begins at the time ``start``, ns."""
        if self._playing:
            self.stop()
        self._motions[task] = _Following(trajectory, start)

    def play(self, playback, start, ended):
        """Let all goals follow a Playback from ``start``, ns; ``ended(reason)``, '' at its end."""
        self.stop(reason='another plan has come')
        self._playing = _Playing(playback, start, ended)

    def end_plan(self, reason='another goal has come'):
        """Stop all goals if they follow a Playback, for this reason; return whether they did."""
        followed = self._playing is not None
        if followed:
            self.stop(reason=reason)
        return followed

    @property
    def played(self):
        """Time of the Playback, s, below 0 before it begins; None without one."""
        return self._playing.elapsed if self._playing else None

    def following(self, task):
        """Return whether a task's goal follows a trajectory or a plan."""
        return self._playing is not None or isinstance(self._motions.get(task), _Following)

    def feed_forward(self, task, name, values, time):
        """
        Give a task's goal a ``twist`` or an ``acceleration`` (6,), as of a time, ns.

        A TaskError refuses numbers that the task would not take in a cycle.
        """
        values = read_six(values, f'target {name}', f"task '{task.name}'")
        motion = self._motions.setdefault(task, _FeedForward(self))
        motion.parts[name] = values, time


class _FeedForward:
    """A twist and an acceleration, each with the time of its last message."""

    def __init__(self, goals):
        self._goals = goals
        self.parts = {}

    def move(self, task, time):
        fade = _SECOND * self._goals.timeout  # ns; feed-forward is 0 if time went backwards
        scaled = {name: np.clip(2.0 - (time - since) / fade, 0.0, 1.0) * (time >= since) * values
                  for name, (values, since) in self.parts.items()}
        task.set_feed_forward(**scaled)
        return any(values.any() for values in scaled.values())


class _Motion:
    """A trajectory or a Playback, and its start."""

    def __init__(self, moved, start):
        self._moved, self._start = moved, start
        self._last, self.elapsed, self.reason = None, 0.0, ''

    def _advances(self, time):
        """Go to a time, ns; return False after a pause."""
        if self._last is not None and not 0 <= time - self._last <= _LONGEST_PAUSE:
            self.reason = f'no cycle for {abs(time - self._last) / _SECOND:.2f} s'
            return False
        self._last = time
        self.elapsed = (time - self._start) / _SECOND
        return True


class _Following(_Motion):
    """A PoseTrajectory that the goal of a task follows."""

    def move(self, task, time):
        if not self._advances(time):
            task.set_feed_forward()
            return False
        task.set_target(*self._moved.sample(self.elapsed))
        return self.elapsed < self._moved.duration


class _Playing(_Motion):
    """A Playback that all goals follow."""

    def __init__(self, playback, start, ended):
        super().__init__(playback, start)
        self._ended = ended

    def move(self, time):
        if not self._advances(time):
            return False
        self._moved.move(self.elapsed)
        return self.elapsed < self._moved.duration

    def stop(self, reason):
        self._moved.stop()
        self._ended(reason)


def read_trajectory(message, task, frame):
    """
    Return the PoseTrajectory of a trajectory_msgs/MultiDOFJointTrajectory for a PoseTask.

    It starts at rest at the task's present goal, unless its first point is at 0 s. The message is
    of one joint with the name of the task or its frame, or without a name, in a ``frame``, (4, 4)
    in the base frame. Any other message, or one faster than the task's limits, is an OpspaceError.
    """
    if any(name not in (task.name, task.frame) for name in message.joint_names):
        raise RosInterfaceError(
            f'The trajectory is one of {", ".join(message.joint_names)}.',
            cure=f"This topic is for '{task.name}' only.", value=message.joint_names)
    start = task.target if task.target is not None else task.pose
    trajectory = PoseTrajectory(
        conversions.times_from_start(message.points),
        [frame @ conversions.matrix_from_pose(pose) for pose in _poses(message.points)],
        _motions(message.points, 'velocities', frame[:3, :3]),
        _motions(message.points, 'accelerations', frame[:3, :3]), start=start)
    check_speed(task, *trajectory.fastest())
    return trajectory


def check_speed(task, linear, angular):
    """Raise a RosInterfaceError if a goal is faster, in m/s and rad/s, than its task's limits."""
    for speed, limit, unit in ((linear, task.max_linear_velocity, 'm/s'),
                               (angular, task.max_angular_velocity, 'rad/s')):
        if speed > limit:
            raise RosInterfaceError(
                f'It moves at {speed:.3g} {unit}, above the limit of {limit:.3g} {unit}.',
                cure='Slow it down, or raise the limit of the task.', value=speed)


def _poses(points):
    poses = []
    for i, point in enumerate(points):
        if len(point.transforms) != 1:
            raise RosInterfaceError(f'Point {i} has {len(point.transforms)} transforms.',
                                    cure='Give one.')
        pose = conversions.numbers_of(point.transforms[0])
        norm = np.linalg.norm(pose[3:])
        if not np.isfinite(pose).all() or abs(norm - 1.0) > 1e-2:
            raise RosInterfaceError(f'The transform of point {i} cannot be used.', value=pose,
                                    cure='Give finite numbers and a unit quaternion.')
        pose[3:] /= norm
        poses.append(pose)
    return poses


def _motions(points, name, R):
    """Return the points' velocities or accelerations (k, 6) in base axes; None if not given."""
    counts = {len(getattr(point, name)) for point in points}
    if counts <= {0}:
        return None
    if counts != {1}:
        raise RosInterfaceError(f'Not every point has {name}.', cure='Give one each, or none.')
    six = np.array([conversions.six_from_message(getattr(point, name)[0]) for point in points])
    return (six.reshape(-1, 2, 3) @ R.T).reshape(-1, 6)

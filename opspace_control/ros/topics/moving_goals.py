# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Moving goals, in time of the joint states: fading feed-forward, trajectories and plans."""

import numpy as np

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.conversions import matrix_from_pose, six_from_message
from opspace_control.tasks.trajectory import PoseTrajectory

_SECOND = 1_000_000_000  # ns

# A trajectory ends after a longer time without a cycle, because its goal would jump.
_LONGEST_PAUSE = _SECOND // 10


class MovingGoals:
    """
    The motions of the goals of tasks.

    Attributes
    ----------
    timeout : float
        Age in s at which feed-forward begins to fade; at twice this age it is zero.

    """

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
        """
        Let all goals follow a Playback that begins at the time ``start``, ns.

        ``ended(reason)`` is called when it is over; the reason is '' at its regular end.
        """
        self.stop(reason='another plan has come')
        self._playing = _Playing(playback, start, ended)

    @property
    def played(self):
        """Time of the Playback, s, below 0 before it begins; None without one."""
        return self._playing.elapsed if self._playing else None

    def following(self, task):
        """Return whether a task's goal follows a trajectory or a plan."""
        return self._playing is not None or isinstance(self._motions.get(task), _Following)

    def feed_forward(self, task, name, values, time):
        """Give a task's goal a ``twist`` or an ``acceleration`` (6,), as of a time, ns."""
        motion = self._motions.setdefault(task, _FeedForward(self))
        motion.parts[name] = values, time


class _FeedForward:
    """A twist and an acceleration, each with the time of its last message."""

    def __init__(self, goals):
        self._goals = goals
        self.parts = {}

    def move(self, task, time):
        scaled = {name: self._left(time - since) * values
                  for name, (values, since) in self.parts.items()}
        task.set_feed_forward(**scaled)
        return any(values.any() for values in scaled.values())

    def _left(self, age):
        """Return the scale of feed-forward at an age, ns; 0 if time went backwards."""
        return np.clip(2.0 - age / (_SECOND * self._goals.timeout), 0.0, 1.0) if age >= 0 else 0.0


class _Following:
    """A trajectory and its start."""

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


class _Playing:
    """A Playback and its start."""

    def __init__(self, playback, start, ended):
        self._playback, self._start, self._ended = playback, start, ended
        self._last, self.elapsed, self.reason = None, 0.0, ''

    def move(self, time):
        if self._last is not None and not 0 <= time - self._last <= _LONGEST_PAUSE:
            self.reason = f'no cycle for {abs(time - self._last) / _SECOND:.2f} s'
            return False
        self._last = time
        self.elapsed = (time - self._start) / _SECOND
        self._playback.move(self.elapsed)
        return self.elapsed < self._playback.duration

    def stop(self, reason):
        self._playback.stop()
        self._ended(reason)


def read_trajectory(message, task, frame):
    """
    Return the PoseTrajectory of a trajectory_msgs/MultiDOFJointTrajectory for a task.

    It starts at rest at the task's present goal, unless its first point is at 0 s.

    Parameters
    ----------
    message : MultiDOFJointTrajectory
        Of one joint with the name of the task or its frame, or without a name.
    task : PoseTask
        The task that follows it.
    frame : (4, 4) array
        The pose of the message's frame in the base frame.

    Raises
    ------
    OpspaceError
        The message is not such a trajectory, or is faster than the task's limits.

    """
    if any(name not in (task.name, task.frame) for name in message.joint_names):
        raise RosInterfaceError(
            f'The trajectory is one of {", ".join(message.joint_names)}.',
            cure=f"This topic is for '{task.name}' only.", value=message.joint_names)
    start = task.target if task.target is not None else task.pose
    trajectory = PoseTrajectory(
        [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
         for point in message.points],
        [frame @ matrix_from_pose(pose) for pose in _poses(message.points)],
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
        p, o = point.transforms[0].translation, point.transforms[0].rotation
        pose = np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w])
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
    six = np.array([six_from_message(getattr(point, name)[0]) for point in points])
    return (six.reshape(-1, 2, 3) @ R.T).reshape(-1, 6)

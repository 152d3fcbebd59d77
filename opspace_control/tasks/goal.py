# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What tasks with a goal have in common: where it is, and how it gets there."""

import numpy as np

from opspace_control.errors import TaskError
from opspace_control.spatial.rotation_vectors import matrix_from_vector, vector_from_matrix
from opspace_control.spatial.rotations import quaternion_from_matrix
from opspace_control.tasks.jerk_limited import Destination, JerkLimits, Journey
from opspace_control.tasks.targets import ANGULAR, AXES, LINEAR, read_pose, read_six
from opspace_control.tasks.task import OperationalTask


class GoalTask(OperationalTask):
    """
    An operational task with a goal, which travels there if it is told how.

    Parameters
    ----------
    frame : str
        Link whose frame is the operational point.
    trajectory : JerkLimits, optional
        How the goal travels to where it is sent; if not given it is there at once.
    **specification
        Of an `OperationalTask`.

    Attributes
    ----------
    goal_limits : GoalLimits or None
        Refuses goals of `set_target`, as the controller node does; None, the default: any goal.

    """

    goal_limits = None

    def __init__(self, frame, *, trajectory=None, **specification):
        self._journey, self._travelling = None, set()
        super().__init__(frame, **specification)
        self.trajectory = trajectory

    def set_target(self, pose, twist=None, acceleration=None):
        """
        Set the goal, in the base frame (the world's for a floating base).

        With a ``trajectory`` the goal travels there; without one it is there at once.

        Parameters
        ----------
        pose : (4, 4) array, or (7,) array, or pair of (3,) and (4,) arrays
            Homogeneous transform, or position (m) and quaternion ``[x y z w]``.
        twist : (6,) array, optional
            Feed-forward velocity ``[v; ω]``, m/s and rad/s; zero if not given.
        acceleration : (6,) array, optional
            Feed-forward acceleration, m/s² and rad/s²; zero if not given.

        Raises
        ------
        TaskError
            If anything is malformed or not finite, or ``goal_limits`` refuses the goal; then the
            goal has not changed.

        """
        position, R = read_pose(pose, self._owner, self.possible_axes)
        twist = self._read_six(twist, 'target twist')
        acceleration = self._read_six(acceleration, 'target acceleration')
        if self.goal_limits:
            self.goal_limits.check_position(self, position)
        self.move_target(position, R, twist, acceleration)
        if not self._journey and self._knows('p', 'R'):
            self._record['error'] = self._error_from(position, R)

    def move_target(self, position, R, twist, acceleration):
        """Set a goal, (3,), (3, 3), (6,), (6,), that needs no check, as at every cycle."""
        if self._journey:
            self._send(position, R, twist, acceleration)
            return
        record = self._record
        record['target_p'], record['target_R'] = position, R
        record['target_twist'], record['target_acceleration'] = twist, acceleration

    def clear_target(self):
        """Make the pose seen at the next cycle the goal, and let what is pressed with fade."""
        super().clear_target()
        if self._journey:
            self._journey.forget()

    def travel(self, dt):
        """Let the goal travel on by dt, s; a controller does so before each of its cycles."""
        if not (self._journey and self._journey.advance(self._record, dt)):
            self._travelling.discard(self)

    def travel_with(self, travelling):
        """Be in this set, a controller's, while the goal travels."""
        travelling |= self._travelling
        self._travelling = travelling

    def set_feed_forward(self, twist=None, acceleration=None):
        """
        Change how the goal moves, not where it is.

        Parameters
        ----------
        twist : (6,) array, optional
            ``[v; ω]``, m/s and rad/s; zero if not given.
        acceleration : (6,) array, optional
            m/s² and rad/s²; zero if not given.

        Raises
        ------
        TaskError
            If anything is malformed or not finite; then nothing has changed.

        """
        twist = self._read_six(twist, 'target twist')
        acceleration = self._read_six(acceleration, 'target acceleration')
        if self._journey and (self._journey.destination or self._knows('target_p', 'target_R')):
            self._send(*self._destination, twist, acceleration)
            return
        self._record['target_twist'], self._record['target_acceleration'] = twist, acceleration

    @property
    def target(self):
        """Goal, (7,) ``[x y z qx qy qz qw]``, or None before the first cycle without one."""
        if self._journey and self._journey.destination:
            position, R = self._destination
            return np.concatenate([position, quaternion_from_matrix(R)])
        return self._pose('target_p', 'target_R')

    @property
    def moving_target(self):
        """Where the goal is on its way to `target`, (7,), or None; it is there without a way."""
        return self._pose('target_p', 'target_R')

    @property
    def error(self):
        """
        Goal minus the pose of the last cycle, (6,): m, and a rotation vector in rad.

        None while there is no goal, or before the first cycle.
        """
        if not (self._knows('p', 'R') and self._knows('target_p', 'target_R')):
            return None
        if self._journey and self._journey.destination:
            return self._error_from(*self._destination)
        return self._record['error'].copy()

    @property
    def axis_error(self):
        """
        `error` along the task's axes, (6,), m and rad; 0.0 along those that control no motion.

        None while there is no goal, or before the first cycle.
        """
        error = self.error
        if error is None:
            return None
        along = np.einsum('kij,ki->kj', self._ways, error.reshape(2, 3)).reshape(6)
        return np.where([axis in self.axes for axis in AXES], along, 0.0)

    @property
    def trajectory(self):
        """The JerkLimits by which goals travel, or None: they are where they are sent at once."""
        return self._journey.limits if self._journey else None

    @trajectory.setter
    def trajectory(self, limits):
        before = self._journey and self._journey.destination
        if limits is None:
            self._journey = None
            if before:
                self.set_target((before.position, quaternion_from_matrix(before.R)),
                                before.twist, before.acceleration)
            return
        if not isinstance(limits, JerkLimits):
            raise TaskError(f'{self._owner}: trajectory = {limits!r} is not allowed.',
                            cure='Give JerkLimits, or None.', parameter='trajectory', value=limits)
        if self._journey:
            self._journey.limits = limits
            self._journey.replan()
        else:
            self._journey = Journey(limits, self._controlled_parts())

    def _hold_axes(self, axes):
        """Let the goal be where the frame is, along these axes."""
        if self._journey:
            self._journey.parts = self._controlled_parts()
        record = self._record
        if not (any(axes) and self._knows('p', 'R') and self._knows('target_p', 'target_R')):
            return
        there = self._journey and self._journey.destination
        if there:
            error = self._held(axes, self._error_from(*self._destination))
            self._send(*self._beyond(error), there.twist, there.acceleration)
        record['error'] = self._held(axes, record['error'])
        record['target_p'], record['target_R'] = self._beyond(record['error'])

    def _held(self, axes, error):
        """Return an error (6,) without what is along these axes."""
        ways, held = self._ways, np.array(axes).reshape(2, 3)
        return np.concatenate([way @ np.where(off, 0.0, way.T @ part) for way, off, part in zip(
            ways, held, error.reshape(2, 3), strict=True)])

    @property
    def _ways(self):
        """The task's axes, by column, in the frame in which its error is, (2, 3, 3)."""
        return self._record['axes']

    def _beyond(self, error):
        """Return the position and the rotation that are away from the frame by an error (6,)."""
        record = self._record
        return record['p'] + error[:3], matrix_from_vector(error[3:]) @ record['R']

    def _read_six(self, values, name):
        return read_six(values, name, self._owner, self.possible_axes)

    def _error_from(self, position, R):
        """Return the error (6,) of the frame from a goal."""
        record = self._record
        return np.concatenate([position - record['p'], vector_from_matrix(R @ record['R'].T)])

    def _send(self, *goal):
        self._journey.send(Destination(*goal))
        self._travelling.add(self)

    @property
    def _destination(self):
        """Position and rotation to which the goal is sent, or where it is."""
        there = self._journey.destination
        return ((there.position, there.R) if there
                else (self._record['target_p'].copy(), self._record['target_R'].copy()))

    def _controlled_parts(self):
        """Return whether motion is controlled of translation, and of rotation."""
        return tuple(not set(self.axes).isdisjoint(part) for part in (LINEAR, ANGULAR))

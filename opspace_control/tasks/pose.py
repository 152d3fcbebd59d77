# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The task of a pose: a frame moves to a goal, which may be a moving target."""

import numpy as np

from opspace_control.compiled import as_record, recorded
from opspace_control.errors import TaskError
from opspace_control.spatial.rotations import (
    matrix_from_vector,
    quaternion_from_matrix,
    vector_from_matrix,
)
from opspace_control.tasks.arguments import (
    ANGULAR,
    AXES,
    LINEAR,
    VelocityLimit,
    read_gains,
    read_pose,
    read_six,
    refuse_none,
)
from opspace_control.tasks.impedance_law import Impedance
from opspace_control.tasks.jerk_limited import (
    Destination,
    JerkLimits,
    TrajectoryGenerator,
    destination_of,
    set_destination,
)
from opspace_control.tasks.task import OperationalTask
from opspace_control.tasks.trajectory_law import STAYS, advance_target

MODES = ('decoupled', 'impedance')


class PoseTask(OperationalTask):
    """
    Move a frame to a goal pose; along ``force_axes`` control force instead of motion.

    Mode 'decoupled' is the law of a decoupled unit mass, [K87] (4.3)-(4.5). In mode 'impedance' a
    spring and a damper connect frame and goal, so the frame complies with external forces.

    Without a goal the task keeps the pose of the first cycle. Gains, axes, mode, limits and goals
    may change between any two cycles.

    Parameters
    ----------
    frame : str
        Link whose frame is the operational point.
    kp : float or (6,) array
        Stiffness of the unit mass, 1/s²: three linear axes, three angular ones.
    kd : float or (6,) array
        Damping of the unit mass, 1/s; negative is critical, ``2 sqrt(kp)``.
    max_linear_velocity, max_angular_velocity : float
        V_max of (4.5) for the position, m/s, and for the orientation, rad/s; inf for no limit.
    impedance : Impedance, optional
        The spring of mode 'impedance'; ``Impedance()`` if not given.
    mode : str, optional
        'decoupled' or 'impedance'; the latter if an ``impedance`` is given, else the former.
    trajectory : JerkLimits, optional
        Limits of the online trajectory from the present target to a goal; without them the target
        is the goal at once.
    **specification
        Of an OperationalTask: ``name``, ``axes``, ``force_axes``, ``axes_frame``,
        ``axes_rotation``, ``force``, ``priority``.

    """

    goal_limits = None  # bounds of goals of `set_target`, as in the controller node; None: any goal
    kp = recorded('kp', 'Stiffness, (6,), 1/s².')
    kd = recorded('kd', 'Damping, (6,), 1/s, critical values resolved.')

    max_linear_velocity = VelocityLimit('max_linear_velocity', 'V_max of the position, m/s.')
    max_angular_velocity = VelocityLimit('max_angular_velocity', 'That of the orientation, rad/s.')

    def __init__(self, frame, *, kp=100.0, kd=-1.0, max_linear_velocity=np.inf,
                 max_angular_velocity=np.inf, impedance=None, mode=None, trajectory=None,
                 **specification):
        self._generator = None
        self.on_trajectory = None  # a controller's, called where ``trajectory`` changes
        super().__init__(frame, **specification)
        self.trajectory = trajectory
        self.mode = MODES[impedance is not None] if mode is None else mode
        self.impedance = self._own(
            Impedance() if impedance is None else impedance, Impedance, 'spring')
        refuse_none(self._owner, kp=kp, kd=kd)
        self.set_gains(kp, kd)
        self.max_linear_velocity = max_linear_velocity
        self.max_angular_velocity = max_angular_velocity

    def set_gains(self, kp=None, kd=None):
        """Change kp, 1/s², or kd, 1/s, (6,) or one number; a critical ``kd`` follows ``kp``."""
        wanted = self._wanted_kd if kd is None else kd
        kp, kd = read_gains(self.kp if kp is None else kp, wanted, (6,), self._owner)
        self._check_limitable(kp, kd)
        self._wanted_kd = np.copy(wanted)
        self._record['kp'], self._record['kd'] = kp, kd

    @property
    def mode(self):
        """'decoupled': a unit mass; 'impedance': a spring and the robot's own inertia."""
        return self._mode

    @mode.setter
    def mode(self, value):
        if value not in MODES:
            raise TaskError(f'{self._owner}: mode = {value!r} is not allowed.',
                            cure=f'Give one of {", ".join(MODES)}.', parameter='mode', value=value)
        self._mode = value
        self._record['impedance'] = float(value == 'impedance')

    def set_target(self, pose, twist=None, acceleration=None):
        """
        Set the goal, in the base frame (the world's for a floating base).

        With ``trajectory`` limits the target moves there; without them it is there at once.
        ``goal_limits`` may refuse a goal with a TaskError.

        Parameters
        ----------
        pose : (4, 4) array, or (7,) array, or pair of (3,) and (4,) arrays
            Homogeneous transform, or position (m) and quaternion ``[x y z w]``.
        twist, acceleration : (6,) array, optional
            Feed-forward ``[v; ω]``, m/s and rad/s, and its rate, m/s² and rad/s²; else zero.

        """
        position, R = read_pose(pose, self._owner, self.possible_axes)
        twist = self._read_six(twist, 'target twist')
        acceleration = self._read_six(acceleration, 'target acceleration')
        if self.goal_limits:
            self.goal_limits.check_position(self, position)
        self.move_target(position, R, twist, acceleration)
        if not self._generator and self._knows('p', 'R'):
            self._record['error'] = self._error_from(position, R)

    def move_target(self, position, R, twist, acceleration):
        """Set a goal, (3,), (3, 3), (6,), (6,), without checks, as at every cycle."""
        if self._generator:
            self._send(position, R, twist, acceleration)
            return
        record = self._record
        record['target_p'], record['target_R'] = position, R
        record['target_twist'], record['target_acceleration'] = twist, acceleration

    def plan_target(self, dt):
        """Plan the trajectory to a new goal, dt, s, before a cycle; a controller does so."""
        if self._generator:
            self._generator.plan(self._record, dt)

    def advance_target(self, dt):
        """Move the target on by dt, s, as a cycle does."""
        self.plan_target(dt)
        advance_target(as_record(self._record), dt)

    def set_feed_forward(self, twist=None, acceleration=None):
        """Change twist and acceleration of the goal, (6,) as of `set_target`, not its pose."""
        twist = self._read_six(twist, 'target twist')
        acceleration = self._read_six(acceleration, 'target acceleration')
        if self._generator and (self._destined or self._knows('target_p', 'target_R')):
            self._send(*self._destination, twist, acceleration)
            return
        self._record['target_twist'], self._record['target_acceleration'] = twist, acceleration

    @property
    def target(self):
        """Goal, (7,) ``[x y z qx qy qz qw]``, or None before the first cycle without one."""
        if self._destined:
            position, R = self._destination
            return np.concatenate([position, quaternion_from_matrix(R)])
        return self._pose('target_p', 'target_R')

    @property
    def moving_target(self):
        """Present target on the trajectory to `target`, (7,), or None; else equal to `target`."""
        return self._pose('target_p', 'target_R')

    @property
    def error(self):
        """
        Goal minus the pose of the last cycle, (6,): m, and a rotation vector in rad.

        None while there is no goal, or before the first cycle.
        """
        if not (self._knows('p', 'R') and self._knows('target_p', 'target_R')):
            return None
        if self._destined:
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
        along = np.einsum('kij,ki->kj', self._error_axes, error.reshape(2, 3)).reshape(6)
        return np.where([axis in self.axes for axis in AXES], along, 0.0)

    @property
    def trajectory(self):
        """The JerkLimits of the online trajectory to a goal; None without one."""
        return self._generator.limits if self._generator else None

    @trajectory.setter
    def trajectory(self, limits):
        self._set_trajectory(limits)
        if self.on_trajectory:
            self.on_trajectory()

    def _set_trajectory(self, limits):
        before = destination_of(self._record)
        if limits is None:
            self._generator = None
            set_destination(self._record, None)
            if before:
                self.set_target((before.position, quaternion_from_matrix(before.R)),
                                before.twist, before.acceleration)
            return
        if not isinstance(limits, JerkLimits):
            raise TaskError(f'{self._owner}: trajectory = {limits!r} is not allowed.',
                            cure='Give JerkLimits, or None.', parameter='trajectory', value=limits)
        if self._generator:
            self._generator.limits = limits
            set_destination(self._record, before)
        else:
            self._generator = TrajectoryGenerator(limits, self._controlled_parts())

    def _check_limitable(self, kp, kd):
        """Refuse kp without kd on an axis with a limit: (4.5) divides by kd."""
        for first, name in ((0, 'max_linear_velocity'), (3, 'max_angular_velocity')):
            part = slice(first, first + 3)
            if np.isfinite(self._record[name]) and ((kp[part] > 0) & (kd[part] == 0)).any():
                raise TaskError(f'{self._owner}: {name} needs damping, but kd is 0.',
                                cure='Give kd > 0, or -1 for critical damping.', parameter=name)

    def _parts(self):
        yield from super()._parts()
        yield self.impedance, 'spring'

    def _reset_goal(self, axes):
        """Set the goal to the present pose along these axes."""
        if self._generator:
            self._generator.parts = self._controlled_parts()
        record = self._record
        if not (any(axes) and self._knows('p', 'R') and self._knows('target_p', 'target_R')):
            return
        there = destination_of(self._record)
        if there:
            error = self._without(axes, self._error_from(*self._destination))
            self._send(*self._goal_at(error), there.twist, there.acceleration)
        record['error'] = self._without(axes, record['error'])
        record['target_p'], record['target_R'] = self._goal_at(record['error'])

    def _without(self, axes, error):
        """Return an error (6,) without its components along these axes."""
        return np.concatenate([S @ np.where(off, 0.0, S.T @ part) for S, off, part in zip(
            self._error_axes, np.array(axes).reshape(2, 3), error.reshape(2, 3), strict=True)])

    @property
    def _error_axes(self):
        """The task's axes, by column, in the frame of its error, (2, 3, 3)."""
        return self._record['axes']

    def _goal_at(self, error):
        """Return position and rotation of the goal from which the frame has this error (6,)."""
        record = self._record
        return record['p'] + error[:3], matrix_from_vector(error[3:]) @ record['R']

    def _read_six(self, values, name):
        return read_six(values, name, self._owner, self.possible_axes)

    def _error_from(self, position, R):
        """Return the error (6,) of the frame from a goal."""
        record = self._record
        return np.concatenate([position - record['p'], vector_from_matrix(R @ record['R'].T)])

    def _send(self, *goal):
        set_destination(self._record, Destination(*goal))

    @property
    def _destined(self):
        """Whether the target moves to a destination, or will."""
        return self._record['trajectory']['stage'] != STAYS

    @property
    def _destination(self):
        """Position and rotation of the destination, or of the present target."""
        there = destination_of(self._record)
        return there[:2] if there else (
            self._record['target_p'].copy(), self._record['target_R'].copy())

    def _controlled_parts(self):
        """Return whether motion is controlled of translation, and of rotation."""
        return tuple(not set(self.axes).isdisjoint(part) for part in (LINEAR, ANGULAR))

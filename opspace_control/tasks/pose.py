# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The pose task: a frame's position and orientation, or some axes of them, go to a goal."""

from numbers import Integral, Real

import numpy as np

from opspace_control.errors import TaskError
from opspace_control.spatial.rotation_vectors import vector_from_matrix
from opspace_control.spatial.rotations import quaternion_from_matrix
from opspace_control.tasks.gains import damping_gain, stiffness_gain
from opspace_control.tasks.pose_law import POSE_TASK
from opspace_control.tasks.targets import AXES, read_axes, read_pose, read_six


class PoseTask:
    """
    Take a frame to a goal pose with the law of a decoupled unit mass, [K87] (4.3)-(4.5).

    Without a goal the task holds the pose it first sees. Goals are copied and checked; gains,
    limits and goals may change between any two cycles.

    Parameters
    ----------
    frame : str
        Link whose frame is the operational point.
    name : str, optional
        Key in ``controller.tasks``; the frame's name if not given.
    kp : float or (6,) array
        Stiffness of the unit mass, 1/s²: three linear axes, three angular ones.
    kd : float or (6,) array
        Damping of the unit mass, 1/s; negative is critical, ``2 sqrt(kp)``.
    axes : sequence of str
        Which of ``x y z rx ry rz`` (base axes) are controlled; the others join the null space.
    max_linear_velocity : float
        V_max of (4.5) for the position, m/s.
    max_angular_velocity : float
        The same for the orientation, rad/s.
    priority : int
        0 is the highest; tasks of a larger number act in the null space of those of smaller ones.

    Raises
    ------
    TaskError
        For a gain, axis or limit that cannot be used; names it.

    """

    def __init__(self, frame, *, name=None, kp=100.0, kd=-1.0, axes=AXES,
                 max_linear_velocity=np.inf, max_angular_velocity=np.inf, priority=0):
        self.frame = frame
        self.name = frame if name is None else name
        self._record = np.zeros(1, POSE_TASK)[0]
        self._in_use = False
        self._priority = self._checked_priority(priority)
        self._selection = read_axes(axes, self._owner)
        self._record['selected'] = self._selection
        self.activation = 1.0
        self._record['max_linear_velocity'] = self._record['max_angular_velocity'] = np.inf
        self.set_gains(kp, kd)
        self.max_linear_velocity = max_linear_velocity
        self.max_angular_velocity = max_angular_velocity
        self.clear_target()

    def __repr__(self):
        return f'PoseTask({self.frame!r}, name={self.name!r})'

    def set_gains(self, kp=None, kd=None):
        """
        Change gains; what is not given stays, a critical ``kd`` follows ``kp``.

        Parameters
        ----------
        kp : float or (6,) array, optional
            1/s².
        kd : float or (6,) array, optional
            1/s; negative is critical.

        Raises
        ------
        TaskError
            If a gain is refused; then none has changed.

        """
        owner = self._owner
        new_kp = self.kp if kp is None else stiffness_gain(kp, (6,), owner)
        wanted_kd = self._wanted_kd if kd is None else kd
        new_kd = damping_gain(wanted_kd, new_kp, (6,), owner)
        self._check_limitable(new_kp, new_kd)
        self._wanted_kd = np.copy(wanted_kd)
        self._record['kp'], self._record['kd'] = new_kp, new_kd

    def set_target(self, pose, twist=None, acceleration=None):
        """
        Set the goal, in the base frame (the world's for a floating base).

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
            If anything is malformed or not finite; then the goal has not changed.

        """
        position, R = read_pose(pose, self._owner)
        twist = read_six(twist, 'twist', self._owner)
        acceleration = read_six(acceleration, 'acceleration', self._owner)
        record = self._record
        record['target_p'], record['target_R'] = position, R
        record['target_twist'], record['target_acceleration'] = twist, acceleration
        if self._knows('p', 'R'):
            record['error'][:3] = position - record['p']
            record['error'][3:] = vector_from_matrix(R @ record['R'].T)

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
        twist = read_six(twist, 'twist', self._owner)
        acceleration = read_six(acceleration, 'acceleration', self._owner)
        self._record['target_twist'], self._record['target_acceleration'] = twist, acceleration

    def clear_target(self):
        """Make the pose seen at the next cycle the goal."""
        record = self._record
        record['target_p'], record['target_R'] = np.nan, np.eye(3)
        record['target_twist'], record['target_acceleration'] = 0.0, 0.0

    @property
    def target(self):
        """Goal, (7,) ``[x y z qx qy qz qw]``, or None before the first cycle without one."""
        return self._pose('target_p', 'target_R')

    @property
    def pose(self):
        """Pose of the frame at the last cycle, (7,), or None before the first."""
        return self._pose('p', 'R')

    @property
    def error(self):
        """
        Goal minus the pose of the last cycle, (6,): m, and a rotation vector in rad.

        None while there is no goal, or before the first cycle.
        """
        known = self._knows('p', 'R') and self._knows('target_p', 'target_R')
        return self._record['error'].copy() if known else None

    @property
    def wrench(self):
        """Force and moment the task commanded at the last cycle, (6,), N and N·m, [CK00] (13)."""
        return self._record['wrench'].copy()

    @property
    def kp(self):
        """Stiffness, (6,), 1/s²."""
        return self._record['kp'].copy()

    @property
    def kd(self):
        """Damping, (6,), 1/s, critical values resolved."""
        return self._record['kd'].copy()

    @property
    def activation(self):
        """
        How much the task insists, from 0 to 1.

        With 1 its axes are controlled exactly, with 0 they belong to the null space. In between
        the diagonal of Λ⁻¹ is larger by ``((1 − a) / a)²``: forces go evenly from one to the other,
        also in directions that the robot can hardly move.
        """
        return float(self._record['activation'])

    @activation.setter
    def activation(self, value):
        if not (isinstance(value, Real) and 0.0 <= value <= 1.0):
            raise TaskError(f'{self._owner}: activation = {value!r} is not allowed.',
                            cure='Give a number from 0 to 1.', parameter='activation', value=value)
        self._record['activation'] = value

    @property
    def enabled(self):
        """Whether the task acts at all; switched off, its axes belong to the null space."""
        return self.activation > 0.0

    @enabled.setter
    def enabled(self, value):
        self.activation = float(bool(value))

    @property
    def axes(self):
        """Names of the controlled axes."""
        return tuple(axis for axis, on in zip(AXES, self._selection, strict=True) if on)

    @property
    def max_linear_velocity(self):
        """V_max of the position, m/s, [K87] (4.5)."""
        return float(self._record['max_linear_velocity'])

    @max_linear_velocity.setter
    def max_linear_velocity(self, value):
        self._set_limit('max_linear_velocity', value, 'm/s')

    @property
    def max_angular_velocity(self):
        """V_max of the orientation, rad/s."""
        return float(self._record['max_angular_velocity'])

    @max_angular_velocity.setter
    def max_angular_velocity(self, value):
        self._set_limit('max_angular_velocity', value, 'rad/s')

    @property
    def priority(self):
        """Level of the task, 0 the highest."""
        return self._priority

    def _checked_priority(self, value):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
            raise TaskError(f'{self._owner}: priority = {value!r} is not allowed.',
                            cure='Give a whole number, 0 for the highest priority.',
                            parameter='priority', value=value)
        return int(value)

    @property
    def in_use(self):
        """Whether the task belongs to a controller."""
        return self._in_use

    @property
    def _owner(self):
        """Whose a refused value is, for the error."""
        return f"task '{self.name}'"

    def _set_limit(self, name, value, unit):
        try:
            limit = float(value)
        except (TypeError, ValueError):
            limit = np.nan
        if not limit > 0.0:
            raise TaskError(f'{self._owner}: {name} = {value!r} is not allowed.',
                            cure=f'Give a positive number of {unit}, or inf for no limit.',
                            parameter=name, value=value)
        before = self._record[name]
        self._record[name] = limit
        try:
            self._check_limitable(self.kp, self.kd)
        except TaskError:
            self._record[name] = before
            raise

    def _check_limitable(self, kp, kd):
        """Refuse kp without kd on a velocity-limited axis: (4.5) divides by kd."""
        for first, name in ((0, 'max_linear_velocity'), (3, 'max_angular_velocity')):
            part = slice(first, first + 3)
            if np.isfinite(self._record[name]) and ((kp[part] > 0) & (kd[part] == 0)).any():
                raise TaskError(f'{self._owner}: {name} needs damping, but kd is 0.',
                                cure='Give kd > 0, or -1 for critical damping.', parameter=name)

    def _knows(self, position, rotation):
        return np.isfinite(self._record[position]).all() and self._record[rotation].any()

    def _pose(self, position, rotation):
        if not self._knows(position, rotation):
            return None
        return np.concatenate([self._record[position],
                               quaternion_from_matrix(self._record[rotation])])


def bind_poses(tasks):
    """
    Move the data of pose tasks, none of them in use, into one array, for a controller.

    Parameters
    ----------
    tasks : sequence of PoseTask
        m of them.

    Returns
    -------
    (m,) array of POSE_TASK
        What `demand_pose` reads and writes; each task works on its record from now on.

    """
    records = np.zeros(len(tasks), POSE_TASK)
    for task, record in zip(tasks, records, strict=True):
        for name in POSE_TASK.names:
            record[name] = task._record[name]
        task._record = record
        task._in_use = True
    return records

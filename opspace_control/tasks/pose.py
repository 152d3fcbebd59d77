# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The pose task: a frame's position and orientation, or some axes of them, go to a goal."""

import numpy as np

from opspace_control.errors import TaskError
from opspace_control.spatial.rotations import matrix_from_quaternion, quaternion_from_matrix
from opspace_control.tasks.gains import damping_gain, stiffness_gain
from opspace_control.tasks.pose_law import POSE_TASK

AXES = ('x', 'y', 'z', 'rx', 'ry', 'rz')


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

    Raises
    ------
    TaskError
        For a gain, axis or limit that cannot be used; names it.

    """

    def __init__(self, frame, *, name=None, kp=100.0, kd=-1.0, axes=AXES,
                 max_linear_velocity=np.inf, max_angular_velocity=np.inf):
        self.frame = frame
        self.name = frame if name is None else name
        self._record = np.zeros(1, POSE_TASK)[0]
        self._selection = self._select(axes)
        self._enabled = True
        self.bound = False
        self._record['selected'] = self._selection
        self._kd = -1.0
        self.set_gains(kp, kd)
        self.max_linear_velocity = max_linear_velocity
        self.max_angular_velocity = max_angular_velocity
        self.clear_target()

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
        owner = f"task '{self.name}'"
        new_kp = self.kp if kp is None else stiffness_gain(kp, (6,), owner)
        kept_kd = self._kd if kd is None else kd
        new_kd = damping_gain(kept_kd, new_kp, (6,), owner)
        self._check_limitable(new_kp, new_kd)
        self._kd = np.copy(kept_kd)
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
        position, R = self._read_pose(pose)
        twist = self._six(twist, 'twist')
        acceleration = self._six(acceleration, 'acceleration')
        record = self._record
        record['target_p'], record['target_R'] = position, R
        record['target_twist'], record['target_acceleration'] = twist, acceleration
        record['error'] = 0.0

    def clear_target(self):
        """Make the pose seen at the next cycle the goal."""
        record = self._record
        record['target_p'], record['target_R'] = np.nan, np.eye(3)
        record['target_twist'], record['target_acceleration'] = 0.0, 0.0
        record['error'] = 0.0

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
        """Goal minus pose at the last cycle, (6,): m, and a rotation vector in rad."""
        return self._record['error'].copy()

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
    def enabled(self):
        """Whether the task acts; switched off, its axes belong to the null space."""
        return self._enabled

    @enabled.setter
    def enabled(self, value):
        self._enabled = bool(value)
        self._record['selected'] = self._selection * self._enabled

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

    def bind(self, record):
        """Move the task's data into a controller's ``POSE_TASK`` record and work on that from now."""
        for name in record.dtype.names:
            record[name] = self._record[name]
        self._record = record
        self.bound = True

    def _select(self, axes):
        axes = tuple(axes.split()) if isinstance(axes, str) else tuple(axes)
        unknown = [axis for axis in axes if axis not in AXES]
        if unknown or not axes or len(set(axes)) < len(axes):
            raise TaskError(f"task '{self.name}': axes {axes} cannot be used.",
                            cure=f'Name one or more of {" ".join(AXES)}, each once.', value=axes)
        return np.array([axis in axes for axis in AXES], dtype=float)

    def _set_limit(self, name, value, unit):
        try:
            limit = float(value)
        except (TypeError, ValueError):
            limit = np.nan
        if not limit > 0.0:
            raise TaskError(f"task '{self.name}': {name} = {value!r} is not allowed.",
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
                raise TaskError(f"task '{self.name}': {name} needs damping, but kd is 0.",
                                cure='Give kd > 0, or -1 for critical damping.', parameter=name)

    def _read_pose(self, pose):
        try:
            if isinstance(pose, (tuple, list)) and len(pose) == 2:
                pose = np.concatenate([np.asarray(part, dtype=float).reshape(-1) for part in pose])
            pose = np.array(pose, dtype=float)
        except (TypeError, ValueError):
            pose = np.empty(0)
        if pose.shape not in {(4, 4), (7,)}:
            raise self._refusal('pose', pose, 'Give (4, 4), or 7 numbers [x y z qx qy qz qw].')
        if not np.isfinite(pose).all():
            raise self._refusal('pose', pose, 'Give finite numbers.')
        if pose.shape == (7,):
            norm = np.linalg.norm(pose[3:])
            if abs(norm - 1.0) > 1e-2:
                raise self._refusal('quaternion', pose[3:], f'Its norm is {norm:.3g}; give a unit '
                                    'quaternion [x y z w].')
            return pose[:3], matrix_from_quaternion(pose[3:] / norm)
        R = pose[:3, :3]
        if abs(R @ R.T - np.eye(3)).max() > 1e-4 or np.linalg.det(R) < 0.0:
            raise self._refusal('rotation', R, 'Give an orthonormal, right-handed (3, 3) part.')
        if abs(pose[3] - (0.0, 0.0, 0.0, 1.0)).max() > 1e-9:
            raise self._refusal('transform', pose, 'Its last row must be 0 0 0 1.')
        return pose[:3, 3], matrix_from_quaternion(quaternion_from_matrix(R))

    def _six(self, values, name):
        if values is None:
            return np.zeros(6)
        try:
            six = np.array(values, dtype=float)
        except (TypeError, ValueError):
            six = np.empty(0)
        if six.shape != (6,) or not np.isfinite(six).all():
            raise self._refusal(name, values, 'Give 6 finite numbers, linear first.')
        return six

    def _refusal(self, what, value, cure):
        return TaskError(f"task '{self.name}': target {what} cannot be used.", cure=cure,
                         frame=self.frame, value=value)

    def _pose(self, position, rotation):
        if not np.isfinite(self._record[position]).all() or not self._record[rotation].any():
            return None
        return np.concatenate([self._record[position],
                               quaternion_from_matrix(self._record[rotation])])

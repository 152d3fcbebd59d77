# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The pose task: position and orientation of a frame, or some axes of them, go to a goal."""

import numpy as np

from opspace_control.errors import TaskError
from opspace_control.tasks.gains import damping_gain, stiffness_gain
from opspace_control.tasks.goal import GoalTask
from opspace_control.tasks.impedance import Impedance
from opspace_control.tasks.targets import ANGULAR, LINEAR

MODES = ('decoupled', 'impedance')


class PoseTask(GoalTask):
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

    def __init__(self, frame, *, kp=100.0, kd=-1.0, max_linear_velocity=np.inf,
                 max_angular_velocity=np.inf, impedance=None, mode=None, trajectory=None,
                 **specification):
        super().__init__(frame, trajectory=trajectory, **specification)
        self.mode = MODES[impedance is not None] if mode is None else mode
        self.impedance = self._own(
            Impedance() if impedance is None else impedance, Impedance, 'spring')
        self.set_gains(kp, kd)
        self.max_linear_velocity = max_linear_velocity
        self.max_angular_velocity = max_angular_velocity

    def set_gains(self, kp=None, kd=None):
        """Change kp, 1/s², or kd, 1/s, (6,) or one number; a critical ``kd`` follows ``kp``."""
        owner = self._owner
        new_kp = self.kp if kp is None else stiffness_gain(kp, (6,), owner)
        wanted_kd = self._wanted_kd if kd is None else kd
        new_kd = damping_gain(wanted_kd, new_kp, (6,), owner)
        self._check_limitable(new_kp, new_kd)
        self._wanted_kd = np.copy(wanted_kd)
        self._record['kp'], self._record['kd'] = new_kp, new_kd

    @property
    def kp(self):
        """Stiffness, (6,), 1/s²."""
        return self._record['kp'].copy()

    @property
    def kd(self):
        """Damping, (6,), 1/s, critical values resolved."""
        return self._record['kd'].copy()

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

    def _parts(self):
        yield from super()._parts()
        yield self.impedance, 'spring'


class PositionTask(PoseTask):
    """Move a frame's origin to a goal along some of ``x y z``: a `PoseTask` without rotation."""

    possible_axes = LINEAR

    def __init__(self, frame, *, axes=LINEAR, **options):
        super().__init__(frame, axes=axes, **options)

    def set_target(self, position, velocity=None, acceleration=None):
        """
        Set the goal as `PoseTask.set_target` does.

        Parameters
        ----------
        position : (3,) array, or a pose
            m.
        velocity, acceleration : (3,) or (6,) array, optional
            Feed-forward, m/s and m/s²; zero if not given. Angular parts are ignored.

        Raises
        ------
        TaskError
            As of a `PoseTask`.

        """
        super().set_target(position, velocity, acceleration)


class OrientationTask(PoseTask):
    """Rotate a frame to a goal about some of ``rx ry rz``: a `PoseTask` without translation."""

    possible_axes = ANGULAR

    def __init__(self, frame, *, axes=ANGULAR, **options):
        super().__init__(frame, axes=axes, **options)

    def set_target(self, orientation, velocity=None, acceleration=None):
        """
        Set the goal as `PoseTask.set_target` does.

        Parameters
        ----------
        orientation : (4,) or (3, 3) array, or a pose
            Quaternion ``[x y z w]``, or rotation matrix.
        velocity, acceleration : (3,) or (6,) array, optional
            Angular feed-forward, rad/s and rad/s²; zero if not given. Linear parts are ignored.

        Raises
        ------
        TaskError
            As of a `PoseTask`.

        """
        super().set_target(orientation, velocity, acceleration)

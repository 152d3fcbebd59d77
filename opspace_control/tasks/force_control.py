# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How a task controls force along some of its axes: what is wanted, gains, approach and impact."""

import numpy as np

from opspace_control.errors import TaskError
from opspace_control.tasks.force_law import FORCE
from opspace_control.tasks.gains import axis_numbers, one_number
from opspace_control.tasks.sensor import ForceSensor
from opspace_control.tasks.targets import read_six


class _Number:
    """A number of the record as an attribute, checked when it is set."""

    def __init__(self, field, part, what, **check):
        self._field, self._part, self._check, self.__doc__ = field, part, check, what

    def __set_name__(self, _owner, name):
        self._name = name

    def __get__(self, control, _owner=None):
        if control is None:
            return self
        value = control._record[self._field]
        return float(value if self._part is None else value[self._part])

    def __set__(self, control, value):
        value = one_number(value, self._name, control._owner, **self._check)
        if self._part is None:
            control._record[self._field] = value
        else:
            control._record[self._field][self._part] = value


class ForceControl:
    """
    The force law of a task, [K87] V, for those of its axes along which force is controlled.

    ``F_a = f_d + kp (f_d − f) + ki ∫ (f_d − f) dt`` beside the damping ``Λ a_s*``, (5.5); f is the
    measured wrench, and without a sensor ``F_a = f_d``. Free of contact the task approaches where
    the force points, at a velocity; the first touch is damped for ``impact_time``, (5.7), and then
    the force comes in within the same time.

    However stiff a surface is, it does not ring for a kp up to ``damping / (2π cutoff)``, with the
    cut-off of the sensor's filter in Hz; ki wants to be well below the damping.

    Parameters
    ----------
    sensor : ForceSensor, optional
        Without one force is controlled open loop, and contact is where the approach is held up.
    kp : float or (6,) array
        Of the force error, without unit: three linear axes, three angular ones.
    ki : float or (6,) array
        Of its integral, 1/s.
    damping : float or (6,) array
        k_vf of a_s*, 1/s.
    max_force, max_moment : float
        What an axis presses with at most, N and N·m.
    approach_velocity, approach_rate : float
        At which contact is sought, m/s and rad/s. Both zero: force acts at once and always, there
        is no contact to be found or lost.
    contact_force, contact_moment : float
        From which on it is contact, N and N·m; or from half of what is wanted, if that is less.
    impact_time : float
        s.

    Raises
    ------
    TaskError
        For a number that cannot be used; names it.

    """

    max_force = _Number('highest', 0, 'What an axis presses with at most, N.', positive=True,
                        finite=False)
    max_moment = _Number('highest', 1, 'The same of rotation, N·m.', positive=True, finite=False)
    approach_velocity = _Number('approach', 0, 'At which contact is sought, m/s.')
    approach_rate = _Number('approach', 1, 'The same of rotation, rad/s.')
    contact_force = _Number('threshold', 0, 'From which on it is contact, N.', positive=True,
                            finite=False)
    contact_moment = _Number('threshold', 1, 'The same of rotation, N·m.', positive=True,
                             finite=False)
    impact_time = _Number('impact_time', None, 'Of pure damping, s.', positive=True)

    def __init__(self, sensor=None, *, kp=0.1, ki=10.0, damping=60.0, max_force=100.0,
                 max_moment=10.0, approach_velocity=0.05, approach_rate=0.2, contact_force=2.0,
                 contact_moment=0.2, impact_time=0.03):
        self._owner = 'force control'
        self._record = np.zeros(1, FORCE)[0]
        self._in_use = False
        if not (sensor is None or isinstance(sensor, ForceSensor)):
            raise TaskError(f'{self._owner}: {sensor!r} is not a sensor.',
                            cure='Give a ForceSensor, or None.', parameter='sensor', value=sensor)
        self._sensor = sensor
        self.set_gains(kp, ki, damping)
        self._record['sensor'] = -1
        self.max_force, self.max_moment = max_force, max_moment
        self.approach_velocity, self.approach_rate = approach_velocity, approach_rate
        self.contact_force, self.contact_moment = contact_force, contact_moment
        self.impact_time = impact_time

    def set_target(self, wrench=None):
        """
        Set what the robot is to apply, along the axes of the task, at its frame's origin.

        Parameters
        ----------
        wrench : (6,) array, optional
            ``[f; n]``, N and N·m; zero if not given. Only force axes take part.

        Raises
        ------
        TaskError
            If it is malformed, not finite, or more than ``max_force`` or ``max_moment`` along a
            force axis; then nothing has changed.

        """
        wrench = read_six(wrench, 'target wrench', self._owner)
        excess = abs(wrench) > np.repeat(self._record['highest'], 3)
        if excess.any():
            raise TaskError(
                f'{self._owner}: target wrench {wrench} is more than max_force = '
                f'{self.max_force:g} N or max_moment = {self.max_moment:g} N·m.',
                cure='Want less, or allow more.', value=wrench)
        self._record['target'], self._record['leaving'] = wrench, False

    def release(self):
        """Want no force any more: what is pressed with fades within some tenths of a second."""
        if self.contact == 'none':
            self.set_target()
        else:
            self._record['leaving'] = True

    def restart(self):
        """Forget contact, what was wanted and what was summed up, at once."""
        self.set_target()
        self._record['contact'] = self._record['held_up'] = self._record['integral'] = 0.0
        self._record['rising'] = False

    def set_gains(self, kp=None, ki=None, damping=None):
        """
        Change gains; what is not given stays.

        Parameters
        ----------
        kp, ki, damping : float or (6,) array, optional
            Without unit, 1/s, 1/s.

        Raises
        ------
        TaskError
            If a gain is refused; then none has changed.

        """
        new = {name: axis_numbers(value, f'force {name}', self._owner)
               for name, value in (('kp', kp), ('ki', ki), ('damping', damping))
               if value is not None}
        if not new.get('damping', np.ones(6)).all():
            raise TaskError(f'{self._owner}: force damping = {damping!r} is not allowed.',
                            cure='Give more than zero: else nothing ends a motion along the axis.',
                            parameter='damping', value=damping)
        for name, value in new.items():
            self._record[name] = value

    @property
    def sensor(self):
        """The ForceSensor, or None."""
        return self._sensor

    @property
    def target(self):
        """What the robot is to apply, (6,), N and N·m, along the task's axes."""
        return self._record['target'].copy()

    @property
    def measured(self):
        """
        What the robot applied at the last cycle, (6,), N and N·m, along the task's axes.

        At the task's frame's origin, filtered; None without a sensor, or while it is silent.
        """
        return self._record['measured'].copy() if self._record['trust'] > 0.0 else None

    @property
    def contact(self):
        """'none', 'impact' (it is damped) or 'contact', at the last cycle."""
        stage = self._record['contact']
        return 'none' if stage <= 0.0 else 'impact' if stage <= 1.0 else 'contact'

    @property
    def closed_loop(self):
        """Whether the measured wrench took part at the last cycle."""
        return bool(self._record['trust'] > 0.0)

    @property
    def kp(self):
        """Gain of the force error, (6,), without unit."""
        return self._record['kp'].copy()

    @property
    def ki(self):
        """Gain of its integral, (6,), 1/s."""
        return self._record['ki'].copy()

    @property
    def damping(self):
        """k_vf of a_s*, (6,), 1/s."""
        return self._record['damping'].copy()

    @property
    def in_use(self):
        """Whether it belongs to a task."""
        return self._in_use

    def _belong_to(self, owner, record):
        """Become part of a task: the name of errors from now on, and where the numbers are."""
        self._owner, self._record, self._in_use = owner, record, True

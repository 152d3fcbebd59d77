# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Force control of a task along some of its axes: target, gains, approach and impact."""

import numpy as np

from opspace_control.compiled import as_record, recorded
from opspace_control.errors import TaskError
from opspace_control.tasks.arguments import (
    RecordedNumber,
    TaskPart,
    read_six,
    refuse_none,
    task_numbers,
)
from opspace_control.tasks.force_law import FORCE_CONTROL, release_force, restart_force
from opspace_control.tasks.sensor import ForceSensor

_POSITIVE = {'above': 0.0, 'infinite': True}


class ForceControl(TaskPart):
    """
    The force law of a task, [K87] V, for those of its axes along which force is controlled.

    ``F_a = f_d + kp (f_d − f) + ki ∫ (f_d − f) dt`` and the damping ``Λ a_s*``, (5.5); f is the
    measured wrench, and without a sensor ``F_a = f_d``. Without contact the task moves in the
    direction of the force at the approach velocity. The first touch is damped for ``impact_time``,
    (5.7); then the force increases to F_a within the same time.

    For kp up to ``damping / (2π cutoff)``, with the cut-off of the sensor's filter in Hz, contact
    with a surface of any stiffness does not oscillate; ki should be well below the damping.

    Parameters
    ----------
    sensor : ForceSensor, optional
        Without one force is controlled open loop, and a blocked approach counts as contact.
    kp, ki, damping : float or (6,) array
        Gain of the force error, without unit, and of its integral, 1/s, and k_vf of a_s*, 1/s:
        three linear axes, three angular ones.
    max_force, max_moment : float
        Limit of F_a of each axis, N and N·m.
    approach : (float, float)
        Velocity of the approach to contact, m/s and rad/s; attributes ``approach_velocity`` and
        ``approach_rate``. With both zero force acts at once, in free space, too.
    contact_threshold : (float, float)
        Threshold of contact, N and N·m; attributes ``contact_force`` and ``contact_moment``. Half
        of the target if that is less.
    impact_time : float
        Time of pure damping after the first touch, s.

    """

    max_force = RecordedNumber('limit', 'Limit of the force of an axis, N.', 0, **_POSITIVE)
    max_moment = RecordedNumber('limit', 'Limit of the moment about an axis, N·m.', 1, **_POSITIVE)
    approach_velocity = RecordedNumber('approach', 'Velocity of the approach to contact, m/s.', 0)
    approach_rate = RecordedNumber('approach', 'The same of rotation, rad/s.', 1)
    contact_force = RecordedNumber('threshold', 'Threshold of contact, N.', 0, **_POSITIVE)
    contact_moment = RecordedNumber('threshold', 'The same of rotation, N·m.', 1, **_POSITIVE)
    impact_time = RecordedNumber('impact_time', 'Time of pure damping, s.', above=0.0)
    sensor = property(lambda self: self._sensor, doc='The ForceSensor, or None.')
    target = recorded('target', 'Wrench that the robot is to apply, (6,), N and N·m, task axes.')
    kp = recorded('kp', 'Gain of the force error, (6,), without unit.')
    ki = recorded('ki', 'Gain of its integral, (6,), 1/s.')
    damping = recorded('damping', 'k_vf of a_s*, (6,), 1/s.')

    def __init__(self, sensor=None, *, kp=0.1, ki=10.0, damping=60.0, max_force=100.0,
                 max_moment=10.0, approach=(0.05, 0.2), contact_threshold=(2.0, 0.2),
                 impact_time=0.03):
        super().__init__('force control', FORCE_CONTROL)
        if not (sensor is None or isinstance(sensor, ForceSensor)):
            raise TaskError(f'{self._owner}: {sensor!r} is not a sensor.',
                            cure='Give a ForceSensor, or None.', parameter='sensor', value=sensor)
        self._sensor = sensor
        refuse_none(self._owner, kp=kp, ki=ki, damping=damping)
        self.set_gains(kp, ki, damping)
        self._record['sensor'] = -1
        self.max_force, self.max_moment = max_force, max_moment
        for name, pair in (('approach', approach), ('contact_threshold', contact_threshold)):
            if np.shape(pair) != (2,):
                raise TaskError(f'{self._owner}: {name} = {pair!r} does not fit.', parameter=name,
                                cure='Give two numbers, linear and angular.', value=pair)
        self.approach_velocity, self.approach_rate = approach
        self.contact_force, self.contact_moment = contact_threshold
        self.impact_time = impact_time

    def set_target(self, wrench=None):
        """
        Set the wrench that the robot applies, along the axes of the task, at its frame's origin.

        ``[f; n]`` (6,), N and N·m; zero if not given. Only components of force axes are used. A
        TaskError refuses more than ``max_force`` or ``max_moment`` along a force axis.
        """
        wrench = read_six(wrench, 'target wrench', self._owner)
        excess = abs(wrench) > np.repeat(self._record['limit'], 3)
        if excess.any():
            raise TaskError(
                f'{self._owner}: target wrench {wrench} is more than max_force = '
                f'{self.max_force:g} N or max_moment = {self.max_moment:g} N·m.',
                cure='Give a smaller wrench, or a larger max_force or max_moment.', value=wrench)
        self._record['target'], self._record['fading'] = wrench, False

    def release(self):
        """Let the target force fade to zero within some tenths of a second."""
        release_force(as_record(self._record))

    def restart(self):
        """Reset contact, target and integral at once."""
        restart_force(as_record(self._record))

    def set_gains(self, kp=None, ki=None, damping=None):
        """Change gains, (6,) or one number; those not given stay."""
        new = {name: task_numbers(value, f'force {name}', self._owner, (6,), lowest=0.0)
               for name, value in (('kp', kp), ('ki', ki), ('damping', damping))
               if value is not None}
        if not new.get('damping', np.ones(6)).all():
            raise TaskError(f'{self._owner}: force damping = {damping!r} is not allowed.',
                            cure='Give a positive number: only it damps motion along the axis.',
                            parameter='damping', value=damping)
        for name, value in new.items():
            self._record[name] = value

    @property
    def measured(self):
        """
        Wrench that the robot applied at the last cycle, (6,), N and N·m, along the task's axes.

        At the task's frame's origin, filtered; None without a sensor or without its readings.
        """
        return self._record['measured'].copy() if self.closed_loop else None

    @property
    def contact(self):
        """'none', 'impact' (pure damping) or 'contact', at the last cycle."""
        stage = self._record['contact']
        return 'none' if stage <= 0.0 else 'impact' if stage <= 1.0 else 'contact'

    @property
    def closed_loop(self):
        """Whether the last cycle used the measured wrench."""
        return bool(self._record['validity'] > 0.0)

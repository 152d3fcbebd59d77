# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The impedance of a task: stiffness and damping ratio."""

import numpy as np

from opspace_control.errors import TaskError
from opspace_control.tasks.gains import TaskPart, axis_numbers, one_number, recorded
from opspace_control.tasks.impedance_law import SPRING

# Above it the fast half of every mode is faster than any control cycle.
_HIGHEST_RATIO = 10.0


class Impedance(TaskPart):
    """
    A spring between a task's frame and its goal, and a damper; the inertia is the robot's own.

    ``F = K e − D ẋ``: a force f along an axis displaces the frame by f / K. The damping ratio does
    not depend on the posture.

    Parameters
    ----------
    stiffness : float or (6,) array
        K, N/m for three linear axes, N·m/rad for three angular ones.
    damping_ratio : float
        ζ, without unit; 1 is critical.

    """

    stiffness = recorded('stiffness', 'K, (6,), N/m and N·m/rad.')
    damping_ratio = recorded('damping_ratio', 'ζ, without unit.')

    def __init__(self, stiffness=(500.0, 500.0, 500.0, 50.0, 50.0, 50.0), damping_ratio=1.0):
        super().__init__('impedance', SPRING)
        self._record['p'] = np.nan
        self.set(stiffness, damping_ratio)

    def set(self, stiffness=None, damping_ratio=None):
        """Change stiffness or damping ratio; those not given stay."""
        K = (self.stiffness if stiffness is None
             else axis_numbers(stiffness, 'stiffness', self._owner))
        zeta = (self.damping_ratio if damping_ratio is None
                else one_number(damping_ratio, 'damping_ratio', self._owner, positive=True))
        if zeta > _HIGHEST_RATIO:
            raise TaskError(f'{self._owner}: damping_ratio = {damping_ratio!r} is not allowed.',
                            cure=f'1 is critical; give at most {_HIGHEST_RATIO:g}.',
                            parameter='damping_ratio', value=damping_ratio)
        self._record['stiffness'], self._record['damping_ratio'] = K, zeta

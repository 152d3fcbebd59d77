# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How strongly effectors press on an object."""

from dataclasses import dataclass

import numpy as np

from opspace_control.control.grasping.grasp_law import MAX_BASIS
from opspace_control.errors import ControlError


@dataclass(frozen=True)
class GraspForce:
    """Grasp force of a `Grasp`: the compression of every member of its virtual linkage."""

    minimum: float = 0.0
    maximum: float = 200.0
    """N; between ``minimum`` and this, the least force with which no grip slips."""
    friction: float = np.inf
    """Coefficient of friction of all grips; inf where they cannot slip."""
    friction_margin: float = 1.5
    """Divisor of that coefficient, 1 or more."""
    minimum_effort: bool = False
    """Whether internal forces that are not commanded minimise the efforts of the drives, each
    relative to its limit."""


def read_grasp_force(given, name, count):
    """Return a GraspForce, of which a number is the minimum, for a grasp of ``count`` effectors."""
    force = given if isinstance(given, GraspForce) else GraspForce(given)
    internal = 6 * count - 7
    for right, what, cure in (
            (0.0 <= force.minimum <= force.maximum < np.inf, f'minimum {force.minimum} N',
             f'Give a number from 0 to the maximum, {force.maximum:g} N.'),
            (force.friction > 0.0, f'friction {force.friction}', 'Give a positive coefficient.'),
            (1.0 <= force.friction_margin < np.inf, f'friction_margin {force.friction_margin}',
             'Give 1 or more.'),
            (not force.minimum_effort or internal <= MAX_BASIS,
             f'minimum_effort with {internal} internal forces',
             f'Leave it off: {MAX_BASIS} at most can minimise the effort.')):
        if not right:
            raise ControlError(f"Grasp '{name}': a grasp force of {what} cannot be used.",
                               cure=cure, grasp=name, value=given)
    return force

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a grasp is made of, checked before anything is made of it."""

import numpy as np

from opspace_control.control.grasping.grasp_law import WAYS
from opspace_control.errors import ControlError
from opspace_control.model import Payload

# What the grips of all effectors hold; but for fingertips the first one is rigid in any case.
KINDS = {'rigid': ('x', 'y', 'z', 'rx', 'ry', 'rz'), 'point': ('x', 'y', 'z'),
         'fingertips': ('x', 'y', 'z')}


def check_grasp(grasp, payload, poses, kind, friction, margin, tolerance):
    """Raise a ControlError for arguments of a `Grasp` that cannot be used."""
    effectors = grasp.effectors
    count = len(effectors)
    for wrong, what, cure in (
            (count < 2 or len(set(effectors)) < count, f'effectors {effectors}',
             'Name two or more links, each once.'),
            (payload is not None and not isinstance(payload, Payload), f'payload {payload!r}',
             'Give a Payload(mass, center_of_mass, inertia).'),
            (poses is not None and len(poses) != count, 'grasp_poses',
             f'Give one for each of the {count} effectors.'),
            (kind not in KINDS, f'kind {kind!r}', f'Take one of {", ".join(KINDS)}.'),
            (not friction > 0.0, f'friction {friction}', 'Give a positive coefficient.'),
            (not 1.0 <= margin < np.inf, f'friction_margin {margin}', 'Give 1 or more.'),
            (np.shape(tolerance) != (2,) or not np.min(tolerance) > 0.0,
             f'tolerance {tolerance}', 'Give a distance in m and an angle in rad.')):
        if wrong:
            raise ControlError(f"Grasp '{grasp.name}': {what} cannot be used.", cure=cure,
                               grasp=grasp.name)


def read_internal_forces(grasp, tensions, moments):
    """Return tensions (members,) and moments (N, 3), None where nothing is asked for."""
    N = len(grasp.effectors)
    count = 1 if N == 2 else 3 * (N - 2)
    asked = []
    try:
        for given, shape in ((tensions, (count,)), (moments, (N, 3))):
            asked.append(given if given is None else np.broadcast_to(
                np.array(given, float), shape).copy())
    except (TypeError, ValueError):
        asked = [np.nan]
    if not all(part is None or np.isfinite(part).all() for part in asked):
        raise ControlError(
            f"Grasp '{grasp.name}': these internal forces cannot be used.",
            cure=f'Give tensions of {count} and moments ({N}, 3), finite.', grasp=grasp.name)
    return tuple(asked)


def check_ways(grasp):
    """Raise a ControlError where there are too many internal forces to spare the drives with."""
    most = 6 * len(grasp.effectors) - 7
    if most > WAYS:
        raise ControlError(
            f"Grasp '{grasp.name}': there are {most} internal forces beside the squeeze, and "
            f'{WAYS} at most can spare the drives.', cure='Leave minimal_effort off.',
            grasp=grasp.name)

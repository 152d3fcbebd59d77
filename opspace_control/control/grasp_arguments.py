# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a grasp is made of, checked before anything is made of it."""

import numpy as np

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

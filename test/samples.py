# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A handful of robots, small to large, and random states, to try identities of dynamics on."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from random_robots import random_urdf
from robots import REAL_ROBOTS, TALOS, robot_file

from opspace_control import RobotModel, RobotState

URDF = Path(__file__).parents[1] / 'urdf'


class Sample(NamedTuple):
    """A robot and two frames; their twelve directions are independent but on the planar arm."""

    urdf: str
    model: RobotModel
    frames: tuple


# Together: every joint type, branches, welded links.
_FRAMES = {
    'planar_3r': ('forearm', 'hand'),
    'dual_arm': ('l_hand', 'r_hand'),
    'humanoid': ('l_hand', 'r_hand'),
    'talos': ('gripper_left_base_link', 'gripper_right_base_link'),
    'tree': ('link_4', 'link_11'),
}


@cache
def sample(name, floating_base=False, locked_joints=()):
    """Return the `Sample` of this name."""
    if name == 'tree':
        urdf = random_urdf(seed=2, n_joints=8, n_fixed=3)
    else:
        urdf = (robot_file(TALOS) if name == 'talos' else URDF / f'{name}.urdf').read_text()
    model = RobotModel.from_urdf(urdf, floating_base=floating_base, locked_joints=locked_joints)
    return Sample(urdf, model, _FRAMES[name])


def _on_both_bases(names):
    return pytest.mark.parametrize(('name', 'floating_base'), [
        pytest.param(name, base, id=f'{name}-{"floating" if base else "fixed"}')
        for base in (False, True) for name in names])


by_base = pytest.mark.parametrize('floating_base', [False, True], ids=['fixed', 'floating'])
by_real_robot = pytest.mark.parametrize('name', REAL_ROBOTS,
                                        ids=lambda name: name.split('/')[-1][:-5])
by_sample = _on_both_bases(_FRAMES)
by_spatial_sample = _on_both_bases([name for name in _FRAMES if name != 'planar_3r'])


def random_state(model, seed, speed=1.0):
    """Return a state within 2 rad or m of neutral, moving at up to ``speed`` rad/s or m/s."""
    rng = np.random.default_rng(seed)
    q = model.integrate(model.neutral(), rng.uniform(-2.0, 2.0, model.nv), 1.0)
    return RobotState(model, q, rng.uniform(-speed, speed, model.nv))


def difference(actual, expected, *units):
    """
    Return the largest difference over the largest expected entry, both divided by ``units``.

    One vector of units for each axis; none where the numbers have one unit already. Numbers that
    are nothing but rounding are not divided by themselves.
    """
    assert actual.shape == expected.shape
    for axis, unit in enumerate(units):
        shape = [-1 if k == axis else 1 for k in range(actual.ndim)]
        actual, expected = actual / unit.reshape(shape), expected / unit.reshape(shape)
    largest = abs(expected).max(initial=0.0)
    return abs(actual - expected).max(initial=0.0) / (largest if largest > 1e-9 else 1.0)

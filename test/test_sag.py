# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How far a load moves a hand, as `opspace check` says, against a simulated hand with the load."""

import numpy as np
import pytest
from ideal_robot import IdealRobot
from samples import random_state, sample

from opspace_control import (
    DisturbanceObserver,
    OperationalSpaceController,
    PoseTask,
    PositionTask,
    RelativeTask,
)
from opspace_control.cli.preflight.facts import LOAD, sag

MODEL = sample('dual_arm').model
SHARE, DT = 1e-3, 1e-3  # of the load, so that the hand moves little; s


def carried(tasks, bounds):
    """Return how far a share of the load moves the left hand, m and rad, times 1 / share."""
    controller = OperationalSpaceController(MODEL, tasks)
    controller.disturbance = DisturbanceObserver(
        20.0, **{name: SHARE * value for name, value in bounds.items()})
    state, force = random_state(MODEL, 2, speed=0.0), np.zeros(6)
    force[2] = -SHARE * LOAD * 9.81
    ideal = IdealRobot(MODEL, 'l_hand')
    for _ in range(3000):
        tau = controller.compute_torque(state, dt=DT)
        state = ideal.after(state, tau, DT, force)
    return np.linalg.norm(tasks[0].error.reshape(2, 3), axis=1) / SHARE


@pytest.mark.parametrize('bounds', [(0.0, 0.0), (4.0, 1.0), (20.0, 5.0)])
@pytest.mark.parametrize('kind', [PoseTask, PositionTask])
def test_it_is_what_a_simulated_hand_does(kind, bounds):
    bounds = dict(zip(('max_force', 'max_moment'), bounds, strict=True))
    task = kind('l_hand', kp=[100.0, 150.0, 200.0, 300.0, 120.0, 80.0])
    said = sag(MODEL, random_state(MODEL, 2, speed=0.0), task, {
        f'disturbance.{name}': value for name, value in bounds.items()})
    parts = slice(2 if kind is PoseTask else 1)  # that are controlled
    np.testing.assert_allclose(carried([task, PoseTask('r_hand')], bounds)[parts],
                               said['compensated'][parts], rtol=0.02, atol=2e-3)
    assert said['bare'][0] > 0.1
    assert said['compensated'][0] <= said['bare'][0] * (1.0 - min(1.0, bounds['max_force'] / 20.0))


def test_none_where_it_is_not_known():
    state = random_state(MODEL, 2, speed=0.0)
    for task in (RelativeTask('l_hand', 'r_hand'), PoseTask('l_hand', mode='impedance'),
                 PoseTask('l_hand', force_axes='z'), PoseTask('l_hand', axes_frame='r_hand')):
        assert sag(MODEL, state, task, {}) is None

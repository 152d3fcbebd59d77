# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Efforts for a robot that is not controlled."""

import math

import numpy as np
import pytest

from opspace_control import OperationalSpaceController, RobotModel, RobotState
from opspace_control.control import DAMPING_RATE
from opspace_control.control.brake import Brake
from opspace_control.share import share_directory

MODEL = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')


@pytest.fixture
def controller():
    return OperationalSpaceController(MODEL)


@pytest.fixture
def state():
    rng = np.random.default_rng(0)
    return RobotState(MODEL, 0.3 * rng.normal(size=MODEL.nq), 0.1 * rng.normal(size=MODEL.nv))


@pytest.fixture
def out():
    return np.full(MODEL.nv, np.nan)


def test_weight_is_gravity_unless_the_hardware_carries_it(controller, state, out):
    Brake(controller).weight(state, out)
    np.testing.assert_array_equal(out, MODEL.gravity(state))
    controller.gravity_compensation = False
    Brake(controller).weight(state, out)
    np.testing.assert_array_equal(out, 0.0)


def test_carry_takes_energy_out_of_any_motion_and_holds_the_robot(controller, state, out):
    Brake(controller).carry(state, out)
    damping = out - MODEL.gravity(state)
    np.testing.assert_allclose(damping, controller.damping_torque(state), atol=1e-9)
    assert damping @ state.v < 0.0


def test_coast_damps_what_is_left_of_a_motion(controller, state, out):
    brake = Brake(controller)
    brake.coast(state, 0.0, 1.0, out)
    np.testing.assert_allclose(out, controller.damping_torque(state))
    before = out.copy()
    brake.coast(state, 0.2, 0.5, out)
    np.testing.assert_allclose(out, 0.5 * math.exp(-0.2 * DAMPING_RATE) * before)
    brake.coast(state, 0.2, 0.0, out)
    np.testing.assert_array_equal(out, 0.0)

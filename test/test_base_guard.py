# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""States of a floating base: its position like that of a joint, its orientation by turns."""

import numpy as np
import pytest
import robots
from pinocchio import Quaternion, exp3
from test_accepted_state import Judge

from opspace_control import RobotModel, RobotState, SafetyError
from opspace_control.safety.supervisor import POSITION_JUMP

MODEL = RobotModel.from_urdf(robots.chain('revolute'), floating_base=True)
DT = 0.001
SPIN = np.array([2.0, -3.0, 4.0])


@pytest.fixture
def accepted():
    accepted = Judge(MODEL)
    accepted.set_limits(velocity_scale=1.0, position_jump=0.1)
    return accepted


def state(R, w=SPIN, x=0.0, sign=1.0):
    q, v = MODEL.neutral(), np.zeros(MODEL.nv)
    q[0], q[3:7], v[3:6] = x, sign * Quaternion(R).coeffs(), w
    return RobotState(MODEL, q, v)


def accept(accepted, *args, dt=DT, **kwargs):
    accepted.elapse(dt)
    accepted.accept(state(*args, **kwargs))


def test_a_base_that_turns_with_its_rates_is_believed(accepted):
    """Round and round, and the opposite quaternion is the same orientation."""
    R = np.eye(3)
    for k in range(3000):
        accept(accepted, R, sign=(-1.0) ** k)
        R = exp3(SPIN * DT) @ R


def test_a_turn_is_a_jump_and_is_forgotten_with_it(accepted):
    accept(accepted, np.eye(3))
    turned = exp3(np.array([0.0, 0.2, 0.0]))
    for _ in range(3):
        with pytest.raises(SafetyError, match="'base'") as caught:
            accept(accepted, turned)
        assert caught.value.trip is POSITION_JUMP
    accept(accepted, exp3(4 * DT * SPIN))
    accepted.forget()
    accept(accepted, turned)


def test_what_has_jumped_is_followed_by_its_rates(accepted):
    """A second later, 5.4 rad further, the old reading is as good as ever, and no other is."""
    accept(accepted, np.eye(3))
    wrong = exp3(np.array([0.5, 0.0, 0.0]))
    for k in range(1, 1000):
        with pytest.raises(SafetyError):
            accept(accepted, exp3(k * DT * SPIN) @ wrong)
    accept(accepted, exp3(SPIN))


@pytest.mark.parametrize('angle', [0.09, -0.09])
def test_a_small_step_is_none(accepted, angle):
    accept(accepted, np.eye(3), w=np.zeros(3))
    accept(accepted, exp3(np.array([0.0, angle, 0.0])), w=np.zeros(3))


def test_rates_explain_what_happened_while_nobody_looked(accepted):
    accept(accepted, np.eye(3))
    accept(accepted, exp3(0.2 * SPIN), dt=0.2)


def test_a_position_that_jumps_is_named(accepted):
    accept(accepted, np.eye(3))
    with pytest.raises(SafetyError, match="'base/x' jumped"):
        accept(accepted, exp3(DT * SPIN), x=0.2)

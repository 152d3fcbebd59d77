# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Residuals of a recorded motion, and thresholds beyond which something touches the robot."""

from types import SimpleNamespace

import numpy as np
import pytest
from robots import robot_file

from opspace_control import RobotModel, RobotState, StateError
from opspace_control.identification import collision_thresholds, moving_residuals

MODEL = RobotModel.from_urdf_file(
    robot_file('panda.urdf'), locked_joints=['panda_finger_joint1'])
FREE = MODEL.active
RATE, PERIOD, SECONDS = 50.0, 1e-3, 2.0


def motion(unknown=0.0, friction=0.0, gap=None):
    """
    Return a motion and the drives' efforts in it.

    ``unknown`` (k, nv) or a number are joint forces that no model knows; the states of the ``gap``
    (from, to), s, are not valid, and wrong.
    """
    time = np.arange(0.0, SECONDS, PERIOD)
    phase = 2.0 * np.outer(time, np.linspace(1.0, 2.0, MODEL.nv))
    middle = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.7, 0.78, 0.0])
    moved = np.where(FREE, 0.3, 0.0)
    rates = 2.0 * np.linspace(1.0, 2.0, MODEL.nv)
    q = middle + moved * np.sin(phase)
    v, a = moved * rates * np.cos(phase), -moved * rates**2 * np.sin(phase)
    efforts = np.array([MODEL.inverse_dynamics(RobotState(MODEL, *state), acceleration)
                        for *state, acceleration in zip(q, v, a, strict=True)])
    efforts += friction * np.sign(v) - unknown
    efforts[:, ~FREE] = np.nan
    valid = np.ones(len(time), bool)
    if gap:
        valid[(time > gap[0]) & (time < gap[1])] = False
        q[~valid] += 0.5
    return SimpleNamespace(time=time, q=q, v=v, valid=valid), efforts


def test_what_no_model_knows_is_found_joint_by_joint():
    """2 N·m at one joint for half a second, beside 1e-3 at the others."""
    unknown = np.zeros((round(SECONDS / PERIOD), MODEL.nv))
    unknown[500:1000, 3] = 2.0
    peaks = moving_residuals(MODEL, *motion(unknown), rate=RATE)
    assert peaks[3] == pytest.approx(2.0, rel=0.01)
    np.testing.assert_array_less(np.delete(peaks, [3, *np.flatnonzero(~FREE)]), 0.02)
    assert np.isnan(peaks[~FREE]).all()


def test_known_friction_is_no_residual_of_a_joint_that_moves():
    """As a joint turns back, the sign of its friction is not known; that does not count."""
    moved, efforts = motion(friction=3.0)
    left = moving_residuals(MODEL, moved, efforts, rate=RATE, coulomb=3.0)
    assert (moving_residuals(MODEL, moved, efforts, rate=RATE)[FREE] > 2.5).all()
    assert (left[FREE] < 0.2 * 3.0).all()
    slow = moving_residuals(MODEL, moved, efforts, rate=RATE, coulomb=3.0, slow=0.0)
    assert (slow[FREE] > 0.4 * 3.0).all()
    np.testing.assert_allclose(
        collision_thresholds(left, 3.0, 2.0), 2.0 * 3.0 + 2.0 * left)


def test_after_a_gap_it_begins_anew():
    whole, broken = (moving_residuals(MODEL, *motion(gap=gap), rate=RATE)
                     for gap in (None, (0.7, 0.9)))
    np.testing.assert_array_less(broken[FREE], whole[FREE] + 1e-6)


def test_a_rate_that_is_none_is_refused():
    with pytest.raises(StateError, match='rate'):
        moving_residuals(MODEL, *motion(), rate=0.0)

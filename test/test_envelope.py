# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The envelope: efforts bounded in size and rate."""

import numpy as np
import pytest

from opspace_control import RobotModel, SafetyError
from opspace_control.safety.envelope import LONGEST_STEP, Envelope
from opspace_control.safety.supervisor import EFFORT_NOT_FINITE
from opspace_control.share import share_directory

MODEL = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')
LIMITS = MODEL.effort_limits
ELBOW = MODEL.dof_index('l_elbow')
DT = 0.001


@pytest.fixture
def envelope():
    envelope = Envelope(MODEL, LIMITS)
    envelope.set_limits(effort_rate=20.0)
    return envelope


def bounded(envelope, efforts, dt=DT, at_rate_limit=None):
    tau = np.array(efforts, dtype=float)
    count = envelope.clamp(tau, dt)
    assert at_rate_limit in (None, count)
    return tau


class TestEfforts:

    def test_the_first_is_only_clamped(self, envelope):
        np.testing.assert_array_equal(bounded(envelope, 0.9 * LIMITS), 0.9 * LIMITS)
        envelope.restart()
        np.testing.assert_array_equal(bounded(envelope, -3.0 * LIMITS), -LIMITS)

    def test_change_by_no_more_than_the_rate(self, envelope):
        bounded(envelope, np.zeros(MODEL.nv))
        for k in range(1, 60):
            expected = min(0.02 * k, 1.0) * LIMITS
            count = None if k == 50 else MODEL.nv if k < 50 else 0
            np.testing.assert_allclose(bounded(
                envelope, 2.0 * LIMITS, at_rate_limit=count), expected, rtol=1e-12)
        np.testing.assert_allclose(bounded(envelope, -2.0 * LIMITS), 0.98 * LIMITS, rtol=1e-12)

    def test_small_changes_are_exact(self, envelope):
        bounded(envelope, np.zeros(MODEL.nv))
        efforts = np.random.default_rng(0).uniform(-0.02, 0.02, MODEL.nv) * LIMITS
        np.testing.assert_array_equal(bounded(envelope, efforts, at_rate_limit=0), efforts)

    def test_a_late_cycle_is_no_excuse_and_no_time_no_change(self, envelope):
        bounded(envelope, np.zeros(MODEL.nv))
        np.testing.assert_allclose(
            bounded(envelope, LIMITS, 10.0), 20.0 * LONGEST_STEP * LIMITS, rtol=1e-12)
        np.testing.assert_allclose(
            bounded(envelope, LIMITS, 0.0), 20.0 * LONGEST_STEP * LIMITS, rtol=1e-12)

    def test_joints_without_a_limit_have_no_rate_either(self):
        envelope = Envelope(MODEL, np.full(MODEL.nv, np.inf))
        envelope.set_limits(effort_rate=1.0)
        bounded(envelope, np.zeros(MODEL.nv))
        np.testing.assert_array_equal(bounded(envelope, np.full(MODEL.nv, 1e6), 0.0), 1e6)

    @pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
    def test_not_finite_trips_and_changes_nothing(self, envelope, value):
        bounded(envelope, np.zeros(MODEL.nv))
        efforts = LIMITS.copy()
        efforts[ELBOW] = value
        with pytest.raises(SafetyError, match='l_elbow') as error:
            bounded(envelope, efforts)
        assert error.value.trip is EFFORT_NOT_FINITE
        np.testing.assert_allclose(bounded(envelope, LIMITS), 0.02 * LIMITS, rtol=1e-12)

    def test_new_limits_hold_at_once(self, envelope):
        bounded(envelope, np.zeros(MODEL.nv))
        envelope.set_limits(effort_rate=1.0)
        np.testing.assert_allclose(bounded(envelope, LIMITS), 0.001 * LIMITS, rtol=1e-12)

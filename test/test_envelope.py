# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The envelope: efforts bounded in size and rate, states judged by limits and continuity."""

import numpy as np
import pytest

from opspace_control import RobotModel, RobotState, SafetyError
from opspace_control.model import KinematicTree
from opspace_control.safety.envelope import LONGEST_STEP, Envelope
from opspace_control.safety.supervisor import EFFORT_NOT_FINITE, POSITION_JUMP, VELOCITY_LIMIT
from opspace_control.share import share_directory

MODEL = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')
LIMITS = MODEL.effort_limits
ELBOW = MODEL.dof_index('l_elbow')
DT = 0.001
_BODY = ('<inertial><mass value="1"/>'
         '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>')
TURNTABLE = f"""<robot name="turntable"><link name="floor"/><link name="disc">{_BODY}</link>
<link name="lid">{_BODY}</link>
<joint name="table" type="continuous"><parent link="floor"/><child link="disc"/></joint>
<joint name="hinge" type="revolute"><parent link="disc"/><child link="lid"/>
<limit lower="-4" upper="4" effort="1" velocity="9"/></joint></robot>"""


@pytest.fixture
def envelope():
    envelope = Envelope(MODEL, LIMITS)
    envelope.set_limits(effort_rate=20.0, velocity_scale=1.0, position_jump=0.1)
    return envelope


def bounded(envelope, efforts, dt=DT):
    tau = np.array(efforts, dtype=float)
    envelope.bound(tau, dt)
    return tau


def state(moved=0.0, velocity=0.0):
    q, v = MODEL.neutral(), np.zeros(MODEL.nv)
    q[MODEL.q_index[ELBOW]] += moved
    v[ELBOW] = velocity
    return RobotState(MODEL, q, v)


class TestEfforts:

    def test_the_first_is_only_clamped(self, envelope):
        np.testing.assert_array_equal(bounded(envelope, 0.9 * LIMITS), 0.9 * LIMITS)
        envelope.restart()
        np.testing.assert_array_equal(bounded(envelope, -3.0 * LIMITS), -LIMITS)

    def test_change_by_no_more_than_the_rate(self, envelope):
        bounded(envelope, np.zeros(MODEL.nv))
        for k in range(1, 60):
            expected = min(0.02 * k, 1.0) * LIMITS
            np.testing.assert_allclose(bounded(envelope, 2.0 * LIMITS), expected, rtol=1e-12)
            assert k == 50 or envelope.rate_limited == (MODEL.nv if k < 50 else 0)
        np.testing.assert_allclose(bounded(envelope, -2.0 * LIMITS), 0.98 * LIMITS, rtol=1e-12)

    def test_small_changes_are_exact(self, envelope):
        bounded(envelope, np.zeros(MODEL.nv))
        efforts = np.random.default_rng(0).uniform(-0.02, 0.02, MODEL.nv) * LIMITS
        np.testing.assert_array_equal(bounded(envelope, efforts), efforts)
        assert envelope.rate_limited == 0

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


class TestStates:

    def test_the_first_may_be_anywhere(self, envelope):
        envelope.accept(state(moved=2.0))

    def test_a_jump_is_not_taken(self, envelope):
        envelope.accept(state())
        for _ in range(3):
            envelope.elapse(DT)
            with pytest.raises(SafetyError, match=r"'l_elbow' jumped to 1\.0") as error:
                envelope.accept(state(moved=1.0))
            assert error.value.trip is POSITION_JUMP
        envelope.elapse(DT)
        envelope.accept(state(moved=0.05))

    def test_a_jump_never_becomes_true_by_waiting(self, envelope):
        """The arm falls meanwhile: its velocity tells how far, and the jump stays one."""
        envelope.accept(state())
        for k in range(1, 501):
            fallen, velocity = 4.0 * (k * DT) ** 2, 8.0 * k * DT
            envelope.elapse(DT)
            with pytest.raises(SafetyError, match='l_elbow'):
                envelope.accept(state(moved=fallen + 1.0, velocity=velocity))
        envelope.elapse(DT)
        envelope.accept(state(moved=fallen + velocity * DT, velocity=velocity))

    def test_other_joints_are_seen_while_one_has_jumped(self, envelope):
        envelope.accept(state())
        for k in range(1, 11):
            jumped = state(moved=1.0)
            q = jumped.q.copy()
            q[0] = 0.05 * k
            envelope.elapse(DT)
            with pytest.raises(SafetyError, match='l_elbow'):
                envelope.accept(RobotState(MODEL, q, jumped.v))
        q[MODEL.q_index[ELBOW]] -= 1.0
        envelope.accept(RobotState(MODEL, q, jumped.v))

    def test_an_encoder_may_wrap_where_the_joint_turns_freely(self):
        model = KinematicTree.from_urdf(TURNTABLE)
        envelope = Envelope(model, np.ones(2))
        envelope.set_limits(position_jump=0.1)
        envelope.accept(RobotState(model, [3.14, 3.14], [1.0, 0.0]))
        envelope.elapse(DT)
        envelope.accept(RobotState(model, [-3.142, 3.14], [1.0, 0.0]))
        envelope.elapse(DT)
        with pytest.raises(SafetyError, match="'hinge' jumped"):
            envelope.accept(RobotState(model, [-3.141, -3.142], [1.0, 0.0]))
        with pytest.raises(SafetyError, match="'table' jumped"):
            envelope.accept(RobotState(model, [-2.5, 3.14], [1.0, 0.0]))

    def test_motion_at_its_velocity_is_no_jump(self, envelope):
        envelope.accept(state(velocity=3.0))
        envelope.elapse(0.1)
        envelope.accept(state(moved=0.3, velocity=3.0))
        envelope.elapse(0.1)
        with pytest.raises(SafetyError):
            envelope.accept(state(moved=0.3 + 0.8, velocity=3.0))

    def test_time_passes_also_without_good_states(self, envelope):
        envelope.accept(state(velocity=2.0))
        for _ in range(200):
            envelope.elapse(DT)
        envelope.accept(state(moved=0.4, velocity=2.0))

    def test_a_forgotten_state_is_no_measure(self, envelope):
        envelope.accept(state())
        envelope.forget_state()
        envelope.accept(state(moved=1.0))

    @pytest.mark.parametrize('sign', [1.0, -1.0])
    def test_too_fast_trips(self, envelope, sign):
        limit = MODEL.velocity_limits[ELBOW]
        envelope.accept(state(velocity=0.999 * sign * limit))
        with pytest.raises(SafetyError, match=r"'l_elbow' moves at -?5\.05, its limit") as error:
            envelope.accept(state(velocity=1.01 * sign * limit))
        assert error.value.trip is VELOCITY_LIMIT

    def test_too_fast_is_still_a_state(self, envelope):
        envelope.accept(state())
        envelope.elapse(0.2)
        with pytest.raises(SafetyError):
            envelope.accept(state(moved=0.8, velocity=8.0))
        envelope.elapse(DT)
        envelope.accept(state(moved=0.8))

    def test_limits_can_be_wide(self, envelope):
        envelope.set_limits(velocity_scale=1e6, position_jump=1e6)
        envelope.accept(state())
        envelope.accept(state(moved=2.0, velocity=1e3))

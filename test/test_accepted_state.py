# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Which states of a robot are accepted: judged by limits and continuity."""

import numpy as np
import pytest

from opspace_control import RobotModel, RobotState, SafetyError
from opspace_control.model import KinematicTree
from opspace_control.safety.accepted_state import AcceptedState, compare_with_none
from opspace_control.safety.supervisor import POSITION_JUMP, STATE_INVALID, VELOCITY_LIMIT
from opspace_control.share import share_directory

MODEL = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')
ELBOW = MODEL.dof_index('l_elbow')
DT = 0.001
_BODY = ('<inertial><mass value="1"/>'
         '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>')
TURNTABLE = f"""<robot name="turntable"><link name="floor"/><link name="disc">{_BODY}</link>
<link name="lid">{_BODY}</link>
<joint name="table" type="continuous"><parent link="floor"/><child link="disc"/></joint>
<joint name="hinge" type="revolute"><parent link="disc"/><child link="lid"/>
<limit lower="-4" upper="4" effort="1" velocity="9"/></joint></robot>"""


class Judge(AcceptedState):
    """An AcceptedState that is given states of a robot, and the time between them apart."""

    def __init__(self, model):
        super().__init__(model)
        self._ns, self._behind = 1_000_000_000, 0.0

    def elapse(self, dt):
        """Let time pass, s, in which no readable state comes."""
        self._behind += dt

    def accept(self, state):
        """Accept a RobotState."""
        self._ns += round(1e9 * self._behind)
        self._behind = 0.0
        self.accept_at(self._ns, 1e-9 * self._ns, state.q, state.v)

    def accept_at(self, stamp, now, q, v):
        """Accept positions and velocities of a stamp, ns, at a steady time, s."""
        self.note(stamp, q, v)
        self.judge(now)

    def forget(self):
        """Compare the next state with none."""
        compare_with_none(self._records)


@pytest.fixture
def accepted():
    accepted = Judge(MODEL)
    accepted.set_limits(velocity_scale=1.0, position_jump=0.1)
    return accepted


def state(moved=0.0, velocity=0.0):
    q, v = MODEL.neutral(), np.zeros(MODEL.nv)
    q[MODEL.q_index[ELBOW]] += moved
    v[ELBOW] = velocity
    return RobotState(MODEL, q, v)


def test_the_first_may_be_anywhere(accepted):
    accepted.accept(state(moved=2.0))


def test_a_jump_is_not_taken(accepted):
    accepted.accept(state())
    for _ in range(3):
        accepted.elapse(DT)
        with pytest.raises(SafetyError, match=r"'l_elbow' jumped to 1\.0") as error:
            accepted.accept(state(moved=1.0))
        assert error.value.trip is POSITION_JUMP
    accepted.elapse(DT)
    accepted.accept(state(moved=0.05))


def test_a_jump_never_becomes_true_by_waiting(accepted):
    """The arm falls meanwhile: its velocity tells how far, and the jump stays one."""
    accepted.accept(state())
    for k in range(1, 501):
        fallen, velocity = 4.0 * (k * DT) ** 2, 8.0 * k * DT
        accepted.elapse(DT)
        with pytest.raises(SafetyError, match='l_elbow'):
            accepted.accept(state(moved=fallen + 1.0, velocity=velocity))
    accepted.elapse(DT)
    accepted.accept(state(moved=fallen + velocity * DT, velocity=velocity))


def test_other_joints_are_seen_while_one_has_jumped(accepted):
    accepted.accept(state())
    for k in range(1, 11):
        jumped = state(moved=1.0)
        q = jumped.q.copy()
        q[0] = 0.05 * k
        accepted.elapse(DT)
        with pytest.raises(SafetyError, match='l_elbow'):
            accepted.accept(RobotState(MODEL, q, jumped.v))
    q[MODEL.q_index[ELBOW]] -= 1.0
    accepted.accept(RobotState(MODEL, q, jumped.v))


def test_an_encoder_may_wrap_where_the_joint_turns_freely():
    model = KinematicTree.from_urdf(TURNTABLE)
    accepted = Judge(model)
    accepted.set_limits(position_jump=0.1)
    accepted.accept(RobotState(model, [3.14, 3.14], [1.0, 0.0]))
    accepted.elapse(DT)
    accepted.accept(RobotState(model, [-3.142, 3.14], [1.0, 0.0]))
    accepted.elapse(DT)
    with pytest.raises(SafetyError, match="'hinge' jumped"):
        accepted.accept(RobotState(model, [-3.141, -3.142], [1.0, 0.0]))
    with pytest.raises(SafetyError, match="'table' jumped"):
        accepted.accept(RobotState(model, [-2.5, 3.14], [1.0, 0.0]))


def test_motion_at_its_velocity_is_no_jump(accepted):
    accepted.accept(state(velocity=3.0))
    accepted.elapse(0.1)
    accepted.accept(state(moved=0.3, velocity=3.0))
    accepted.elapse(0.1)
    with pytest.raises(SafetyError):
        accepted.accept(state(moved=0.3 + 0.8, velocity=3.0))


def test_time_passes_also_without_good_states(accepted):
    accepted.accept(state(velocity=2.0))
    for _ in range(200):
        accepted.elapse(DT)
    accepted.accept(state(moved=0.4, velocity=2.0))


def test_a_forgotten_state_is_no_measure(accepted):
    accepted.accept(state())
    accepted.forget()
    accepted.accept(state(moved=1.0))


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_too_fast_trips(accepted, sign):
    limit = MODEL.velocity_limits[ELBOW]
    accepted.accept(state(velocity=0.999 * sign * limit))
    with pytest.raises(SafetyError, match=r"'l_elbow' moves at -?5\.05, its limit") as error:
        accepted.accept(state(velocity=1.01 * sign * limit))
    assert error.value.trip is VELOCITY_LIMIT


def test_too_fast_is_still_a_state(accepted):
    accepted.accept(state())
    accepted.elapse(0.2)
    with pytest.raises(SafetyError):
        accepted.accept(state(moved=0.8, velocity=8.0))
    accepted.elapse(DT)
    accepted.accept(state(moved=0.8))


def test_limits_can_be_wide(accepted):
    accepted.set_limits(velocity_scale=1e6, position_jump=1e6)
    accepted.accept(state())
    accepted.accept(state(moved=2.0, velocity=1e3))


@pytest.mark.parametrize(('field', 'value', 'said'), [
    ('q', np.nan, r"q\[.*'l_elbow', is nan"), ('v', np.inf, r"v\[.*'l_elbow', is inf")])
def test_what_is_not_finite_is_no_state(accepted, field, value, said):
    accepted.accept(state())
    wrong = {'q': MODEL.neutral(), 'v': np.zeros(MODEL.nv)}
    wrong[field][MODEL.q_index[ELBOW] if field == 'q' else ELBOW] = value
    with pytest.raises(SafetyError, match=said) as error:
        accepted.accept_at(1_000_000_001, 1.0, wrong['q'], wrong['v'])
    assert error.value.trip is STATE_INVALID
    assert accepted.state.q.tolist() == state().q.tolist()


def test_the_same_state_again_is_no_newer(accepted):
    for now, moved in ((1.0, 0.0), (2.0, 0.0), (3.0, 0.01)):
        accepted.accept_at(5, now, state(moved=moved).q, np.zeros(MODEL.nv))
        assert accepted.last_arrival == now
        assert accepted.last_accepted == (3.0 if moved else 1.0)
    assert accepted._clock['repeated']

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""States are copied and checked; what is refused changes nothing."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from robots import chain

from opspace_control import library
from opspace_control.errors import StateError
from opspace_control.model import KinematicTree, RobotState

ARM = KinematicTree.from_urdf(chain('revolute', 'prismatic'))
# q: base 0-6, j1 7, j2 8-14, j3 15-17.  v: base 0-5, j1 6, j2 7-12, j3 13-15.
WALKER = KinematicTree.from_urdf(
    chain('revolute', 'floating', 'planar', inner='<axis xyz="0 0 1"/>'), floating_base=True)


def test_values_are_copied():
    q, v = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    state = RobotState(ARM, q, v)
    q[:] = v[:] = 0.0
    assert state.q.tolist() == [1, 2]
    assert state.v.tolist() == [3, 4]
    assert state.model is ARM


def test_what_a_state_shows_cannot_be_written():
    state = RobotState(ARM, [1, 2], [3, 4])
    with pytest.raises(ValueError, match='read-only'):
        state.q[0] = 5.0
    with pytest.raises(ValueError, match='read-only'):
        state.v[0] = 5.0
    with pytest.raises(AttributeError):
        state.q = np.zeros(2)
    with pytest.raises(AttributeError):
        state.anything = 1


def test_an_update_is_seen_by_whoever_holds_the_arrays():
    state = RobotState(ARM, [1, 2], [3, 4])
    q, v = state.q, state.v
    state.update([5, 6], (7, 8))
    assert q.tolist() == [5, 6]
    assert v.tolist() == [7, 8]


@pytest.mark.parametrize('q, v, message', [
    ([1.0], [0.0, 0.0], r'q has shape \(1,\); this robot needs \(2,\)'),
    ([[1.0, 2.0]], [0.0, 0.0], r'q has shape \(1, 2\)'),
    ([1.0, 2.0], [0.0], r'v has shape \(1,\)'),
    ([1.0, 2.0], 0.0, r'v has shape \(\)'),
    (None, [0.0, 0.0], r'q has shape \(\)'),
    (['one', 'two'], [0.0, 0.0], 'q is not an array of numbers'),
    ([[1.0], [2.0, 3.0]], [0.0, 0.0], 'q is not an array of numbers'),
    ({'j1': 1.0}, [0.0, 0.0], 'q is not an array of numbers'),
    ([1.0, math.nan], [0.0, 0.0], r"q\[1\], of 'j2', is nan"),
    ([1.0, 2.0], [-math.inf, 0.0], r"v\[0\], of 'j1', is -inf"),
    ([math.inf, -math.inf], [0.0, 0.0], r"q\[0\], of 'j1', is inf"),
])
def test_refused_values_name_the_joint_and_change_nothing(q, v, message):
    state = RobotState(ARM, [1, 2], [3, 4])
    for attempt in (lambda: state.update(q, v), lambda: RobotState(ARM, q, v)):
        with pytest.raises(StateError, match=message) as caught:
            attempt()
        assert caught.value.cure
    assert state.q.tolist() == [1, 2]
    assert state.v.tolist() == [3, 4]


def test_huge_values_are_finite():
    assert RobotState(ARM, [1e300, -1e300], [1e200, 0]).q.tolist() == [1e300, -1e300]


@pytest.mark.parametrize('index, joint', [(0, 'base'), (6, 'base'), (7, 'j1'), (8, 'j2'),
                                          (14, 'j2'), (15, 'j3'), (17, 'j3')])
def test_every_number_of_q_belongs_to_a_joint(index, joint):
    q = WALKER.neutral()
    q[index] = math.nan
    with pytest.raises(StateError) as caught:
        RobotState(WALKER, q, np.zeros(WALKER.nv))
    assert caught.value.joint == joint


@pytest.mark.parametrize('start, joint', [(3, 'base'), (11, 'j2')])
def test_quaternions_are_of_unit_norm(start, joint):
    q, v = WALKER.neutral(), np.zeros(WALKER.nv)
    q[start:start + 4] = 0.5, -0.5, 0.5, 0.5
    state = RobotState(WALKER, q * (1.0 + 9e-7), v)
    assert np.linalg.norm(state.q[start:start + 4]) == pytest.approx(1.0, abs=1e-15)
    q[start:start + 4] *= 1.0 + 2e-6
    with pytest.raises(StateError, match=f"quaternion of joint '{joint}' has norm 1") as caught:
        state.update(q, v)
    assert caught.value.joint == joint
    with pytest.raises(StateError, match='norm 0'):
        state.update(np.zeros(WALKER.nq), v)


def test_normalising_leaves_the_caller_alone():
    q = WALKER.neutral()
    q[6] = 1.0 + 5e-7
    RobotState(WALKER, q, np.zeros(WALKER.nv))
    assert q[6] == 1.0 + 5e-7


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=2, max_size=2))
def test_accepted_is_finite_and_finite_is_accepted(q):
    if np.isfinite(q).all():
        assert RobotState(ARM, q, [0, 0]).q.tolist() == q
    else:
        with pytest.raises(StateError):
            RobotState(ARM, q, [0, 0])


def test_a_copy_has_memory_of_its_own():
    state = RobotState(ARM, [1, 2], [3, 4])
    other = copy.copy(state)
    state.update([0, 0], [0, 0])
    assert other.model is ARM
    assert other.values.tolist() == [1, 2, 3, 4]
    assert other.address == library.address(other.values) != state.address

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from numba import njit

from opspace_control import ControlError
from opspace_control.control.limits.effort_limits import limit_efforts
from opspace_control.control.limits.kinds import (
    ALL_KINDS,
    APPLIED_SHARE,
    DISTANCE_RATE,
    EFFORT,
    FORCE_COMPONENT,
    KIND_TABLE,
    KINDS,
    QUANTITIES,
    bounds_of,
    check_kinds,
    unit_of,
    value_of,
)
from opspace_control.control.limits.limit_law import LIMIT
from opspace_control.model.nodes import ACTIVE, LOCKED, NODE, PASSIVE


@njit
def _limit(nodes, effort_limits, tau):
    return limit_efforts(nodes, effort_limits, tau)


def limit(efforts, limits, status=None):
    """Return the limited efforts and how many were cut."""
    tau = np.array(efforts, dtype=float)
    nodes = np.zeros(tau.size, NODE)
    nodes['v_index'] = np.arange(tau.size)
    nodes['status'] = ACTIVE if status is None else status
    cut = _limit(nodes, np.array(limits, dtype=float), tau)
    return tau, cut


def test_efforts_within_their_limits_are_not_touched():
    efforts = np.random.default_rng(0).uniform(-5.0, 5.0, 100)
    tau, cut = limit(efforts, np.full(100, 5.0))
    np.testing.assert_array_equal(tau, efforts)
    assert cut == 0


def test_each_joint_is_cut_at_its_own_limit_and_counted():
    tau, cut = limit([3.0, -3.0, 3.0, -3.0, 1e308], [2.0, 1.0, np.inf, np.inf, 0.0])
    np.testing.assert_array_equal(tau, [2.0, -1.0, 3.0, -3.0, 0.0])
    assert cut == 3


def test_infinite_efforts_are_cut_and_nan_stays_visible():
    tau, cut = limit([np.inf, -np.inf, np.nan], [2.0, 1.0, 1.0])
    np.testing.assert_array_equal(tau, [2.0, -1.0, np.nan])
    assert cut == 2


def test_what_is_not_ours_to_command_is_exactly_zero():
    tau, cut = limit([9.0, 9.0, 9.0, np.nan], np.full(4, 5.0), [LOCKED, ACTIVE, PASSIVE, LOCKED])
    np.testing.assert_array_equal(tau, [0.0, 5.0, 0.0, 0.0])
    assert cut == 1


def test_nodes_without_an_effort_of_their_own_are_passed_over():
    tau, nodes = np.array([9.0, 9.0]), np.zeros(3, NODE)
    nodes['v_index'] = [0, -1, 1]
    assert _limit(nodes, np.array([1.0, 2.0]), tau) == 2
    np.testing.assert_array_equal(tau, [1.0, 2.0])


def test_kinds_of_limits_without_a_known_quantity_are_refused():
    check_kinds()
    extra = KIND_TABLE | {len(ALL_KINDS): KIND_TABLE[EFFORT]}
    missing = {kind: entry for kind, entry in KIND_TABLE.items() if kind != EFFORT}
    unknown = KIND_TABLE | {EFFORT: KIND_TABLE[EFFORT]._replace(quantity=len(QUANTITIES))}
    for table, wrong in ((extra, len(ALL_KINDS)), (missing, EFFORT), (unknown, EFFORT)):
        with pytest.raises(ControlError, match=rf'\[{wrong}\]'):
            check_kinds(table)


@njit
def _of_kind(limits, rates, kind, a, tau):
    return (value_of(rates, 0, kind, a, tau), unit_of(limits[0], kind, 3.0),
            *bounds_of(limits[0], kind, 3.0))


def test_each_kind_of_a_joints_limits_has_its_value_its_unit_and_its_bounds():
    """A quantity that is none of a joint's gives NaN instead of counting as an acceleration."""
    limits = np.zeros(1, LIMIT)
    limits['determined'], limits['acceleration'], limits['gravity_braking'] = True, 5.0, 7.0
    limits['least'], limits['greatest'], limits['gravity_bound'] = -4.0, 5.0, 6.0
    limits['reason'] = 2, 0  # position, acceleration
    rates, a, tau = np.array([[2.0, 10.0]]), np.array([0.5, 0.25]), np.array([1.5, 9.0])
    found = [_of_kind(limits, rates, kind, a, tau) for kind in ALL_KINDS]
    np.testing.assert_array_equal(found, [
        (1.5, 3.0, -3.0, 3.0), (0.5, 5.0, -4.0, np.inf), (3.5, 7.0, -np.inf, 6.0),
        (0.5, 5.0, -np.inf, 5.0), *[[np.nan] * 4] * 3])
    assert [KIND_TABLE[kind].quantity for kind in ALL_KINDS[KINDS:]] == [
        FORCE_COMPONENT, APPLIED_SHARE, DISTANCE_RATE]

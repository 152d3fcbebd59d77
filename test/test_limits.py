# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
from types import SimpleNamespace as Fields

import numpy as np
import pytest
from numba import njit

from opspace_control import ControlError
from opspace_control.control.limits import bounds
from opspace_control.control.limits.bounds import (
    bound_number,
    bounds_of,
    count_bounds,
    is_violated,
    unit_of,
    value_of,
)
from opspace_control.control.limits.effort_limits import limit_efforts
from opspace_control.control.limits.kinds import (
    BRAKING,
    CONTACT_FORCE,
    DISTANCE,
    EFFORT,
    FORCE_SHARE,
    GRAVITY_TORQUE,
    KIND_TABLE,
    KINDS,
    MOTION,
    PARTING,
    QUANTITIES,
    check_kinds,
)
from opspace_control.control.limits.limit_data import count_numbers
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
    extra = KIND_TABLE | {KINDS: KIND_TABLE[EFFORT]}
    missing = {kind: entry for kind, entry in KIND_TABLE.items() if kind != EFFORT}
    unknown = KIND_TABLE | {EFFORT: KIND_TABLE[EFFORT]._replace(quantity=len(QUANTITIES))}
    for table, wrong in ((extra, KINDS), (missing, EFFORT), (unknown, EFFORT)):
        with pytest.raises(ControlError, match=rf'\[{wrong}\]'):
            check_kinds(table)


def one_of_each():
    """Return the data of a cycle: the first of two joints, a contact and a pair have bounds."""
    limits, nodes = np.zeros(2, LIMIT).view(np.recarray), np.zeros(2, NODE).view(np.recarray)
    limits.node, nodes.status = (0, 1), (ACTIVE, PASSIVE)
    limits.determined, limits.acceleration, limits.gravity_braking = True, 5.0, 7.0
    limits.least, limits.greatest, limits.gravity_bound = -4.0, 5.0, 6.0
    limits.reason = 2, 0  # position, acceleration
    contacts = Fields(bounds=np.array([[1.0], [20.0]]), direction=np.eye(6)[2:3],
                      force=np.array([0.0, 0.0, 30.0, 0.0, 0.0, 0.0]))
    distances = Fields(least=np.array([[-2.0], [-1.0]]), gradient=np.array([[2.0, 4.0]]))
    return Fields(
        limits=Fields(joints=limits, efforts=np.array([3.0, 3.0]), numbers=count_numbers(2, 1, 1)),
        robot=Fields(nodes=nodes, collision=Fields(count=np.array([1]))),
        scratch=Fields(bounded=Fields(contacts=contacts, distances=distances,
                                      gravity_gradient=np.array([[2.0, 10.0], [0.0, 0.0]]))),
        memory=Fields(bound_active=np.zeros(4 * 2 + 1 + 1 + 2), near_pairs=np.zeros(1)),
        cycle=Fields(force_share=0.5, distance_braking=8.0, least_mobility=0.0981))


def test_each_kind_of_bound_has_its_number_its_value_its_unit_and_its_bounds():
    data, a, tau = one_of_each(), np.array([0.5, 0.25]), np.array([1.5, 9.0])
    found = {kind: (value_of(data, kind, 0, tau if kind == EFFORT else a), unit_of(data, kind, 0),
                    *bounds_of(data, kind, 0)) for kind in range(KINDS)}
    assert found == {
        EFFORT: (1.5, 3.0, -3.0, 3.0), MOTION: (0.5, 5.0, -4.0, np.inf),
        GRAVITY_TORQUE: (3.5, 7.0, -np.inf, 6.0), BRAKING: (0.5, 5.0, -np.inf, 5.0),
        CONTACT_FORCE: (30.0, pytest.approx(100.0), 1.0, 20.0), FORCE_SHARE: (0.5, 1.0, 0.0, 1.0),
        DISTANCE: (2.0, 8.0, -2.0, np.inf), PARTING: (2.0, 8.0, -1.0, np.inf)}
    numbers = [bound_number(data, kind, k)
               for kind in range(KINDS) for k in range(count_bounds(data, kind))]
    assert numbers == list(range(data.memory.bound_active.size))


def test_a_quantity_without_a_branch_has_no_number(monkeypatch):
    """Its bounds are NaN, so whatever its value is passes them: such a limit is not lost."""
    monkeypatch.setattr(bounds, 'quantity_of', lambda kind: len(QUANTITIES))
    data, some = one_of_each(), np.ones(2)
    numbers = value_of(data, MOTION, 0, some), unit_of(data, MOTION, 0), *bounds_of(
        data, MOTION, 0)
    assert np.isnan(numbers).all()
    assert is_violated(data, MOTION, 0, some)


def test_a_bound_is_violated_beyond_rounding_and_by_nan():
    data, fine = one_of_each(), np.zeros(2)
    passed = {kind for kind in range(KINDS) if is_violated(data, kind, 0, fine)}
    assert passed == {CONTACT_FORCE}
    for kind, least in ((EFFORT, 3.0), (BRAKING, 5.0)):
        for value, beyond in ((least * (1.0 + 1e-8), False), (least * (1.0 + 1e-6), True),
                              (np.nan, True)):
            assert is_violated(data, kind, 0, np.full(2, value)) == beyond
    assert not any(is_violated(data, kind, 1, np.full(2, 99.0))
                   for kind in (EFFORT, MOTION, GRAVITY_TORQUE, BRAKING))  # a passive joint

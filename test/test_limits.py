# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
import numpy as np
from numba import njit

from opspace_control.control.limits.effort_cut import limit_efforts
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

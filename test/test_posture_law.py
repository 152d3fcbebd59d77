# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The posture law by itself, on joints of every type."""

import numpy as np
import pytest
from numba import njit
from robots import joint, link, robot

from opspace_control.model import KinematicTree
from opspace_control.tasks.posture import POSTURE_DOF, demand_posture

pin = pytest.importorskip('pinocchio')

LIMIT = '<limit lower="-9" upper="9" effort="1" velocity="1"/>'


@njit
def _demand(nodes, dofs, target, q, v, a):
    demand_posture(nodes, dofs, target, q, v, a)


@pytest.fixture(scope='module')
def tree():
    """Return a robot with a joint of every type, a follower, and a floating base."""
    return KinematicTree.from_urdf(robot(
        link('l0'), link('l1'), link('l2'), link('l3'), link('l4'), link('l5'), link('l6'),
        joint('hinge', 'l0', 'l1', 'revolute', LIMIT),
        joint('wheel', 'l1', 'l2', 'continuous'),
        joint('slide', 'l2', 'l3', 'prismatic', LIMIT),
        joint('cart', 'l3', 'l4', 'planar'),
        joint('ball', 'l4', 'l5', 'floating'),
        joint('follower', 'l0', 'l6', 'revolute', LIMIT + '<mimic joint="hinge"/>'),
    ), floating_base=True)


def demand(tree, target, q, v, kp=1.0, kd=0.0, turns_freely=()):
    dofs = np.zeros(tree.nv, POSTURE_DOF)
    dofs['kp'], dofs['kd'] = kp, kd
    dofs['turns_freely'][[tree.dof_index(name) for name in turns_freely]] = True
    a = np.full(tree.nv, np.nan)
    _demand(tree.nodes, dofs, target, q, v, a)
    return a


def random_position(tree, rng):
    return tree.integrate(tree.neutral(), rng.normal(size=tree.nv), 1.0)


def matrix(q, first):
    return pin.Quaternion(*q[[first + 3, first, first + 1, first + 2]]).matrix()


def test_every_joint_type(tree):
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, target = random_position(tree, rng), random_position(tree, rng)
        v = rng.normal(size=tree.nv)
        kp, kd = rng.uniform(1.0, 9.0, (2, tree.nv))
        difference = np.zeros(tree.nv)
        scalar = tree.q_index >= 0
        difference[scalar] = (target - q)[tree.q_index[scalar]]
        for first, name in ((3, 'base/rx'), (tree.quaternions[1], 'ball/rx')):
            k = tree.dof_index(name)
            difference[k:k + 3] = pin.log3(matrix(target, first) @ matrix(q, first).T)
        np.testing.assert_allclose(demand(tree, target, q, v, kp, kd), kp * difference - kd * v,
                                   atol=1e-12)


def test_towards_the_target_is_what_integration_calls_so(tree):
    """Also for quaternions: moving by the difference, as a velocity, arrives."""
    rng = np.random.default_rng(1)
    q, target = random_position(tree, rng), random_position(tree, rng)
    reached = tree.integrate(q, demand(tree, target, q, np.zeros(tree.nv)), 1.0)
    flip = np.ones(tree.nq)
    for first in tree.quaternions:
        flip[first:first + 4] = np.sign(reached[first:first + 4] @ target[first:first + 4])
    np.testing.assert_allclose(flip * reached, target, atol=1e-12)


def test_what_has_no_target_takes_the_position_it_sees(tree):
    q, v = random_position(tree, np.random.default_rng(2)), np.ones(tree.nv)
    target = np.full(tree.nq, np.nan)
    np.testing.assert_allclose(demand(tree, target, q, v, 7.0, 3.0), -3.0, rtol=1e-14)
    np.testing.assert_array_equal(target, q)
    hinge = tree.q_index[tree.dof_index('hinge')]
    target[hinge] = np.nan
    later = q + 0.1 * np.isin(np.arange(tree.nq), tree.q_index)
    a = demand(tree, target, later, 0.0 * v, 10.0)
    assert a[tree.dof_index('hinge')] == 0.0
    assert a[tree.dof_index('slide')] == pytest.approx(-1.0)


@pytest.mark.parametrize('turns', [-1000, -1, 1, 2, 12345])
def test_free_rotations_go_the_short_way_round(tree, turns):
    rng = np.random.default_rng(3)
    target = random_position(tree, rng)
    free = ('wheel', 'cart/rz')
    for error in (-3.1, -0.5, 0.0, 1e-3, 3.1):
        q = target.copy()
        for name in (*free, 'hinge'):
            q[tree.q_index[tree.dof_index(name)]] -= error + 2.0 * np.pi * turns
        a = demand(tree, target, q, np.zeros(tree.nv), turns_freely=free)
        for name in free:
            assert a[tree.dof_index(name)] == pytest.approx(error, abs=1e-9)
        assert a[tree.dof_index('hinge')] == pytest.approx(error + 2.0 * np.pi * turns)


def test_a_quaternion_and_its_negative_are_the_same_target(tree):
    rng = np.random.default_rng(4)
    q, target, v = random_position(tree, rng), random_position(tree, rng), rng.normal(size=tree.nv)
    negated = target.copy()
    for first in tree.quaternions:
        negated[first:first + 4] *= -1.0
    np.testing.assert_allclose(demand(tree, negated, q, v), demand(tree, target, q, v), atol=1e-15)


def test_nan_stays_visible(tree):
    q = random_position(tree, np.random.default_rng(5))
    bad = q.copy()
    bad[tree.q_index[tree.dof_index('slide')]] = np.nan
    a = demand(tree, q.copy(), bad, np.zeros(tree.nv))
    np.testing.assert_array_equal(np.isnan(a), np.array(tree.dof_names) == 'slide')


def test_feed_forward_is_added(tree):
    """``a_d + kp e + kd (v_d − v)``, for the rotations of a quaternion too."""
    rng = np.random.default_rng(1)
    q, target = random_position(tree, rng), random_position(tree, rng)
    v, velocity, acceleration = rng.normal(size=(3, tree.nv))
    bare = demand(tree, target.copy(), q, v, kp=4.0, kd=3.0)
    dofs = np.zeros(tree.nv, POSTURE_DOF)
    dofs['kp'], dofs['kd'] = 4.0, 3.0
    dofs['velocity'], dofs['acceleration'] = velocity, acceleration
    a = np.full(tree.nv, np.nan)
    _demand(tree.nodes, dofs, target, q, v, a)
    np.testing.assert_allclose(a, bare + acceleration + 3.0 * velocity, atol=1e-12)

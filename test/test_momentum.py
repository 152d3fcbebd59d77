# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Spatial momentum: against A v of Pinocchio, and what free-flyers keep of it, [JR94] 4.2."""

import numpy as np
import pytest
from oracles import pinocchio_oracle
from robots import REAL_ROBOTS, robot_file
from samples import by_real_robot, by_sample, difference, random_state, sample

from opspace_control import RobotModel, RobotState, StateError, hybrid_dynamics, momentum

ORBIT = np.zeros(3)


@by_real_robot
def test_momentum_of_a_floating_robot_is_the_base_part_of_mass_matrix_times_velocity(name):
    """(4.7) has it about the base, ``[M_pa, M_pp] β``; about a fixed point it is moved there."""
    urdf = robot_file(name).read_text()
    model = RobotModel.from_urdf(urdf, floating_base=True)
    for seed in range(2):
        state = random_state(model, seed)
        A = pinocchio_oracle(model, urdf, state, REAL_ROBOTS[name]).A
        p, about_base = (A @ state.v)[:3], (A @ state.v)[3:6]
        base = state.q[:3]
        expected = np.r_[p, about_base + np.cross(base, p)]
        assert difference(momentum(model, state), expected) < 1e-12
        assert difference(momentum(model, state, point=base), np.r_[p, about_base]) < 1e-12


@by_sample
def test_a_fixed_base_is_one_that_rests(name, floating_base):
    if floating_base:
        return
    urdf, model, _ = sample(name)
    free = RobotModel.from_urdf(urdf, floating_base=True)
    state = random_state(model, 1)
    q = np.r_[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, state.q]
    v = np.r_[np.zeros(6), state.v]
    assert difference(momentum(model, state, (0.3, -0.2, 1.0)),
                      momentum(free, RobotState(free, q, v), (0.3, -0.2, 1.0))) < 1e-12


def rate(model, state, a, point=None):
    """
    Return d/dt of the momentum along the motion that starts with accelerations ``a``.

    About a fixed point of the world, or about the base as it moves.
    """
    def at(t):
        q = model.integrate(state.q, state.v + 0.5 * t * a, t)
        return momentum(model, RobotState(model, q, state.v + t * a),
                        q[:3] if point is None else point)
    h = 1e-3  # differences of the eighth order: no step is both short and long enough for fewer
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    return sum(w * (at(k * h) - at(-k * h)) for k, w in weights.items()) / h


@pytest.mark.parametrize('name', ['dual_arm', 'humanoid', 'talos', 'tree'])
def test_a_free_flyer_keeps_its_momentum_about_a_fixed_point(name):
    urdf, _, _ = sample(name, True)
    model = RobotModel.from_urdf(urdf, floating_base=True, passive_joints=['base'])
    state = random_state(model, 2)
    acceleration = np.random.default_rng(0).standard_normal(model.nv)
    a = hybrid_dynamics(model, state, acceleration, gravity=ORBIT).acceleration
    point = [1.0, -2.0, 0.5]
    scale = abs(rate(model, state, np.where(model.active, a, 0.0), point)).max()
    assert abs(rate(model, state, a, point)).max() < 1e-9 * scale
    # About the base it changes, as the base moves.
    p = momentum(model, state)[:3]
    lost = np.cross(p, state.v[:3])
    assert abs(lost).max() > 1e-3 * scale
    np.testing.assert_allclose(rate(model, state, a)[3:], lost, atol=1e-9 * scale)
    # With weight it gains it.
    falling = hybrid_dynamics(model, state, acceleration).acceleration
    weight = [0.0, 0.0, -9.81 * model.nodes['mass'].sum()]
    np.testing.assert_allclose(rate(model, state, falling, point)[:3], weight, atol=1e-9 * scale)


def test_what_the_jets_give():
    """Forces on a passive base are what the momentum gains, (4.7)."""
    model = RobotModel.from_urdf(sample('humanoid').urdf, floating_base=True,
                                 passive_joints=['base'])
    state = random_state(model, 3)
    jets = np.zeros(model.nv)
    jets[:6] = [10.0, -20.0, 5.0, 1.0, 2.0, -3.0]
    a = hybrid_dynamics(model, state, np.ones(model.nv), jets, gravity=ORBIT).acceleration
    expected = np.r_[jets[:3], jets[3:6] + np.cross(state.q[:3], jets[:3])]
    np.testing.assert_allclose(rate(model, state, a, np.zeros(3)), expected, atol=1e-6)


def test_state_of_another_robot():
    with pytest.raises(StateError, match='does not belong'):
        momentum(sample('planar_3r').model, random_state(sample('dual_arm').model, 0))

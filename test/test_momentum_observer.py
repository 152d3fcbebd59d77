# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The generalized-momentum observer: against dense terms, and against what acts on a robot."""

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys
from oracles import pinocchio_oracle, pinocchio_terms
from robots import REAL_ROBOTS, robot_file
from samples import by_real_robot, by_sample, difference, random_state, sample

from opspace_control import (
    Closure,
    MomentumObserver,
    PassiveForces,
    RobotModel,
    RobotState,
    StateError,
    closed_chain_dynamics,
    generalized_momentum,
    hybrid_dynamics,
)

DT = 1e-3


def assert_dense(urdf, model, frames, seed):
    """Hold p and ``Cᵀ v − g`` against Pinocchio's A, C and g, in natural units of the joints."""
    state = random_state(model, seed)
    units = 1.0 / pinocchio_oracle(model, urdf, state, frames).joint_units
    terms = generalized_momentum(model, state)
    p, rate = pinocchio_terms(model, urdf, state)
    assert difference(terms.momentum, p, units) < 1e-10
    assert difference(terms.rate, rate, units) < 1e-10


@by_sample
def test_momentum_and_rate_are_those_of_dense_matrices(name, floating_base):
    urdf, model, frames = sample(name, floating_base)
    for seed in range(3):
        assert_dense(urdf, model, frames, seed)


@by_real_robot
@pytest.mark.parametrize('floating_base', [False, True], ids=['fixed', 'floating'])
def test_real_robots(name, floating_base):
    urdf = robot_file(name).read_text()
    model = RobotModel.from_urdf(urdf, floating_base=floating_base)
    assert_dense(urdf, model, REAL_ROBOTS[name], 0)


@by_sample
def test_the_rate_is_that_of_the_momentum(name, floating_base):
    """``d/dt (A v) = τ + Cᵀ v − g`` along a motion, by differences of the eighth order."""
    model = sample(name, floating_base).model
    state, tau = random_state(model, 4), np.random.default_rng(5).normal(size=model.nv)
    a = model.forward_dynamics(state, tau)

    def at(t):
        q = model.integrate(state.q, state.v + 0.5 * t * a, t)
        return generalized_momentum(model, RobotState(model, q, state.v + t * a)).momentum
    h = 1e-3
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    measured = sum(w * (at(k * h) - at(-k * h)) for k, w in weights.items()) / h
    assert difference(measured, tau + generalized_momentum(model, state).rate) < 1e-8


def moved(model, state, acceleration, dt, steps=4):
    """Return the state after dt, by Runge and Kutta's method; ``acceleration`` (state) is v̇."""
    h = dt / steps
    for _ in range(steps):
        def slope(q, v):
            return v, acceleration(RobotState(model, q, v))
        q, v = state.q.copy(), state.v.copy()
        v1, a1 = slope(q, v)
        v2, a2 = slope(model.integrate(q, v1, h / 2), v + h / 2 * a1)
        v3, a3 = slope(model.integrate(q, v2, h / 2), v + h / 2 * a2)
        v4, a4 = slope(model.integrate(q, v3, h), v + h * a3)
        state = RobotState(model, model.integrate(q, (v1 + 2 * v2 + 2 * v3 + v4) / 6, h),
                           v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4))
    return state


def largest_error(rate, dt):
    """Return the largest error of a UR5's residual in 60 ms, N m, under constant forces."""
    model = RobotModel.from_urdf_file(robot_file('ur5_robot.urdf'))
    state = random_state(model, 1, speed=0.3)
    inertia = model.mass_matrix(state).diagonal()
    observer, unknown, error = MomentumObserver(model, rate), np.zeros(model.nv), 0.0
    unknown[[1, 3]] = 8.0, -3.0
    observer.update(state, np.zeros(model.nv), dt)
    for step in range(1, round(0.06 / dt) + 1):
        known = model.gravity(state) + inertia * (3.0 * np.sin(100.0 * dt * step) - 2.0 * state.v)
        state = moved(model, state, lambda s, tau=known + unknown: model.forward_dynamics(s, tau),
                      dt, steps=1)
        observer.update(state, known, dt)
        response = (1.0 - np.exp(-rate * dt * step)) * unknown
        error = max(error, abs(observer.residual - response).max())
    assert abs(state.v).max() > 0.1
    return error


@pytest.mark.parametrize('rate', [20.0, 200.0, 1e5])
def test_a_joint_torque_is_found_by_a_filter_of_the_first_order(rate):
    """
    The response is ``(1 − exp(−K t)) τ_ext``; at ``K dt = 100`` it is there after one step.

    What is left is the error of the trapezoidal rule, of the second order.
    """
    errors = [largest_error(rate, dt) for dt in (DT, DT / 2)]
    assert errors[0] < 5e-4 and errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize('name', ['dual_arm', 'tree', 'humanoid'])
def test_a_wrench_at_a_link_with_a_floating_base_and_passive_joints(name):
    """Its ``Jᵀ f`` is found at all joints; springs of the passive ones are known forces."""
    urdf, _, frames = sample(name, True)
    arm = sample(name).model.dof_names[-1]
    model = RobotModel.from_urdf(urdf, floating_base=True, passive_joints=['base', arm])
    forces = PassiveForces(model, stiffness={arm: 0.5}, damping={arm: 0.02})
    state, f = random_state(model, 2, speed=0.2), np.array([5.0, -3.0, 8.0, 0.3, 0.2, -0.1])
    rng, rate = np.random.default_rng(3), 100.0
    observer = MomentumObserver(model, rate, passive_forces=forces)
    observer.update(state, np.zeros(model.nv), DT)
    expected = np.zeros(model.nv)
    for _ in range(20):
        a = 0.2 * rng.normal(size=model.nv)
        motion = hybrid_dynamics(model, state, a, forces.torque(state), {frames[0]: f})
        known = np.where(model.active, motion.torque, 0.0)

        def acceleration(s, known=known):
            return model.forward_dynamics(
                s, known + forces.torque(s) + model.jacobian(s, frames[0]).T @ f)
        later = moved(model, state, acceleration, DT, steps=1)
        mean = 0.5 * sum(model.jacobian(s, frames[0]).T @ f for s in (state, later))
        expected += -np.expm1(-rate * DT) * (mean - expected)
        state = later
        observer.update(state, known, DT)
        np.testing.assert_allclose(observer.residual, expected, atol=2e-4)
    assert abs(expected).max() > 1.0


def test_constraint_forces_of_a_closed_chain_are_in_the_residual_unless_known():
    model = sample('dual_arm').model
    state = RobotState(model, random_state(model, 0).q, np.zeros(model.nv))
    J_c = model.jacobian(state, ['l_hand', 'r_hand'])
    R = model.forward_kinematics(state, 'l_hand')['l_hand']
    tau = np.random.default_rng(1).normal(size=model.nv)
    # The rows of the closure are those of one place, that of the other hand.
    place = R[:3, :3].T @ (model.forward_kinematics(state, 'r_hand')['r_hand'][:3, 3] - R[:3, 3])
    closures = [Closure('l_hand', 'r_hand', position=place)]
    a, wrench = closed_chain_dynamics(model, state, tau, closures)
    turn = np.kron(np.eye(2), R[:3, :3])
    J_l = J_c[:6].copy()
    arm = R[:3, :3] @ place
    J_l[:3] += np.cross(J_c[3:6].T, arm).T
    reaction = (J_l - J_c[6:]).T @ turn @ wrench[0]
    h = 1e-5
    later = RobotState(model, model.integrate(state.q, 0.5 * h * a, h), h * a)
    for known, expected in ((tau, reaction), (tau + reaction, np.zeros(model.nv))):
        observer = MomentumObserver(model, 1e9)
        observer.update(state, tau, h)
        observer.update(later, known, h)
        np.testing.assert_allclose(observer.residual, expected, atol=1e-3 * abs(reaction).max())


def test_limits_restart_and_locked_joints():
    model = RobotModel.from_urdf_file(robot_file('panda.urdf'), locked_joints=['panda_joint4'])
    state = RobotState(model, model.neutral(), np.zeros(model.nv))
    limit = np.full(model.nv, 2.0)
    limit[1] = 5.0
    observer = MomentumObserver(model, 50.0, limit=limit)
    nothing = np.zeros(model.nv)
    for _ in range(200):  # it stays, although its weight is not balanced
        observer.update(state, nothing, DT)
    g = model.gravity(state)
    expected = np.clip((1.0 - np.exp(-50.0 * 199 * DT)) * g, -limit, limit)
    assert (abs(g) > limit).any() and g[3] != 0.0
    expected[3] = 0.0
    np.testing.assert_allclose(observer.residual, expected, rtol=1e-9)
    before = observer.residual
    observer.update(state, nothing, 0.0)
    np.testing.assert_array_equal(observer.residual, before)
    observer.restart(3.0)
    np.testing.assert_array_equal(observer.residual, np.minimum(3.0, limit))
    fast = RobotState(model, model.neutral(), np.full(model.nv, 0.5))
    observer.update(fast, nothing, DT)  # a gap in time is no force
    np.testing.assert_array_equal(observer.residual,
                                  np.where(model.locked, 0.0, np.minimum(3.0, limit)))
    without = MomentumObserver(model, 50.0, gravity_compensation=False)
    for _ in range(50):
        without.update(state, nothing, DT)
    np.testing.assert_allclose(without.residual, 0.0, atol=1e-12)


def test_an_update_allocates_nothing():
    model = RobotModel.from_urdf_file(robot_file('panda.urdf'))
    observer, state, tau = MomentumObserver(model, 50.0), random_state(model, 0), np.zeros(model.nv)
    observer.warm_up()
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats().alloc
    for _ in range(10):
        observer.update(state, tau, DT)
    assert rtsys.get_allocation_stats().alloc == before


def test_what_is_refused_changes_nothing():
    model = RobotModel.from_urdf_file(robot_file('panda.urdf'))
    for rate in (0.0, -1.0, np.inf, 'fast', [1.0, 2.0]):
        with pytest.raises(StateError, match='rate'):
            MomentumObserver(model, rate)
    with pytest.raises(StateError, match='limit'):
        MomentumObserver(model, 1.0, limit=-1.0)
    observer, state = MomentumObserver(model, 50.0), random_state(model, 0)
    observer.update(state, np.zeros(model.nv), DT)
    observer.update(state, np.ones(model.nv), DT)
    before = observer.residual
    assert abs(before).max() > 0.0
    bad = np.zeros(model.nv)
    bad[2] = np.nan
    with pytest.raises(StateError, match='panda_joint3'):
        observer.update(state, bad, DT)
    for torque, dt in ((np.zeros(3), DT), (np.zeros(model.nv), -1.0),
                       (np.zeros(model.nv), np.nan)):
        with pytest.raises(StateError):
            observer.update(state, torque, dt)
    with pytest.raises(StateError, match='does not belong'):
        observer.update(random_state(sample('tree').model, 0), np.zeros(model.nv), DT)
    with pytest.raises(StateError, match='residual'):
        observer.restart(np.nan)
    np.testing.assert_array_equal(observer.residual, before)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""[K87] (4.8)-(4.13): B, C, H_1, H_2, B̃, C̃ against Pinocchio's dense terms at other velocities."""

import numpy as np
import pytest
from oracles import pinocchio_oracle
from robots import robot_file
from samples import by_sample, difference, random_state, sample

from opspace_control import ModelError, RobotModel, RobotState, StateError, coriolis_matrices

pin = pytest.importorskip('pinocchio')


@by_sample
def test_they_give_b_and_h_at_any_velocity(name, floating_base):
    """Made at one state, they hold at the same q for all v."""
    urdf, model, frames = sample(name, floating_base)
    state = random_state(model, 0)
    frames = frames[:2]
    matrices = coriolis_matrices(model, state, frames)
    n, pairs = model.nv, model.nv * (model.nv - 1) // 2
    assert matrices.coriolis.shape == (n, pairs) and matrices.centrifugal.shape == (n, n)
    assert matrices.coriolis_acceleration.shape == (6 * len(frames), pairs)
    assert matrices.centrifugal_acceleration.shape == (6 * len(frames), n)
    rng = np.random.default_rng(1)
    for _ in range(2):
        moving = RobotState(model, state.q, rng.normal(size=n))
        oracle = pinocchio_oracle(model, urdf, moving, frames)
        assert difference(matrices.bias_force(moving.v), oracle.b) < 1e-11
        assert difference(matrices.bias_acceleration(moving.v), oracle.bias_acceleration) < 1e-11


@pytest.mark.parametrize('robot', ['xarm7.urdf', 'ur5_robot.urdf'])
def test_columns_are_christoffel_symbols(robot):
    """``B_k,ij = 2 c_ijk``, ``C_k,i = c_iik``, of Pinocchio's matrix at unit velocities."""
    path = robot_file(robot)
    model, engine = RobotModel.from_urdf_file(path), pin.buildModelFromUrdf(str(path))
    state = random_state(model, 2)
    assert list(engine.names[1:]) == list(model.dof_names)
    q = state.q if engine.nq == model.nq else pin.integrate(engine, pin.neutral(engine), state.q)
    data, n = engine.createData(), model.nv
    columns = [pin.computeCoriolisMatrix(engine, data, q, np.eye(n)[i]).copy() for i in range(n)]
    matrices = coriolis_matrices(model, state)
    C = np.column_stack([columns[i][:, i] for i in range(n)])
    B = np.column_stack([columns[i][:, j] + columns[j][:, i]
                         for i in range(n) for j in range(i + 1, n)])
    assert difference(matrices.centrifugal, C) < 1e-12
    assert difference(matrices.coriolis, B) < 1e-12


@pytest.mark.parametrize(('robot', 'frame'), [('xarm7.urdf', 'link_eef'),
                                              ('ur5_robot.urdf', 'tool0')])
def test_4_13_decouples_the_end_effector(robot, frame):
    """``Γ = Jᵀ Λ F* + B̃ [q̇q̇] + C̃ [q̇²] + g`` gives the frame the acceleration F*."""
    urdf = robot_file(robot).read_text()
    model = RobotModel.from_urdf(urdf)
    state = random_state(model, 3)
    matrices = coriolis_matrices(model, state, frame)
    rng = np.random.default_rng(4)
    moving = RobotState(model, state.q, rng.normal(size=model.nv))
    dense = pinocchio_oracle(model, urdf, moving, [frame])
    demand = rng.normal(size=6)
    inertia = np.linalg.inv(dense.jacobian @ np.linalg.solve(dense.A, dense.jacobian.T))
    v = moving.v
    i, j = np.triu_indices(model.nv, 1)
    torque = (dense.jacobian.T @ inertia @ demand + matrices.decoupling_coriolis @ (v[i] * v[j])
              + matrices.decoupling_centrifugal @ v ** 2 + dense.g)
    assert difference(matrices.decoupling_force(v), torque - dense.g
                      - dense.jacobian.T @ inertia @ demand) < 1e-12
    acceleration = np.linalg.solve(dense.A, torque - dense.b - dense.g)
    assert difference(dense.jacobian @ acceleration + dense.bias_acceleration, demand) < 1e-9


def test_what_cannot_be_is_refused():
    model = RobotModel.from_urdf_file(robot_file('xarm7.urdf'), passive_joints=['joint3'])
    state = random_state(model, 0)
    assert coriolis_matrices(model, state).coriolis.shape == (7, 21)
    with pytest.raises(ModelError, match="'joint3' is passive"):
        coriolis_matrices(model, state, 'link_eef')
    other = RobotModel.from_urdf_file(robot_file('xarm7.urdf'))
    with pytest.raises(ModelError, match='link_eef'):
        coriolis_matrices(other, random_state(other, 0), 'link_ef')
    with pytest.raises(StateError):
        coriolis_matrices(other, state)

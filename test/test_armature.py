# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The inertia of motors, seen through their gears, in every recursion: it adds to the diagonal of A.

Robots with any mix of active, passive and locked joints, against dense algebra and MuJoCo.
"""

import numpy as np
import printed_tables
import pytest
from oracles import mujoco_oracle
from samples import difference, random_state

from opspace_control import (
    ModelError,
    OperationalSpaceController,
    PassiveForces,
    PoseTask,
    PostureTask,
    RobotModel,
    generalized_jacobian,
    hybrid_dynamics,
    operational_space,
)
from opspace_control.share import share_directory

TEXT = (share_directory() / 'urdf' / 'puma560.urdf').read_text()
PASSIVE, LOCKED = ('joint_4',), ('joint_6',)


@pytest.fixture(scope='module', params=[(), PASSIVE], ids=['active', 'passive'])
def model(request):
    return RobotModel.from_urdf(TEXT, passive_joints=request.param,
                                locked_joints=LOCKED if request.param else ())


@pytest.fixture(scope='module')
def state(model):
    return random_state(model, 4)


@pytest.fixture(scope='module')
def engine(model, state):
    return mujoco_oracle(model, TEXT, state, ['hand'])


def test_mass_matrix(model, state, engine):
    assert difference(model.mass_matrix(state), engine.A) < 1e-10


def test_forward_and_inverse_dynamics_are_inverse(model, state, engine):
    tau = np.arange(1.0, 7.0)
    a = model.forward_dynamics(state, tau)
    assert difference(a, engine.forward_dynamics(tau)) < 1e-9
    np.testing.assert_allclose(model.inverse_dynamics(state, a)[engine.free], tau[engine.free],
                               atol=1e-9)
    np.testing.assert_allclose(
        printed_tables.newton_euler(model, state, a), model.inverse_dynamics(state, a), atol=1e-9)


def test_hybrid_dynamics_wherever_passive_joints_begin(model, state, engine):
    wanted = np.array([0.5, -0.3, 0.2, 0.0, 0.4, 0.0])
    motion = hybrid_dynamics(model, state, wanted)
    tau = engine.A @ motion.acceleration + engine.b + engine.g
    np.testing.assert_allclose(motion.torque, tau, atol=1e-9)
    np.testing.assert_allclose(tau[model.passive], 0.0, atol=1e-9)
    np.testing.assert_array_equal(motion.acceleration[model.active], wanted[model.active])


def test_operational_space(model, state, engine):
    space = operational_space(model, state, 'hand')
    if model.passive.any():
        J = generalized_jacobian(model, state, 'hand')
        a, p = model.active, model.passive
        A = engine.A
        S = A[np.ix_(a, a)] - A[np.ix_(a, p)] @ np.linalg.solve(A[np.ix_(p, p)], A[np.ix_(p, a)])
        expected = J @ np.linalg.solve(S, J.T)
    else:
        expected = engine.inverse_inertia
        assert difference(printed_tables.inverse_inertia(model, state, ['hand']), expected) < 1e-9
    assert difference(space.inverse_inertia, expected) < 1e-8


def test_the_control_law_is_met(model, state, engine):
    """The task's acceleration is a* exactly, by MuJoCo's mass matrix."""
    task = PoseTask('hand', axes='x y z', kp=100.0, kd=20.0)
    controller = OperationalSpaceController(
        model, [task], PostureTask(kp=10.0), effort_limits=np.inf, singularity_threshold=1e-9,
        passive_forces=PassiveForces(model))
    goal = model.forward_kinematics(state, ['hand'])['hand'].copy()
    goal[:3, 3] += 0.05, -0.02, 0.03
    task.set_target(goal)
    tau = controller.compute_torque(state)
    a = engine.forward_dynamics(tau)
    J = engine.jacobian[:3]
    expected = 100.0 * task.error[:3] - 20.0 * J @ state.v
    np.testing.assert_allclose(J @ a + engine.bias_acceleration[:3], expected, atol=1e-8)


def test_a_motor_alone_is_enough_to_move():
    """A joint without any mass beyond it is driven against its motor."""
    text = """<robot name="r"><link name="a"/><link name="b"/>
        <joint name="j" type="revolute"><parent link="a"/><child link="b"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/><dynamics {}/></joint></robot>"""
    model = RobotModel.from_urdf(text.format('armature="0.5"'))
    assert model.mass_matrix(random_state(model, 0)) == pytest.approx(0.5)
    with pytest.raises(ModelError, match='No inertia'):
        RobotModel.from_urdf(text.format(''))
    with pytest.raises(ModelError, match='negative armature'):
        RobotModel.from_urdf(text.format('armature="-1"'))

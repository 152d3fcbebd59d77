# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Tasks that cannot all be met: torques stay finite, bounded and continuous on real robots."""

import numpy as np
import pytest
from robots import TALOS, robot_file

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    operational_space,
)
from opspace_control.share import share_directory
from opspace_control.simulation import SimulatedRobot

URDF = share_directory() / 'urdf'
ALL = ('x', 'y', 'z', 'rx', 'ry', 'rz')
TALOS_HANDS = ('gripper_left_base_link', 'gripper_right_base_link')


@pytest.fixture(scope='module')
def planar():
    return RobotModel.from_urdf_file(URDF / 'planar_3r.urdf')


@pytest.fixture(scope='module')
def dual_arm():
    return RobotModel.from_urdf_file(URDF / 'dual_arm.urdf')


@pytest.fixture(scope='module')
def talos():
    return RobotModel.from_urdf_file(robot_file(TALOS))


def bent(model, seed=0):
    """Return a state of a dual_arm with bent elbows, in motion."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-0.3, 0.3, model.nq)
    q[[model.dof_index('l_elbow'), model.dof_index('r_elbow')]] = -1.3
    return RobotState(model, q, 0.3 * rng.normal(size=model.nv))


def accelerating(model, tasks, posture=None, gains=None):
    """Return a controller; tasks hold where they are, but are told to accelerate (6,)."""
    controller = OperationalSpaceController(
        model, [task for task, _ in tasks], PostureTask(0.0, 1.0) if posture is None else posture,
        effort_limits=np.inf)

    def torque(state, threshold=None):
        controller.hold()
        for task, acceleration in tasks:
            task.set_feed_forward(acceleration=acceleration)
        return controller.compute_torque(state)

    return controller, torque


def energy_norm(model, state, torque):
    """Return (τᵀ A⁻¹ τ)^½ of what the torque does beyond holding and Coriolis forces."""
    beyond = torque - model.gravity(state) - model.bias_force(state)
    return np.sqrt(beyond @ np.linalg.solve(model.mass_matrix(state), beyond))


def largest_steps(model, torque, path, samples):
    """Return the largest steps between every other one of the samples and between all; torques."""
    states = [RobotState(model, path(s), np.zeros(model.nv)) for s in np.linspace(0, 1, samples)]
    torques = np.array([torque(state) for state in states])
    assert np.isfinite(torques).all()
    return *(abs(np.diff(some, axis=0)).max() for some in (torques[::2], torques)), torques


@pytest.mark.parametrize('axes', ['x', 'x z', 'z', 'x z ry', ' '.join(ALL)])
def test_a_planar_arm_stretches_through(planar, axes):
    """Elbow and wrist pass zero: x is lost on the way, and with it nothing else."""
    _, torque = accelerating(planar, [(PoseTask('hand', axes=axes), np.r_[1.0, 0, 1.0, 0, 1.0, 0])])

    def path(s):
        return np.array([0.3, 0.8 - 1.6 * s, 1.3 * (1.6 * s - 0.8)])

    coarse, fine, torques = largest_steps(planar, torque, path, 4001)
    assert fine < 0.6 * coarse, 'a step that does not shrink with the path is a jump'
    assert abs(torques).max() < 250.0  # the arm weighs 85 N m, stretched out


def test_released_forces_obey_their_bound(planar):
    """In the metric of A⁻¹, ‖τ_task‖ ≤ max √t (3 − 2 t) / √threshold ‖S a*‖, at any posture."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        acceleration = rng.normal(size=6)
        _, torque = accelerating(planar, [(PoseTask('hand'), acceleration)],
                                 PostureTask(0.0, 0.0))
        q = 10.0 ** rng.uniform(-6.0, 0.0, 3) * rng.choice([-1.0, 1.0], 3)
        state = RobotState(planar, q, np.zeros(3))
        L = operational_space(planar, state, ['hand']).inverse_inertia
        scale = np.repeat(1.0 / np.sqrt(L.diagonal().reshape(2, 3).mean(axis=1)), 3)
        bound = 1.415 / np.sqrt(2.5e-2 / 6.0) * np.linalg.norm(scale * acceleration)
        assert energy_norm(planar, state, torque(state)) < bound


@pytest.mark.parametrize('seed', range(4))
def test_talos_arms_stretch_through(talos, seed):
    """Both elbows pass their stretched posture, on a random way, at random accelerations."""
    rng = np.random.default_rng(seed)
    tasks = [(PoseTask(frame), rng.normal(size=6)) for frame in TALOS_HANDS]
    _, torque = accelerating(talos, tasks)
    start, motion = rng.uniform(-0.3, 0.3, (2, talos.nv))
    for joint in ('arm_left_4_joint', 'arm_right_4_joint'):
        start[talos.dof_index(joint)], motion[talos.dof_index(joint)] = 0.8, -1.6

    def path(s):
        return start + s * motion

    coarse, fine, torques = largest_steps(talos, torque, path, 2001)
    assert fine < 0.6 * coarse
    assert abs(torques).max() < 500.0


def test_what_is_left_is_met_exactly(planar):
    """Six axes for three joints: x, z and the pitch do as they are told, the rest is impossible."""
    acceleration = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    state = RobotState(planar, np.array([0.5, -1.0, 0.8]), np.array([0.3, -0.5, 0.2]))
    controller, torque = accelerating(planar, [(PoseTask('hand', kd=0.0, kp=0.0), acceleration)])
    a = planar.forward_dynamics(state, torque(state))
    reached = planar.jacobian(state, ['hand']) @ a + planar.bias_acceleration(state, ['hand'])
    np.testing.assert_allclose(reached[[0, 2, 4]], acceleration[[0, 2, 4]], atol=1e-7)
    np.testing.assert_allclose(reached[[1, 3, 5]], 0.0, atol=1e-9)
    assert controller.least_eigenvalue == 0.0


def test_at_a_singularity_only_the_lost_direction_is_lost(dual_arm):
    """One arm straight and the torso locked: the other hand and five directions stay exact."""
    model = RobotModel.from_urdf_file(URDF / 'dual_arm.urdf',
                                      locked_joints=['torso_yaw', 'torso_pitch', 'torso_roll'])
    state = bent(model)
    q = state.q.copy()
    q[model.dof_index('l_elbow')] = 0.0
    v = np.where(model.locked, 0.0, state.v)
    state = RobotState(model, q, v)
    accelerations = np.random.default_rng(1).normal(size=(2, 6))
    tasks = [(PoseTask('l_hand', kp=0.0, kd=0.0), accelerations[0]),
             (PoseTask('r_hand', kp=0.0, kd=0.0), accelerations[1])]
    a = model.forward_dynamics(state, accelerating(model, tasks)[1](state))
    frames = ['l_hand', 'r_hand']
    missed = accelerations - (model.jacobian(state, frames) @ a
                              + model.bias_acceleration(state, frames)).reshape(2, 6)
    np.testing.assert_allclose(missed[1], 0.0, atol=1e-6)
    # What the left hand misses is along S⁻² w of the one wrench w that moves nothing.
    J = model.jacobian(state, ['l_hand'])[:, ~model.locked]
    vectors, values, _ = np.linalg.svd(J)
    assert values[-2] > 0.02 and values[-1] < 1e-10
    L = operational_space(model, state, ['l_hand']).inverse_inertia
    direction = vectors[:, -1] * np.repeat(L.diagonal().reshape(2, 3).mean(axis=1), 3)
    direction /= np.linalg.norm(direction)
    np.testing.assert_allclose(missed[0] - direction * (direction @ missed[0]), 0.0, atol=1e-7)


def test_two_tasks_on_one_frame(dual_arm):
    state, acceleration = bent(dual_arm), np.random.default_rng(2).normal(size=6)
    single = accelerating(dual_arm, [(PoseTask('l_hand'), acceleration)])[1](state)
    agreeing = [(PoseTask('l_hand', name=name), acceleration) for name in ('a', 'b')]
    np.testing.assert_allclose(accelerating(dual_arm, agreeing)[1](state), single, atol=1e-5)
    opposed = [(PoseTask('l_hand', name='a'), acceleration + 7.0),
               (PoseTask('l_hand', name='b'), acceleration - 7.0)]
    np.testing.assert_allclose(accelerating(dual_arm, opposed)[1](state), single, atol=1e-5)


@pytest.mark.parametrize('frame', ['base_link', 'torso_yaw_link', 'torso'])
def test_frames_that_can_hardly_move(dual_arm, frame):
    """The root link, and frames on the axes of all joints that carry them."""
    for axes in (ALL, ('x', 'y', 'z'), ('y',), ('rx', 'rz')):
        controller, torque = accelerating(
            dual_arm, [(PoseTask(frame, axes=axes), np.full(6, 0.1)),
                       (PoseTask('r_hand'), np.zeros(6))])
        state = bent(dual_arm)
        tau = torque(state)
        assert np.isfinite(tau).all()
        assert abs(tau).max() < 300.0
        if frame == 'base_link':
            np.testing.assert_array_equal(controller.tasks['base_link'].wrench, np.zeros(6))
            alone = accelerating(dual_arm, [(PoseTask('r_hand'), np.zeros(6))])[1](state)
            np.testing.assert_allclose(tau, alone, atol=1e-9)


def test_more_axes_than_joints(dual_arm):
    """Twenty-four axes for seventeen joints."""
    frames = ('l_hand', 'r_hand', 'torso', 'l_elbow_link')
    rng = np.random.default_rng(3)
    tasks = [(PoseTask(frame), 0.3 * rng.normal(size=6)) for frame in frames]
    _, torque = accelerating(dual_arm, tasks)
    for seed in range(20):
        state = bent(dual_arm, seed)
        tau = torque(state)
        assert np.isfinite(tau).all()
        assert abs(tau).max() < 500.0


def test_out_of_reach_an_arm_stretches_out_and_comes_to_rest():
    brakes = ['torso_yaw', 'torso_pitch', 'torso_roll']
    model = RobotModel.from_urdf_file(URDF / 'dual_arm.urdf', locked_joints=brakes)
    robot = SimulatedRobot((URDF / 'dual_arm.urdf').read_text(), locked_joints=brakes)
    robot.reset(positions={'l_shoulder_pitch': -0.6, 'l_elbow': -1.4, 'r_elbow': -1.4})
    tasks = [PoseTask(hand, axes='x y z', max_linear_velocity=0.3) for hand in ('l_hand', 'r_hand')]
    controller = OperationalSpaceController(model, tasks)
    state = RobotState(model, robot.positions, robot.velocities)
    controller.compute_torque(state)
    held, goal = tasks[1].target, tasks[0].target
    goal[:2] += [0.8, 0.4]
    tasks[0].set_target(goal)
    fastest = 0.0
    for _ in range(8000):
        state.update(robot.positions, robot.velocities)
        robot.set_effort(controller.compute_torque(state))
        robot.step()
        fastest = max(fastest, abs(state.v).max())
    assert fastest < 25.0  # rad/s, at the moment when the elbow gets straight
    assert abs(robot.velocities).max() < 0.05
    assert np.linalg.norm(tasks[0].error[:3]) == pytest.approx(0.68, abs=0.01)
    np.testing.assert_allclose(robot.frame_pose('r_hand')[:3], held[:3], atol=1e-3)

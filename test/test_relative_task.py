# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""One hand in the frame of the other, against dense algebra, and with a simulated robot."""

import numpy as np
import pytest
from lockstep import LockStep
from oracles import pinocchio_oracle
from samples import URDF, random_state

from opspace_control import (
    ForceControl,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RelativeTask,
    RobotModel,
    RobotState,
    TaskError,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.spatial.quaternions import turned
from opspace_control.spatial.rotations import matrix_from_quaternion, vector_from_matrix

PATH = URDF / 'dual_arm.urdf'
TEXT = PATH.read_text()
MODEL = RobotModel.from_urdf(TEXT)
FRAMES = ['l_hand', 'r_hand']
BENT = demo_robot('dual_arm').start


def relative(poses):
    """Return the pose (4, 4) of the left hand in the frame of the right one."""
    return np.linalg.inv(poses['r_hand']) @ poses['l_hand']


def relative_motion(model, state, a=None, h=1e-5):
    """Return twist, and with accelerations a also its rate, by finite differences, (6,) each."""
    def pose(t):
        v = state.v + (0.0 if a is None else 0.5 * t * a)
        return relative(model.forward_kinematics(
            RobotState(model, model.integrate(state.q, v, t), state.v), FRAMES))

    def twist(t):
        before, after = pose(t - h), pose(t + h)
        turn = vector_from_matrix(after[:3, :3] @ before[:3, :3].T)
        return np.concatenate([after[:3, 3] - before[:3, 3], turn]) / (2.0 * h)
    if a is None:
        return twist(0.0)
    return (twist(1e-3) - twist(-1e-3)) / 2e-3


def accelerations(tau, state):
    return MODEL.forward_dynamics(state, tau)


@pytest.mark.parametrize('seed', range(3))
def test_the_relative_acceleration_is_that_of_the_law(seed):
    """Also while both hands and the torso move and turn: that of Coriolis is not forgotten."""
    state = random_state(MODEL, seed, 1.0)
    task = RelativeTask('l_hand', 'r_hand', kp=80.0, kd=11.0)
    controller = OperationalSpaceController(
        MODEL, [task], PostureTask(kp=10.0), effort_limits=np.inf, singularity_threshold=1e-9)
    here = relative(MODEL.forward_kinematics(state, FRAMES))
    goal = here.copy()
    goal[:3, 3] += 0.1, -0.05, 0.02
    twist, acceleration = np.arange(1.0, 7.0) / 20.0, np.arange(6.0, 0.0, -1.0) / 10.0
    task.set_target(goal, twist, acceleration)
    a = accelerations(controller.compute_torque(state), state)
    np.testing.assert_allclose(matrix_from_quaternion(task.pose[3:]), here[:3, :3], atol=1e-12)
    np.testing.assert_allclose(task.pose[:3], here[:3, 3], atol=1e-12)
    np.testing.assert_allclose(task.error, [0.1, -0.05, 0.02, 0.0, 0.0, 0.0], atol=1e-12)
    moving = relative_motion(MODEL, state)
    expected = acceleration + 80.0 * task.error + 11.0 * (twist - moving)
    np.testing.assert_allclose(relative_motion(MODEL, state, a), expected, atol=2e-3)


@pytest.mark.parametrize('seed', range(3))
def test_it_is_dense_algebra_over_pinocchio(seed):
    """τ = Jᵀ Λ (a* − J A⁻¹ (τ_null − b − g) − J̇ v) + τ_null, J of the relative motion, at rest."""
    state = random_state(MODEL, seed, 0.0)
    task = RelativeTask('l_hand', 'r_hand', kp=50.0)
    posture = PostureTask(kp=10.0, target=np.zeros(MODEL.nq))
    controller = OperationalSpaceController(
        MODEL, [task], posture, effort_limits=np.inf, singularity_threshold=1e-9)
    goal = relative(MODEL.forward_kinematics(state, FRAMES))
    goal[:3, 3] += 0.03
    task.set_target(goal)
    tau = controller.compute_torque(state)
    engine = pinocchio_oracle(MODEL, TEXT, state, FRAMES)
    left, right = engine.jacobian.reshape(2, 6, -1)
    R, r = engine.poses[1, :3, :3], engine.poses[0, :3, 3] - engine.poses[1, :3, 3]
    at_left = right[:3] + np.cross(right[3:].T, r).T
    J = np.vstack([R.T @ (left[:3] - at_left), R.T @ (left[3:] - right[3:])])
    a_null = -10.0 * state.q
    inverse = J @ np.linalg.solve(engine.A, J.T)
    f = np.linalg.solve(inverse, 50.0 * task.error - J @ a_null)
    expected = J.T @ f + engine.A @ a_null + engine.g
    np.testing.assert_allclose(tau, expected, atol=1e-8 * abs(expected).max())
    np.testing.assert_allclose(
        task.joint_force(MODEL, state), J.T @ f, atol=1e-8 * abs(expected).max())
    np.testing.assert_allclose(task.axes_in_base, [R, R], atol=1e-12)


def test_one_hand_holds_its_place_in_the_other_that_travels():
    """In simulation: the right hand turns and goes away, the left one keeps its place in it."""
    right = PoseTask('r_hand', max_linear_velocity=0.3, max_angular_velocity=1.0)
    left = RelativeTask('l_hand', 'r_hand', name='left', priority=1)
    scene = LockStep(PATH, [right, left], start=BENT)
    scene.run(scene.robot.timestep)
    goal = right.pose
    goal[:3] += 0.05, 0.0, 0.03
    goal[3:] = turned(goal[3:], (0.0, 0.0, 0.15))
    start = left.pose
    right.set_target(goal)
    course = scene.run(3.0)
    assert np.linalg.norm(course.errors[-1, 0, :3]) < 1e-3
    assert np.linalg.norm(np.ptp(course.paths[:, 0], axis=0)) > 0.05
    assert abs(course.errors[:, 1, :3]).max() < 2e-4
    assert abs(course.errors[:, 1, 3:]).max() < 1e-3
    np.testing.assert_allclose(left.pose, start, atol=1e-3)
    left.set_target((start[:3] + np.array([0.0, 0.05, 0.0]), start[3:]))
    course = scene.run(1.5)
    assert np.linalg.norm(course.errors[-1, 1, :3]) < 1e-4
    assert np.linalg.norm(course.errors[-1, 0, :3]) < 1e-4


def test_neither_hand_leads_where_both_are_free():
    """Both give way, by their inertias; the right one turns, too."""
    task = RelativeTask('l_hand', 'r_hand', axes='x y z')
    scene = LockStep(PATH, [task], PostureTask(kp=0.0, kd=1.0), start=BENT)
    before = [scene.robot.frame_pose(hand)[:3] for hand in FRAMES]
    scene.run(scene.robot.timestep)
    goal = task.pose
    goal[:3] *= 0.8
    task.set_target(goal)
    scene.run(2.0)
    moved = [np.linalg.norm(scene.robot.frame_pose(hand)[:3] - there)
             for hand, there in zip(FRAMES, before, strict=True)]
    assert min(moved) > 0.02
    assert np.linalg.norm(task.error[:3]) < 1e-3


def test_forces_act_on_both_hands():
    """Open loop: what the one hand presses with, the other one bears."""
    task = RelativeTask('l_hand', 'r_hand', axes='', force_axes='y', force=ForceControl(
        approach=(0.0, 0.0)))
    state = random_state(MODEL, 5, 0.0)
    controller = OperationalSpaceController(MODEL, [task], PostureTask(kp=0.0, kd=0.0),
                                            effort_limits=np.inf)
    controller.compute_torque(state)
    task.force.set_target([0.0, 7.0, 0.0, 0.0, 0.0, 0.0])
    bare = controller.model.gravity(state)
    tau = controller.compute_torque(state) - bare
    wrench = np.concatenate([7.0 * task.axes_in_base[0][:, 1], np.zeros(3)])
    pressed = task.jacobian(MODEL, state).T @ wrench
    np.testing.assert_allclose(tau, task.joint_force(MODEL, state), atol=1e-9)
    # Along the axis nothing but the force is asked for; its damping holds the point where it is.
    assert tau @ pressed == pytest.approx(pressed @ pressed, rel=1.0)


def test_a_base_that_never_moves_is_a_reference_too():
    state = random_state(MODEL, 6)
    taus = []
    for task in (RelativeTask('l_hand', MODEL.root_link, kp=30.0), PoseTask('l_hand', kp=30.0)):
        controller = OperationalSpaceController(MODEL, [task], PostureTask())
        task.set_target([0.4, 0.2, 1.1, 0.0, 0.0, 0.0, 1.0])
        taus.append(controller.compute_torque(state))
    np.testing.assert_allclose(*taus, atol=1e-9)


def test_what_cannot_be_is_refused():
    with pytest.raises(TaskError, match='another link'):
        RelativeTask('l_hand', 'l_hand')
    with pytest.raises(TaskError, match='axes_frame'):
        RelativeTask('l_hand', 'r_hand', axes_frame='l_hand')
    with pytest.raises(TaskError, match='axes_rotation'):
        RelativeTask('l_hand', 'r_hand', axes_rotation=[0.0, 0.0, 1.0, 0.0])

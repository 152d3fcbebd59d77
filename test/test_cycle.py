# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled cycle against the law of [CK00] (11)-(13) as printed, dense, on real robots."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from printed_law import ALL_AXES, DenseRobot, Goal
from robots import TALOS, robot_file

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.share import share_directory

pin = pytest.importorskip('pinocchio')

OURS = ('planar_3r.urdf', 'dual_arm.urdf', 'humanoid.urdf', 'free_flyer_3d.urdf')
TALOS_HANDS = ('gripper_left_base_link', 'gripper_right_base_link')
TALOS_FEET = ('left_sole_link', 'right_sole_link')

# A robot, its frames, joints held by a brake, and whether its base floats.
FIXED = [
    ('dual_arm.urdf', ('l_hand', 'r_hand'), (), False),
    ('humanoid.urdf', ('l_hand',), (), False),
    (TALOS, (*TALOS_HANDS, *TALOS_FEET), (), False),
    ('ur5_robot.urdf', ('tool0',), (), False),
    ('xarm7.urdf', ('link_eef',), (), False),
    ('icub.urdf', ('l_hand', 'r_foot'), (), False),
    ('simple_humanoid.urdf', ('l_wrist', 'r_wrist', 'r_ankle'), (), False),
]
FLOATING = [
    ('anymal_b_simple_description/robots/anymal.urdf', ('LF_FOOT', 'RF_FOOT', 'LH_FOOT'), (), True),
    ('solo12.urdf', ('FL_FOOT',), (), True),
    ('g1_29dof_rev_1_0.urdf', ('left_rubber_hand', 'right_rubber_hand'), (), True),
    (TALOS, TALOS_HANDS, (), True),
]
LOCKED = [
    ('dual_arm.urdf', ('l_hand',), ('torso_yaw', 'r_elbow', 'l_wrist_roll'), False),
    (TALOS, TALOS_HANDS, ('torso_2_joint', 'leg_left_4_joint', 'head_1_joint'), False),
    (TALOS, TALOS_HANDS, ('arm_left_4_joint', 'leg_right_1_joint'), True),
]


@cache
def robot(name, locked=(), floating=False):
    path = share_directory() / 'urdf' / name if name in OURS else robot_file(name)
    model = RobotModel.from_urdf_file(path, floating_base=floating, locked_joints=locked)
    return model, DenseRobot(path, model)


def random_configuration(model, rng):
    """Return q and v, in motion; brakes hold what they hold."""
    q = model.integrate(model.neutral(), rng.normal(size=model.nv), 1.0)
    return q, np.where(model.locked, 0.0, rng.normal(size=model.nv))


def random_state(model, rng):
    return RobotState(model, *random_configuration(model, rng))


def regular_state(model, dense, goals, rng):
    """Return a state at which the goals can all be met, well away from any singularity, or None."""
    for _ in range(20):
        state = random_state(model, rng)
        dense.at(state.q, state.v)
        J = [dense.frame(goal.frame)[1][np.isin(ALL_AXES, goal.axes)] for goal in goals]
        if not J or np.linalg.svd(np.vstack(J)[:, ~model.locked])[1][-1] > 0.02:
            return state
    return None


def random_goal(frame, rng, axes=ALL_AXES):
    pose = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))
    return Goal(frame, pose, kp=rng.uniform(10.0, 200.0, 6), axes=axes,
                kd=rng.uniform(5.0, 50.0, 6), twist=rng.normal(size=6),
                acceleration=rng.normal(size=6), max_linear_velocity=rng.uniform(0.1, 20.0),
                max_angular_velocity=rng.choice([np.inf, 1.0]))


def make_task(goal, name):
    task = PoseTask(goal.frame, name=name, kp=goal.kp, kd=goal.kd, axes=goal.axes,
                    max_linear_velocity=goal.max_linear_velocity,
                    max_angular_velocity=goal.max_angular_velocity)
    task.set_target(goal.pose.homogeneous, twist=goal.twist, acceleration=goal.acceleration)
    return task


def controller_for(model, goals, posture=None, **arguments):
    return OperationalSpaceController(
        model, [make_task(goal, f'task {i}') for i, goal in enumerate(goals)], posture,
        **{'effort_limits': np.inf, 'singularity_threshold': 1e-12, **arguments})


def posture_acceleration(model, state, target, kp, kd):
    """Return kp (q_d − q) − kd v, for any joint but quaternions within half a turn."""
    a = -kd * state.v
    scalar = model.q_index >= 0
    difference = (target - state.q)[model.q_index[scalar]]
    endless = np.isinf(model.lower_position_limits) & np.isinf(model.upper_position_limits)
    turns = np.where(endless[scalar], np.round(difference / (2.0 * np.pi)), 0.0)
    if model.floating_base:
        turns[:3] = 0.0  # lengths
        goal, now = (pin.Quaternion(*x[[6, 3, 4, 5]]).matrix() for x in (target, state.q))
        a[3:6] += kp[3:6] * pin.log3(goal @ now.T)
    a[scalar] += kp[scalar] * (difference - 2.0 * np.pi * turns)
    return a


def compare(model, dense, goals, rng, **arguments):
    """Hold the controller's torques against the dense law at a random state."""
    state = regular_state(model, dense, goals, rng)
    kp, kd = rng.uniform(1.0, 100.0, model.nv), rng.uniform(0.0, 20.0, model.nv)
    target = random_state(model, rng).q
    controller = controller_for(model, goals, PostureTask(kp, kd, target), **arguments)
    out = np.full(model.nv, np.nan)
    tau = controller.compute_torque(state, out=out)
    assert tau is out
    reference = dense.at(state.q, state.v).torque(
        goals, posture_acceleration(model, state, target, kp, kd),
        gravity=controller.gravity_compensation)
    np.testing.assert_allclose(tau, reference, rtol=0.0, atol=1e-10 * abs(reference).max())
    return controller, tau


@pytest.mark.parametrize('name, frames, locked, floating', [*FIXED, *FLOATING, *LOCKED])
def test_torques_are_those_of_the_dense_law(name, frames, locked, floating):
    model, dense = robot(name, locked, floating)
    rng = np.random.default_rng(7)
    for count in range(len(frames) + 1):
        goals = [random_goal(frame, rng) for frame in frames[:count]]
        if 6 * count > model.nv - len(locked) - 3:  # leave some redundancy
            goals = [random_goal(goal.frame, rng, axes=('x', 'y', 'z')) for goal in goals]
        _, tau = compare(model, dense, goals, rng)
        assert (tau[model.locked] == 0.0).all()


@pytest.mark.parametrize('seed', range(20))
def test_any_axes_of_any_points(seed):
    """Also points that share a link, and a point on a body that carries another point."""
    rng = np.random.default_rng(seed)
    model, dense = robot(TALOS, (), bool(seed % 2))
    places = [*TALOS_HANDS, *TALOS_FEET, 'torso_2_link', 'arm_left_3_link', 'head_2_link',
              'wrist_left_ft_tool_link']
    state = None
    while state is None:
        goals = [random_goal(frame, rng, tuple(rng.permutation(ALL_AXES)[:rng.integers(1, 7)]))
                 for frame in rng.permutation(places)[:rng.integers(1, 5)]]
        state = regular_state(model, dense, goals, rng)
    compare(model, dense, goals, rng)


def test_every_subset_of_axes():
    model, dense = robot('xarm7.urdf')
    rng = np.random.default_rng(0)
    for count in range(1, 7):
        for axes in combinations(ALL_AXES, count):
            compare(model, dense, [random_goal('link_eef', rng, axes)], rng)


def test_two_points_on_one_link_and_one_on_the_body_that_carries_it():
    model, dense = robot(TALOS)
    rng = np.random.default_rng(1)
    compare(model, dense, [
        random_goal('gripper_left_base_link', rng, ('x', 'y', 'z')),
        random_goal('wrist_left_ft_tool_link', rng, ('ry', 'rz')),
        random_goal('arm_left_3_link', rng, ('x', 'y'))], rng)


def test_gravity_may_be_left_to_the_hardware():
    model, dense = robot('dual_arm.urdf')
    rng = np.random.default_rng(2)
    goals = [random_goal('l_hand', rng)]
    controller, _ = compare(model, dense, goals, rng, gravity_compensation=False)
    state = random_state(model, rng)
    without = controller.compute_torque(state)
    controller.gravity_compensation = True
    np.testing.assert_allclose(controller.compute_torque(state) - without, model.gravity(state),
                               atol=1e-9)


@pytest.mark.parametrize('name, frames, locked, floating',
                         [FIXED[0], FIXED[2], FLOATING[0], FLOATING[3], *LOCKED])
def test_the_torques_do_what_was_asked(name, frames, locked, floating):
    """By forward dynamics: a* is met, whatever the posture or null-space damping wants."""
    model, _ = robot(name, locked, floating)
    rng = np.random.default_rng(3)
    axes = ALL_AXES if len(frames) < 3 else ('x', 'y', 'z')
    goals = [random_goal(frame, rng, axes) for frame in frames]
    state = random_state(model, rng)
    accelerations = []
    for posture in (PostureTask(kp=0.0, kd=0.0), PostureTask(kp=0.0, kd=30.0), PostureTask(60.0)):
        controller = controller_for(model, goals, posture)
        a = model.forward_dynamics(state, controller.compute_torque(state))
        J = model.jacobian(state, frames)
        accelerations.append((J @ a + model.bias_acceleration(state, frames)).reshape(-1, 6))
    on = np.isin(ALL_AXES, axes)
    for goal, row in zip(goals, accelerations[0], strict=True):
        pose = pin.SE3(model.forward_kinematics(state, [goal.frame])[goal.frame])
        wanted = goal.demand(pose, model.jacobian(state, [goal.frame]) @ state.v)
        np.testing.assert_allclose(row[on], wanted[on], atol=1e-8 * abs(wanted).max())
    for other in accelerations[1:]:
        np.testing.assert_allclose(other[:, on], accelerations[0][:, on],
                                   atol=1e-9 * abs(accelerations[0]).max())


def test_null_space_damping_is_that_of_khatib():
    """Γ_ns = (1 − Jᵀ J̄ᵀ)(−k_vq A q̇), [K87] (7.5)-(7.6), to the last digits."""
    model, dense = robot(TALOS)
    rng = np.random.default_rng(4)
    state, goals = random_state(model, rng), [random_goal(frame, rng) for frame in TALOS_HANDS]
    damped, undamped = (
        controller_for(model, goals, PostureTask(kp=0.0, kd=kd)).compute_torque(state)
        for kd in (12.0, 0.0))
    dense.at(state.q, state.v)
    J = np.vstack([dense.frame(frame)[1] for frame in TALOS_HANDS])
    J_bar = np.linalg.solve(dense.A, J.T) @ np.linalg.inv(J @ np.linalg.solve(dense.A, J.T))
    projected = (np.eye(model.nv) - J.T @ J_bar.T) @ (-12.0 * dense.A @ state.v)
    np.testing.assert_allclose(damped - undamped, projected, atol=1e-9 * abs(damped).max())


def test_ten_kilometres_from_the_origin():
    model, _ = robot(TALOS, (), True)
    rng = np.random.default_rng(5)
    near = random_state(model, rng)
    goals = [random_goal(frame, rng) for frame in TALOS_HANDS]
    torques = []
    for offset in (np.zeros(3), np.array([1e4, -1e4, 5e3])):
        q = near.q.copy()
        q[:3] += offset
        moved = [Goal(**{**vars(goal), 'pose': pin.SE3(goal.pose.rotation,
                                                       goal.pose.translation + offset)})
                 for goal in goals]
        torques.append(controller_for(model, moved).compute_torque(RobotState(model, q, near.v)))
    # What is left is how finely positions can be told there at all, 2e-12 m, times kp and mass.
    np.testing.assert_allclose(torques[1], torques[0], atol=1e-10 * abs(torques[0]).max())


@pytest.mark.parametrize('name, frames, locked, floating', [FLOATING[0], LOCKED[2]])
def test_a_turned_world_changes_nothing(name, frames, locked, floating):
    """The same robot and goals, turned, gravity aside: also while directions are lost."""
    model, _ = robot(name, locked, floating)
    rng = np.random.default_rng(6)
    state, turn = random_state(model, rng), pin.SE3(pin.exp3(rng.normal(size=3)), np.zeros(3))
    goals = [random_goal(frames[0], rng), random_goal(frames[0], rng), random_goal(frames[1], rng)]
    q, v = state.q.copy(), state.v.copy()
    q[:3] = turn.rotation @ q[:3]
    q[3:7] = (pin.Quaternion(turn.rotation) * pin.Quaternion(*q[[6, 3, 4, 5]])).coeffs()
    v[:3], v[3:6] = turn.rotation @ v[:3], turn.rotation @ v[3:6]
    turned = RobotState(model, q, v)

    def turned_goal(goal):
        six = [np.r_[turn.rotation @ x[:3], turn.rotation @ x[3:]]
               for x in (goal.twist, goal.acceleration)]
        return Goal(**{**vars(goal), 'pose': turn * goal.pose, 'twist': six[0],
                       'acceleration': six[1], 'kp': np.full(6, 50.0), 'kd': np.full(6, 9.0)})

    goals = [Goal(**{**vars(goal), 'kp': np.full(6, 50.0), 'kd': np.full(6, 9.0)})
             for goal in goals]
    options = {'gravity_compensation': False, 'singularity_threshold': 5e-3}
    before = controller_for(model, goals, PostureTask(0.0, 1.0), **options)
    after = controller_for(model, [turned_goal(goal) for goal in goals], PostureTask(0.0, 1.0),
                           **options)
    expected, tau = before.compute_torque(state), after.compute_torque(turned)
    assert before.least_eigenvalue == 0.0
    expected[:3], expected[3:6] = turn.rotation @ expected[:3], turn.rotation @ expected[3:6]
    np.testing.assert_allclose(tau, expected, atol=1e-9 * abs(expected).max())

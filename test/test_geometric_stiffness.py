# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Goals that bounds put out of reach: the geometric stiffness of forces as inertia of links."""

import re
from functools import cache

import numpy as np
import pytest
from ideal_robot import IdealRobot
from test_distance_limits import STEP, bent, bound, largest_steps, moved, robot

from opspace_control import (
    CenterOfMassTask,
    CollisionModel,
    DistanceLimits,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PositionTask,
    PostureTask,
    RelativeTask,
    RobotModel,
    RobotState,
    Shape,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.control.planning.postures import named_posture
from opspace_control.share import share_directory

START = np.array([0.3, 0.6, 0.6])
SHOULDER = 0.6  # rad, at which a post stands against the upper arm
X = np.eye(3)[0]
AXES = [0, 2]  # of the plane


@cache
def arm():
    return RobotModel.from_urdf_file(share_directory() / 'urdf' / 'planar_3r.urdf')


def hand(q, link='hand'):
    return arm().forward_kinematics(RobotState(arm(), q, np.zeros(3)), [link])[link]


def on_upper_arm(angle):
    frame = hand(np.array([angle, 0.0, 0.0]), 'upper_arm')
    return frame[:3, 3] + frame[:3, :3] @ [0.3, 0.0, 0.0]


def behind_a_post(angle, part):
    """Return a controller of an arm whose goal is beyond a post, and its state."""
    way = on_upper_arm(SHOULDER + 1e-4) - on_upper_arm(SHOULDER)
    post = on_upper_arm(SHOULDER) + 0.07 * way / np.linalg.norm(way)
    shapes = [Shape('arm', 'upper_arm', 'sphere', [0.03], position=[0.3, 0.0, 0.0]),
              Shape('post', None, 'sphere', [0.03], position=list(post))]
    task = PoseTask('hand', axes='x z', max_linear_velocity=0.5)
    controller = OperationalSpaceController(
        arm(), [task], PostureTask(target=START), limits=JointLimits(arm()),
        distances=DistanceLimits(CollisionModel(arm(), shapes), margin=0.01))
    base, goal = on_upper_arm(0.0) - [0.3, 0.0, 0.0], hand(np.array([angle, 0.0, 0.0]))
    goal[:3, 3] = base + part * (goal[:3, 3] - base)
    task.set_target(goal)
    return controller, task, RobotState(arm(), START, np.zeros(3))


@pytest.mark.parametrize(('angle', 'part'), [(1.2, 0.95), (2.0, 0.7), (2.4, 0.95)])
def test_an_arm_rests_as_near_to_its_goal_as_a_post_lets_it(angle, part):
    """Before it swung at 4 to 5 rad/s for good; the hand is where the least distance is."""
    controller, task, start = behind_a_post(angle, part)
    efforts, fastest = [], 0.0
    for k, (state, tau) in enumerate(moved(controller, start, 8000)):
        efforts.append(tau.copy())
        if k >= 7000:
            fastest = max(fastest, abs(state.v).max())
    steps = largest_steps(efforts, arm())
    assert fastest < 1e-3  # rad/s
    assert steps[-1000:].sum() < 1e-3
    assert steps.max() < 0.15
    goal = task.target[AXES]
    # The upper arm stays where it is; elbow and wrist are at the nearest point to the goal.
    angles = np.linspace(-1.5, 1.5, 121)
    forearms = np.array([hand(np.array([state.q[0], elbow, 0.0]), 'forearm') for elbow in angles])
    within = np.array([np.linalg.inv(hand(np.zeros(3), 'forearm')) @ hand(np.array([0.0, 0.0, w]))
                       for w in angles])
    places = (forearms[:, None] @ within)[..., AXES, 3]
    assert places.shape == (121, 121, 2)
    best = np.linalg.norm(places - goal, axis=-1).min()
    assert np.linalg.norm(hand(state.q)[AXES, 3] - goal) < best + 1e-4


@pytest.mark.parametrize(('angle', 'part', 'kp'), [(1.2, 0.95, 4.0), (2.0, 0.7, 1.0)])
def test_a_soft_task_rests_too(angle, part, kp):
    """Links are damped as fast as the posture damps joints; at 2 √k it swung at 5 and 6 rad/s."""
    controller, task, start = behind_a_post(angle, part)
    task.set_gains(kp=kp)
    fastest = 0.0
    for k, (state, _) in enumerate(moved(controller, start, 16000)):
        fastest = max(fastest, abs(state.v).max()) if k >= 15000 else 0.0
    assert controller.active_limits
    assert fastest < 0.01  # rad/s


def test_hands_rest_where_joints_are_at_their_ends():
    """Before, joints at rest at their limits made singular directions: 3.4 rad/s for good."""
    model, hands = RobotModel.from_urdf_file(
        share_directory() / 'urdf' / 'dual_arm.urdf'), ('l_hand', 'r_hand')
    tasks = [PoseTask(hand, max_linear_velocity=0.5, max_angular_velocity=1.5) for hand in hands]
    state = bent(model, demo_robot('dual_arm').start)
    controller = OperationalSpaceController(
        model, tasks, PostureTask(target=state.q), limits=JointLimits(model))
    lower, upper = controller.limits.lower, controller.limits.upper
    goal = 0.5 * (lower + upper) + 0.4 * (upper - lower) * np.random.default_rng(0).uniform(
        -1.0, 1.0, (140, model.nv))[-1]
    poses = model.forward_kinematics(RobotState(model, goal, np.zeros(model.nv)), hands)
    for task, hand in zip(tasks, hands, strict=True):
        task.set_target(poses[hand])
    fastest, steps, before = 0.0, 0.0, None
    for k, (now, tau) in enumerate(moved(controller, state, 7000)):
        if k >= 6000:
            fastest = max(fastest, abs(now.v).max())
            steps += (abs(tau - before) / model.effort_limits).max()
        before = tau.copy()
    assert controller.active_limits
    assert fastest < 0.02  # rad/s
    assert steps < 0.01


def sent_to_a_random_goal(robot, number):
    """Return a controller of both hands, without distances, and its state."""
    model = RobotModel.from_urdf_file(robot.path(), locked_joints=robot.braked())
    state = RobotState(model, named_posture(model, robot.start), np.zeros(model.nv))
    tasks = [PoseTask(hand, max_linear_velocity=0.5, max_angular_velocity=1.5)
             for hand in robot.hands]
    controller = OperationalSpaceController(
        model, tasks, PostureTask(target=state.q), limits=JointLimits(model))
    goal, free = state.q.copy(), np.flatnonzero(~model.locked)
    lower, upper = model.lower_position_limits[free], model.upper_position_limits[free]
    goal[model.q_index[free]] = 0.5 * (lower + upper) + 0.4 * (upper - lower) * (
        np.random.default_rng(0).uniform(-1.0, 1.0, (number + 1, model.nv))[-1, free])
    poses = model.forward_kinematics(RobotState(model, goal, np.zeros(model.nv)), robot.hands)
    for task in tasks:
        task.set_target(poses[task.frame])
    return controller, state


@pytest.mark.parametrize(('name', 'number', 'limits', 'hand'), [
    ('tiago_dual', 163, {('arm_left_4_joint', 'position'), ('arm_left_7_joint', 'position')},
     'arm_left_tool_link'),
    ('talos', 28, {('arm_left_4_joint', 'position'), ('arm_left_2_joint', 'gravity torque')},
     'gripper_left_base_link')])
def test_joints_that_turn_against_each_other_rest(name, number, limits, hand):
    """
    Two joints are left that move no row: 1.9 and 1.8 rad/s for good before.

    By the moments of tasks, and by what a bound of a gravity torque exerts.
    """
    controller, state = sent_to_a_random_goal(demo_robot(name), number)
    fastest = 0.0
    for k, (now, _) in enumerate(moved(controller, state, 7000)):
        fastest = max(fastest, abs(now.v).max()) if k >= 6000 else 0.0
    assert limits <= {(limit.name, limit.limit) for limit in controller.active_limits}
    assert np.linalg.norm(controller.residual_accelerations[hand]) > 10.0
    assert fastest < 0.02  # rad/s


@pytest.mark.parametrize(('angle', 'part'), [(1.2, 0.95), (2.0, 0.7)])
def test_damping_of_the_motion_moves_nothing_that_is_at_rest(angle, part):
    """Tasks are softer by it; where the posture was not as well, efforts changed by 0.015 N m."""
    controller, _, start = behind_a_post(angle, part)
    *_, (state, _) = moved(controller, start, 6000)
    rest, efforts = RobotState(arm(), state.q, np.zeros(3)), []
    for rate in (0.0, 500.0):
        controller.compute_torque(rest)
        controller._cycle['damping_rate'] = rate
        efforts.append(controller.compute_torque(rest).copy())
    np.testing.assert_allclose(*efforts, rtol=0.0, atol=3e-3)
    assert efforts[0] != pytest.approx(efforts[1], abs=1e-9)


def test_the_efforts_do_what_the_residuals_say():
    """With inertias of links in the metric, the arm moves as the problem has it, within bounds."""
    controller, _, start = behind_a_post(2.0, 0.7)
    record, before, stiffened = controller._arguments, False, 0
    for k, (state, tau) in enumerate(moved(controller, start, 3000)):
        before, used = record.cycle[0]['stiffened'], before
        if not used or k % 10 or not controller.active_limits:
            continue
        stiffened += 1
        a = arm().forward_dynamics(state, tau)
        attained = (arm().jacobian(state, ['hand']) @ a
                    + arm().bias_acceleration(state, ['hand']))[AXES]
        missed = controller.residual_accelerations['hand'][AXES]
        np.testing.assert_allclose(
            record.demand.tasks['acceleration'][0, AXES] - attained, missed, atol=1e-6)
        assert abs(missed).max() > 1e-3
        limits = record.limits.joints
        assert (a > limits['least'] - 1e-3 * limits['acceleration']).all()
        assert (a < limits['greatest'] + 1e-3 * limits['acceleration']).all()
        gradient, least = bound(controller)
        assert gradient @ a > least - 1e-3 * limits['acceleration'].max()
    assert stiffened > 50


def redundant_arm():
    """Return a controller of an arm whose hand is sent into a ball, and its state."""
    model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'arm_7r.urdf')
    rng = np.random.default_rng(0)
    q = rng.uniform(-0.3, 0.3, 7)
    q[[1, 3, 5]] += [0.5, 1.4, 0.8]
    state = RobotState(model, q, np.zeros(7))
    pose = model.forward_kinematics(state, ['hand'])['hand']
    way = rng.normal(size=3)
    way /= np.linalg.norm(way)
    shapes = [Shape('hand', 'hand', 'sphere', [0.05]),
              Shape('ball', None, 'sphere', [0.5], position=list(pose[:3, 3] + 0.6 * way))]
    task = PoseTask('hand', axes='x y z', max_linear_velocity=0.5)
    controller = OperationalSpaceController(
        model, [task], PostureTask(target=q + rng.uniform(-0.5, 0.5, 7)),
        limits=JointLimits(model),
        distances=DistanceLimits(CollisionModel(model, shapes), margin=0.01))
    pose[:3, 3] += 0.15 * way + 0.05 * np.cross(way, [1.0, 0.0, 0.0])
    task.set_target(pose)
    return controller, state


@pytest.mark.parametrize(('mass', 'speed', 'turn'), [(1.0, 1e-3, 1e-3), (1.1, 0.07, 0.05)])
def test_redundant_joints_rest_where_they_do_without_inertias(mass, speed, turn):
    """Where masses are wrong drives command accelerations at rest, which are no rotations."""
    controller, state = redundant_arm()
    cycle, stiffened, rest = controller._arguments.cycle[0], 0, None
    text = (share_directory() / 'urdf' / 'arm_7r.urdf').read_text()
    heavy = IdealRobot(RobotModel.from_urdf(re.sub(
        r'<mass value="([^"]+)"', lambda m: f'<mass value="{mass * float(m[1])}"', text)))
    for k in range(12000):
        tau = controller.compute_torque(state, dt=1e-3)
        state = heavy.after(state, tau, 1e-3)
        if k < 8000:
            cycle['stiffened'] = False
            continue
        rest = state.q.copy() if k == 8000 else rest
        stiffened += cycle['stiffened']
        assert abs(state.v).max() < speed  # rad/s
        assert abs(state.q - rest).max() < turn
    assert controller.active_limits
    assert stiffened > 3900
    assert controller._limits.memory.link_inertia[0].max() > 0.1  # kg m²


def hands_that_cross(model, tasks):
    """Return a controller whose hands, balls of 8 cm, are sent to the place of the other."""
    state = bent(model, demo_robot('dual_arm').start)
    shapes = [Shape('left', 'l_hand', 'sphere', [0.08]), Shape('right', 'r_hand', 'sphere', [0.08])]
    controller = OperationalSpaceController(
        model, tasks, PostureTask(target=state.q), limits=JointLimits(model),
        distances=DistanceLimits(CollisionModel(model, shapes), margin=0.01))
    return controller, state, model.forward_kinematics(state, ['l_hand', 'r_hand'])


def test_a_centre_of_mass_beside_hands_that_press():
    """Unit forces at it are propagated twice in a cycle; before, Λ⁻¹ counted them twice."""
    model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')
    hands = [PoseTask(f, axes='x y z', max_linear_velocity=0.5) for f in ('l_hand', 'r_hand')]
    whole = CenterOfMassTask(priority=1)
    controller, state, poses = hands_that_cross(model, [*hands, whole])
    for hand, other in zip(hands, ('r_hand', 'l_hand'), strict=True):
        hand.set_target(poses[other])
    cycle, stiffened = controller._arguments.cycle[0], 0
    before = False
    for k, (state, tau) in enumerate(moved(controller, state, 2000)):  # noqa: B020
        used, before = before, cycle['stiffened']
        if not used or k % 20:
            continue
        stiffened += 1
        gradient, least = bound(controller)
        assert gradient @ model.forward_dynamics(state, tau) > least - 1e-4
    assert stiffened > 20


def test_what_both_ends_of_a_relative_task_share_has_no_inertia():
    """A turn of the torso changes no pose of one hand in the frame of the other."""
    model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')
    task = RelativeTask('l_hand', 'r_hand', axes='x y z', max_linear_velocity=0.5)
    controller, state, poses = hands_that_cross(model, [task])
    goal = np.linalg.inv(poses['r_hand']) @ poses['l_hand']
    goal[:3, 3] *= 0.2
    task.set_target(goal)
    nodes, traces = controller._arguments.robot.nodes, np.zeros(0)
    for _ in moved(controller, state, 2000):
        traces = np.trace(controller._limits.memory.link_inertia[0], axis1=1, axis2=2)
    point = controller._arguments.robot.points[0]

    def chain(i):
        return {int(i)} | chain(nodes[i]['parent']) if i >= 0 else set()
    shared = sorted(chain(point['frame']['node']) & chain(point['other']['node']))
    assert shared
    assert not traces[shared].any()
    assert traces.max() > 0.01  # kg m²


@pytest.mark.parametrize(('press', 'known', 'least', 'most'), [
    (0.0, False, 0.08, 0.12), (0.3, False, 0.3, 0.36), (0.3, True, 0.09, 0.13)])
def test_a_posture_that_moves_lags_while_a_hand_presses_unless_its_velocity_is_given(
        press, known, least, most):
    """As doc/explanation/distances.md has it."""
    model = robot('dual_arm')
    state = bent(model)
    start, elbow = state.q.copy(), model.dof_index('l_elbow')
    place = model.forward_kinematics(state, ['l_hand'])['l_hand'][:3, 3]
    facing = [[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]  # the normal is along −x
    shapes = [Shape('palm', 'l_hand', 'sphere', [0.05]),
              Shape('wall', None, 'half_space', [], place + 0.08 * X, facing)]
    task, posture = PositionTask('l_hand', max_linear_velocity=0.5), PostureTask(target=start)
    controller = OperationalSpaceController(
        model, [task], posture, limits=JointLimits(model),
        distances=DistanceLimits(CollisionModel(model, shapes)))
    task.set_target(place + press * X)
    target, velocity = start.copy(), np.zeros(model.nv)
    for k, (now, _) in enumerate(moved(controller, state, round(6.0 / STEP))):
        if k * STEP >= 2.0:
            velocity[elbow] = 0.1
            target[model.q_index[elbow]] += 0.1 * STEP
        posture.set_target(target, velocity=velocity if known else None)
        lag = abs(now.q - target)[model.q_index[elbow]]
    assert least < lag < most
    assert bool(press) == bool(controller.active_limits)


@pytest.mark.parametrize(('name', 'seed'), [('dual_arm', 173), ('humanoid', 202)])
def test_efforts_are_continuous_where_multipliers_are_not_unique(name, seed):
    """The bounds contradict the first hand, so multipliers in the level of the second one vary."""
    model = RobotModel.from_urdf_file(share_directory() / 'urdf' / f'{name}.urdf')
    lower, upper = (np.where(np.isfinite(limits), limits, usual) for limits, usual in (
        (model.lower_position_limits, -2.0), (model.upper_position_limits, 2.0)))

    def efforts(change):
        rng = np.random.default_rng(seed)
        q = lower + (upper - lower) * rng.uniform(0.02, 0.98, model.nv)
        at_limit = rng.random(model.nv) < 0.3
        q[at_limit] = np.where(rng.random(model.nv) < 0.5, lower, upper)[at_limit]
        tasks = [PoseTask(hand, priority=k) for k, hand in enumerate(('l_hand', 'r_hand'))]
        controller = OperationalSpaceController(model, tasks, limits=JointLimits(model))
        v = rng.uniform(-0.3, 0.3, model.nv)
        state = RobotState(model, q + change, v)
        controller.compute_torque(state)
        for task in tasks:
            task.set_target([*(task.pose[:3] + rng.uniform(-1.0, 1.0, 3)), *task.pose[3:]])
        return np.array([controller.compute_torque(state) for _ in range(6)])

    way = np.random.default_rng(seed).normal(size=model.nv)
    before = efforts(0.0)
    assert abs(efforts(1e-11 * way) - before).max() < 1e-7 * abs(before).max()


def test_a_cycle_without_time_changes_no_inertia_of_links():
    """A state that is repeated; 0 of the change by 0 of its time was NaN in the next cycle."""
    model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')
    ends = model.upper_position_limits
    controller = OperationalSpaceController(
        model, [PoseTask('l_hand'), PoseTask('r_hand')], limits=JointLimits(model))
    state = RobotState(model, np.where(np.isfinite(ends), ends, 0.0), np.full(model.nv, -0.1))
    controller.compute_torque(state)
    for task in controller.tasks.values():
        task.set_target([*(task.pose[:3] + 0.7), *task.pose[3:]])
    cycle = controller._cycle
    for dt in (1e-3, 1e-3, 0.0, 0.0, 1e-3):
        before = cycle['damping_rate'].item()
        assert np.isfinite(controller.compute_torque(state, dt=dt)).all()
        assert cycle['stiffened'].all()
        assert (cycle['damping_rate'].item() == before) == (dt == 0.0)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Joints never carry more than they can hold: the rows of it, and arms sent too far out."""

import numpy as np
import pytest
from lockstep import LockStep
from robots import TALOS, joint, link, robot, robot_file

from opspace_control import (
    JointLimits,
    OperationalSpaceController,
    Payload,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.compiled import kernel
from opspace_control.dynamics.data import NODE_STATE, nan_filled
from opspace_control.dynamics.kinematics import move_node, place_node, weigh_node
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.dynamics.weights import gather_weights, gravity_torque_second_rate
from opspace_control.model.nodes import REVOLUTE
from opspace_control.share import share_directory

ARM = share_directory() / 'urdf' / 'planar_2r.urdf'


@pytest.mark.parametrize(('name', 'frame', 'braked'), [
    (TALOS, 'gripper_left_base_link', 'torso_1_joint'),
    ('panda.urdf', 'panda_link8', 'panda_finger_joint1'),
    ('tiago_no_hand.urdf', 'arm_tool_link', 'head_1_joint')], ids=['Talos', 'Panda', 'TIAGo'])
def test_rows_are_how_loads_change(name, frame, braked):
    """Trees, sliding joints, brakes: against finite differences of g."""
    model = RobotModel.from_urdf_file(robot_file(name), locked_joints=[braked])
    limits = JointLimits(model)
    limits.gravity_torque = 1e-6 * model.effort_limits
    controller = OperationalSpaceController(model, PoseTask(frame), limits=limits)
    rng, seen = np.random.default_rng(0), 0
    for _ in range(4):
        q = model.neutral()
        q[model.q_index] += rng.uniform(-0.5, 0.5, model.nv)
        v = np.where(model.locked, 0.0, rng.uniform(-0.1, 0.1, model.nv))
        controller.compute_torque(RobotState(model, q, v))
        gravity, change = model.gravity(RobotState(model, q, v)), np.zeros((model.nv, model.nv))
        for j in np.flatnonzero(~model.locked):
            step = np.zeros(model.nq)
            step[model.q_index[j]] = 1e-6
            there, back = (model.gravity(RobotState(model, q + way * step, v)) for way in (1, -1))
            change[:, j] = (there - back) / 2e-6
        for k in np.flatnonzero(np.isfinite(controller._limits.records['gravity_bound'])):
            row = controller._limits.scratch.gravity_gradient[k, :model.nv] * np.sign(gravity[k])
            np.testing.assert_allclose(row, change[k], atol=1e-6)
            seen += 1
    assert seen > 10


@pytest.mark.parametrize('tail', [None, 0.2], ids=['massless', 'tool'])
def test_a_sliding_joint_without_limits_leaves_the_rows_of_the_others(tail):
    """With nothing on it: no mass by no limit was NaN, so no joint had a row."""
    turns = '<axis xyz="0 1 0"/><origin xyz="0.5 0 0"/><limit lower="-2" upper="2" effort="20"/>'
    links = [link('l0'), link('l1', mass=2.0), link('l2', mass=2.5), link('tool', mass=tail)]
    text = robot(*links, joint('j1', 'l0', 'l1', inner=turns), joint('j2', 'l1', 'l2', inner=turns),
                 joint('slide', 'l2', 'tool', 'prismatic'))
    model = RobotModel.from_urdf(text, locked_joints=['slide'])
    limits = JointLimits(model)
    limits.gravity_torque[0] = 10.0
    controller = OperationalSpaceController(model, limits=limits)
    controller.compute_torque(RobotState(model, [0.5, 0.0, 0.0], np.zeros(3)))
    assert np.isfinite(controller._limits.records['gravity_bound'][0])


@kernel
def bend(nodes, states, q, v, carried, still, gravity, scratch, bent):
    """Write how the growth of the loads of all nodes changes in a steady motion."""
    for i in range(nodes.size):
        place_node(nodes, i, q, states)
        weigh_node(nodes, i, states)
        move_node(nodes, i, v, still, states)
    gather_weights(nodes, states, carried)
    for i in range(nodes.size):
        bent[i] = gravity_torque_second_rate(nodes, states, i, carried, gravity, scratch)


@pytest.mark.parametrize(('name', 'braked'), [
    (TALOS, 'torso_1_joint'), ('panda.urdf', 'panda_finger_joint1'),
    ('tiago_no_hand.urdf', 'head_1_joint')], ids=['Talos', 'Panda', 'TIAGo'])
def test_how_loads_bend(name, braked):
    """The second derivative along a straight line of the joints, by finite differences of g."""
    model, rng = RobotModel.from_urdf_file(robot_file(name)), np.random.default_rng(1)
    still = model.dof_index(braked)
    nodes = model.nodes
    moved = nodes['v_index'] >= 0
    states, carried = nan_filled(nodes.size, NODE_STATE), nan_filled((nodes.size, 4))
    for _ in range(4):
        q, v = model.neutral(), rng.normal(size=model.nv)
        v[still] = 0.0
        q[model.q_index] += rng.uniform(-0.5, 0.5, model.nv)
        bent = np.full(nodes.size, np.nan)
        bend(nodes, states, q, v, carried, np.zeros(model.nv), GRAVITY.copy(), nan_filled((6, 6)),
             bent)
        line = [model.gravity(RobotState(model, model.integrate(q, v, t), v))
                for t in (-1e-4, 0.0, 1e-4)]
        seen = np.sign(line[1]) * (line[0] - 2.0 * line[1] + line[2]) / 1e-8
        np.testing.assert_allclose(bent[moved], seen[nodes['v_index'][moved]],
                                   atol=1e-6 * abs(line[1]).max() / 1e-4)


def test_an_arm_rests_where_it_carries_all_it_can():
    """On the way of equal load w bends with it; taken for straight the arm swung at 1.6 rad/s."""
    robot = demo_robot('talos')
    joints = RobotModel.from_urdf_file(robot.path()).dof_names
    tasks = [PoseTask(hand, axes=robot.axes, max_linear_velocity=0.6, max_angular_velocity=1.5)
             for hand in robot.hands]
    scene = LockStep(
        robot.path(), tasks, start=robot.start, keep_limits=True, world={'joint_friction': False},
        locked_joints=[name for name in joints if not name.startswith('arm_')])
    goal = tasks[0].pose
    goal[:3] += 0.2170, 0.2725, 0.2369
    tasks[0].set_target(goal)
    course = scene.run(4.0)
    assert course.limited == 0
    assert abs(course.velocities[-500:]).max() < 0.02
    assert 'gravity torque' in {active.limit for active in scene.controller.active_limits}


@pytest.mark.parametrize(('name', 'frame'), [
    (TALOS, 'gripper_left_base_link'), ('panda.urdf', 'panda_link8'),
    ('tiago_no_hand.urdf', 'arm_tool_link')], ids=['Talos', 'Panda', 'TIAGo'])
def test_what_can_be_too_heavy_is_watched(name, frame):
    """Whichever posture of 2000 is the worst for a joint; and few others are."""
    model = RobotModel.from_urdf_file(robot_file(name))
    limits, rng = JointLimits(model), np.random.default_rng(0)
    lower, upper = (np.where(np.isfinite(given), given, usual) for given, usual in (
        (limits.lower, -np.pi), (limits.upper, np.pi)))
    worst, where = np.zeros(model.nv), np.tile(model.neutral(), (model.nv, 1))
    turning = model.nodes['kind'][limits.records(model.nodes)['node']] == REVOLUTE
    for _ in range(2000):
        q = model.neutral()
        q[model.q_index] = rng.uniform(lower, upper)
        load = abs(model.gravity(RobotState(model, q, np.zeros(model.nv))))
        where[load > worst] = q
        worst = np.maximum(worst, load)
    watched = []
    for part in (0.999, 1.5):
        limits.gravity_torque = part * worst
        controller = OperationalSpaceController(model, PoseTask(frame), limits=limits)
        growth, watched_now = controller._limits.records['gravity_bound'], []
        for k in np.flatnonzero(turning & (worst > 0.01)):
            controller.compute_torque(RobotState(model, where[k], np.zeros(model.nv)))
            watched_now.append(np.isfinite(growth[k]))
        watched.append(np.mean(watched_now))
    assert watched[0] == 1.0
    assert watched[1] < 0.6


@pytest.mark.parametrize('payload', [0.0, 8.0])
def test_what_can_never_be_too_heavy_is_not_watched(payload):
    """An elbow of Talos holds its forearm in any posture, a third of its effort; not 8 kg more."""
    model = RobotModel.from_urdf_file(robot_file(TALOS))
    elbow, shoulder = (model.dof_index(f'arm_left_{k}_joint') for k in (4, 2))
    controller = OperationalSpaceController(
        model, PoseTask('gripper_left_base_link'), limits=JointLimits(model))
    controller.payloads.put('box', 'arm_left_7_link', Payload(payload))
    q = model.neutral()
    q[model.q_index[shoulder]], q[model.q_index[elbow]] = 1.4, -1.5
    controller.compute_torque(RobotState(model, q, np.zeros(model.nv)))
    growth = controller._limits.records['gravity_bound']
    assert np.isfinite(growth[shoulder])
    assert np.isfinite(growth[elbow]) == (payload > 0.0)


def reach(start, goal, *, strength, seconds=6.0):
    """Send a weak arm of two links to a place; return the scene, the course and its loads."""
    task = PoseTask('hand', axes='x z', max_linear_velocity=0.8)
    model = RobotModel.from_urdf_file(ARM)
    efforts = strength * np.array([1.0, 10.0])  # N·m
    scene = LockStep(ARM, [task], PostureTask(kp=0.0, kd=4.0),
                     start=dict(zip(model.dof_names, start, strict=True)),
                     world={'joint_friction': False}, effort_limits=efforts, keep_limits=True)
    pose = task.pose
    pose[[0, 2]] = goal
    task.set_target(pose)
    course = scene.run(seconds)
    loads = np.array([abs(model.gravity(RobotState(model, q, np.zeros(2)))[0])
                      for q in course.positions[::10]])
    return scene, course, loads / efforts[0]


def test_an_arm_stretches_out_no_further_than_it_can_hold():
    """Nor does it fall: its load comes to rest at its end as a joint does at its own."""
    model = RobotModel.from_urdf_file(ARM)
    most = max(abs(model.gravity(RobotState(model, np.array([a, 0.0]), np.zeros(2)))[0])
               for a in np.linspace(-3.0, 3.0, 61))
    scene, course, loads = reach((1.2, -2.2), (1.5, 0.0), strength=0.7 * most)
    assert loads.max() < 0.953
    assert loads[-1] > 0.94
    assert abs(course.velocities[-200:]).max() < 5e-3
    assert scene.controller.limited_joints == 0
    assert [active.limit for active in scene.controller.active_limits] == ['gravity torque']
    # As far out as that weight lets it: a strong arm gets further.
    _, strong, _ = reach((1.2, -2.2), (1.5, 0.0), strength=2.0 * most)
    assert strong.paths[-1, 0, 0] > course.paths[-1, 0, 0] + 0.1


def test_what_carries_too_much_from_the_beginning_is_not_moved_and_carries_no_more():
    """The URDF may know less of a drive than whoever put the robot there."""
    model, start = RobotModel.from_urdf_file(ARM), np.array([0.3, 1.2])

    def load(q):
        return abs(model.gravity(RobotState(model, q, np.zeros(2)))[0])

    task = PoseTask('hand', axes='x z', max_linear_velocity=0.3)
    efforts = np.array([1.02 * load(start), 1e3])
    scene = LockStep(ARM, [task], start=dict(zip(model.dof_names, start, strict=True)),
                     world={'joint_friction': False}, effort_limits=efforts, keep_limits=True)
    assert scene.controller.limits.gravity_torque[0] < load(start)
    course = scene.run(0.5)
    assert abs(course.velocities).max() < 1e-6
    goal = task.pose
    goal[0] += 0.3  # outwards, where it would carry more
    assert load(np.array([0.3, 0.6])) > 1.02 * load(start)
    task.set_target(goal)
    course = scene.run(2.0)
    assert max(load(q) for q in course.positions[::10]) < 1.003 * load(start)


def test_loads_come_and_go_with_their_limits():
    """What was held by one is let go of; and what the hardware compensates is no load."""
    model = RobotModel.from_urdf_file(ARM)
    limits = JointLimits(model, effort_limits=np.array([12.0, 50.0]))
    task = PoseTask('hand', axes='x z')
    controller = OperationalSpaceController(model, task, limits=limits, effort_limits=np.inf)
    q = np.array([0.0, 0.0])
    weight = abs(model.gravity(RobotState(model, q, np.zeros(2)))[0])
    limits.gravity_torque[0] = 0.999 * weight
    controller.limits = limits
    state = RobotState(model, np.array([0.3, -0.6]), np.zeros(2))
    pose = model.forward_kinematics(state, 'hand')['hand']
    task.set_target(pose)
    controller.compute_torque(state)
    state.update(np.array([0.05, -0.1]), np.array([-2.0, 4.0]))
    controller.compute_torque(state)
    assert 'gravity torque' in {active.limit for active in controller.active_limits}
    free = JointLimits(model, effort_limits=np.inf)
    assert np.isinf(free.gravity_torque).all()
    controller.limits = free
    assert np.isfinite(controller.compute_torque(state)).all()
    assert 'gravity torque' not in {active.limit for active in controller.active_limits}
    controller.limits = limits
    controller.gravity_compensation = False
    assert np.isfinite(controller.compute_torque(state)).all()
    assert 'gravity torque' not in {active.limit for active in controller.active_limits}

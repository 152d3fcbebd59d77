# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""[K87] VIII with passive joints, a free base, contacts and grasps, in lock-step with MuJoCo."""

import numpy as np
import pytest
from carrying import Carriers
from lockstep import LockStep
from robots import TALOS, robot_file

from opspace_control import (
    Contact,
    JointLimits,
    OperationalSpaceController,
    Payload,
    PoseTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.control.singular.direction_motion import EXERTED, MOVED
from opspace_control.share import share_directory
from opspace_control.simulation import Box

ALL = 'x y z rx ry rz'
HINGED = share_directory() / 'urdf' / 'planar_4r.urdf'
HINGED_START = {'shoulder': -0.5, 'hinge': 0.5, 'elbow': 1.0, 'wrist': -1.5}
THRUSTERS = 'base_x', 'base_y', 'base_yaw'
FEET = 'left_sole_link', 'right_sole_link'


def judge(velocities, efforts, model, resting=0.02):
    """Speeds within limits, efforts that change by little in a ms, and rest at last."""
    limits = np.where(model.effort_limits > 0.0, model.effort_limits, np.inf)[-efforts.shape[1]:]
    driven = ~(model.passive | model.locked)[-velocities.shape[1]:]
    fastest = model.velocity_limits[-velocities.shape[1]:][driven]
    assert (abs(velocities[:, driven]) <= 1.01 * fastest).all()
    assert (abs(efforts) < limits).all()
    assert (abs(np.diff(efforts[1:], axis=0)) <= 0.1 * limits).all()
    assert abs(velocities[-500:]).max() < resting  # rad/s


def send(scene, way, seconds):
    """Send the first hand by a way (3,) from where its goal is; return the course, judged."""
    task = next(iter(scene.controller.tasks.values()))
    goal = task.target
    goal[:3] += way
    task.set_target(goal)
    course = scene.run(seconds)
    assert course.limited == 0
    judge(course.velocities, course.efforts, scene.model)
    return course


def drifting(name, axes, speed):
    """Return one of the demo's robots, nothing holding its base, and its tasks."""
    robot = demo_robot(name)
    tasks = [PoseTask(robot.hands[0], axes=axes, max_linear_velocity=speed,
                      max_angular_velocity=1.5)]
    return LockStep(robot.path(), tasks, start=robot.start, keep_limits=True,
                    passive_joints=() if robot.floating_base else THRUSTERS,
                    world={'floating_base': robot.floating_base, 'gravity': (0.0, 0.0, 0.0)},
                    gravity_compensation=False)


@pytest.mark.parametrize(('name', 'axes', 'way', 'speed'), [
    ('free_flyer_3d', ALL, (0.6, 0.2, 0.1), 0.6),
    ('free_flyer_3d', ALL, (-0.1, 0.8, 0.4), 0.3),
    ('free_flyer', 'x y rz', (0.6, 0.2, 0.0), 0.3),
    ('free_flyer', 'x y', (0.6, 0.2, 0.0), 0.6)])
def test_beyond_reach_of_a_robot_that_drifts(name, axes, way, speed):
    """It comes to rest with its base, nothing having pushed it, and the hand comes back."""
    scene = drifting(name, axes, speed)
    course = send(scene, way, 5.0)
    left = np.linalg.norm(course.errors[:, 0, :3], axis=1)
    assert 0.25 < left[-1] < left.min() + 2e-3
    assert scene.controller.least_eigenvalue == 0.0
    course = send(scene, -np.array(way), 4.0)
    rows = [ALL.split().index(axis) for axis in axes.split()]
    np.testing.assert_allclose(course.errors[-1, 0, rows], 0.0, atol=1e-3)


@pytest.mark.parametrize(('way', 'speed'), [((0.8, 0.2, 0.0), 0.3), ((-0.2, 0.9, 0.0), 0.5)])
def test_beyond_reach_over_a_joint_without_a_drive(way, speed):
    scene = LockStep(HINGED, [PoseTask('hand', axes='x y', max_linear_velocity=speed)],
                     start=HINGED_START, keep_limits=True, passive_joints=['hinge'])
    course = send(scene, way, 9.0)
    assert not course.efforts[:, 1].any()
    left = np.linalg.norm(course.errors[:, 0, :2], axis=1)
    assert 0.3 < left[-1] < left.min() + 0.06
    course = send(scene, -np.array(way), 6.0)
    np.testing.assert_allclose(course.errors[-1, 0, :2], 0.0, atol=1e-3)


def standing(speed):
    """Return Talos on both feet, the pelvis held by the legs, and the tasks of its hands."""
    path, robot = robot_file(TALOS), demo_robot('talos')
    joints = RobotModel.from_urdf_file(path).dof_names
    tasks = [PoseTask(hand, priority=1, max_linear_velocity=speed, max_angular_velocity=1.5)
             for hand in robot.hands]
    contacts = [Contact(foot) for foot in FEET]
    ground = Box('ground', (2.0, 2.0, 0.02), pose=(0, 0, -3.0, 0, 0, 0, 1), fixed=True)
    scene = LockStep(
        path, [PoseTask('base_link'), *tasks], start=robot.start, keep_limits=True,
        constraints=contacts,
        world={'floating_base': True, 'joint_friction': False, 'objects': [ground]},
        locked_joints=[name for name in joints if not name.startswith(('arm_', 'leg_'))])
    for contact in contacts:
        scene.robot.grip(contact.frame, 'ground')
        contact.engage(scene.state)
    scene.run(0.2)
    return scene, tasks


def test_talos_stands_while_a_hand_is_beyond_reach():
    """The pelvis and the other hand feel nothing of it."""
    scene, tasks = standing(0.3)
    start = tasks[0].pose
    goal = start.copy()
    goal[:3] += (0.3, 0.1, -0.5)
    tasks[0].set_target(goal)
    course = scene.run(8.0)
    assert course.limited == 0
    judge(course.velocities, course.efforts, scene.model)
    assert abs(course.errors[:, [0, 2]]).max() < 1e-3
    left = np.linalg.norm(course.errors[:, 1, :3], axis=1)
    assert 0.3 < left[-1] < left.min() + 2e-3
    assert min(contact.load for contact in scene.controller.constraints.values()) > 0.0
    tasks[0].set_target(start)
    course = scene.run(6.0)
    judge(course.velocities, course.efforts, scene.model)
    np.testing.assert_allclose(course.errors[-1], 0.0, atol=1e-3)


@pytest.mark.parametrize('seed', range(2))
def test_a_joint_that_constraints_hold_is_at_its_end_as_well(seed):
    """Of its mobility constraints leave rounding errors, whose signs must not matter."""
    robot = demo_robot('dual_arm')
    model = RobotModel.from_urdf_file(robot.path(), locked_joints=[
        'torso_yaw', 'torso_pitch', 'torso_roll', 'l_wrist_roll'])
    q, rng = model.neutral(), np.random.default_rng(seed)
    for name, angle in {**robot.start, 'r_elbow': -0.02}.items():
        q[model.q_index[model.dof_index(name)]] = angle
    moved = [k for k, name in enumerate(model.dof_names) if name.startswith('l_')]
    q[model.q_index[moved]] += rng.uniform(-0.4, 0.4, len(moved))
    state, contact = RobotState(model, q, np.zeros(model.nv)), Contact('l_hand')
    task = PoseTask('r_hand', axes='x y z', max_linear_velocity=0.3)
    controller = OperationalSpaceController(
        model, task, constraints=[contact], limits=JointLimits(model))
    controller.compute_torque(state)
    contact.engage(state)
    k = model.dof_index('l_elbow')
    controller._limits.records['upper'][k] = q[model.q_index[k]] - 1e-3
    goal = task.pose
    goal[:3] += 0.6, -0.3, 0.0
    task.set_target(goal)
    led, efforts = [], []
    for cycle in range(300):
        if cycle > 200:  # as of encoders
            noise = np.where(model.locked, 0.0, rng.normal(size=model.nv) * 1e-7)
            state.update(model.integrate(q, noise, 1.0), np.zeros(model.nv))
        efforts.append(controller.compute_torque(state).copy())
        led.append(controller._cycle['singular_active'][0])
    assert all(led[100:])
    assert abs(np.diff(efforts[210:], axis=0)).max() < 1e-3


@pytest.mark.parametrize(('way', 'left'), [
    ((0.24, 0.25, 0.01), 0.03), ((-0.07, -0.36, -0.36), 0.15)], ids=['heavy', 'ends'])
def test_talos_stands_and_rests_where_its_arm_cannot_go_on(way, left):
    """Its shoulder carries no more; joints are at their ends: it swung at 0.9 and at 1.5 rad/s."""
    scene, tasks = standing(0.5)
    goal = tasks[0].pose
    goal[:3] += way
    tasks[0].set_target(goal)
    course = scene.run(6.0)
    assert course.limited == 0
    judge(course.velocities, course.efforts, scene.model)
    assert abs(course.errors[-1, 1, :3]).max() < left


@pytest.mark.parametrize(('way', 'speed'), [
    ((0.4, 0.0, 0.0), 0.3), ((0.4, 0.0, 0.0), 0.6), ((0.2, 0.3, 0.0), 0.3)])
def test_two_arms_hold_an_object_that_cannot_get_where_it_should(way, speed):
    """The arms stretch out, squeezing it all the time, and bring it back."""
    robot = demo_robot('dual_arm')
    size = (0.2, 0.58, 0.2)
    box = Box('box', size, 3.0, (0.3764, 0.0, 1.1004, 0, 0, 0, 1))
    scene = Carriers(
        robot.path(), robot.hands, [box], Payload.of_box(3.0, size), robot.start, minimum=20.0,
        limited=True, max_linear_velocity=speed, max_angular_velocity=1.5,
        locked_joints=('torso_yaw', 'torso_pitch', 'torso_roll'))
    scene.hold()
    scene.run(0.6)
    home = scene.grasp.task.pose
    goal = home.copy()
    goal[:3] += way
    for target, seconds in ((goal, 7.0), (home, 4.0)):
        scene.grasp.task.set_target(target)
        seen = scene.run(seconds)
        judge(np.diff(seen.positions, axis=0) / scene.robot.timestep, seen.efforts, scene.model)
        assert abs(seen.tensions + 20.0).max() < 3.0
        if target is goal:
            assert scene.controller.least_eigenvalue == 0.0
            assert np.linalg.norm(scene.grasp.task.error[:3]) > 5e-3
    np.testing.assert_allclose(scene.grasp.task.error, 0.0, atol=1e-3)


def test_free_directions_are_as_good_as_elsewhere():
    """The base drifts, the goal swings along the direction that is left; within a factor of two."""
    def swing(beyond, seconds):
        scene = drifting('free_flyer', 'x y', 0.6)
        task = next(iter(scene.controller.tasks.values()))
        start = task.pose
        start[:3] += beyond
        task.set_target(start)
        scene.run(seconds)
        _, vectors = np.linalg.eigh(scene.controller.inverse_inertia[:2, :2])
        across = np.append(vectors[:, 1], 0.0)
        begin = scene.robot.time

        def move(time):
            goal = start.copy()
            goal[:3] += 0.025 * (1.0 - np.cos(2.0 * np.pi * (time - begin))) * across
            task.set_target(goal)

        errors = scene.run(2.0, move).errors[1000:, 0, :2]
        return abs(errors @ across[:2] - (errors[0] @ across[:2])).max()

    here, there = swing((0.6, 0.2, 0.0), 4.0), swing((0.0, 0.0, 0.0), 0.5)
    assert here < 2.0 * there + 1e-4  # m


@pytest.mark.parametrize(('path', 'passive', 'frame', 'axes', 'q'), [
    (HINGED, ['hinge'], 'hand', 'x y', (-0.2, 0.05, 0.04, -0.03)),
    (demo_robot('free_flyer').path(), THRUSTERS, 'l_hand', 'x y rz',
     (0.0, 0.0, 0.0, 1.1, -0.06, 0.4, -1.1, 1.8, -0.4))])
def test_joint_forces_of_a_direction_are_zero_at_passive_joints(path, passive, frame, axes, q):
    """``A w = [h / s; 0]``, of kinetic energy ½."""
    model = RobotModel.from_urdf_file(path, passive_joints=passive)
    task = PoseTask(frame, axes=axes)
    controller = OperationalSpaceController(model, task, limits=JointLimits(model))
    state = RobotState(model, np.array(q), np.zeros(model.nv))
    controller.compute_torque(state)
    goal = task.pose
    goal[0] += 0.02
    task.set_target(goal)
    controller.compute_torque(state)
    directions = controller._limits.scratch.directions
    h, w = directions[EXERTED, :model.nv], directions[MOVED, :model.nv]
    force = model.mass_matrix(state) @ w
    assert not h[model.passive].any()
    assert w @ force == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(force * (h @ w), h, atol=1e-12)

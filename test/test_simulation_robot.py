# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
import itertools
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pinocchio
import pytest
import robots

from opspace_control.errors import ModelError, SimulationError
from opspace_control.model import KinematicTree
from opspace_control.simulation import Shape, SimulatedRobot

URDF = Path(__file__).parents[1] / 'urdf'
DUAL_ARM = (URDF / 'dual_arm.urdf').read_text()
HUMANOID = (URDF / 'humanoid.urdf').read_text()
ROBOTS = [
    *sorted(URDF.glob('*.urdf')),
    *(robots.robot_file(name) for name in (
        robots.TALOS, robots.TIAGO_DUAL, robots.PR2, robots.BAXTER, 'talos_full_v2.urdf',
        'anymal_b_simple_description/robots/anymal.urdf', 'panda.urdf', 'ur5_robot.urdf',
        'human.urdf', 'icub.urdf')),
]
by_robot = pytest.mark.parametrize('path', ROBOTS, ids=lambda path: path.stem)
GRAVITY = 9.81


def frictionless(text):
    """Only rigid bodies: no friction, damping, end stop, effort limit or follower."""
    text = re.sub(r'<(dynamics|mimic|safety_controller)\b[^>]*?(/>|>\s*</\1>)', '', text)
    wide = '<limit lower="-100" upper="100" effort="1e6" velocity="100"'
    return re.sub(r'<limit\b[^>]*?(?=/?>)', wide, text)


class Oracle:
    """Pinocchio on the same text, by joint name."""

    def __init__(self, text, *, floating_base=False):
        root = [pinocchio.JointModelFreeFlyer()] if floating_base else []
        self.model = pinocchio.buildModelFromXML(text, *root)
        self.model.gravity.linear[:] = 0.0, 0.0, -GRAVITY
        self.data = self.model.createData()

    def indices(self, names):
        joints = [self.model.joints[self.model.getJointId(name)] for name in names]
        return joints, np.array([joint.idx_v for joint in joints])

    def q(self, names, positions):
        q = pinocchio.neutral(self.model)
        for joint, position in zip(self.indices(names)[0], positions, strict=True):
            q[joint.idx_q] = position
            if joint.nq == 2:
                q[joint.idx_q:joint.idx_q + 2] = np.cos(position), np.sin(position)
        return q


def random_state(robot, seed=0):
    rng = np.random.default_rng(seed)
    lower = np.maximum(robot.lower_position_limits, -2.0)
    upper = np.minimum(robot.upper_position_limits, 2.0)
    n = len(robot.joint_names)
    return rng.uniform(lower, upper), rng.normal(size=n), 10.0 * rng.normal(size=n)


@by_robot
def test_forward_dynamics_is_pinocchios(path):
    text = frictionless(path.read_text())
    robot, oracle = SimulatedRobot(text), Oracle(text)
    positions, velocities, efforts = random_state(robot)
    robot.reset(positions, velocities)
    robot.set_effort(efforts)
    _, order = oracle.indices(robot.joint_names)
    v, tau = np.zeros(oracle.model.nv), np.zeros(oracle.model.nv)
    v[order], tau[order] = velocities, efforts
    expected = pinocchio.aba(oracle.model, oracle.data, oracle.q(robot.joint_names, positions),
                             v, tau)[order]
    # The condition number of the mass matrix is what rounding is amplified by.
    A = pinocchio.crba(oracle.model, oracle.data, oracle.q(robot.joint_names, positions))
    A = np.triu(A) + np.triu(A, 1).T
    tolerance = max(1e-9, 1e-15 * np.linalg.cond(A))
    np.testing.assert_allclose(robot.accelerations(), expected, rtol=0.0,
                               atol=tolerance * np.abs(expected).max())


@by_robot
def test_frame_poses_are_pinocchios(path):
    text = frictionless(path.read_text())
    robot, oracle = SimulatedRobot(text), Oracle(text)
    positions, _, _ = random_state(robot)
    robot.reset(positions)
    pinocchio.framesForwardKinematics(oracle.model, oracle.data,
                                      oracle.q(robot.joint_names, positions))
    for link in robot.link_names:
        expected = oracle.data.oMf[oracle.model.getBodyId(link)]
        pose = robot.frame_pose(link)
        np.testing.assert_allclose(pose[:3], expected.translation, atol=1e-10)
        np.testing.assert_allclose(pinocchio.Quaternion(pose[3:]).matrix(), expected.rotation,
                                   atol=1e-10)


@by_robot
def test_joints_and_their_limits_are_those_of_the_model(path):
    robot, tree = SimulatedRobot(path.read_text()), KinematicTree.from_urdf_file(path)
    assert robot.joint_names == tree.dof_names
    for limits in ('lower_position_limits', 'upper_position_limits', 'effort_limits'):
        np.testing.assert_array_equal(getattr(robot, limits), getattr(tree, limits))


def test_floating_base_dynamics_is_pinocchios():
    text = frictionless(HUMANOID)
    robot, oracle = SimulatedRobot(text, floating_base=True), Oracle(text, floating_base=True)
    positions, velocities, efforts = random_state(robot)
    pose = np.array([1.0, 2.0, 3.0, *(np.array([0.1, -0.2, 0.3, 0.9]) / np.sqrt(0.95))])
    twist = np.array([0.3, -0.2, 0.1, 0.6, 0.5, -0.4])
    robot.reset(positions, velocities, base_pose=pose, base_twist=twist)
    np.testing.assert_allclose(robot.base_pose, pose, atol=1e-15)
    np.testing.assert_allclose(robot.base_twist, twist, atol=1e-15)
    robot.set_effort(efforts)
    q = oracle.q(robot.joint_names, positions)
    q[:7] = pose
    rotation = pinocchio.Quaternion(pose[3:]).matrix()
    v, tau = np.zeros(oracle.model.nv), np.zeros(oracle.model.nv)
    v[:3], v[3:6] = rotation.T @ twist[:3], rotation.T @ twist[3:]
    _, order = oracle.indices(robot.joint_names)
    v[order], tau[order] = velocities, efforts
    expected = pinocchio.aba(oracle.model, oracle.data, q, v, tau)[order]
    np.testing.assert_allclose(robot.accelerations(), expected, rtol=0.0,
                               atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize('path', robots.robot_files(), ids=robots.robot_id)
def test_every_real_robot_can_be_simulated_or_the_error_names_the_element(path):
    wrong = {'ur3': 'has no link', 'alex_psyonic_hands': "mimics 'index_q1'"}
    if path.stem in wrong:
        with pytest.raises(ModelError, match=wrong[path.stem]):
            SimulatedRobot(path.read_text())
        return
    robot = SimulatedRobot(path.read_text())
    robot.step(10)
    assert np.isfinite(robot.positions).all()
    assert robot.time == pytest.approx(0.01)


def test_holds_still_under_the_torques_of_gravity():
    oracle = Oracle(DUAL_ARM)
    robot = SimulatedRobot(DUAL_ARM)
    positions = {'torso_pitch': 0.2, 'l_shoulder_pitch': -0.7, 'l_elbow': -1.2, 'r_elbow': -0.5}
    robot.reset(positions)
    _, order = oracle.indices(robot.joint_names)
    gravity = pinocchio.computeGeneralizedGravity(
        oracle.model, oracle.data, oracle.q(positions, positions.values()))[order]
    robot.set_effort(gravity)
    start = robot.positions
    robot.step(100)
    np.testing.assert_allclose(robot.positions, start, atol=1e-12)


def test_swings_freely_without_loss_of_energy():
    robot = SimulatedRobot(frictionless((URDF / 'planar_3r.urdf').read_text()), timestep=1e-5)
    robot.reset({'shoulder': 0.5, 'elbow': -0.3})
    start = robot.energy()
    robot.step(20_000)
    assert np.abs(robot.velocities).max() > 1.0
    # Of the order of the step: 60 J turn into motion.
    assert robot.energy() == pytest.approx(start, abs=5e-3)


def test_falls_as_a_free_body_does():
    robot = SimulatedRobot(DUAL_ARM, floating_base=True)
    robot.reset(base_pose=[0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 1.0])
    robot.step(500)
    # Semi-implicit Euler: h n (n + 1) / 2.
    assert robot.base_pose[2] == pytest.approx(5.0 - GRAVITY * 1e-6 * 500 * 501 / 2, abs=1e-9)
    np.testing.assert_allclose(robot.base_twist, [0, 0, -GRAVITY * 0.5, 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(robot.positions, 0.0, atol=1e-9)


def test_a_fixed_base_stays_at_the_origin():
    robot = SimulatedRobot(DUAL_ARM)
    np.testing.assert_array_equal(robot.base_pose, [0, 0, 0, 0, 0, 0, 1])
    np.testing.assert_array_equal(robot.base_twist, np.zeros(6))
    with pytest.raises(SimulationError, match='floating_base=True'):
        robot.reset(base_pose=[0, 0, 1, 0, 0, 0, 1])


def test_effort_is_clamped_like_a_drive():
    robot = SimulatedRobot(DUAL_ARM)
    robot.set_effort({'l_elbow': 1e6, 'r_elbow': -1e6, 'torso_yaw': 3.0})
    effort = dict(zip(robot.joint_names, robot.efforts, strict=True))
    assert (effort['l_elbow'], effort['r_elbow'], effort['torso_yaw']) == (50.0, -50.0, 3.0)
    clamped = robot.accelerations()
    robot.set_effort({'l_elbow': 50.0, 'r_elbow': -50.0})
    np.testing.assert_array_equal(robot.accelerations(), clamped)


def test_friction_can_be_left_to_the_drives():
    text = chain('a', 'b', inner='<dynamics damping="3" friction="200"/>')
    stuck, free = SimulatedRobot(text), SimulatedRobot(text, joint_friction=False)
    for robot in (stuck, free):
        robot.step(200)
    assert abs(stuck.positions[0]) < 0.02  # MuJoCo's dry friction creeps
    assert abs(free.positions[0]) > 0.1


def test_an_end_stop_holds_the_joint():
    robot = SimulatedRobot(DUAL_ARM)
    robot.reset({'l_elbow': 0.0})
    robot.set_effort({'l_elbow': 20.0})
    robot.step(300)
    elbow = robot.joint_names.index('l_elbow')
    assert robot.positions[elbow] < robot.upper_position_limits[elbow] + 0.05


def test_joints_come_depth_first_in_the_order_of_the_file():
    assert SimulatedRobot(DUAL_ARM).joint_names == tuple(
        re.findall(r'<joint name="(\w+)" type="revolute">', DUAL_ARM))
    branching = chain('trunk', 'b', 'c', extra='<link name="late"/>' + robots.joint(
        'early', 'trunk', 'late', inner='<axis xyz="0 0 1"/>'))
    assert SimulatedRobot(branching).joint_names == ('to_b', 'to_c', 'early')


def chain(*names, extra='', inner=''):
    """A robot of links on y axes, each 0.3 m along x from the one before; joints are to_<link>."""
    parts = [robots.link(name, 2.0, (0.01, 0.02, 0.02), inner='<origin xyz="0.15 0 0"/>')
             for name in names]
    parts += [robots.joint(f'to_{child}', parent, child,
                    inner=f'<origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>{inner}')
              for parent, child in itertools.pairwise(names)]
    return robots.robot(*parts, extra)


FOLLOWER = robots.link('tip', 0.1, (1e-3, 1e-3, 1e-3)) + robots.joint(
    'follows', 'b', 'tip',
    inner='<axis xyz="0 1 0"/><mimic joint="to_b" multiplier="-0.5" offset="0.3"/>')


def test_a_follower_follows_its_leader():
    robot = SimulatedRobot(chain('a', 'b', 'c', extra=FOLLOWER))
    assert robot.joint_names == ('to_b', 'to_c')
    robot.reset({'to_b': 0.4})

    def follower():
        return float(robot.data.joint('follows').qpos[0])

    assert follower() == pytest.approx(0.1)
    robot.step(300)
    assert abs(robot.positions[0] - 0.4) > 0.2
    assert follower() == pytest.approx(-0.5 * robot.positions[0] + 0.3, abs=1e-3)


def test_a_locked_joint_stays_where_reset_placed_it():
    free = SimulatedRobot(DUAL_ARM)
    robot = SimulatedRobot(DUAL_ARM, locked_joints=['torso_yaw', 'l_elbow'])
    assert robot.joint_names == free.joint_names
    start = {'torso_yaw': 0.4, 'l_elbow': -1.1, 'l_shoulder_roll': 0.3}
    for either in (robot, free):
        either.reset(start)
    np.testing.assert_allclose(robot.frame_pose('l_hand'), free.frame_pose('l_hand'), atol=1e-12)
    robot.set_effort({'l_elbow': 50.0})
    robot.step(200)
    now = dict(zip(robot.joint_names, robot.positions, strict=True))
    assert (now['torso_yaw'], now['l_elbow']) == (0.4, -1.1)
    assert abs(now['l_shoulder_roll'] - 0.3) > 0.01
    assert robot.velocities[robot.joint_names.index('l_elbow')] == 0.0


def test_the_follower_of_a_locked_joint_is_locked():
    robot = SimulatedRobot(chain('a', 'b', 'c', extra=FOLLOWER), locked_joints=['to_b'])
    free = SimulatedRobot(chain('a', 'b', 'c', extra=FOLLOWER))
    for either in (robot, free):
        either.reset({'to_b': 0.4})
    np.testing.assert_allclose(robot.frame_pose('tip'), free.frame_pose('tip'), atol=1e-12)


PLANAR = chain('base', 'b', extra='<link name="world"/>' + robots.joint(
    'wheels', 'world', 'base', 'planar', '<origin xyz="0 0 0.2"/><axis xyz="0 0 1"/>'))


def test_a_planar_joint_is_three():
    robot = SimulatedRobot(PLANAR)
    assert robot.joint_names == ('wheels/x', 'wheels/y', 'wheels/rz', 'to_b')
    robot.reset({'wheels/x': 1.0, 'wheels/y': 2.0, 'wheels/rz': np.pi / 2})
    expected = [1.0, 2.0, 0.2, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]
    np.testing.assert_allclose(robot.frame_pose('base'), expected, atol=1e-12)
    locked = SimulatedRobot(PLANAR, locked_joints=['wheels'])
    locked.reset({'wheels/x': 1.0, 'wheels/y': 2.0, 'wheels/rz': np.pi / 2})
    np.testing.assert_allclose(locked.frame_pose('base'), expected, atol=1e-12)


def test_a_wrench_pushes_at_the_links_origin_in_world_axes():
    robot = SimulatedRobot(DUAL_ARM, gravity=(0.0, 0.0, 0.0))
    oracle = Oracle(DUAL_ARM)
    positions, _, _ = random_state(robot)
    robot.reset(positions)
    wrench = np.array([3.0, -2.0, 1.0, 0.2, 0.1, -0.3])
    robot.apply_wrench('l_hand', wrench)
    q = oracle.q(robot.joint_names, positions)
    J = pinocchio.computeFrameJacobian(
        oracle.model, oracle.data, q, oracle.model.getFrameId('l_hand'),
        pinocchio.LOCAL_WORLD_ALIGNED)
    zero = np.zeros(oracle.model.nv)
    oracle.model.gravity.linear[:] = 0.0
    expected = pinocchio.aba(oracle.model, oracle.data, q, zero, J.T @ wrench)
    _, order = oracle.indices(robot.joint_names)
    np.testing.assert_allclose(robot.accelerations(), expected[order], rtol=1e-9)
    robot.step(10)
    assert np.abs(robot.velocities).max() > 1e-3
    robot.reset(positions)
    np.testing.assert_array_equal(robot.accelerations(), 0.0)


def test_the_floor_carries_a_falling_hand():
    robot = SimulatedRobot(HUMANOID, floor=True)
    robot.reset({'ankle_pitch': 0.6, 'knee_pitch': -1.2})
    robot.step(4000)
    for link in robot.link_names:
        assert robot.frame_pose(link)[2] > -0.1


@pytest.mark.parametrize(('size', 'center'), [((0.03,), (0.0, 0.0, -0.2)),
                                              ((0.1, 0.1, 0.06), (0.0, 0.0, -0.2))])
def test_a_shape_of_its_own_touches_the_floor_with_friction(size, center):
    """A body on it at rest, and pushed by less and by more than friction can take."""
    text = robots.robot(robots.link('body', 2.0, (0.1, 0.1, 0.1)))
    robot = SimulatedRobot(text, floating_base=True, floor=True, friction=0.5,
                           shapes=[Shape('body', size, center)])
    robot.reset(base_pose=[0.0, 0.0, 0.23, 0.0, 0.0, 0.0, 1.0])
    robot.step(500)
    assert robot.base_pose[2] == pytest.approx(0.23, abs=1e-3)
    weight = 2.0 * 9.81
    for part, moves in ((0.4, False), (0.7, True)):
        # At the foot: the body does not tilt.
        force = part * weight
        robot.apply_wrench('body', [force, 0.0, 0.0, 0.0, -0.2 * force - 0.03 * force, 0.0])
        robot.step(300)
        assert (abs(robot.base_twist[0]) > 0.1) == moves


@pytest.mark.parametrize(('options', 'match'), [
    ({'shapes': [Shape('hoof', (0.1,))]}, 'hoof'), ({'friction': 0.0}, 'friction')])
def test_floors_and_shapes_that_cannot_be_simulated(options, match):
    with pytest.raises(SimulationError, match=match):
        SimulatedRobot(HUMANOID, floor=True, **options)


@pytest.mark.parametrize(('numbers', 'what'), [
    (((0.1, 0.2),), 'size'), (((-0.1,),), 'size'), (((0.1,), (0.0, math.nan, 0.0)), 'center')])
def test_numbers_that_make_no_shape(numbers, what):
    with pytest.raises(SimulationError, match=f"shape of link 'hand': {what}"):
        Shape('hand', *numbers)


def test_links_that_touch_at_rest_do_not_collide():
    robot = SimulatedRobot(DUAL_ARM, contacts=True, gravity=(0.0, 0.0, 0.0))
    robot.step(10)
    np.testing.assert_array_equal(robot.positions, 0.0)
    robot.reset({'l_shoulder_roll': -0.4, 'r_shoulder_roll': 0.4, 'l_elbow': -1.8, 'r_elbow': -1.8,
                 'l_shoulder_yaw': -0.8, 'r_shoulder_yaw': 0.8})
    robot.step(1)
    assert robot.data.ncon > 0


def test_reset_starts_anew():
    robot = SimulatedRobot(DUAL_ARM)
    robot.set_effort(np.full(17, 5.0))
    robot.step(50)
    robot.reset({'l_elbow': -1.0}, {'r_elbow': 0.2})
    assert robot.time == 0.0
    np.testing.assert_array_equal(robot.efforts, 0.0)
    assert dict(zip(robot.joint_names, robot.positions, strict=True))['l_elbow'] == -1.0
    assert dict(zip(robot.joint_names, robot.velocities, strict=True))['r_elbow'] == 0.2


def test_reset_starts_inside_the_limits():
    robot = SimulatedRobot(robots.robot_file(robots.BAXTER).read_text())
    assert (robot.positions >= robot.lower_position_limits).all()
    assert (robot.positions <= robot.upper_position_limits).all()


def test_two_runs_give_the_same_numbers():
    runs = []
    for _ in range(2):
        robot = SimulatedRobot(DUAL_ARM)
        robot.set_effort(np.linspace(-3.0, 3.0, 17))
        robot.step(200)
        runs.append(robot.positions)
    np.testing.assert_array_equal(*runs)


def bad(old, new):
    return chain('a', 'b', inner='<limit lower="-1" upper="1" effort="5" velocity="1"/>').replace(
        old, new)


@pytest.mark.parametrize(('text', 'message'), [
    ('<robot', 'not well-formed XML'),
    ('<sdf/>', 'not a <robot>'),
    (chain('a', 'b').replace('type="revolute"', 'type="hinge"'), "joint 'to_b' is of unknown type"),
    (chain('a', 'b').replace('<child link="b"/>', '<child link="c"/>'), "names link 'c', which"),
    (chain('a', 'b').replace('<link name="b">', '<link name="a">'), "two links named 'a'"),
    (chain('a', 'b', extra=robots.joint('again', 'a', 'b')), "'b' has two parents"),
    (chain('a', 'b', extra=robots.joint('loop', 'b', 'a')), "'a' and 'b' form a loop"),
    (chain('a', 'b').replace('0.3 0 0', '0.3 inf 0'), "xyz='0.3 inf 0'> of joint 'to_b'"),
    (chain('a', 'b').replace('0 1 0', '0 0 0'), 'to_b'),
    (chain('a', 'b').replace('value="2.0"', 'value="-2"'), "'a' has a negative mass"),
    (chain('a', 'b', extra='<link name="lost"/>'), "'a' and 'lost'"),
    (chain('a', 'b', extra=FOLLOWER.replace('joint="to_b"', 'joint="to_x"')), "mimics 'to_x'"),
    (bad('upper="1"', 'upper="-2"'), "joint 'to_b' has a lower limit"),
], ids=itertools.count())
def test_a_bad_file_is_the_error_of_the_model_that_names_the_element(text, message):
    with pytest.raises(ModelError, match=message):
        SimulatedRobot(text)


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ('type="revolute"', 'type="floating"', 'use floating_base'),
    ('iyy="0.02"', 'iyy="-2"', "joint 'to_b' has to move is not positive"),
], ids=itertools.count())
def test_what_cannot_be_simulated_is_an_error_that_names_the_joint(old, new, message):
    with pytest.raises(SimulationError, match=message):
        SimulatedRobot(chain('a', 'b').replace(old, new))


def test_bad_arguments_are_errors_that_name_the_joint():
    robot = SimulatedRobot(DUAL_ARM)
    before = robot.positions
    with pytest.raises(SimulationError, match="Did you mean 'l_elbow'"):
        robot.reset({'l_elbo': 1.0})
    with pytest.raises(SimulationError, match="'l_elbow' is beyond its limits"):
        robot.reset({'l_elbow': 1.0})
    with pytest.raises(SimulationError, match="effort of joint 'torso_pitch' is not finite"):
        robot.set_effort({'torso_pitch': np.nan})
    with pytest.raises(SimulationError, match='17 joints'):
        robot.set_effort(np.zeros(16))
    with pytest.raises(SimulationError, match="no link 'l_hnd'"):
        robot.frame_pose('l_hnd')
    with pytest.raises(SimulationError, match=r"wrench on 'l_hand' = .*Give 6 numbers"):
        robot.apply_wrench('l_hand', np.zeros(3))
    with pytest.raises(SimulationError, match=r'timestep = 0\.0'):
        SimulatedRobot(DUAL_ARM, timestep=0.0)
    with pytest.raises(SimulationError, match="locked_joints names 'neck'"):
        SimulatedRobot(DUAL_ARM, locked_joints=['neck'])
    np.testing.assert_array_equal(robot.positions, before)


def test_blowing_up_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    robot = SimulatedRobot(chain('a', 'b'))
    robot.reset(velocities={'to_b': 1e12})
    with pytest.raises(SimulationError, match='blew up'):
        robot.step(5)
    robot.reset()
    robot.step(5)
    assert not list(tmp_path.iterdir())


def test_simulating_needs_neither_ros_nor_the_compiler():
    code = ("import sys; from opspace_control.simulation import Shape, SimulatedRobot; "
            "sys.exit(any(name in sys.modules for name in ('rclpy', 'numba')))")
    subprocess.run([sys.executable, '-c', code], check=True)

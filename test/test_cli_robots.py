# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

import numpy as np
import pinocchio
import pytest

from opspace_control import CollisionDescription, RobotModel
from opspace_control.cli import robots
from opspace_control.cli.parameters import controller_values
from opspace_control.cli.preflight.collision import fit_beside
from opspace_control.cli.robots import ROBOTS, demo_robot
from opspace_control.control.planning.postures import named_posture
from opspace_control.errors import OpspaceError
from opspace_control.share import package_file, share_directory
from opspace_control.simulation import SimulatedRobot

every = pytest.mark.parametrize('robot', ROBOTS, ids=lambda robot: robot.name)
RADIAN = 0.3  # m


def simulated(robot):
    text = robot.path().read_text()
    driven = robot.driven or SimulatedRobot(text).joint_names
    braked = set(SimulatedRobot(text).joint_names) - set(driven)
    result = SimulatedRobot(text, locked_joints=braked)
    result.reset(robot.start)
    return result, driven


@every
def test_the_start_posture_is_reachable_and_has_the_hands_in_front(robot):
    result, driven = simulated(robot)
    assert set(robot.start) <= set(driven) <= set(result.joint_names)
    at = dict(zip(result.joint_names, result.positions, strict=True))
    for name, lower, upper in zip(result.joint_names, result.lower_position_limits,
                                  result.upper_position_limits, strict=True):
        if at[name] != 0.0:  # a leg's zero may be an end stop
            assert lower + 0.1 < at[name] < upper - 0.1, name
    hands = [result.frame_pose(hand)[:3] for hand in robot.hands]
    assert all(hand[0] > 0.25 for hand in hands)
    if len(hands) == 2:
        # TIAGo's own file is not quite symmetric.
        np.testing.assert_allclose(hands[0] * [1, -1, 1], hands[1], atol=0.01)
        assert hands[0][1] > 0.1


@every
def test_the_start_posture_is_regular_and_within_half_the_effort(robot):
    model = pinocchio.buildModelFromUrdf(str(robot.path()))
    data = model.createData()
    q = pinocchio.neutral(model)
    for name, value in robot.start.items():
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q:joint.idx_q + joint.nq] = (
            value if joint.nq == 1 else (np.cos(value), np.sin(value)))
    rows = [['x', 'y', 'z', 'rx', 'ry', 'rz'].index(axis) for axis in robot.axes.split()]
    jacobian = np.vstack([
        np.diag([1.0] * 3 + [RADIAN] * 3)[rows] @ pinocchio.computeFrameJacobian(
            model, data, q, model.getFrameId(hand), pinocchio.LOCAL_WORLD_ALIGNED)
        for hand in robot.hands])
    names = robot.driven or list(model.names)[1:]
    columns = [model.joints[model.getJointId(name)].idx_v for name in names]
    assert np.linalg.svd(jacobian[:, columns], compute_uv=False)[-1] > 0.1
    gravity = pinocchio.computeGeneralizedGravity(model, data, q)[columns]
    assert (np.abs(gravity) < 0.55 * model.effortLimit[columns]).all()


def test_an_unknown_robot_is_an_error_with_the_nearest_names():
    with pytest.raises(OpspaceError, match="'talos'"):
        demo_robot('talo')
    assert demo_robot('talos').name == 'talos'


def test_a_robot_that_is_not_installed_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(robots, 'prefixes', list)
    with pytest.raises(OpspaceError, match='pip install example-robot-data'):
        demo_robot('pr2').path()
    assert demo_robot('dual_arm').path().is_file()


def test_the_list_needs_neither_ros_nor_a_simulator():
    code = ('import sys; from opspace_control.cli.robots import ROBOTS; '
            "sys.exit(any(name in sys.modules for name in ('rclpy', 'mujoco', 'numba')))")
    subprocess.run([sys.executable, '-c', code], check=True)


@pytest.mark.parametrize('robot', [robot for robot in ROBOTS if robot.ours and robot.distances],
                         ids=lambda robot: robot.name)
def test_files_of_the_demo_are_those_of_their_robots(robot, tmp_path):
    """As `opspace new` makes them."""
    model = RobotModel.from_urdf_file(robot.path())
    fit_beside(robot.path(), tmp_path / 'made.yaml', model, named_posture(model, robot.start))
    assert CollisionDescription.read(tmp_path / 'made.yaml') == robot.collision()


@pytest.mark.parametrize('name', sorted(
    file.name.split('.')[0] for file in (share_directory() / 'urdf').glob('*.collision.yaml')))
def test_robots_of_the_demo_keep_distances_where_the_fit_is_good(name):
    """As `opspace new` judges it; the boxes of Talos are too fat, and its thighs overlap."""
    robot = demo_robot(name)
    model = RobotModel.from_urdf_file(robot.path())
    wrong = fit_beside(robot.path(), package_file(robot.collision_file), model,
                       named_posture(model, robot.start))
    assert robot.distances == (not wrong), wrong
    assert controller_values(robot)['collision.file'] == (
        robot.collision_file if robot.distances else '')


def test_the_file_of_talos_is_of_its_links():
    """Its meshes take a minute to fit."""
    robot = demo_robot('talos')
    model = robot.collision().model(RobotModel.from_urdf_file(robot.path()))
    assert len(model.shapes) == 68
    braked = RobotModel.from_urdf_file(robot.path(), locked_joints=[
        joint for joint in model.robot.dof_names if not joint.startswith('arm_left')])
    still = robot.collision().model(braked).without_still_pairs()
    assert 0 < len(still.pairs) < len(model.pairs)
    assert all(any('left' in name for name in pair) for pair in still.pairs)

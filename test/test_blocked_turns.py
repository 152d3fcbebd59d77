# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Rotations that joints at their limits block: the other way round leads to the same goal."""

import numpy as np
import pytest
from lockstep import LockStep
from robots import robot_file

from opspace_control import PoseTask, RobotModel, RobotState
from opspace_control.tasks.pose_law import BACK, LONG, SHORT

PANDA = robot_file('panda.urdf')
BENT = {'panda_joint2': -0.3, 'panda_joint4': -2.0, 'panda_joint6': 1.7, 'panda_joint7': 0.78}
# Its pose is three radians from the start's; turned the short way joint 7 gets to its limit.
WOUND = (-1.83, 0.38, -0.55, -1.03, 0.71, 1.66, 1.7, 0.0)
LINK = ('<link name="{}"><inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01" '
        'ixy="0" ixz="0" iyz="0"/></inertial></link>')
JOINT = ('<joint name="{1}" type="revolute"><parent link="{0}"/><child link="{1}"/>'
         '<axis xyz="{2}"/><limit lower="-{3}" upper="{3}" effort="20" velocity="3"/></joint>')


def turns(scene):
    """Return which way round the first task turns, a list to be filled by runs of the scene."""
    seen, record = [], next(iter(scene.controller.tasks.values()))._record
    return seen, lambda _: seen.append(int(record['turn']))


@pytest.fixture
def wrist(tmp_path):
    """Return a function: a hand on three joints that meet in a point, its goal about its axis."""
    def scene(angle, limit=1.0, unwinds=True):
        links = ('base', 'roll', 'pitch', 'hand')
        text = ''.join(LINK.format(link) for link in links) + ''.join(
            JOINT.format(parent, child, axis, size) for parent, child, axis, size in zip(
                links, links[1:], ('1 0 0', '0 1 0', '0 0 1'), (0.3, 0.3, limit), strict=False))
        path = tmp_path / 'wrist.urdf'
        path.write_text(f'<robot name="wrist">{text}</robot>')
        task = PoseTask('hand', axes='rx ry rz', max_angular_velocity=2.0)
        task.unwinds = unwinds
        robot = LockStep(path, [task], keep_limits=True, world={'joint_friction': False})
        goal = np.eye(4)
        goal[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        task.set_target(goal)
        return robot
    return scene


def test_a_blocked_wrist_turns_the_other_way_to_its_goal():
    task = PoseTask('panda_link8', max_linear_velocity=0.6, max_angular_velocity=1.5)
    task.unwinds = True
    scene = LockStep(PANDA, [task], start=BENT, keep_limits=True, world={'joint_friction': False})
    model = RobotModel.from_urdf_file(PANDA)
    goal = RobotState(model, np.array(WOUND), np.zeros(model.nv))
    task.set_target(model.forward_kinematics(goal, ['panda_link8'])['panda_link8'])
    seen, look = turns(scene)
    course = scene.run(7.0, look)
    assert LONG in seen
    assert abs(course.errors[-1, 0]).max() < 2e-3  # m, rad
    assert course.limited == 0
    assert (abs(course.velocities) <= 1.01 * scene.model.velocity_limits).all()


def test_a_goal_that_limits_leave_no_way_to_is_approached_as_far_as_the_short_way_goes(wrist):
    scene = wrist(2.0)
    seen, look = turns(scene)
    course = scene.run(8.0, look)
    assert [way for way in (SHORT, LONG, BACK) if way in seen] == [SHORT, LONG, BACK]
    assert course.positions[:, 2].min() < -0.99  # it has been at the other limit
    np.testing.assert_allclose(course.positions[-1, 2], 1.0, atol=1e-3)
    assert abs(course.velocities[-500:]).max() < 1e-3
    assert (np.diff(seen) >= 0).all()  # once, not for ever


def test_the_way_round_may_be_longer_than_half_a_turn(wrist):
    scene = wrist(-2.9, limit=2.6)  # −2.9 rad are out of reach, 3.38 rad too
    seen, look = turns(scene)
    scene.run(8.0, look)
    assert seen[-1] == BACK
    scene = wrist(-2.9, limit=3.5)  # both are within reach
    seen, look = turns(scene)
    course = scene.run(4.0, look)
    assert set(seen) == {SHORT}
    np.testing.assert_allclose(course.positions[-1, 2], -2.9, atol=1e-3)


def test_a_new_goal_is_sought_the_short_way(wrist):
    scene = wrist(2.0)
    seen, look = turns(scene)
    scene.run(6.0, look)
    assert seen[-1] == BACK
    next(iter(scene.controller.tasks.values())).set_target(np.eye(4))
    course = scene.run(3.0, look)
    assert seen[-1] == SHORT
    assert abs(course.errors[-1]).max() < 1e-3


def test_a_task_that_does_not_unwind_rests_at_the_limit(wrist):
    scene = wrist(2.0, unwinds=False)
    seen, look = turns(scene)
    course = scene.run(3.0, look)
    assert set(seen) == {SHORT}
    np.testing.assert_allclose(course.positions[-1, 2], 1.0, atol=1e-3)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Goals that are refused, and goals that have to wait."""

import numpy as np
import pytest
from robots import PR2, TALOS, TIAGO_DUAL, chain, joint, link, robot, robot_file

from opspace_control import (
    GoalLimits,
    JerkLimits,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    RelativeTask,
    RobotModel,
    RobotState,
    TaskError,
)
from opspace_control.safety.goal_limits import GoalPace, reach
from opspace_control.share import share_directory


@pytest.mark.parametrize(('name', 'frame'), [
    ('dual_arm.urdf', 'l_hand'), ('humanoid.urdf', 'r_hand'), ('planar_3r.urdf', 'hand'),
    (TALOS, 'gripper_left_base_link'), (TIAGO_DUAL, 'arm_left_tool_link'),
    (PR2, 'l_gripper_tool_frame')])
def test_no_posture_reaches_further_than_reach(name, frame):
    ours = share_directory() / 'urdf' / name
    model = RobotModel.from_urdf_file(ours if ours.exists() else robot_file(name))
    bound, furthest = reach(model, frame), 0.0
    rng = np.random.default_rng(0)
    lower = np.maximum(model.lower_position_limits, -np.pi)
    upper = np.minimum(model.upper_position_limits, np.pi)
    for _ in range(300):
        q = model.neutral()
        q[model.q_index] = rng.uniform(lower, upper)
        pose = model.forward_kinematics(RobotState(model, q, np.zeros(model.nv)), [frame])[frame]
        furthest = max(furthest, np.linalg.norm(pose[:3, 3]))
    assert furthest < bound < 3.0 * furthest


def test_reach_counts_what_slides_and_what_follows():
    """At its limit of -0.3 m the mimic joint j2 stops j1, at -0.2 m."""
    limit = '<limit lower="-0.3" upper="0.2" effort="1" velocity="1"/><axis xyz="1 0 0"/>'
    slide = joint('j1', 'l0', 'l1', 'prismatic', f'<origin xyz="0 0 1"/>{limit}')
    mimic = joint('j2', 'l1', 'l2', 'prismatic',
                  f'{limit}<mimic joint="j1" multiplier="2" offset="0.1"/>')
    model = RobotModel.from_urdf(robot(link('l0'), link('l1'), link('l2'), slide, mimic))
    assert reach(model, 'l0') == 0.0
    assert reach(model, 'l1') == pytest.approx(1.2)
    assert reach(model, 'l2') == pytest.approx(1.2 + 0.3)


def test_reach_of_what_nothing_bounds():
    text = chain('prismatic')
    assert reach(RobotModel.from_urdf(text), 'l1') == np.inf
    assert reach(RobotModel.from_urdf(chain('revolute'), floating_base=True), 'l1') == np.inf


@pytest.fixture
def limits():
    model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')
    return GoalLimits(model)


TASK = PoseTask('l_hand', name='left')


def test_out_of_reach_is_refused(limits):
    limits.check_position(TASK, np.array([0.5, 0.3, 1.0]))
    with pytest.raises(TaskError, match=r"'left'.*no further than .*unit"):
        limits.check_position(TASK, np.array([50.0, 0.3, 1.0]))


@pytest.mark.parametrize('trajectory', [None, JerkLimits()])
def test_tasks_refuse_what_their_limits_do(limits, trajectory):
    hand, far = PoseTask('l_hand', name='left', trajectory=trajectory), [50.0, 0.3, 1.0]
    state = RobotState(limits.model, limits.model.neutral(), np.zeros(limits.model.nv))
    OperationalSpaceController(limits.model, [hand]).compute_torque(state, dt=0.001)
    hand.goal_limits = limits
    before = hand.target
    with pytest.raises(TaskError, match=r"'left'.*no further than .*unit"):
        hand.set_target((far, (0.0, 0.0, 0.0, 1.0)))
    np.testing.assert_array_equal(hand.target, before)
    hand.set_target(([0.5, 0.3, 1.0], (0.0, 0.0, 0.0, 1.0)))
    np.testing.assert_allclose(hand.target[:3], [0.5, 0.3, 1.0])
    hand.goal_limits = None
    hand.set_target((far, (0.0, 0.0, 0.0, 1.0)))


def test_goals_in_a_frame_that_moves_are_not_checked(limits):
    limits.check_position(RelativeTask('l_hand', 'r_hand'), np.array([50.0, 0.3, 1.0]))


def test_outside_of_the_box_is_refused(limits):
    limits.lower[2] = 0.8
    limits.upper[0] = 0.6
    limits.check_position(TASK, np.array([0.5, 0.3, 1.0]))
    with pytest.raises(TaskError, match=r'z = 0\.700'):
        limits.check_position(TASK, np.array([0.5, 0.3, 0.7]))
    with pytest.raises(TaskError, match=r'x = 0\.610.*workspace_lower'):
        limits.check_position(TASK, np.array([0.61, 0.3, 1.0]))


def test_only_the_axes_of_the_task_count(limits):
    height = PoseTask('l_hand', axes='z')
    limits.check_position(height, np.array([50.0, np.nan, 1.0]))
    with pytest.raises(TaskError, match='gets no further'):
        limits.check_position(height, np.array([0.0, 0.0, 50.0]))


def test_not_a_number_is_outside(limits):
    with pytest.raises(TaskError, match='y = nan'):
        limits.check_position(TASK, np.array([0.5, np.nan, 1.0]))


def test_posture_beyond_a_joint_limit_that_is_kept_is_refused(limits):
    """What the law keeps, with its margin, is never passed to reach a goal."""
    model = limits.model
    controller = OperationalSpaceController(
        model, limits=JointLimits(model, position_margin=0.1))
    limits.check_posture({'torso_yaw': 0.3, 'nobody': 100.0}, controller.position_limits)
    with pytest.raises(TaskError, match=r"'torso_yaw': 100\.000 is beyond"):
        limits.check_posture({'l_elbow': -1.0, 'torso_yaw': 100.0}, controller.position_limits)
    goal = {'torso_yaw': model.upper_position_limits[model.dof_index('torso_yaw')] - 0.05}
    with pytest.raises(TaskError, match=r"'torso_yaw'.* is beyond"):
        limits.check_posture(goal, controller.position_limits)
    controller.limits = controller.limits.changed(keep=False)
    limits.check_posture(goal, controller.position_limits)


def test_pace_keeps_the_newest_goal_of_each():
    pace = GoalPace(100.0)
    a, b = ('left', 'pose'), ('left', 'twist')
    assert pace.may_pass(a, 1, 0.0)
    assert not pace.may_pass(a, 2, 0.004)
    assert not pace.may_pass(a, 3, 0.008)
    assert pace.may_pass(b, 4, 0.008)
    assert pace.due(0.009) == []
    assert pace.due(0.0101) == [3]
    assert pace.due(1.0) == []
    assert not pace.may_pass(a, 5, 0.02)
    assert pace.may_pass(a, 6, 0.0202)
    assert pace.due(1.0) == []


@pytest.mark.parametrize(('forgotten', 'left'), [
    ((), []), (('left',), [3]), (('left', ('pose', 'wrench')), [2, 3])])
def test_pace_can_forget_what_waits(forgotten, left):
    pace = GoalPace(100.0)
    keys = ('left', 'pose'), ('left', 'twist'), ('right', 'pose')
    for k, key in enumerate(keys, 1):
        assert pace.may_pass(key, 0, 0.0)
        assert not pace.may_pass(key, k, 0.004)
    pace.forget(*forgotten)
    assert pace.due(1.0) == left
    assert pace.may_pass(keys[0], 3, 1.02)


def test_pace_of_a_flood():
    pace = GoalPace(250.0)
    taken = sum(pace.may_pass(('left', 'pose'), k, 0.0005 * k) for k in range(2000))
    assert 240 <= taken <= 251

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What keeps a robot that rests away from its goals, by name and with the forces MuJoCo has."""

import re

import numpy as np
import pytest
from lockstep import LockStep

from opspace_control import (
    CollisionModel,
    DistanceLimits,
    Impedance,
    JointLimits,
    JointTask,
    OperationalSpaceController,
    Payload,
    PoseTask,
    PositionTask,
    RobotModel,
    RobotState,
    Shape,
)
from opspace_control.control.diagnosis.causes_at_rest import causes_at_rest, distance_to_goal
from opspace_control.share import share_directory

ARM = share_directory() / 'urdf' / 'arm_7r.urdf'
JOINTS = [f'joint_{k}' for k in range(1, 8)]
START = dict(zip(JOINTS, (0.3, 0.5, -0.2, -1.2, 0.4, 0.8, 0.1), strict=True))


def at_rest(task, path=ARM, goal=(0.1, 0.1, -0.1), start=START, **options):
    """Return a bench whose robot rests on its way to a goal, and what it commands there."""
    bench = LockStep(path, [task], start=start, **options)
    task.set_target([*task.pose[:3] + goal, *task.pose[3:]])
    bench.run(5.0)
    return bench, bench.controller.compute_torque(bench.state)


def causes(bench, task, commanded):
    return ' '.join(causes_at_rest(bench.controller, task, bench.state, commanded))


def test_friction_is_named_joint_by_joint_with_the_force_that_it_exerts(tmp_path):
    path = tmp_path / 'rough.urdf'
    path.write_text(ARM.read_text().replace('friction="0"', 'friction="4"'))
    task = PoseTask('hand')
    bench, commanded = at_rest(task, path)
    said = causes(bench, task, commanded)
    told = {joint: float(force) for joint, force in re.findall(
        r"(joint_\d) ([+-][\d.]+) \(the URDF's friction: 4\)", said)}
    friction = dict(zip(JOINTS, -bench.robot.data.qfrc_constraint, strict=True))
    assert len(told) >= 2
    for joint, force in told.items():
        assert force == pytest.approx(friction[joint], rel=0.02)
    assert 'limit' not in said


def test_bounds_of_the_motion_are_named(tmp_path):
    path = tmp_path / 'short.urdf'
    path.write_text(ARM.read_text().replace('lower="-2.1"', 'lower="-1.21"'))
    task = PoseTask('hand')
    bench, commanded = at_rest(task, path, goal=(-0.25, -0.1, -0.1), keep_limits=True)
    assert max(distance_to_goal(task)) > 0.02
    assert re.search(r'At a position limit: .*joint_4', causes(bench, task, commanded))


@pytest.mark.parametrize('keep_limits', [False, True])
def test_effort_limits_are_named(keep_limits):
    limits = np.full(7, np.inf)
    task = PoseTask('hand')
    bench = LockStep(ARM, [task], start=START, keep_limits=keep_limits, effort_limits=limits)
    weight = abs(bench.model.gravity(bench.state))
    limits[1] = 0.98 * weight[1]
    weak = LockStep(ARM, [PoseTask('hand')], start=START, keep_limits=keep_limits,
                    effort_limits=limits)
    task = weak.controller.tasks['hand']
    commanded = weak.controller.compute_torque(weak.state)
    assert 'At an effort limit: joint_2.' in causes(weak, task, commanded)


def test_pairs_at_their_least_distance_are_named_where_they_are_in_the_way():
    """A ball stands before the left hand; joints of the right arm have nothing to do with it."""
    model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')
    state = RobotState(model, model.neutral(), np.zeros(model.nv))
    place = model.forward_kinematics(state, 'l_hand')['l_hand'][:3, 3]
    shapes = [Shape('palm', 'l_hand', 'sphere', [0.1]),
              Shape('ball', None, 'sphere', [0.1], place + 0.21 * np.eye(3)[0])]
    tasks = [PositionTask('l_hand', name='hand'), JointTask(['r_elbow'], name='elbow')]
    controller = OperationalSpaceController(
        model, tasks, limits=JointLimits(model),
        distances=DistanceLimits(CollisionModel(model, shapes)))
    tasks[0].set_target(place + 0.05 * np.eye(3)[0])
    commanded = controller.compute_torque(state)
    said, other = (' '.join(causes_at_rest(controller, task, state, commanded)) for task in tasks)
    assert 'At the least distance: palm and ball. Choose a goal' in said
    assert 'least distance' not in other


def test_lost_directions_are_named():
    """Stretched out towards a goal beyond its reach, an arm cannot move further that way."""
    path = share_directory() / 'urdf' / 'planar_2r.urdf'
    task = PoseTask('hand', axes='x z', max_linear_velocity=0.5)
    bench, commanded = at_rest(task, path, goal=(1.0, 0.0, 0.0), start={'elbow': 0.8},
                               keep_limits=True)
    assert distance_to_goal(task)[0] > 0.3
    said = causes(bench, task, commanded)
    assert 'A direction of the task is lost' in said
    assert 'nothing can move so' in said
    assert 'limit' not in said


def test_a_payload_that_the_controller_knows_is_no_unmodelled_force():
    task = PoseTask('hand')
    bench = LockStep(ARM, [task], start=START)
    bench.controller.payloads.put('tool', 'hand', Payload(5.0))
    commanded = bench.controller.compute_torque(bench.state)
    assert causes(bench, task, commanded) == ''
    bench.controller.payloads.put('tool', 'hand', None)
    assert 'joint_4 +12' in causes(bench, task, commanded)


def test_the_distance_counts_where_motion_is_controlled():
    task = PoseTask('hand', axes='x z', axes_frame='link_6')
    LockStep(ARM, [task], start=START)
    turned = task.axes_in_base[0]
    task.set_target([*task.pose[:3] + turned @ (0.03, 0.5, 0.04), *task.pose[3:]])
    assert distance_to_goal(task) == pytest.approx((0.05, 0.0), abs=1e-12)


def test_the_distance_of_joints_is_the_largest():
    task = JointTask(['joint_3', 'joint_5'])
    model = RobotModel.from_urdf_file(ARM)
    controller = OperationalSpaceController(model, [task])
    state = RobotState(model, list(START.values()), np.zeros(model.nv))
    controller.compute_torque(state)
    assert distance_to_goal(task) == (0.0, 0.0)
    task.set_target({'joint_3': 0.1, 'joint_5': 0.5})
    commanded = controller.compute_torque(state)
    assert distance_to_goal(task) == pytest.approx((0.0, 0.3))
    (said,) = causes_at_rest(controller, task, state, commanded)
    assert re.search(r'joint_3 \+\d', said)
    assert 'joint_2' not in said


def test_springs_and_tasks_without_a_goal_miss_nothing():
    task = PoseTask('hand', impedance=Impedance())
    assert distance_to_goal(task) is None
    LockStep(ARM, [task], start=START)
    assert distance_to_goal(task) is None
    task.mode = 'decoupled'
    assert distance_to_goal(task) == (0.0, 0.0)

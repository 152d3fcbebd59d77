# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Directions that tasks give up, singular or in conflict: told with whose they are."""

import numpy as np
import pytest
from samples import URDF

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    PositionTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot

MODEL = RobotModel.from_urdf_file(URDF / 'dual_arm.urdf')
START = demo_robot('dual_arm').start


def truncated(*tasks):
    """Return what a controller of these tasks gives up at the start posture."""
    controller = OperationalSpaceController(MODEL, tasks)
    assert controller.truncated_directions == ()  # before the first cycle
    q = [START.get(name, 0.0) for name in MODEL.dof_names]
    controller.compute_torque(RobotState(MODEL, q, np.zeros(MODEL.nv)))
    if controller.truncated_directions:
        assert controller.least_eigenvalue == 0.0
    return controller.truncated_directions


def test_nothing_where_all_can_be_met():
    assert truncated(PoseTask('l_hand'), PoseTask('r_hand', priority=1)) == ()


def test_what_a_task_above_takes_is_told_along_the_axes_that_are_lost():
    found = truncated(PositionTask('l_hand', axes='x z', name='high'),
                     PositionTask('l_hand', axes='x y', name='low', priority=1))
    only, = found
    assert only.priority == 1 and only.conflict
    assert only.met == pytest.approx(0.0, abs=1e-9)
    assert only.wrench.keys() == {('low', 'x')}
    assert 'low x' in str(only) and 'determined by tasks above' in str(only)


def test_tasks_of_one_level_that_contradict_each_other():
    only, = truncated(PositionTask('l_hand', axes='y', name='one'),
                     PositionTask('l_hand', axes='y', name='other'))
    assert not only.conflict and only.priority == 0
    assert only.wrench[('one', 'y')] == pytest.approx(-only.wrench[('other', 'y')])


def test_a_stretched_arm_cannot_be_drawn_in():
    arm = RobotModel.from_urdf_file(URDF / 'planar_3r.urdf')
    task = PositionTask('hand', axes='x z')
    controller = OperationalSpaceController(arm, [task])
    controller.compute_torque(RobotState(arm, np.zeros(3), np.zeros(3)))
    only, = controller.truncated_directions
    assert only.wrench == {('hand', 'x'): pytest.approx(1.0)}
    assert only.met == pytest.approx(0.0, abs=1e-9)
    assert not only.conflict
    assert 'nothing can move so' in str(only)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Motions to identify a robot from stay within all limits, and a controller accepts them."""

import numpy as np
import pytest
from robots import robot_file
from samples import sample

from opspace_control import (
    ControlError,
    JointLimits,
    OperationalSpaceController,
    Plan,
    Playback,
    RobotModel,
    RobotState,
)
from opspace_control.collision import CollisionDescription
from opspace_control.control.planning.postures import limit_margins, middle_posture, named_posture
from opspace_control.identification.clearance import Clearance
from opspace_control.identification.excitation import MARGIN, POOR, REACH, exciting_motion
from opspace_control.share import share_directory

FILES = {'panda.urdf': ['panda_finger_joint1'], 'ur5_robot.urdf': [], 'xarm7.urdf': []}


@pytest.mark.parametrize('file', FILES)
def test_it_is_within_limits_and_can_be_sent(file, tmp_path):
    model = RobotModel.from_urdf_file(robot_file(file), locked_joints=FILES[file])
    home = middle_posture(model)
    motion = exciting_motion(model, home, duration=12.0, speed=0.3, effort=0.7)
    for q, v, a, effort in list(zip(motion.q, motion.v, motion.acceleration, motion.effort,
                                    strict=True))[::50]:
        assert limit_margins(model, q)[model.active].min() > MARGIN[0] - 1e-9
        expected = model.inverse_dynamics(RobotState(model, q, v), a)
        np.testing.assert_allclose(effort[model.active], expected[model.active], atol=1e-9)
    assert (abs(motion.effort) <= 0.7 * model.effort_limits + 1e-12).all()
    assert (abs(motion.v) <= 0.3 * model.velocity_limits + 1e-12).all()
    assert (abs(motion.q - home) <= max(REACH) + 1e-12).all()
    assert not motion.v[:, ~model.active].any()
    # Each joint moves, from rest to rest, back to where it began.
    assert (abs(motion.v[:, model.active]).max(axis=0) > 0.1).all()
    for end in (0, -1):
        np.testing.assert_allclose(motion.q[end], home, atol=1e-12)
        np.testing.assert_allclose(motion.v[end], 0.0, atol=1e-12)
        np.testing.assert_allclose(motion.acceleration[end], 0.0, atol=1e-9)
    # The derivatives are those of the positions.
    h = np.diff(motion.time)[:, None]
    for value, rate in ((motion.q[:, model.q_index], motion.v), (motion.v, motion.acceleration)):
        np.testing.assert_allclose(np.diff(value, axis=0) / h, 0.5 * (rate[1:] + rate[:-1]),
                                   atol=1e-3)
    motion.plan(model).save(tmp_path / 'excite.csv')
    controller = OperationalSpaceController(model, [], limits=JointLimits(model))
    Playback(controller, Plan.load(tmp_path / 'excite.csv').joint_trajectory(),
             RobotState(model, home, np.zeros(model.nv)))


def test_a_joint_that_begins_at_the_end_of_its_range_moves_away_from_it():
    """An elbow of which the home is as near to its limit as is allowed moves as far as others."""
    model = sample('dual_arm').model
    home, elbow = named_posture(model, {}), model.dof_index('l_elbow')
    at = model.q_index[elbow]
    home[at] = model.upper_soft_limits[elbow] - MARGIN[0]
    motion = exciting_motion(model, home, duration=12.0)
    moved = motion.q[:, at] - home[at]
    assert moved.max() < 1e-9
    assert -REACH[0] - 1e-12 < moved.min() < -0.6 * REACH[0]
    assert not motion.slow(model).any()
    # Without room there is nothing to tell.
    still = exciting_motion(model, home, duration=8.0, reach=(0.02, 0.0))
    assert still.slow(model).all() and not motion.slow(model).any()


def test_only_joints_shrink_that_move_what_is_too_near():
    model = sample('planar_3r').model
    home = named_posture(model, {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6})
    elbow = np.arange(model.nv) == model.dof_index('elbow')
    at = model.q_index[elbow][0]

    def clearance(q):
        return elbow & (abs(q[at] - home[at]) > 0.3)
    free = exciting_motion(model, home, duration=6.0)
    near = exciting_motion(model, home, duration=6.0, clearance=clearance)
    far = abs(near.q - home).max(axis=0)
    assert far[at] <= 0.3 < abs(free.q - home).max(axis=0)[at]
    assert (np.delete(far, at) > 0.7 * REACH[0]).all()
    with pytest.raises(ControlError, match='which these joints move: elbow'):
        exciting_motion(model, home, duration=6.0, clearance=lambda q: elbow)


def test_only_joints_shrink_that_load_a_drive():
    """A weak elbow bounds the motion of the joints that turn its arm, not that of the other."""
    model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')
    home = named_posture(model, {'l_elbow': -1.2, 'r_elbow': -1.2})
    elbow = model.dof_index('l_elbow')
    free = exciting_motion(model, home, duration=8.0)
    usual, begin = abs(free.effort[:, elbow]).max(), abs(free.effort[0, elbow])
    limit = begin + 0.4 * (usual - begin)
    limits = model.effort_limits.copy()
    limits[elbow] = limit
    object.__setattr__(model, 'effort_limits', limits)
    weak = exciting_motion(model, home, duration=8.0, effort=1.0)
    assert abs(weak.effort[:, elbow]).max() <= limit
    right = [model.q_index[model.dof_index(f'r_{joint}')] for joint in (
        'shoulder_pitch', 'shoulder_yaw', 'elbow', 'wrist_yaw')]
    assert (abs(weak.q - home)[:, right].max(axis=0) > 0.8 * REACH[0]).all()
    assert weak.condition < 2.0 * free.condition


def test_more_reach_is_not_a_worse_motion():
    """Where distances are limits, the series is chosen by the motion that they leave."""
    model = sample('dual_arm').model
    home = named_posture(model, {'l_elbow': -1.2, 'r_elbow': -1.2, 'l_shoulder_roll': 0.5,
                                 'r_shoulder_roll': -0.5})
    clearance = Clearance(CollisionDescription.read(
        share_directory() / 'urdf' / 'dual_arm.collision.yaml').model(model), 0.03)
    near, far = (exciting_motion(model, home, duration=8.0, reach=(reach, 0.1), speed=0.9,
                                 clearance=clearance) for reach in (0.4, 1.6))
    assert far.condition < near.condition < POOR
    assert not any(clearance(q).any() for q in far.q[::10])


def test_what_is_refused():
    model = RobotModel.from_urdf_file(robot_file('panda.urdf'))
    with pytest.raises(ControlError, match='panda_joint4'):
        exciting_motion(model, named_posture(model, {}))  # at its limit
    with pytest.raises(ControlError, match='effort'):
        exciting_motion(model, middle_posture(model), effort=1e-3)
    with pytest.raises(ControlError, match='fixed base'):
        exciting_motion(sample('planar_3r', True).model, np.zeros(10))
    for wrong in ({'duration': 0.0}, {'timestep': -1e-3}, {'speed': 1.1}, {'effort': np.nan},
                  {'reach': (1.0, -0.1)}, {'home': np.zeros(3)}):
        with pytest.raises(ControlError, match=f'excitation: {next(iter(wrong))} = '):
            exciting_motion(model, **{'home': middle_posture(model), **wrong})

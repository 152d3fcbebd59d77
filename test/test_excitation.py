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
from opspace_control.control.planning.postures import limit_margins, middle_posture, named_posture
from opspace_control.identification.excitation import MARGIN, REACH, exciting_motion

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


def test_amplitudes_shrink_where_it_is_not_clear():
    model = sample('planar_3r').model
    home = named_posture(model, {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6})
    free = exciting_motion(model, home, duration=6.0)
    near = exciting_motion(model, home, duration=6.0,
                           clearance=lambda q: bool(abs(q - home).max() < 0.3))
    assert abs(near.q - home).max() < 0.3 < abs(free.q - home).max()
    with pytest.raises(ControlError, match='too near'):
        exciting_motion(model, home, duration=6.0, clearance=lambda q: False)


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

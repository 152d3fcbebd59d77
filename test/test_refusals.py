# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Values that would be taken silently, or end in NumPy: each error names what was refused."""

import math

import numpy as np
import pytest
from samples import sample

from opspace_control import (
    ForceControl,
    Impedance,
    JointLimits,
    JointTask,
    OperationalSpaceController,
    OpspaceError,
    PoseTask,
    PostureTask,
    RobotState,
)

MODEL = sample('planar_3r').model
STATE = RobotState(MODEL, MODEL.neutral(), np.zeros(MODEL.nv))
JOINTS = list(MODEL.dof_names[:2])


def controller():
    return OperationalSpaceController(MODEL, [JointTask(JOINTS)], PostureTask())


def set_joint(value):
    controller().tasks['joints'].set_target({JOINTS[0]: value})


def set_part(name, value):
    setattr(controller(), name, value)


@pytest.mark.parametrize('rate', [-1.0, math.nan, math.inf, None, 'fast'])
def test_damping_is_of_a_rate_that_takes_energy_out(rate):
    """A negative one would put energy in, and one that is not finite makes efforts NaN."""
    with pytest.raises(OpspaceError, match='rate of damping_torque'):
        controller().damping_torque(STATE, rate=rate)


@pytest.mark.parametrize(('refused', 'named'), [
    (lambda: set_joint(math.nan), "task 'joints': target"),
    (lambda: set_joint(None), "task 'joints': target"),
    (lambda: set_joint('far'), "task 'joints': target"),
    (lambda: PoseTask('hand', kp=None), "task 'hand': kp"),
    (lambda: PoseTask('hand', kd=None), "task 'hand': kd"),
    (lambda: PoseTask('hand', kp=10 ** 400), "task 'hand': kp"),
    (lambda: JointTask(JOINTS, kp=None), "task 'joints': kp"),
    (lambda: JointTask(JOINTS, kd=None), "task 'joints': kd"),
    (lambda: Impedance(stiffness=None), 'impedance: stiffness'),
    (lambda: Impedance(damping_ratio=None), 'impedance: damping_ratio'),
    (lambda: ForceControl(kp=None), 'force control: kp'),
    (lambda: ForceControl(damping=None), 'force control: damping'),
    (lambda: set_part('disturbance', 20.0), 'disturbance = 20.0'),
    (lambda: set_part('disturbance', 'on'), "disturbance = 'on'"),
    (lambda: controller().posture.set_feed_forward({JOINTS[0]: 1.0}), 'posture: feed-forward'),
    (lambda: controller().compute_torque(STATE, dt=None), 'dt = None'),
    (lambda: controller().compute_torque(STATE, dt='1e-3'), "dt = '1e-3'"),
], ids=lambda part: part if isinstance(part, str) else '')
def test_what_was_refused_is_named_with_a_cure(refused, named):
    with pytest.raises(OpspaceError, match=named) as raised:
        refused()
    assert raised.value.cure


def test_drive_friction_is_refused_by_its_kind():
    limited = OperationalSpaceController(MODEL, limits=JointLimits(MODEL))
    with pytest.raises(OpspaceError, match=r'drive_friction = 0\.1') as raised:
        limited.drive_friction = 0.1
    assert raised.value.cure


def test_joints_that_a_mapping_leaves_out_keep_their_goals():
    task = controller().tasks['joints']
    task.set_target([0.1, 0.2])
    task.set_target({JOINTS[1]: 0.5})
    np.testing.assert_array_equal(task.target, [0.1, 0.5])
    task.clear_target()
    task.set_target({JOINTS[1]: 0.5})
    np.testing.assert_array_equal(task.target, [np.nan, 0.5])

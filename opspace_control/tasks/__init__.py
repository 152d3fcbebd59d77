# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Tasks, and their compiled laws.

What cannot be used, such as a gain, an axis or a goal of a wrong shape or not finite, raises a
TaskError that names it, and a ModelError names an unknown frame or joint; then nothing changes.
Goals and gains are copied. A gain is one number for all axes, or one for each; those not given
stay.
"""

from opspace_control.tasks.force_control import ForceControl
from opspace_control.tasks.impedance_law import Impedance
from opspace_control.tasks.jerk_limited import JerkLimits
from opspace_control.tasks.joint import JointTask
from opspace_control.tasks.pose import PoseTask
from opspace_control.tasks.pose_kinds import (
    CenterOfMassTask,
    OrientationTask,
    PositionTask,
    RelativeTask,
)
from opspace_control.tasks.posture import PostureTask
from opspace_control.tasks.sensor import ForceSensor
from opspace_control.tasks.task import ForceTask
from opspace_control.tasks.trajectory import JointTrajectory

__all__ = ['CenterOfMassTask', 'ForceControl', 'ForceSensor', 'ForceTask', 'Impedance',
           'JerkLimits', 'JointTask', 'JointTrajectory', 'OrientationTask', 'PoseTask',
           'PositionTask', 'PostureTask', 'RelativeTask']

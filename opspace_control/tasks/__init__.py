# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the robot is asked to do: one file per kind of task, its compiled law beside it."""

from opspace_control.tasks.pose import PoseTask
from opspace_control.tasks.posture import PostureTask

__all__ = ['PoseTask', 'PostureTask']

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The goals of all tasks, compiled: the present pose as every goal, and force control anew."""

from opspace_control.compiled import called
from opspace_control.tasks.force_law import restart_force
from opspace_control.tasks.joint import clear_joint_goal
from opspace_control.tasks.pose_law import clear_pose_goal
from opspace_control.tasks.posture import clear_posture_goal


@called
def clear_goals(demand):
    """Make the poses and the posture of the next cycle the goals of all tasks."""
    for k in range(demand.tasks.size):
        clear_pose_goal(demand.tasks[k])
    for k in range(demand.joint_tasks.size):
        clear_joint_goal(demand.joint_tasks[k])
    clear_posture_goal(demand.dofs, demand.posture)


@called
def forget_forces(demand):
    """Let all tasks begin anew with force control."""
    for k in range(demand.tasks.size):
        restart_force(demand.tasks[k].force)

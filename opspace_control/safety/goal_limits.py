# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of goals: reach, workspace, joint limits and rate."""

import numpy as np

from opspace_control.errors import TaskError
from opspace_control.model.nodes import PRISMATIC, path_to_root
from opspace_control.tasks.pose_kinds import CenterOfMassTask


class GoalLimits:
    """
    Limits of goals: the reach of the robot and a box of allowed positions.

    ``task.goal_limits = GoalLimits(model)`` lets `PoseTask.set_target` refuse them. ``lower`` and
    ``upper`` (3,) are corners of the box in the base frame, m.
    """

    def __init__(self, model):
        self.model = model
        self._reach = {}
        self.lower, self.upper = np.full(3, -np.inf), np.full(3, np.inf)

    def check_position(self, task, position):
        """
        Refuse a goal's position (3,), m, in the base frame, out of reach or outside of the box.

        Only the task's axes count. A goal in the frame of a moving link is not checked.
        """
        if task.reference:
            return
        controlled = np.array([axis in task.axes for axis in 'xyz'])
        inside = (self.lower <= position) & (position <= self.upper)
        for axis, value, lower, upper, refused in zip(
                'xyz', position, self.lower, self.upper, controlled & ~inside, strict=True):
            if refused:
                raise TaskError(
                    f"Goal of '{task.name}': {axis} = {value:.3f} m is outside of the workspace, "
                    f'{lower:g} to {upper:g}.', value=value,
                    cure='Give one inside, or change limits.workspace_lower and _upper.')
        if isinstance(task, CenterOfMassTask):
            return
        if task.frame not in self._reach:
            self._reach[task.frame] = reach(self.model, task.frame)
        distance = np.linalg.norm(position[controlled])
        if distance > self._reach[task.frame]:
            raise TaskError(
                f"Goal of '{task.name}': {distance:.2f} m from the base, where '{task.frame}' gets "
                f'no further than {self._reach[task.frame]:.2f} m.', value=distance,
                cure='Check its frame_id and its unit, m.')

    def check_posture(self, positions, limits):
        """
        Refuse positions of joints, a dict, rad or m, that are beyond their limits.

        ``limits`` are the lower and the upper ones, (nv,) each, as `position_limits` of a
        controller.
        """
        for name, position in positions.items():
            dofs = self.model.joint_dofs.get(name, ())
            if len(dofs) != 1:
                continue
            lower, upper = (side[dofs[0]] for side in limits)
            if not lower <= position <= upper:
                raise TaskError(f"Goal of '{name}': {position:.3f} is beyond its limits, "
                                f'{lower:.3f} to {upper:.3f}.', joint=name, value=position,
                                cure='Give a position that the joint can take.')


def reach(model, frame):
    """
    Return an upper bound of a frame's distance from the root link's origin, m.

    The sum of the distances between joints on the path, and of the travel of prismatic ones; inf
    without limits, such as for a floating base.
    """
    record = model.frames[model.frame_index(frame)]
    distance = np.linalg.norm(record['position'])
    for node in model.nodes[path_to_root(model.nodes['parent'], record['node'])]:
        distance += np.linalg.norm(node['position'])
        if node['kind'] == PRISMATIC:
            distance += _furthest(model, node)
    return float(distance)


def _furthest(model, node):
    """Return the largest displacement of a prismatic node from its zero, m."""
    mimicked = np.flatnonzero(model.q_index == node['q_index'])[0]
    limits = np.array([model.lower_position_limits[mimicked],
                       model.upper_position_limits[mimicked]])
    return abs(node['q_scale'] * limits + node['q_offset']).max()


class GoalPace:
    """Limit the rate of goals of each kind, 1/s; of more, the newest is used."""

    def __init__(self, rate):
        self.rate = rate
        self._due = {}
        self._waiting = {}

    def may_pass(self, key, goal, now):
        """
        Return whether a goal may be set now; if not, it waits and replaces an earlier one.

        ``key`` has the task and the kind of goal, ``now`` is steady time, s.
        """
        if now < self._due.get(key, -np.inf):
            self._waiting[key] = goal
            return False
        self._waiting.pop(key, None)
        self._due[key] = now + 1.0 / self.rate
        return True

    def forget(self, who=None, kinds=()):
        """Discard waiting goals, of a task or all tasks, of some kinds or all."""
        for key in tuple(self._waiting):
            if who in (None, key[0]) and (not kinds or key[1] in kinds):
                del self._waiting[key]

    def due(self, now):
        """Return the waiting goals that are due, and remove them."""
        ready = [key for key in self._waiting if now >= self._due[key]]
        self._due.update(dict.fromkeys(ready, now + 1.0 / self.rate))
        return [self._waiting.pop(key) for key in ready]

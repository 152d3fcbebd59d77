# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Which goals are worth starting for, and how many of them."""

import numpy as np

from opspace_control.errors import TaskError
from opspace_control.model.nodes import PRISMATIC, WORLD
from opspace_control.tasks import CenterOfMassTask


class GoalLimits:
    """
    Refuse goals that no robot of this size reaches, or that are outside of where it may work.

    ``task.goal_limits = GoalLimits(model)`` lets `PoseTask.set_target` refuse them.

    Parameters
    ----------
    model : KinematicTree
        The robot.

    Attributes
    ----------
    model : KinematicTree
        The robot.
    lower, upper : (3,) arrays
        Corners of a box in the base frame that positions must be in, m.

    """

    def __init__(self, model):
        self.model = model
        self._reach = {}
        self.lower, self.upper = np.full(3, -np.inf), np.full(3, np.inf)

    def check_position(self, task, position):
        """
        Check where a goal of a pose task is, (3,), m, in the base frame; on the task's axes alone.

        A goal in the frame of a link that moves is not checked: where it will be is not known.

        Raises
        ------
        TaskError
            It is out of reach, or outside of the box.

        """
        if task.reference:
            return
        asked = np.array([axis in task.axes for axis in 'xyz'])
        inside = (self.lower <= position) & (position <= self.upper)
        for axis, value, lower, upper, refused in zip(
                'xyz', position, self.lower, self.upper, asked & ~inside, strict=True):
            if refused:
                raise TaskError(
                    f"Goal of '{task.name}': {axis} = {value:.3f} m is outside of the workspace, "
                    f'{lower:g} to {upper:g}.', value=value,
                    cure='Give one inside, or change limits.workspace_lower and _upper.')
        if isinstance(task, CenterOfMassTask):
            return
        if task.frame not in self._reach:
            self._reach[task.frame] = reach(self.model, task.frame)
        distance = np.linalg.norm(position[asked])
        if distance > self._reach[task.frame]:
            raise TaskError(
                f"Goal of '{task.name}': {distance:.2f} m from the base, where '{task.frame}' gets "
                f'no further than {self._reach[task.frame]:.2f} m.', value=distance,
                cure='Check its frame_id and its unit, m.')

    def check_posture(self, positions):
        """
        Check positions of joints, a dict, rad or m.

        Raises
        ------
        TaskError
            One is beyond its joint's limits. Unknown names are not looked at.

        """
        for name, position in positions.items():
            dofs = self.model.joint_dofs.get(name, ())
            if len(dofs) != 1:
                continue
            lower = self.model.lower_position_limits[dofs[0]]
            upper = self.model.upper_position_limits[dofs[0]]
            if not lower <= position <= upper:
                raise TaskError(f"Goal of '{name}': {position:.3f} is beyond its limits, "
                                f'{lower:.3f} to {upper:.3f}.', joint=name, value=position,
                                cure='Give a position that the joint can take.')


def reach(model, frame):
    """
    Return an upper bound of a frame's distance from the root link's origin, m.

    The sum of the distances between joints on the way, and of what sliding ones add; inf where
    nothing bounds them, as for a floating base.
    """
    record = model.frames[model.frame_index(frame)]
    distance = np.linalg.norm(record['position'])
    i = record['node']
    while i != WORLD:
        node = model.nodes[i]
        distance += np.linalg.norm(node['position'])
        if node['kind'] == PRISMATIC:
            distance += _furthest(model, node)
        i = node['parent']
    return float(distance)


def _furthest(model, node):
    """Return how far a sliding node gets from its zero, m."""
    leader = np.flatnonzero(model.q_index == node['q_index'])[0]
    ends = np.array([model.lower_position_limits[leader], model.upper_position_limits[leader]])
    return abs(node['q_scale'] * ends + node['q_offset']).max()


class GoalPace:
    """
    Let so many goals of each kind pass in a second; of more, the newest counts.

    Parameters
    ----------
    rate : float
        1/s.

    """

    def __init__(self, rate):
        self.rate = rate
        self._due = {}
        self._waiting = {}

    def may_pass(self, key, goal, now):
        """
        Return whether a goal may be taken now; if not, it waits in the place of an earlier one.

        Parameters
        ----------
        key : tuple
            Who gets it, and its kind.
        goal : object
            Kept if it has to wait.
        now : float
            Steady time, s.

        """
        if now < self._due.get(key, -np.inf):
            self._waiting[key] = goal
            return False
        self._waiting.pop(key, None)
        self._due[key] = now + 1.0 / self.rate
        return True

    def forget(self, who=None, kinds=()):
        """Forget goals that wait, of somebody and of some kinds or all: newer ones are there."""
        for key in tuple(self._waiting):
            if who in (None, key[0]) and (not kinds or key[1] in kinds):
                del self._waiting[key]

    def due(self, now):
        """Return the goals whose time has come; they wait no longer."""
        ready = [key for key in self._waiting if now >= self._due[key]]
        self._due.update(dict.fromkeys(ready, now + 1.0 / self.rate))
        return [self._waiting.pop(key) for key in ready]

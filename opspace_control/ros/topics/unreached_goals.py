# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Log messages about goals that a robot at rest has not reached, with the causes."""

import numpy as np

from opspace_control.control.missed_goals import causes_at_rest, distance_to_goal
from opspace_control.ros.middleware.endpoints import Endpoints

_PERIOD = 0.25     # s, between two checks
_REST_TIME = 1.0   # s, in which the distance at rest ...
_REST_CHANGE = 0.1  # ... changes by no more than this fraction of the tolerance


class UnreachedGoals:
    """
    Logs, once for each goal, that a task rests away from its goal.

    A task rests if its goal is constant and its distance to the goal changes by less than a tenth
    of the tolerance within a second of the robot's time.

    Parameters
    ----------
    node : rclpy.node.Node
    controller : OperationalSpaceController
    cycle : ControlCycle
        Has the state and the efforts of the last cycle.
    is_active : callable
        Returns whether the controller commands the robot.

    Attributes
    ----------
    tolerances : (float, float)
        Largest distances of a reached goal: m, and rad.

    """

    def __init__(self, node, controller, cycle, is_active):
        self._logger = node.get_logger()
        self._controller = controller
        self._cycle = cycle
        self._is_active = is_active
        self.tolerances = np.inf, np.inf
        self._seen = {}
        self._endpoints = Endpoints(node)
        self._endpoints.repeat(_PERIOD, self._on_timer)

    def destroy(self):
        """Stop the timer."""
        self._endpoints.withdraw()

    def _on_timer(self):
        if not self._is_active() or self._cycle.fault or not self._cycle.known:
            self._seen.clear()
            return
        now = 1e-9 * self._cycle.time  # a robot does not rest because a simulation pauses
        for task in self._controller.tasks.values():
            self._look_at(task, now)

    def _look_at(self, task, now):
        distance, goal = distance_to_goal(task), task.target
        if not task.enabled or distance is None or goal is None:
            self._seen.pop(task.name, None)
            return
        seen = self._seen.get(task.name)
        if seen is None or not np.array_equal(seen.goal, goal):
            seen = self._seen[task.name] = _Approach(goal, distance, now)
        if seen.told or not seen.rests(distance, self.tolerances, now):
            return
        if any(part > most for part, most in zip(distance, self.tolerances, strict=True)):
            seen.told = True
            self._tell(task, distance)

    def _tell(self, task, distance):
        causes = causes_at_rest(
            self._controller, task, self._cycle.state, self._cycle.commanded)
        self._logger.warning(
            f"'{task.name}' rests {1e3 * distance[0]:.1f} mm and {distance[1]:.3f} rad away from "
            f'its goal. {" ".join(causes) or "No cause is known."}')


class _Approach:
    """The approach of a task to one goal."""

    def __init__(self, goal, distance, now):
        self.goal, self.told = goal, False
        self._distance, self._since = distance, now

    def rests(self, distance, tolerances, now):
        """Return whether the distances have been constant for the rest time."""
        if any(abs(part - before) > _REST_CHANGE * most for part, before, most in zip(
                distance, self._distance, tolerances, strict=True)):
            self._distance, self._since = distance, now
        return now - self._since >= _REST_TIME

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Legs: how their feet move and are to move, and which legs are as long as they can be."""

import numpy as np

from opspace_control.dynamics import kinematics, preparation
from opspace_control.model import RobotState
from opspace_control.spatial.rotations import cross_matrix, matrix_from_quaternion

_UPRIGHT = np.eye(3)


class MovingFrame:
    """The frame of a trunk, of a state and its acceleration (6,), m/s² and rad/s², world axes."""

    def __init__(self, state, acceleration):
        self._place, self._velocity, self._acceleration = (
            state.q[:3], state.v[:3], acceleration[:3])
        self._R = matrix_from_quaternion(state.q[3:7])
        self._turning = cross_matrix(state.v[3:6])
        self._carrying = cross_matrix(acceleration[3:]) + self._turning @ self._turning

    def seen(self, position, velocity, acceleration):
        """
        Return position, velocity and acceleration relative to the frame, (..., 3), in its axes.

        Those of points of the world are given, m, m/s and m/s², world axes. With the arm r from
        the frame's origin, ``v_r = v − v_0 − ω × r`` and
        ``a_r = a − a_0 − α × r − ω × (ω × r) − 2 ω × v_r``.
        """
        arm = position - self._place
        rate = velocity - self._velocity - arm @ self._turning.T
        second = (acceleration - self._acceleration - arm @ self._carrying.T
                  - 2.0 * rate @ self._turning.T)
        return arm @ self._R, rate @ self._R, second @ self._R


class Legs:
    """
    The legs of a controller's robot, whose tasks and contacts of the feet have their names.

    ``feet`` and ``velocities`` (n, 3) are those of the feet at the last `update`, m and m/s, world
    axes. Raises a KeyError for a foot without a task.
    """

    def __init__(self, controller, feet):
        self._controller, self._names, model = controller, feet, controller.model
        self._tasks = [controller.tasks[foot] for foot in feet]
        self.feet, self.velocities = np.zeros((2, len(feet), 3))
        state = RobotState(model, model.neutral(), np.zeros(model.nv))
        nodes, states, self._points, _ = preparation.moved(model, state, feet)
        self._q, self._v = state.q.copy(), state.v.copy()
        self._move = kinematics.move.partial(
            nodes, self._q, self._v, np.zeros(model.nv), states, self._points)
        moved = [np.abs(model.jacobian(state, foot)).max(axis=0) > 0.0 for foot in feet]
        self._none = np.zeros(len(feet), bool)
        self._joints = [{model.dof_names[k] for k in np.flatnonzero(each) if k > 5}
                        for each in moved]

    def update(self, state):
        """Take a state of the controller's model."""
        origin = self._controller.model.origin(state)
        self._q[:], self._v[:] = state.q, state.v
        self._move()
        self.feet, self.velocities = self._points['p'] + origin, self._points['v'][:, :3].copy()

    def move_feet(self, feet, trunk, *motion):
        """
        Set the goals of the tasks of k feet, indices.

        ``motion`` are positions, velocities and accelerations, (k, 3) each, m, m/s and m/s², world
        axes; ``trunk`` is the `MovingFrame` that the tasks are relative to.
        """
        positions, *rates = trunk.seen(*motion)
        goals = np.zeros((2, len(feet), 6))
        goals[:, :, :3] = rates
        for foot, position, twist, acceleration in zip(feet, positions, *goals, strict=True):
            self._tasks[foot].move_target(position, _UPRIGHT, twist, acceleration)

    def straight(self):
        """
        Return which legs could only pull at the last cycle, (n,) of bool.

        A joint is at a limit of its position, and the contact's force at its least: the leg
        cannot be longer, and as the foot cannot leave the ground in the law, the trunk stays.
        """
        limits = self._controller.active_limits
        if not limits:
            return self._none
        joints = {each.name for each in limits if each.limit == 'position'}
        empty = {each.name for each in limits if each.limit == 'normal force' and each.side < 0}
        return np.array([foot in empty and not joints.isdisjoint(leg)
                         for foot, leg in zip(self._names, self._joints, strict=True)])

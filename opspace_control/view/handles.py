# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Goals as handles that the user drags, and forces as arrows on the links that they act on."""

import time

import numpy as np

_YELLOW = (255, 200, 30)
_REFUSED = 1.0  # s, after which a goal that the controller has not set counts as refused
_SAME = 1e-4  # m, and rad
_PER_NEWTON = 0.005  # m, as in ~/markers
_LEAST_FORCE = 0.5   # N
# Of forces by their kind: orange, purple, blue.
_COLORS = {'commanded': (255, 160, 0), 'measured': (200, 60, 220), 'estimated': (0, 140, 255)}
_THICKNESS = 0.006   # m


class GoalHandle:
    """
    The handle of a task's goal, and the line to it from the task's frame.

    The node ``base`` of the scene carries the frame of goals; ``size`` is in m; ``turns`` tells
    whether the task controls any rotation. ``act`` runs a function in the thread of the node;
    ``send`` takes the task and a pose (7,) ``[x y z qx qy qz qw]``.
    """

    def __init__(self, scene, base, task, size, turns, act, send):
        self._task, self._send = task, send
        self._grip = scene.add_transform_controls(
            f'{base}/goal of {task}', scale=size, disable_rotations=not turns, depth_test=False,
            visible=False)
        self._label = scene.add_label(
            f'{self._grip.name}/name', task, position=(0.0, 0.0, 1.2 * size))
        self._line = scene.add_line_segments(
            f'{base}/way of {task}', np.zeros((1, 2, 3)), _YELLOW, line_width=2.0, visible=False)
        self._dragged, self._moved, self._released = False, None, 0.0

        @self._grip.on_update
        async def _(event):  # the order of events counts
            # Now: `update` may move the handle to the present goal before ``act`` runs.
            place = np.concatenate([self._grip.position, np.roll(self._grip.wxyz, -1)])
            act(lambda: self._on_drag(event.phase, place))

    def update(self, pose, goal):
        """Send a dragged pose; show the line from a position (3,) to a goal (7,)."""
        if self._moved is not None:
            self._send(self._task, self._moved)
            self._moved = None
        # Until then a viewer drags it, or the controller has not had time to set the goal.
        elif not self._dragged and time.monotonic() - self._released >= _REFUSED:
            position, wxyz = goal[:3], np.roll(goal[3:], 1)
            if (not np.allclose(position, self._grip.position, rtol=0.0, atol=_SAME)
                    or 1.0 - abs(wxyz @ self._grip.wxyz) > _SAME ** 2 / 8.0):
                self._grip.position, self._grip.wxyz = position, wxyz
        self._line.points = np.array([[pose, self._grip.position]])

    def show(self, shown):
        """Show the handle and its line, or hide them."""
        self._grip.visible = self._label.visible = self._line.visible = shown

    def remove(self):
        """Remove the handle from the scene."""
        self._grip.remove()
        self._line.remove()

    def _on_drag(self, phase, place):
        self._dragged = phase != 'end'
        if phase != 'start':
            self._moved = place
        self._released = time.monotonic()


class Forces:
    """The arrows of all wrenches in a scene, on the links of its `RobotScene`."""

    def __init__(self, scene, robot):
        self._scene, self._robot = scene, robot
        self._arrows = {}

    def update(self, wrenches):
        """Show wrenches: (what, frame, six, kind), forces in N in the axes of the frame."""
        for what, frame, six, kind in wrenches:
            if arrow := self._arrow(what, frame, kind):
                seen = np.linalg.norm(six[:3]) > _LEAST_FORCE
                if seen:
                    arrow.points = np.array([[np.zeros(3), _PER_NEWTON * six[:3]]], np.float32)
                arrow.visible = bool(seen)

    def remove(self):
        """Remove the arrows from the scene."""
        for arrow in filter(None, self._arrows.values()):
            arrow.remove()

    def _arrow(self, what, frame, kind):
        """Return the arrow of a wrench, None if its frame is no link of the robot."""
        key = what, frame, kind
        if key not in self._arrows:
            node = self._robot.node(frame)
            self._arrows[key] = node and self._scene.add_arrows(
                f'{node}/{kind} force of {what}', np.zeros((1, 2, 3), np.float32), _COLORS[kind],
                shaft_radius=_THICKNESS, head_radius=2.0 * _THICKNESS,
                head_length=4.0 * _THICKNESS, visible=False)
        return self._arrows[key]

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Goals as handles that the user drags, and lines from the frames to the goals."""

import time

import numpy as np

_COLOR = (255, 200, 30)
# Time after which a goal that the controller has not set was refused, s.
_TIMEOUT = 1.0
_SAME = 1e-4  # m, and rad


class GoalHandle:
    """
    The handle of a task's goal, and the line to it from the task's frame.

    Parameters
    ----------
    scene : viser.SceneApi
    base : str
        Node of the scene that carries the frame of goals.
    task : str
    size : float
        m, of the handle.
    turns : bool
        Whether the task controls any rotation.
    act : callable
        Runs a function in the thread of the node.
    send : callable
        Takes the task, position (3,) and quaternion xyzw.

    """

    def __init__(self, scene, base, task, size, turns, act, send):
        self._task, self._send = task, send
        self._grip = scene.add_transform_controls(
            f'{base}/goal of {task}', scale=size, disable_rotations=not turns, depth_test=False,
            visible=False)
        self._label = scene.add_label(
            f'{self._grip.name}/name', task.replace('_', ' '), position=(0.0, 0.0, 1.2 * size))
        self._line = scene.add_line_segments(
            f'{base}/way of {task}', np.zeros((1, 2, 3)), _COLOR, line_width=2.0, visible=False)
        self._dragged, self._moved, self._let_go = False, False, 0.0

        @self._grip.on_update
        async def _(event):  # the order of events counts
            act(lambda: self._on_drag(event.phase))

    @property
    def is_dragged(self):
        """Whether a viewer drags it, or the controller has not had time to set the goal."""
        return self._dragged or time.monotonic() - self._let_go < _TIMEOUT

    def update(self, pose, goal):
        """Send a dragged pose; show the line from a position (3,) to a goal (position, xyzw)."""
        if self._moved:
            self._moved = False
            self._send(self._task, self._grip.position, np.roll(self._grip.wxyz, -1))
        elif not self.is_dragged:
            position, wxyz = goal[0], np.roll(goal[1], 1)
            if (not np.allclose(position, self._grip.position, rtol=0.0, atol=_SAME)
                    or 1.0 - abs(wxyz @ self._grip.wxyz) > _SAME ** 2 / 8.0):
                self._grip.position, self._grip.wxyz = position, wxyz
        self._line.points = np.array([[pose, self._grip.position]])

    def show(self, shown):
        """Show it, or not."""
        self._grip.visible = self._label.visible = self._line.visible = shown

    def remove(self):
        """Take it out of the scene."""
        self._grip.remove()
        self._line.remove()

    def _on_drag(self, phase):
        self._dragged = phase != 'end'
        self._moved = self._moved or phase != 'start'
        self._let_go = time.monotonic()

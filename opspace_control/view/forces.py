# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Forces as arrows on the links that they act on."""

import numpy as np

_PER_NEWTON = 0.005    # m, as in ~/markers
_LEAST = 0.5           # N
_COMMANDED, _MEASURED = (255, 160, 0), (200, 60, 220)
_THICKNESS = 0.006     # m


class Forces:
    """
    The arrows of all wrenches.

    Parameters
    ----------
    scene : viser.SceneApi
    robot : RobotScene

    """

    def __init__(self, scene, robot):
        self._scene, self._robot = scene, robot
        self._arrows = {}

    def update(self, wrenches):
        """Show wrenches: (what, frame, six, measured), forces in N in the axes of the frame."""
        for what, frame, six, measured in wrenches:
            arrow = self._arrow(what, frame, measured)
            if arrow is None:
                continue
            seen = np.linalg.norm(six[:3]) > _LEAST
            if seen:
                arrow.points = np.array([[np.zeros(3), _PER_NEWTON * six[:3]]], np.float32)
            arrow.visible = bool(seen)

    def remove(self):
        """Take them out of the scene."""
        for arrow in filter(None, self._arrows.values()):
            arrow.remove()

    def _arrow(self, what, frame, measured):
        """Return the arrow of a wrench, None if its frame is no link of the robot."""
        key = what, frame, measured
        if key not in self._arrows:
            node = self._robot.node(frame)
            self._arrows[key] = node and self._scene.add_arrows(
                f'{node}/{"measured" if measured else "commanded"} force of {what}',
                np.zeros((1, 2, 3), np.float32), _MEASURED if measured else _COMMANDED,
                shaft_radius=_THICKNESS, head_radius=2.0 * _THICKNESS,
                head_length=4.0 * _THICKNESS, visible=False)
        return self._arrows[key]

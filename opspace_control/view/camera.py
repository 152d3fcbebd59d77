# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Where pages look from: all of the robot is in the picture of a page that opens."""

import numpy as np

# Of the robot's size: one that is further from where the camera looks is near the edge of the
# picture.
_AWAY = 0.5


class Camera:
    """The camera of the pages of a server."""

    def __init__(self, server):
        self._server = server
        self._base = np.zeros(3)  # of the robot that it looks at

    def look_at(self, robot):
        """Turn the cameras of all pages to a `RobotScene`, and put a floor below it."""
        position, middle = self._aim(robot)
        for client in self._server.get_clients().values():
            client.camera.position, client.camera.look_at = position, middle

    def follow(self, robot):
        """Have pages that open from now on look at a robot that has moved away; others stay."""
        if np.linalg.norm(robot.base - self._base) > _AWAY * size_of(*robot.bounds()):
            self._aim(robot)

    def _aim(self, robot):
        self._base = robot.base
        lower, upper = (corner + self._base for corner in robot.bounds())
        size, (position, middle) = size_of(lower, upper), camera(lower, upper)
        self._server.scene.add_grid(
            '/floor', 4.0 * size, 4.0 * size, cell_size=size / 8.0,
            position=(middle[0], middle[1], min(lower[2], 0.0)))
        initial = self._server.initial_camera
        initial.position, initial.look_at = position, middle
        return position, middle


def camera(lower, upper):
    """Return where a camera sees all between two corners (3,), and what it looks at, m."""
    middle = (lower + upper) / 2.0
    return middle + size_of(lower, upper) * np.array([1.2, 0.7, 0.5]), middle


def size_of(lower, upper):
    """Return the size, m, of what is between two corners (3,), but not less than 0.3 m."""
    return max(np.linalg.norm(upper - lower), 0.3)

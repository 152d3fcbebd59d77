# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled laws of a task by themselves, at a point that the test moves; no robot."""

import numpy as np
from numba import njit

from opspace_control.dynamics.workspace import NODE_STATE, POINT
from opspace_control.model.nodes import FRAME, NODE, WORLD
from opspace_control.tasks.binding import bind_tasks
from opspace_control.tasks.impedance_law import impede
from opspace_control.tasks.pose_law import demand_pose
from opspace_control.tasks.sensor_law import measure_wrench


@njit
def _run(tasks, points, origin, nodes, states, sensors, dt, limited, Lambda_inverse, small, R):
    for i in range(sensors.size):
        measure_wrench(sensors, i, nodes, states, dt)
    for e in range(tasks.size):
        demand_pose(tasks[e], points[e], origin, states, sensors, dt, limited, R)
        if tasks[e].impedance > 0.0:
            impede(tasks[e], Lambda_inverse, 6 * e, small)


class Links:
    """Stands for a robot: each frame is a body of its own, and anything may be asked for."""

    def __init__(self):
        self._names = []

    def frame_index(self, name):
        if name not in self._names:
            self._names.append(name)
        return self._names.index(name)

    @property
    def frames(self):
        frames = np.zeros(len(self._names), FRAME)
        frames['node'] = [WORLD if name == 'world' else i for i, name in enumerate(self._names)]
        frames['rotation'] = np.eye(3)
        return frames


class LawBench:
    """
    Tasks, each at a point of its own.

    Attributes
    ----------
    tasks : array of POSE_TASK
    points : array of POINT
        What the test moves: ``R``, ``p`` from ``origin``, and ``v``.
    origin : (3,) array
        m.
    inverse_inertia : (6m, 6m) array
        Λ⁻¹, for impedances.

    """

    def __init__(self, *tasks, origin=(0.0, 0.0, 0.0)):
        self.links = Links()
        self.tasks, _, self.sensors = bind_tasks(tasks, self.links)
        self.points = np.zeros(len(tasks), POINT)
        self.points['R'] = np.eye(3)
        self.origin = np.array(origin)
        self.inverse_inertia = np.eye(6 * len(tasks))
        self._states = np.zeros(10, NODE_STATE)
        self._states['R'] = np.eye(3)

    def place(self, link, R, p=(0.0, 0.0, 0.0)):
        """Put a link somewhere: axes by column, m."""
        state = self._states[self.links.frame_index(link)]
        state['R'], state['p'] = R, p

    def cycle(self, dt=1e-3, limited=0):
        """Run the laws once; return the first task's record."""
        L = np.tril(self.inverse_inertia) + np.triu(np.full_like(self.inverse_inertia, np.nan), 1)
        _run(self.tasks, self.points, self.origin, np.zeros(1, NODE), self._states, self.sensors,
             dt, limited, L, np.full((3, 6, 6), np.nan), np.full((3, 3), np.nan))
        return self.tasks[0]

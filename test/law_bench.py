# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled laws of a task by themselves, at a point that the test moves; no robot."""

import numpy as np
from numba import njit

from opspace_control.dynamics.data import NODE_STATE, POINT
from opspace_control.model.nodes import FRAME, NODE
from opspace_control.tasks.impedance_law import impede
from opspace_control.tasks.pose_law import demand_pose
from opspace_control.tasks.sensor import measure_wrench
from opspace_control.tasks.task import register_tasks


@njit
def _run(tasks, points, origin, nodes, states, sensors, dt, limited, Lambda_inverse, small, R):
    for i in range(sensors.size):
        measure_wrench(sensors, i, states, dt)
    for e in range(tasks.size):
        demand_pose(tasks[e], points[e], origin, states, sensors, dt, limited, R)
        if tasks[e].impedance > 0.0:
            impede(tasks[e], Lambda_inverse, 6 * e, small)


class Links:
    """Stands for a robot: a body for each frame that is asked for, up to ten."""

    def __init__(self):
        self._names = []
        self.frames = np.zeros(10, FRAME)
        self.frames['node'] = np.arange(10)
        self.frames['rotation'] = np.eye(3)

    def frame_index(self, name):
        if name not in self._names:
            self._names.append(name)
        return self._names.index(name)


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
        self.tasks, _, self.sensors = register_tasks(tasks, self.links)
        self.points = np.zeros(len(tasks), POINT)
        self.points['R'] = np.eye(3)
        self.origin = np.array(origin)
        self.inverse_inertia = np.eye(6 * len(tasks))
        self._unread = np.triu(np.full_like(self.inverse_inertia, np.nan), 1)
        self._states = np.zeros(10, NODE_STATE)
        self._states['R'] = np.eye(3)

    def place(self, link, R, p=(0.0, 0.0, 0.0)):
        """Put a link somewhere: axes by column, m."""
        state = self._states[self.links.frame_index(link)]
        state['R'], state['p'] = R, p

    def cycle(self, dt=1e-3, limited=0):
        """Run the laws once; return the first task's record."""
        L = np.tril(self.inverse_inertia) + self._unread
        _run(self.tasks, self.points, self.origin, np.zeros(1, NODE), self._states, self.sensors,
             dt, limited, L, np.full((3, 6, 6), np.nan), np.full((3, 3), np.nan))
        return self.tasks[0]


class PointAtWall:
    """
    A task's point as a coupled mass before an elastic wall, along z; integrated in small steps.

    Parameters
    ----------
    task : OperationalTask
        Its sensor, if it has one, measures the wall's force.
    stiffness, damping : float
        Of the wall, N/m and N s/m.
    gap : float
        Between point and wall, m.
    delay : int
        Cycles from a state to the force that follows from it.
    noise : float
        Standard deviation of what the sensor reads, N.

    Attributes
    ----------
    x, v : (3,) and (6,) arrays
        Position, m, and velocity of the point.
    force : float
        Of the point on the wall, mean of the last cycle, N.

    """

    # kg and kg m², but for the coupling of 0.3 between any two axes.
    MASSES = np.array([2.0, 3.0, 1.5, 0.02, 0.02, 0.02])

    def __init__(self, task, *, stiffness=1e5, damping=90.0, gap=0.02, delay=1, noise=0.0):
        self.bench = LawBench(task)
        root = 1.0 / np.sqrt(self.MASSES)
        self.L = root[:, None] * (0.7 * np.eye(6) + 0.3) * root
        self.bench.inverse_inertia[:] = self.L
        self.task, self.stiffness, self.damping, self.gap = task, stiffness, damping, gap
        self.x, self.v, self.force = np.zeros(3), np.zeros(6), 0.0
        self.external = np.zeros(6)
        self.sensing = task.force.sensor is not None
        if self.sensing:
            self.bench.sensors['gravity'] = 0.0
        self._noise, self._random = noise, np.random.default_rng(0)
        self._coming = [np.zeros(6)] * delay

    @property
    def stage(self):
        """Stage of contact, 0 to 2."""
        return float(self.bench.tasks['force']['contact'][0])

    def run(self, seconds, before_cycle=None, dt=1e-3, substeps=20):
        """Go on; return the force on the wall (k,), N, and the commanded wrenches (k, 6)."""
        forces, wrenches = [], []
        for k in range(round(seconds / dt)):
            if before_cycle is not None:
                before_cycle(k * dt)
            wrench = self._command(dt)
            wrenches.append(wrench)
            self._coming.append(wrench)
            self._move(self._coming.pop(0), dt / substeps, substeps)
            forces.append(self.force)
        return np.array(forces), np.array(wrenches)

    def _command(self, dt):
        points = self.bench.points
        points['p'], points['v'] = self.x, self.v
        if self.sensing:
            reading = np.zeros(6)
            reading[2] = -self.force + self._noise * self._random.normal()
            self.task.force.sensor.update(reading)
        record = self.bench.cycle(dt)
        external = self.L @ record['spring_wrench']
        demand = record['acceleration'] - (1.0 - record['compliant']) * external
        asked = record['row_activation'] > 0.0
        force = np.zeros(6)
        force[asked] = np.linalg.solve(self.L[np.ix_(asked, asked)], demand[asked])
        return force + record['spring_wrench'] + record['applied_wrench']

    def _move(self, wrench, h, steps):
        """Only along the normal of the wall, where its force changes, is it done step by step."""
        free, slowed = self.L @ (wrench + self.external), self.L[:, 2]
        depth, speed = float(self.x[2] - self.gap), float(self.v[2])
        forced, yielding, walls = float(free[2]), float(slowed[2]), []
        for _ in range(steps):
            walls.append(max(0.0, self.stiffness * depth + self.damping * speed)
                         if depth > 0.0 else 0.0)
            speed += h * (forced - yielding * walls[-1])
            depth += h * speed
        speeds = self.v + h * np.cumsum(free - np.outer(walls, slowed), axis=0)
        self.v = speeds[-1]
        self.x = self.x + h * speeds[:, :3].sum(axis=0)
        self.force = sum(walls) / steps

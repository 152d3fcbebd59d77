# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Robots that are as their models say, simulated without MuJoCo, and distances of their shapes."""

import numpy as np

from opspace_control import RobotState
from opspace_control.collision.data import forget_distances
from opspace_control.collision.near_pairs import near_pairs_at
from opspace_control.dynamics.data import NODE_STATE, moment_nodes, nan_filled, points_on
from opspace_control.dynamics.hybrid_dynamics import responding_nodes, solve_hybrid
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.model.nodes import LOCKED, PASSIVE


class IdealRobot:
    """
    A robot that accelerates as ``model.forward_dynamics`` says, to the bit, in a tenth of the time.

    A wrench ``[f; n]`` (6,) of the world may act on a link ``loaded``, N and N·m, world axes.
    """

    def __init__(self, model, loaded=None):
        self.model, self._q, self._v = model, np.zeros(model.nq), np.zeros(model.nv)
        self._a, self._tau = np.zeros((2, model.nv))
        points = points_on(model, [loaded] if loaded else [])
        self._exerted = np.zeros((len(points), 6))
        nodes = moment_nodes(model)
        nodes['status'][nodes['status'] != LOCKED] = PASSIVE
        self._solve = solve_hybrid.partial(
            nodes, responding_nodes(nodes), self._q, self._v, points, self._exerted,
            GRAVITY.copy(), nan_filled(nodes.size, NODE_STATE), self._a, self._tau)

    def accelerations(self, state, torque, wrench=0.0):
        """Return the accelerations (nv,) of a state under joint forces (nv,) and a wrench (6,)."""
        self._q[:], self._v[:], self._tau[:] = state.q, state.v, torque
        self._a[:], self._exerted[:] = 0.0, -np.asarray(wrench)
        self._solve()
        return self._a.copy()

    def after(self, state, torque, dt, wrench=0.0):
        """Return the state of the model after dt, s: first its velocities change, then it moves."""
        v = state.v + dt * self.accelerations(state, torque, wrench)
        return RobotState(state.model, state.model.integrate(state.q, dt * v, 1.0), v)


class Distances:
    """The distances that ``collision.distances`` returns, to the bit, in a fraction of its time."""

    def __init__(self, collision, influence=np.inf):
        self._collision, robot = collision, collision.robot
        self._data = collision.data(len(collision.pairs), influence)
        self._q, self._floating = np.zeros(robot.nq), robot.floating_base
        self._origin, nodes = np.zeros(3), moment_nodes(robot)
        self._find = near_pairs_at.partial(
            nodes, self._q, np.zeros(nodes.size, NODE_STATE), self._origin, self._data)

    def at(self, q):
        """Return a `Separation` of each pair that is nearer than ``influence`` at q (nq,)."""
        self._q[:] = q
        if self._floating:
            self._origin[:] = q[:3]
        forget_distances(self._data)
        self._find()
        return self._collision.separations(self._data, self._origin)

    def move(self, name, position, rotation=None):
        """Put a shape of the world somewhere else."""
        shape = self._data.shapes[self._collision.names.index(name)]
        shape['position'] = position
        if rotation is not None:
            shape['rotation'] = rotation

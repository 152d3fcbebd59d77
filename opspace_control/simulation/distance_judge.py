# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of collision shapes by MuJoCo: the poses of links and the distances are MuJoCo's."""

import mujoco
import numpy as np

from opspace_control.collision.shapes import Kind
from opspace_control.simulation.urdf_reader import body_name

_GEOMS = {Kind.SPHERE: mujoco.mjtGeom.mjGEOM_SPHERE, Kind.CAPSULE: mujoco.mjtGeom.mjGEOM_CAPSULE,
          Kind.CYLINDER: mujoco.mjtGeom.mjGEOM_CYLINDER, Kind.BOX: mujoco.mjtGeom.mjGEOM_BOX}
# No distance decreases faster, m/s, and none is told beyond _FAR, m.
_SPEED, _FAR = 5.0, 0.2


class DistanceJudge:
    """
    The least distance of the pairs of a robot's shapes, cycle by cycle.

    The bodies of a SimulatedRobot carry the shapes of a CollisionModel, on links and in the world;
    there are no half-spaces among them.
    """

    def __init__(self, simulated, collision):
        self._simulated, shapes, spec = simulated, collision.shapes, mujoco.MjSpec()
        for shape in shapes:
            spec.worldbody.add_geom(type=_GEOMS[shape.kind], size=_size(shape))
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        self._bodies = [0 if shape.link is None else simulated.model.body(
            body_name(shape.link)).id for shape in shapes]
        self._positions = np.array([shape.position for shape in shapes])
        self._rotations = np.array([shape.rotation for shape in shapes])
        self._index = index = {shape.name: s for s, shape in enumerate(shapes)}
        self._pairs = np.array([[index[name] for name in pair] for pair in collision.pairs])
        self._step, self._bounds = _SPEED * simulated.timestep, np.full(len(self._pairs), -np.inf)

    def distances(self, pairs):
        """Return the distances of pairs (p, 2) of geoms, m; ``_FAR`` for those further away."""
        return np.array([mujoco.mj_geomDistance(
            self._model, self._data, first, second, _FAR, None) for first, second in pairs])

    def move(self, name, position):
        """Put a shape of the world elsewhere, its center to (3,), m."""
        self._positions[self._index[name]] = position

    def least(self, below=_FAR):
        """
        Return the least distance of all pairs, m, or ``below``, _FAR at most, where none is nearer.

        Call it once a cycle. It looks at those pairs alone that may have come nearer than that.
        """
        self._bounds -= self._step
        due = np.flatnonzero(self._bounds < below)
        if due.size > 0:
            self._place()
            self._bounds[due] = gaps = self._gaps(self._pairs[due])
            below = min(below, _FAR, gaps.min())
        return below

    def _gaps(self, pairs):
        """Return the distances of pairs (p, 2) of geoms, m, of those beyond _FAR less than that."""
        first, second = pairs.T
        centers, radii = self._data.geom_xpos, self._model.geom_rbound
        gaps = np.linalg.norm(centers[first] - centers[second], axis=1) - (
            radii[first] + radii[second])
        near = gaps < _FAR
        gaps[near] = self.distances(pairs[near])
        return gaps

    def _place(self):
        """Put the shapes where the links are."""
        simulated, data = self._simulated, self._data
        mujoco.mj_kinematics(simulated.model, simulated.data)
        R = simulated.data.xmat[self._bodies].reshape(-1, 3, 3)
        data.geom_xpos[:] = simulated.data.xpos[self._bodies] + (
            R @ self._positions[:, :, None])[:, :, 0]
        data.geom_xmat[:] = (R @ self._rotations).reshape(-1, 9)


def _size(shape):
    """Return MuJoCo's three sizes of a shape: radius and half lengths."""
    if shape.kind == Kind.BOX:
        return [0.5 * length for length in shape.size]
    radius, length = (*shape.size, 0.0)[:2]
    return [radius, 0.5 * length, 0.0]

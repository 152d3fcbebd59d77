# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Which joints move shapes of a robot that are too near to each other."""

import numpy as np

from opspace_control.model.nodes import path_to_root


class Clearance:
    """
    Tell which joints move shapes relative to each other that are too near.

    ``clearance(q)`` at positions q (nq,) returns a mask (nv,) of joints, none if all is clear.

    Parameters
    ----------
    shapes : CollisionModel
    distance : float
        Least distance of two shapes, m.

    """

    def __init__(self, shapes, distance):
        self._shapes, self._data = shapes, shapes.data(len(shapes.pairs), distance)
        robot = shapes.robot
        parents, dofs = (robot.nodes[key].tolist() for key in ('parent', 'v_index'))
        self._movers = {}
        for shape in shapes.shapes:
            mask = np.zeros(robot.nv, bool)
            if shape.link is not None:
                node = robot.frames[robot.frame_index(shape.link)]['node']
                mask[[dofs[k] for k in path_to_root(parents, node) if dofs[k] >= 0]] = True
            self._movers[shape.name] = mask

    def __call__(self, q):
        """Return the mask (nv,) of joints at positions q (nq,)."""
        mask = np.zeros(self._shapes.robot.nv, bool)
        for pair in self.near(q):
            mask |= self._movers[pair.first] ^ self._movers[pair.second]
        return mask

    def near(self, q):
        """Return a `Separation` of each pair of shapes that is too near at positions q (nq,)."""
        return self._shapes.separations_at(q, self._data)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Things around the simulated robot: free bodies to carry, fixed ones to put them on."""

from dataclasses import dataclass

import mujoco
import numpy as np

from opspace_control.errors import SimulationError
from opspace_control.model import Payload
from opspace_control.simulation.arguments import IDENTITY_POSE, base_state

# Collision bits: the robot's shapes touch the floor's, and each other's only with ``contacts``.
ROBOT, FLOOR, OBJECT = 1, 2, 4


@dataclass(frozen=True)
class Box:
    """
    A box of uniform density, or one whose centre of mass is somewhere else.

    ``name`` is unlike any link's; ``size`` (3,), m, are the lengths of the edges, ``mass`` is in
    kg; ``pose`` (7,) is the initial ``[x y z qx qy qz qw]`` of its middle in the world, m;
    ``center_of_mass`` (3,), m, is relative to that, along the edges. A ``fixed`` box never moves,
    like a table. ``friction`` is the coefficient of sliding friction with another body, if that
    body's is smaller. Raises a SimulationError for numbers that no box has.
    """

    name: str
    size: tuple
    mass: float = 1.0
    pose: tuple = IDENTITY_POSE
    center_of_mass: tuple = (0.0, 0.0, 0.0)
    fixed: bool = False
    friction: float = 1.0

    def __post_init__(self):
        numbers = np.array([*self.size, self.mass, self.friction], float)
        if numbers.shape != (5,) or not ((numbers > 0.0) & (numbers < np.inf)).all():
            raise SimulationError(
                f"The box '{self.name}' has size {self.size}, mass {self.mass} and friction "
                f'{self.friction}.', cure='Give three lengths, a mass and a coefficient, all '
                'positive.', element=self.name)
        if not np.isfinite(self.center_of_mass).all() or np.shape(self.center_of_mass) != (3,):
            raise SimulationError(
                f"The centre of mass of box '{self.name}' is {self.center_of_mass}.",
                cure='Give three finite numbers.', element=self.name)
        base_state(self.pose, None)

    @property
    def inertial(self):
        """Mass, centre of mass and the inertia of uniform density about it, a `Payload`."""
        return Payload.of_box(self.mass, self.size, self.center_of_mass)

    def distance(self, point):
        """Return how far a point (3,) in the box's frame is from it, m; 0 inside."""
        beyond = np.maximum(abs(np.asarray(point, float)) - np.array(self.size) / 2.0, 0.0)
        return float(np.linalg.norm(beyond))


def add_objects(spec, objects, links, contacts):
    """
    Add objects to a MuJoCo spec, behind the robot; return their bodies, without inertia.

    ``links`` are names that are taken; ``contacts`` is whether the objects touch the robot too, not
    only each other and the floor.
    """
    taken, bodies = {'world', *links}, []
    for box in objects:
        if box.name in taken:
            raise SimulationError(f"Two things are called '{box.name}'.", element=box.name,
                                  cure='Give the object a name that no link and no other has.')
        taken.add(box.name)
        qpos, _ = base_state(box.pose, None)
        body = spec.worldbody.add_body(name=box.name, pos=qpos[:3], quat=qpos[3:])
        if not box.fixed:
            body.add_freejoint(name=box.name)
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=np.array(box.size, float) / 2.0,
                      contype=OBJECT, conaffinity=OBJECT | FLOOR | (ROBOT if contacts else 0),
                      friction=[box.friction, 0.005, 0.0001])
        bodies.append(body)
    return bodies

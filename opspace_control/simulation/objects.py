# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Things around the simulated robot, free or fixed bodies, and shapes of its links."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import mujoco
import numpy as np

from opspace_control.checks import checked
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
        for name, shape, above in (('size', (3,), 0.0), ('mass', (), 0.0), ('friction', (), 0.0),
                                   ('center_of_mass', (3,), -np.inf)):
            checked(getattr(self, name), f"box '{self.name}': {name}", SimulationError, shape,
                    above=above, element=self.name)
        base_state(self.pose, None)

    @property
    def inertial(self):
        """Mass, centre of mass and the inertia of uniform density about it, a `Payload`."""
        return Payload.of_box(self.mass, self.size, self.center_of_mass)

    def distance(self, point):
        """Return how far a point (3,) in the box's frame is from it, m; 0 inside."""
        beyond = np.maximum(abs(np.asarray(point, float)) - np.array(self.size) / 2.0, 0.0)
        return float(np.linalg.norm(beyond))


@dataclass(frozen=True)
class Shape:
    """
    What touches the floor or another link, instead of the collision shapes of the URDF.

    ``size`` is the radius (1,) of a sphere or the lengths (3,) of the edges of a box, m; ``center``
    (3,), m, is its middle in the link's frame. Raises a SimulationError for numbers that no shape
    has.
    """

    link: str
    size: tuple
    center: tuple = (0.0, 0.0, 0.0)

    def __post_init__(self):
        what, count = f"shape of link '{self.link}'", 1 if np.size(self.size) == 1 else 3
        checked(self.size, f'{what}: size', SimulationError, (count,), above=0.0, link=self.link)
        checked(self.center, f'{what}: center', SimulationError, (3,), link=self.link)

    def element(self):
        """Return it as a <collision> of a URDF."""
        numbers = ' '.join(f'{float(number)!r}' for number in self.size)
        collision = ET.Element('collision')
        ET.SubElement(collision, 'origin', xyz=' '.join(map(str, map(float, self.center))))
        ET.SubElement(ET.SubElement(collision, 'geometry'), *(
            ('sphere', {'radius': numbers}) if len(self.size) == 1 else ('box', {'size': numbers})))
        return collision


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

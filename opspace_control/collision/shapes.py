# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Convex shapes on links and in the world, as users give them and as records for kernels."""

import math
from copy import copy
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from opspace_control.checks import checked
from opspace_control.compiled import inlined
from opspace_control.dynamics.kinematics import place_on
from opspace_control.errors import ModelError
from opspace_control.model.nodes import WORLD
from opspace_control.spatial.rotations import turn_about


class Kind(IntEnum):
    """Kinds of shape."""

    SPHERE = 0      # size: radius
    CAPSULE = 1     # size: radius, length of the segment between the two centres, along z
    CYLINDER = 2    # size: radius, length along z
    BOX = 3         # size: lengths along x, y and z
    HALF_SPACE = 4  # no size: all points with z ≤ 0


SPHERE, CAPSULE, HALF_SPACE = int(Kind.SPHERE), int(Kind.CAPSULE), int(Kind.HALF_SPACE)
# A size, and a coordinate of a place, are not larger, m: rounding of distances is 1e-10 m there.
_LARGEST, _FURTHEST = 1e4, 1e6
_SIZES = {Kind.SPHERE: 1, Kind.CAPSULE: 2, Kind.CYLINDER: 2, Kind.BOX: 3, Kind.HALF_SPACE: 0}

# A shape is a core and all points no further from it than a radius. The core is the sum of a box
# and a disc about the z axis, each of which may be a point; that of a sphere is a point, that of a
# capsule a segment, that of a cylinder a segment and a disc.
SHAPE = np.dtype([
    ('node', np.int64),           # node whose body carries it, WORLD for the world
    ('next', np.int64),           # another shape on that body, each after one other; -1: none
    ('kind', np.int64),           # of `Kind`
    ('rotation', np.float64, (3, 3)),  # its axes in the frame of that body, or of the world
    ('position', np.float64, (3,)),    # its centre there, of a half-space a point of its plane, m
    ('half', np.float64, (3,)),   # half lengths of the core's box, m
    ('disc', np.float64),         # radius of the core's disc, m
    ('radius', np.float64),       # about the core, m
    ('bounding_radius', np.float64),  # radius of the sphere about its centre that encloses it, m
    ('twist', np.float64, (6,)),  # of a shape of the world: velocity [v; ω] of its centre, world
                                  # axes, m/s and rad/s; constant
    ('is_new', np.int64),         # of a shape of the world: 1 until its first cycle at this pose
    ('R', np.float64, (3, 3)),    # its axes in world axes
    ('p', np.float64, (3,)),      # its centre, from the root link's origin, m
], align=True)


@dataclass(frozen=True)
class Shape:
    """
    A shape on a link or in the world.

    Raises a ModelError for an unknown kind, or a size or pose that cannot be used, and names the
    shape.
    """

    name: str
    """Its name, by which pairs and messages refer to it."""
    link: str | None
    """Link that carries it; None for the world."""
    kind: Kind
    """``sphere``, ``capsule``, ``cylinder``, ``box`` or ``half_space``."""
    size: tuple
    """m, as of `Kind`."""
    position: tuple = (0.0, 0.0, 0.0)
    """Its centre in the link's frame, or in the world, m; of a half-space a point of its plane."""
    rotation: tuple = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    """Its axes there, by column. A half-space is below the plane of its x and y."""

    def __post_init__(self):
        what = f"shape '{self.name}'"
        kind = self.kind
        if isinstance(kind, str):
            kind = Kind.__members__.get(kind.upper())
        if not isinstance(kind, Kind):
            raise ModelError(f'The {what} is of kind {self.kind!r}.', element=self.name,
                             cure=f'Give one of {", ".join(each.name.lower() for each in Kind)}.')
        put = object.__setattr__
        put(self, 'kind', kind)
        size = checked(self.size, f'{what}: size', ModelError, (_SIZES[kind],), above=0.0,
                       highest=_LARGEST, element=self.name)
        position, rotation = self._checked_pose(self.position, self.rotation)
        put(self, 'size', tuple(size.tolist()))
        put(self, 'position', tuple(position.tolist()))
        put(self, 'rotation', tuple(map(tuple, rotation.tolist())))

    def _checked_pose(self, position, rotation):
        """Return position (3,) and rotation (3, 3), or raise a ModelError."""
        what = f"shape '{self.name}'"
        rotation = checked(rotation, f'{what}: rotation', ModelError, (3, 3))
        if not (abs(rotation @ rotation.T - np.eye(3)).max() < 1e-6
                and np.linalg.det(rotation) > 0.0):
            raise ModelError(f'The rotation of the {what} is none.', element=self.name,
                             cure='Give three orthogonal unit vectors by column, right-handed.')
        return checked(position, f'{what}: position', ModelError, (3,), lowest=-_FURTHEST,
                       highest=_FURTHEST), rotation

    def at(self, record):
        """Return this shape where it is in its SHAPE record."""
        shape, put = copy(self), object.__setattr__
        put(shape, 'position', tuple(record['position'].tolist()))
        put(shape, 'rotation', tuple(map(tuple, record['rotation'].tolist())))
        return shape

    def carried_by(self, link, pose=None):
        """
        Return this shape of an object on the link that carries it, None for no link.

        ``pose`` (4, 4) is that of the object's frame in the link's; without it the shape is in the
        link's frame. A ModelError names a shape that cannot be carried.
        """
        what = f"shape '{self.name}'"
        if link is None:
            raise ModelError(f'The {what} is of an object that no link carries.',
                             element=self.name, cure='Keep a distance from it as a shape of the '
                             'world: an object moves among fingertips.')
        if self.link not in ((None, link) if pose is None else (None,)):
            raise ModelError(
                f"The {what} is on the link '{self.link}', and its object is on '{link}'.",
                element=self.name, cure='Give it no link: it is on that of its object.')
        if self.kind == Kind.HALF_SPACE:
            raise ModelError(f'The {what} is a half-space, which has no end.', element=self.name,
                             cure='Give a sphere, capsule, cylinder or box.')
        pose = np.eye(4) if pose is None else pose
        return replace(self, link=link, position=pose[:3, :3] @ self.position + pose[:3, 3],
                       rotation=pose[:3, :3] @ self.rotation)

    def move(self, record, position, rotation, twist):
        """
        Write a new pose of this shape of the world, and its twist (6,), to its SHAPE record.

        A ModelError names the shape if it is on a link, or if a number cannot be used.
        """
        what = f"shape '{self.name}'"
        if self.link is not None:
            raise ModelError(f"The {what} is on the link '{self.link}'.", element=self.name,
                             cure='Move shapes of the world only.')
        pose = self._checked_pose(record['position'] if position is None else position,
                                  record['rotation'] if rotation is None else rotation)
        record['twist'] = checked(
            np.zeros(6) if twist is None else twist, f'{what}: twist', ModelError, (6,))
        (record['position'], record['rotation']), record['is_new'] = pose, 1

    def write(self, record, robot):
        """Write a SHAPE record; a ModelError says that the robot has no such link."""
        rotation, position = np.array(self.rotation), np.array(self.position)
        record['node'] = WORLD
        if self.link is not None:
            try:
                frame = robot.frames[robot.frame_index(self.link)]
            except ModelError as error:
                raise ModelError(f"shape '{self.name}': {error}", element=self.link) from None
            record['node'] = frame['node']
            position = frame['position'] + frame['rotation'] @ position
            rotation = frame['rotation'] @ rotation
        record['kind'], record['rotation'], record['position'] = self.kind, rotation, position
        record['half'], record['disc'], record['radius'], record['twist'] = 0.0, 0.0, 0.0, 0.0
        record['is_new'] = 1
        if self.kind == Kind.BOX:
            record['half'] = np.array(self.size) / 2.0
        elif self.kind != Kind.HALF_SPACE:
            radius, length = (*self.size, 0.0)[:2]
            record['half'][2] = length / 2.0
            record['disc' if self.kind == Kind.CYLINDER else 'radius'] = radius
        record['bounding_radius'] = math.inf if self.kind == Kind.HALF_SPACE else (
            math.hypot(*record['half'], record['disc']) + record['radius'])


@inlined
def advance_shape(shape, dt):
    """
    Move a SHAPE of the world by its twist for the time dt, s, unless it has just been put there.

    ``R ← R rot(Rᵀ ω dt)``.
    """
    if shape.is_new:
        shape.is_new = 0
        return
    t, R = shape.twist, shape.rotation
    for r in range(3):
        shape.position[r] += dt * t[r]
    speed = math.sqrt(t[3] * t[3] + t[4] * t[4] + t[5] * t[5])
    if speed > 0.0:
        w0, w1, w2 = t[3] / speed, t[4] / speed, t[5] / speed
        turn_about((R[0, 0] * w0 + R[1, 0] * w1 + R[2, 0] * w2,
                    R[0, 1] * w0 + R[1, 1] * w1 + R[2, 1] * w2,
                    R[0, 2] * w0 + R[1, 2] * w1 + R[2, 2] * w2),
                   math.sin(speed * dt), math.cos(speed * dt), R)


@inlined
def place_shape(shape, origin, states):
    """Write the pose of a SHAPE; the bodies are placed, the root link's origin is at (3,), m."""
    place_on(shape.node, shape.rotation, shape.position, states, shape.R, shape.p)
    if shape.node < 0:
        for r in range(3):
            shape.p[r] -= origin[r]

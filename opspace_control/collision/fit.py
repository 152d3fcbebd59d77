# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes of the links of a URDF: its primitives as they are, meshes by shapes that enclose them."""

from typing import NamedTuple

import numpy as np

from opspace_control.collision.enclosing import enclose_parts, misfits, surface_of
from opspace_control.collision.points import multiply
from opspace_control.collision.shapes import Kind, Shape
from opspace_control.collision.urdf_shapes import MeshError, find_mesh, load_mesh, read_looks
from opspace_control.model.urdf import read_urdf
from opspace_control.spatial.rotations import matrix_from_quaternion

# Samples on the surface of a mesh; digits of points, m.
_SAMPLES, _DIGITS = 4000, 9
# Of a capsule along a link: its radius by its length, and the least length, m.
_SLENDERNESS, _SHORTEST = 0.2, 0.02
# Sources of shapes that are guessed.
GUESSES = TO_JOINT, TO_MASS = 'joint', 'centre of mass'
_MADE = {TO_JOINT: 'a capsule goes to each of its joints',
         TO_MASS: 'a capsule goes to twice the way to its centre of mass'}


class Fit(NamedTuple):
    """A shape of a link, and how well it is known."""

    shape: Shape
    source: str      # 'collision', 'visual', one of these and 'mesh', or one of `GUESSES`
    too_fat: float   # largest distance from the shape's surface to that of the source, m
    too_thin: float  # largest distance by which the source is outside, m


class Fitted(NamedTuple):
    """The shapes of a robot's links."""

    fits: list      # `Fit` of each
    doubts: list    # sentences about what is doubtful
    surfaces: dict  # points (m, 3) of what the shapes of a link enclose, in its frame, m, by name


def fit_shapes(text):
    """
    Return the `Fitted` of a URDF's text.

    Of each link: its <collision>, of which meshes are enclosed by up to three shapes each; where a
    mesh is not found, or there is no <collision>, its <visual>, likewise; where that fails, too,
    and the link has mass, a capsule to each of the joints that it carries, or where it carries
    none, to twice the way to its centre of mass. A ModelError refuses text that is no URDF, an
    OpspaceError tells that the package that reads meshes is not installed.
    """
    described, looks = read_urdf(text), read_looks(text)
    fits, doubts, surfaces = [], list(looks.doubts), {}
    for link in described.links.values():
        found, parts = _fitted(link.name, looks.touched, 'collision', doubts)
        if not found:
            found, parts = _fitted(link.name, looks.seen, 'visual', doubts)
        if parts:
            surfaces[link.name] = np.concatenate(parts)
        if not found and link.mass > 0.0:
            carried = [joint.position for joint in described.joints.values()
                       if joint.parent == link.name]
            points, source = (carried, TO_JOINT) if carried else (
                [2.0 * link.center_of_mass], TO_MASS)
            found = [fit for point in points for fit in _along(link.name, point, source)]
            made = _MADE[source] if found else 'it has none, and may touch anything'
            doubts.append(f"Link '{link.name}' has no shape that can be read: {made}.")
        fits += [fit._replace(shape=_named(fit.shape, number))
                 for number, fit in enumerate(found, 1)]
    return Fitted(fits, doubts, surfaces)


def _named(shape, number):
    """Return a shape with the name of its link, and its number if it is not the first."""
    name = shape.link if number == 1 else f'{shape.link}/{number}'
    return Shape(name, shape.link, shape.kind, shape.size, shape.position, shape.rotation)


def _fitted(link, looks, source, doubts):
    """
    Return the fits of the <collision> or <visual> elements of a link; none if one has none.

    And points of the surface of each element.
    """
    found, surfaces = [], []
    for given in looks.get(link, ()):
        w, x, y, z = given.wxyz
        rotation = matrix_from_quaternion((x, y, z, w))
        if given.kind != 'mesh':
            shape = Shape(link, link, given.kind, given.size, given.position, rotation)
            found.append(Fit(shape, source, 0.0, 0.0))
            surfaces.append(surface_of(shape, _SAMPLES))
            continue
        try:
            mesh = load_mesh(find_mesh(given.file))
        except MeshError as error:
            doubts.append(f"Link '{link}': {error}")
            return [], []
        mesh.apply_scale(given.size)
        surface = np.concatenate([mesh.vertices[np.unique(mesh.faces)], _samples(mesh)])
        # Rounded, so that a sine of a processor's own in the last bit changes no fit.
        surface = (multiply(surface, rotation.T) + given.position).round(_DIGITS)
        surfaces.append(surface)
        shapes = [Shape(link, link, *part[:4]) for part in enclose_parts(surface)]
        found += [Fit(shape, f'{source} mesh', *errors) for shape, errors in zip(
            shapes, misfits(shapes, surface), strict=True)]
    return found, surfaces


def _samples(mesh):
    """Return points on the triangles of a mesh, by area, (m, 3), always the same."""
    random = np.random.default_rng(0)
    corners = mesh.vertices[mesh.faces]
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    areas = np.linalg.norm(np.cross(first, second), axis=1)
    chosen = random.choice(len(areas), _SAMPLES, p=areas / areas.sum())
    a, b = random.random((2, _SAMPLES, 1))
    outside = a + b > 1.0
    a, b = np.where(outside, 1.0 - a, a), np.where(outside, 1.0 - b, b)
    return corners[chosen, 0] + a * first[chosen] + b * second[chosen]


def _along(link, point, source):
    """Return the `Fit` of a capsule from a link's origin to a point (3,), m, if that is far."""
    length = float(np.linalg.norm(point))
    if length < _SHORTEST:
        return []
    along = point / length
    axes = np.linalg.qr(np.column_stack([along, np.eye(3)]))[0]
    rotation = np.column_stack([axes[:, 1], np.cross(along, axes[:, 1]), along])
    return [Fit(Shape(link, link, Kind.CAPSULE, (_SLENDERNESS * length, length), point / 2.0,
                      rotation), source, np.nan, np.nan)]

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Spheres, capsules and boxes that enclose points, and how far a shape is from a surface."""

import math
from typing import NamedTuple

import numpy as np

from opspace_control.collision.points import multiply, principal_axes, small_rotation
from opspace_control.collision.shapes import Kind

# A box is chosen if its volume is below this part of that of the best sphere or capsule: the
# nearest points of rounded shapes move continuously, those of boxes jump from corner to corner.
BOX_SHARE = 0.75
# A capsule likewise beside a sphere, whose radius is some 5e-5 too large.
_BALL_SHARE = 0.999
# A shape that is too fat by more than this, m, is divided if that falls below this share; at one of
# these places along an axis, with this overlap, m, that is chosen with so many of the points.
FAT, PARTS_SHARE = 0.02, 0.8
_CUTS, _OVERLAP, _FEW_POINTS = (0.3, 0.4, 0.5, 0.6, 0.7), 0.003, 500
# Steps of the search for the axes, also of parts before the best cut is known; the first angle,
# rad; and steps of the search for a centre.
_TURNS, _FEW_TURNS, _ANGLE, _CENTERS = 150, 10, 0.4, 400
# Rays from the centre of a shape to its surface.
_RAYS = 1000


class Enclosing(NamedTuple):
    """A shape that encloses points, its pose in their frame."""

    kind: Kind
    size: tuple          # m, of `Kind`
    position: np.ndarray  # (3,) m
    rotation: np.ndarray  # (3, 3)
    volume: float        # m³


def enclose_parts(points):
    """
    Return up to three `Enclosing` shapes whose union has the points (m, 3) of a surface, in m.

    The one that is too fat by most is cut by a plane along a principal axis, as long as that helps.
    The points should be dense: what is between two of them is not looked at.
    """
    parts, shapes = [points], [enclose(points)]
    while len(parts) < 3:
        fat = [each for each, _ in misfits(shapes, points)]
        k = int(np.argmax(fat))
        halves = _best_cut(parts[k]) if fat[k] > FAT else ()
        if not halves:
            break
        divided = [*shapes[:k], *map(enclose, halves), *shapes[k + 1:]]
        if max(each for each, _ in misfits(divided, points)[k:k + 2]) > PARTS_SHARE * fat[k]:
            break
        parts[k:k + 1], shapes = halves, divided
    return shapes


def _best_cut(points):
    """Return the two parts of points whose enclosing shapes are smallest; none if none is large."""
    few = points[::max(1, len(points) // _FEW_POINTS)]
    best, least = (), np.inf
    for axis in principal_axes(points).T:
        along = multiply(few, axis)
        for part in _CUTS:
            place = along.min() + part * np.ptp(along)
            halves = few[along <= place + _OVERLAP], few[along >= place - _OVERLAP]
            if min(map(len, halves)) > 10:
                volume = sum(enclose(half, turns=_FEW_TURNS).volume for half in halves)
                if volume < least:
                    best, least = (axis, place), volume
    if not best:
        return ()
    along = multiply(points, best[0])
    return [points[along <= best[1] + _OVERLAP], points[along >= best[1] - _OVERLAP]]


def enclose(points, turns=_TURNS):
    """
    Return the `Enclosing` sphere, capsule or box of points (m, 3), in m.

    That of the least volume that a search with random turns finds, from the principal axes and from
    those of the frame; a box only if it is much smaller.
    """
    random = np.random.default_rng(0)
    starts = [principal_axes(points), np.eye(3)]
    points = _corners(points)
    rounded, box = (_least(fit, points, starts, random, turns) for fit in (
        enclosing_capsule, enclosing_box))
    if _BALL_SHARE * _volume_of_ball(max(box.size) / 2.0) < rounded.volume:  # else none is smaller
        sphere = enclosing_sphere(points)
        rounded = sphere if _BALL_SHARE * sphere.volume < rounded.volume else rounded
    return box if box.volume < BOX_SHARE * rounded.volume else rounded


def _corners(points):
    """Return the points (m, 3) that are corners of their convex hull; all, if they are flat."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[ConvexHull(points).vertices]
    except QhullError:
        return points


def _least(fit, points, starts, random, turns):
    """Return the fit of the least volume, by turns of the axes that become smaller."""
    cycles = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    best, axes = min(((fit(points, start[:, cycle]), start[:, cycle])
                      for start in starts for cycle in cycles), key=lambda pair: pair[0].volume)
    for k in range(turns):
        left = 1.0 - k / turns
        turned = multiply(axes, small_rotation(_ANGLE * left * left * random.normal(size=3)))
        found = fit(points, turned)
        if found.volume < best.volume:
            best, axes = found, turned
    return best


def _ball(points):
    """Return centre and radius of a small ball, of any dimension, that encloses points."""
    middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
    local, center = points - middle, np.zeros(points.shape[1])
    squares, twice = (local * local).sum(axis=1), 2.0 * local
    for k in range(2, _CENTERS):  # |p - c|² is |p|² - 2 p · c but for what is the same for all
        farthest = local[(squares - multiply(twice, center)).argmax()]
        center = center + (farthest - center) / (k * math.sqrt(k)) / 2.0
    center += middle
    return center, float(np.linalg.norm(points - center, axis=1).max())


def enclosing_sphere(points):
    """Return an `Enclosing` sphere of points (m, 3), in m."""
    center, radius = _ball(points)
    return Enclosing(Kind.SPHERE, (radius,), center, np.eye(3), _volume_of_ball(radius))


def _volume_of_ball(radius):
    return 4.0 / 3.0 * math.pi * radius * radius * radius


def enclosing_box(points, axes):
    """Return the smallest box along axes (3, 3), by column, of points (m, 3), in m."""
    local = multiply(points, axes)
    lower, upper = local.min(axis=0), local.max(axis=0)
    size = np.maximum(upper - lower, 1e-4)
    return Enclosing(Kind.BOX, tuple(size.tolist()), multiply(axes, (lower + upper) / 2.0), axes,
                     float(size.prod()))


def enclosing_capsule(points, axes):
    """Return a capsule along the last of axes (3, 3), by column, of points (m, 3), in m."""
    local = multiply(points, axes)
    center = (local[:, :2].min(axis=0) + local[:, :2].max(axis=0)) / 2.0
    across = np.linalg.norm(local[:, :2] - center, axis=1)
    radius = max(float(across.max()), 1e-4)
    cap = np.sqrt(np.maximum(radius * radius - across * across, 0.0))
    upper, lower = (local[:, 2] - cap).max(), (local[:, 2] + cap).min()
    if upper - lower < 1e-6:  # a ball would do: a short capsule that certainly encloses
        upper = lower = (upper + lower) / 2.0
        radius = float(np.linalg.norm([across, local[:, 2] - upper], axis=0).max())
        upper, lower = upper + 5e-7, lower - 5e-7
    length = float(upper - lower)
    return Enclosing(Kind.CAPSULE, (radius, length),
                     multiply(axes, np.append(center, (upper + lower) / 2.0)), axes,
                     math.pi * radius * radius * (length + 4.0 / 3.0 * radius))


def distance_to(shape, points):
    """Return the distances (m,) of points (m, 3) from a shape's surface, below 0 inside, in m."""
    local = multiply(points - np.array(shape.position), np.array(shape.rotation))
    if shape.kind == Kind.SPHERE:
        return np.linalg.norm(local, axis=1) - shape.size[0]
    if shape.kind == Kind.CAPSULE:
        radius, length = shape.size
        local[:, 2] -= np.clip(local[:, 2], -length / 2.0, length / 2.0)
        return np.linalg.norm(local, axis=1) - radius
    if shape.kind == Kind.CYLINDER:
        radius, length = shape.size
        local = np.stack([np.linalg.norm(local[:, :2], axis=1) - radius,
                          np.abs(local[:, 2]) - length / 2.0], axis=1)
    else:
        local = np.abs(local) - np.array(shape.size) / 2.0
    return np.linalg.norm(np.maximum(local, 0.0), axis=1) + np.minimum(local.max(axis=1), 0.0)


def misfits(shapes, surface):
    """
    Return the largest distances by which shapes are too fat and too thin for a surface, m.

    Of each shape, from points of its own surface, outside the other shapes, to the nearest of
    ``surface`` (m, 3); and, of all together, from those of ``surface`` that are outside. Neither is
    exact: the points are samples.
    """
    from scipy.spatial import KDTree

    tree = KDTree(surface)
    thin = np.min([distance_to(shape, surface) for shape in shapes], axis=0).max()
    found = []
    for shape in shapes:
        own = surface_of(shape)
        for other in shapes:
            if other is not shape:
                own = own[distance_to(other, own) >= 0.0]
        fat = tree.query(own)[0].max(initial=0.0)
        found.append((float(fat), float(max(thin, 0.0))))
    return found


def surface_of(shape, count=_RAYS):
    """Return points (m, 3) of the surface of a `Shape` or `Enclosing`, always the same, m."""
    rays = np.random.default_rng(0).normal(size=(count, 3))
    rays /= np.linalg.norm(rays, axis=1)[:, None]
    center = np.array(shape.position)
    near, far = np.zeros(count), np.full(count, sum(shape.size) * 2.0)
    for _ in range(40):
        middle = (near + far) / 2.0
        inside = distance_to(shape, center + middle[:, None] * rays) < 0.0
        near, far = np.where(inside, middle, near), np.where(inside, far, middle)
    return center + near[:, None] * rays

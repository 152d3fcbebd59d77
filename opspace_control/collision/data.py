# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The arrays from which kernels find near pairs of shapes."""

from typing import NamedTuple

import numpy as np

from opspace_control.collision.body_pairs import make_body_pairs
from opspace_control.collision.distance import NEAR_PAIR, Scratch, make_scratch

# Two shapes that may come near each other.
PAIR = np.dtype([
    ('first', np.int64),       # a, an index of a shape
    ('second', np.int64),      # b
    ('influence', np.float64),  # distance up to which the pair is near, m; -inf: it never is
    ('clear', np.float64),     # lower bound of the distance when it was found last, and the `path`
                               # of one body relative to the other up to then, m
    ('within', np.float64),    # the distance when it was found last, less that path, m; inf: never
    ('normal', np.float64, (3,)),  # unit vector from b to a then
    ('sign', np.float64),      # 1 if a is on the first of `BODY_WAIT.bodies`, -1 if b is
    ('known', np.int64, (2,)),  # the first of its `CollisionData.found`, and the one after the last
    ('known_since', np.int64),  # the search that found them, or took them over; -1: none
    ('known_path', np.float64),  # the `path` of its bodies when they were found, m, and
    ('known_reach', np.float64),  # how much further than the least distance features are known, m
    ('reached', np.int64),     # last search in which it was nearer than `PairBraking.reach`, and
    ('distance', np.float64),  # its distance then, m, and
    ('direction', np.float64, (3,)),  # the unit vector from b to a
], align=True)


# How many records are in use; the others are room for further shapes.
COUNTS = np.dtype([
    ('shapes', np.int64), ('bodies', np.int64), ('body_pairs', np.int64), ('pairs', np.int64),
    ('revision', np.int64),  # changes with the shapes
], align=True)


class CollisionData(NamedTuple):
    """The shapes, the pairs, and those that are near; k at most."""

    counts: np.ndarray  # (1,) COUNTS
    shapes: np.ndarray  # (s,) SHAPE; poses and twists of the world's may change
    bodies: np.ndarray  # BODY
    waits: np.ndarray       # BODY_WAIT, in the order of their pairs
    body_pairs: np.ndarray  # BODY_PAIR, as these
    pairs: np.ndarray   # (p,) PAIR
    near: np.ndarray    # (k + 1,) NEAR_PAIR; the last is scratch
    count: np.ndarray   # (1,) int: of near pairs
    scratch: Scratch
    pose: np.ndarray     # (4, 3): scratch
    due: np.ndarray      # as waits, int: scratch
    found: np.ndarray    # (2, k) NEAR_PAIR: of pairs at rest, in axes of their second shapes, as
    #                      found by the last search and by this one, an even one in the first row
    known: np.ndarray    # (2,) int: number of this search, and how many it has found
    zone: np.ndarray     # (1,) features further than the least distance and this do not count, m
    counted: np.ndarray  # (1,) pairs that do not come near their bound by this, of the second rate
    #                      of their distance, do not count, m/s²; inf: all do
    likely: np.ndarray   # (1,) margin of speed that no near pair is likely to exceed, m/s


def make_collision(shapes, pairs, capacity, influence, zone=0.0, counted=np.inf, further=0):
    """
    Return a `CollisionData` of shapes (s,) SHAPE and pairs (p, 2) of their indices.

    ``capacity`` near pairs at most, ``influence`` one number or (p,), room for ``further`` shapes,
    each of which may be a body. The others are its fields.
    """
    parts = _records(shapes, pairs)
    most = [further * len(part) + further * (further - 1) // 2 for part in parts]
    extra = further, further, most[1], most[1], most[0]
    collision = CollisionData(
        np.zeros(1, COUNTS), *(np.zeros(len(part) + more, part.dtype)
                               for part, more in zip(parts, extra, strict=True)),
        np.zeros(capacity + 1, NEAR_PAIR), np.zeros(1, int), make_scratch(), np.zeros((4, 3)),
        np.zeros(len(parts[2]) + extra[2], int), np.zeros((2, capacity), NEAR_PAIR),
        np.zeros(2, int),
        *np.array([zone, counted, np.inf]).reshape(3, 1).copy())
    _put(collision, parts)
    set_influence(collision, influence)
    return collision


def change_shapes(collision, shapes, pairs):
    """
    Put other shapes and pairs, as of `make_collision`, in the place of those that are there.

    Returns False, and changes nothing, if there is no room for them. The influence is to be set.
    """
    parts = _records(shapes, pairs)
    if any(len(part) > len(array) for array, part in zip(collision[1:6], parts, strict=True)):
        return False
    _put(collision, parts)
    return True


def _put(collision, parts):
    """Put the records of `_records` into a `CollisionData` that has room for them."""
    for array, part in zip(collision[1:6], parts, strict=True):
        array[:len(part)] = part
    collision.counts[0] = *map(len, (*parts[:2], *parts[3:])), collision.counts['revision'][0] + 1
    collision.count[0] = 0
    forget_distances(collision)


def _records(shapes, pairs):
    """Return the records of shapes, bodies, pairs of bodies, two each, and pairs."""
    records = np.zeros(len(pairs), PAIR)
    records['first'], records['second'] = np.reshape(pairs, (-1, 2)).T
    return shapes, *make_body_pairs(shapes, records), records


def set_influence(collision, influence):
    """Set the distance up to which pairs are near, m: one number, or (p,)."""
    counts, influences = collision.counts[0], collision.pairs['influence']
    influences[:counts['pairs']] = influence
    if counts['pairs'] > 0:
        of_bodies = collision.body_pairs[:counts['body_pairs']]
        of_bodies['influence'] = np.maximum.reduceat(
            influences[:counts['pairs']], of_bodies['pairs'][:, 0])


def forget_distances(collision):
    """Let all pairs be looked at in the next search: sizes of shapes have changed."""
    collision.pairs['clear'], collision.pairs['within'] = -np.inf, np.inf
    collision.pairs['known_since'] = -1
    collision.waits['clear'] = collision.body_pairs['least'] = -np.inf

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Pairs of bodies that carry shapes: which of them are near enough that their shapes are looked at.

A body turns and moves relative to another one by ``ΔR`` and ``Δp`` between two looks. None of its
points, at most ``reach`` from where p is, has moved by more than ``|Δp| + reach |ΔR|`` then, so no
distance of their shapes has decreased by more.
"""

import math

import numpy as np

from opspace_control.collision.shapes import place_shape
from opspace_control.collision.speeds import greatest_approach, moving
from opspace_control.compiled import called, inlined
from opspace_control.model.nodes import WORLD

# A body that carries shapes: a link with all that is fixed to it, or one shape of the world.
BODY = np.dtype([
    ('shape', np.int64),      # the first of them, whose axes and centre are those of the body here
    ('placed', np.int64),     # whether its other shapes are, too
    ('reach', np.float64),    # radius of the sphere about that centre that encloses all of them, m
    ('speed', np.float64),    # upper bound of the speed of any of their points, m/s
    ('path', np.float64),     # upper bound of the way of any of their points up to now, m
    ('R', np.float64, (3, 3)),  # its axes at this state, and
    ('p', np.float64, (3,)),    # its centre, as `SHAPE`
], align=True)

# Two bodies, and how far from each other they are: what a cycle reads of all of them, near
# together in memory.
BODY_WAIT = np.dtype([
    ('bodies', np.int64, (2,)),  # a and b; the reach of a is not greater
    ('clear', np.float64),       # as `PAIR.clear`, with the paths of both bodies
], align=True)

# The pairs of shapes of two bodies, one after the other.
BODY_PAIR = np.dtype([
    ('pairs', np.int64, (2,)),   # the first pair, and the one after the last
    ('influence', np.float64),   # the greatest of the pairs, m
    ('least', np.float64),       # the least `PAIR.clear`
    ('path', np.float64),        # upper bound of the way of any point of a relative to b, m
    ('still', np.int64),         # whether they were at rest since they were looked at before
    ('R', np.float64, (3, 3)),   # axes and centre of a in those of b when looked at last
    ('p', np.float64, (3,)),     # m
], align=True)

# Bodies are at rest relative to each other as long as none of their points has moved by more, m.
# Distances are found to 1e-12 of their length; a bound changes by 2e-6 m/s² with this.
STILL = 1e-9

# A matrix of two rotations' difference lengthens no vector by more than this part of its norm.
_TURN = math.sqrt(0.5)


def make_body_pairs(shapes, pairs):
    """Return the BODY, BODY_WAIT and BODY_PAIR records of shapes (s,) SHAPE and pairs (p,) PAIR."""
    of_shape, first = bodies_of(shapes['node'])
    order = np.argsort(of_shape, kind='stable')
    shapes['next'][order] = np.where(
        np.diff(of_shape[order], append=-1) == 0, np.roll(order, -1), -1)
    bodies = np.zeros(len(first), BODY)
    bodies['shape'] = first
    away = np.linalg.norm(shapes['position'] - shapes['position'][first][of_shape], axis=1)
    np.maximum.at(bodies['reach'], of_shape, away + shapes['bounding_radius'])
    both = np.sort(of_shape[np.stack([pairs['first'], pairs['second']], axis=1)], axis=1)
    begins = np.flatnonzero(np.any(np.diff(both, axis=0, prepend=-1), axis=1))
    waits, records = np.zeros(len(begins), BODY_WAIT), np.zeros(len(begins), BODY_PAIR)
    records['pairs'] = np.stack([begins, np.append(begins[1:], len(pairs))[:len(begins)]], axis=1)
    waits['bodies'] = both[begins]
    greater = np.greater(*bodies['reach'][waits['bodies']].T)
    waits['bodies'][greater] = waits['bodies'][greater, ::-1]
    pairs['sign'] = np.where(of_shape[pairs['first']] == np.repeat(
        waits['bodies'][:, 0], np.diff(records['pairs']).ravel()), 1.0, -1.0)
    waits['clear'] = records['least'] = -np.inf
    return bodies, waits, records


def bodies_of(nodes):
    """Return the body of each shape (s,), and the first shape of each body, in this order."""
    keys = [node if node != WORLD else (s,) for s, node in enumerate(np.asarray(nodes).tolist())]
    first = {}
    for s, key in enumerate(keys):
        first.setdefault(key, s)
    number = {key: body for body, key in enumerate(first)}
    return np.array([number[key] for key in keys], int), np.array([*first.values()], int)


@inlined
def norm(x, y, z):
    """Return the length of a vector."""
    return math.sqrt(x * x + y * y + z * z)


@inlined
def shift_of(R, p, last, reach):
    """Return how far any point has moved since a pose, at most, m, and make this the pose."""
    before, at = last.R, last.p
    turn = 0.0
    for r in range(3):
        for c in range(3):
            turn += (R[r, c] - before[r, c]) ** 2
            before[r, c] = R[r, c]
    shift = norm(p[0] - at[0], p[1] - at[1], p[2] - at[2])
    for r in range(3):
        at[r] = p[r]
    return shift + reach * _TURN * math.sqrt(turn) if turn > 0.0 else shift


@called
def place_shapes(counts, shapes, bodies, origin, states):
    """Write poses, paths and speeds of bodies, which have velocities; `place_others` follows."""
    for b in range(counts.bodies):
        body = bodies[b]
        shape, body.placed = shapes[body.shape], 0
        place_shape(shape, origin, states)
        body.path += shift_of(shape.R, shape.p, body, body.reach)
        body.speed = greatest_approach(moving(shape, states, 0.0, 0.0, 0.0), body.p, body.reach)


@inlined
def place_others(body, shapes, origin, states):
    """Write the poses of all shapes of a body but the first, once in a cycle."""
    if body.placed == 0:
        body.placed, s = 1, shapes[body.shape].next
        while s >= 0:
            place_shape(shapes[s], origin, states)
            s = shapes[s].next


@called
def approach(pair, a, b, motion, R, p):
    """
    Add to the ``path`` of a BODY_PAIR what it has moved since the last look, and return its speed.

    The speed bounds that with which any distance of its shapes may decrease, m/s; a and b are its
    bodies, ``motion`` is theirs of `relative_motion`, R (3, 3) and p (3,) are scratch.
    """
    d0, d1, d2, A, B = a.p[0] - b.p[0], a.p[1] - b.p[1], a.p[2] - b.p[2], a.R, b.R
    for r in range(3):
        p[r] = B[0, r] * d0 + B[1, r] * d1 + B[2, r] * d2
        for c in range(3):
            R[r, c] = B[0, r] * A[0, c] + B[1, r] * A[1, c] + B[2, r] * A[2, c]
    shift = shift_of(R, p, pair, a.reach)
    pair.still = shift <= STILL
    pair.path += shift
    return greatest_approach(motion, a.p, a.reach)

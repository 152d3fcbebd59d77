# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Trunks: paths to the root that several points share, with one set of unit wrenches for all of them.

``Λ⁻¹_ef = Ψ_eᵀ Ω Ψ_f`` for points e and f whose paths meet on a body. Ω is the inverse inertia of
that body over all joints from there to the root, Ω_ii of [CK00] Table 1. This is one product for
each pair of points instead of one for each pair and joint.
"""

import numpy as np

from opspace_control.compiled import inlined, shared
from opspace_control.dynamics.data import OWN, nan_filled, new_points
from opspace_control.dynamics.force_propagation import is_idle, is_propagated
from opspace_control.model.nodes import WORLD, path_to_root
from opspace_control.spatial.six import add_six, combine_rows, put, six


def trunk_pays(joints, points):
    """
    Return whether a trunk takes fewer products than propagating the points over its joints.

    A joint takes 72 products per point and 36 per pair, that of a point with itself included. A
    trunk takes 108 per joint, and 216 per point and per pair.
    """
    pairs = points * (points + 1) // 2
    return joints * (72 * points + 36 * pairs) > joints * 108 + 216 * (points + pairs)


def plan_propagation(nodes, points, supports):
    """
    Return the order in which unit wrenches of points are propagated to the root.

    A trunk begins where the paths of points meet on a body and it pays, `trunk_pays`: six unit
    wrenches on that body, moments about its origin. A point that is seen from another link joins
    where the paths of both links have met. Groups of joints, centres of mass and points whose two
    paths do not meet are propagated to the root without trunks. ``points`` (m,) and ``supports``
    (n, m) are as `make_points` returns them.

    Returns ``carried`` (b,) of POINT, a copy of the points, then the trunks from the root outwards;
    ``crossing`` (n, b + 1, 2) int, for each node the number of points and trunks that it supports,
    then their indices in ascending order, each with its support bits; and ``coupling``, scratch,
    (6 (b − m), 6b).
    """
    m, parents = points.size, nodes['parent'].tolist()
    meeting, trunk_of, bodies = [[] for _ in parents], {}, []
    for e in np.flatnonzero((points['joints'][:, 0] == WORLD) & (points['whole'] == 0)):
        links = [points[link]['node'][e] for link in ('frame', 'other')]
        shared = [path_to_root(parents, node) for node in links]
        if links[1] != WORLD:
            shared[0] = [node for node in shared[0] if node in shared[1]]
        if shared[0]:
            meeting[shared[0][0]].append(int(e))
    for i in range(len(parents) - 1, -1, -1):
        if len(meeting[i]) > 1 and trunk_pays(len(path_to_root(parents, i)), len(meeting[i])):
            trunk_of |= dict.fromkeys(meeting[i], i)
            bodies.append(i)
            meeting[i] = [('trunk', i)]
        if parents[i] != WORLD:
            meeting[parents[i]] += meeting[i]
    bodies.reverse()
    carried = new_points(m + len(bodies))
    carried[:m] = points
    carried['trunk'] = WORLD
    support = np.zeros((len(parents), carried.size), np.int64)
    support[:, :m] = supports
    for e in range(carried.size):
        node = bodies[e - m] if e >= m else None
        ahead = trunk_of.get(e if node is None else ('trunk', node))
        if node is not None:
            carried['frame']['node'][e] = node
            support[path_to_root(parents, node), e] = OWN
        if ahead is not None:
            carried['trunk'][e] = m + bodies.index(ahead)
            support[path_to_root(parents, ahead), e] = 0
    carried['root'] = _roots(parents, carried, support)
    crossing = np.zeros((len(parents), carried.size + 1, 2), np.int64)
    for i, row in enumerate(support):
        across = np.flatnonzero(row)
        crossing[i, 0, 0] = across.size
        crossing[i, 1:1 + across.size] = np.column_stack([across, row[across]])
    return carried, crossing, nan_filled((6 * len(bodies), 6 * carried.size))


def _roots(parents, carried, support):
    """Return for each the root node of its path; WORLD for none or several."""
    first = [i for i, parent in enumerate(parents) if parent == WORLD]
    roots = np.full(carried.size, WORLD)
    for e in range(carried.size):
        across = [i for i in first if support[i, e]]
        if carried['trunk'][e] != WORLD:
            across = path_to_root(parents, carried['frame']['node'][carried['trunk'][e]])[-1:]
        if len(across) == 1:
            roots[e] = across[0]
    return roots


@shared
def take_moments_about(p, Psi):
    """Move the moments of wrenches, by column, from the root link's origin to p."""
    for c in range(6):
        x, y, z = Psi[0, c], Psi[1, c], Psi[2, c]
        Psi[3, c] -= p[1] * z - p[2] * y
        Psi[4, c] -= p[2] * x - p[0] * z
        Psi[5, c] -= p[0] * y - p[1] * x


@inlined
def add_from_left(Psi, rows, coupling, row, into, first, begin, end):
    """Add ``Ψᵀ G`` to some of six rows, columns begin to end; G are six rows of the coupling."""
    for column in range(begin, end, 6):
        a, b, c = (six(coupling[row], column), six(coupling[row + 1], column),
                   six(coupling[row + 2], column))
        d, e, f = (six(coupling[row + 3], column), six(coupling[row + 4], column),
                   six(coupling[row + 5], column))
        for r in range(rows[0], rows[1]):
            put(into[first + r], column, six(into[first + r], column) + (
                Psi[0, r] * a + Psi[1, r] * b + Psi[2, r] * c)
                + (Psi[3, r] * d + Psi[4, r] * e + Psi[5, r] * f))


@inlined
def add_from_right(Psi, rows, coupling, row, column, into, first, begin):
    """Add ``Gᵀ Ψ`` to some of six rows, six columns; G is such a block of the coupling."""
    a, b, c = six(Psi[0], 0), six(Psi[1], 0), six(Psi[2], 0)
    d, e, f = six(Psi[3], 0), six(Psi[4], 0), six(Psi[5], 0)
    for r in range(rows[0], rows[1]):
        i = column + r
        put(into[first + r], begin, six(into[first + r], begin) + (
            coupling[row, i] * a + coupling[row + 1, i] * b + coupling[row + 2, i] * c)
            + (coupling[row + 3, i] * d + coupling[row + 4, i] * e + coupling[row + 5, i] * f))


@inlined
def apart(c, d):
    """Return whether no joint moves both: their paths have different roots."""
    return c.root != d.root and c.root >= 0 and d.root >= 0


@shared
def couple_trunks(carried, m, e, begin, end, coupling, into, first):
    """
    Add the contributions of trunks to the row of e, in its blocks with begin to end.

    ``Λ⁻¹_ed = Y_ed + Ψ_eᵀ Λ⁻¹_td``, t being the trunk of e and Y the sum of propagation; or so with
    the trunk of d, if that is further out. Rows of trunks have only the blocks that are used.
    """
    t, d, rows = carried[e].trunk, begin, (carried[e].begin, carried[e].end)
    while d < end:
        u = carried[d].trunk
        if (not is_propagated(carried[d]) or apart(carried[e], carried[d]) or max(t, u) < 0
                or (e >= m and u > e)):
            d += 1
        elif t < u:
            add_from_right(carried[d].Psi, rows, coupling, 6 * (u - m), 6 * e, into, first, 6 * d)
            d += 1
        else:
            last = d + 1
            while last < end and carried[last].trunk <= t and not (
                    not is_propagated(carried[last]) or apart(carried[e], carried[last])):
                last += 1
            add_from_left(carried[e].Psi, rows, coupling, 6 * (t - m), into, first, 6 * d, 6 * last)
            d = last


@inlined
def add_wrenches(Psi, reactions):
    """Add reactions of unit wrenches, by column, to these."""
    for r in range(6):
        add_six(Psi[r], reactions[r])


@inlined
def join_links(point, coupling, row, column):
    """
    Make the wrenches on both links of a point those on the body of a trunk.

    The mobility of the own link, that of the block of the ``coupling``, is added before.
    """
    Psi, own, mobility = point.Psi, point.K, point.own_mobility
    put(own, 0, 0.0)
    for r in range(6):
        put(own, 0, six(own, 0) + six(Psi[r], 0) * combine_rows(
            Psi, 0, 0, coupling[row + r], column))
    for r in range(6):
        mobility[r // 3] += own[r] / 3.0
    add_wrenches(Psi, point.Psi_other)


@inlined
def join_trunks(carried, mobility, coupling):
    """
    Add the contributions of trunks to the mobility of the points, on and below the diagonal.

    From the root outwards: pairs of trunks, trunks and points, then pairs of points. On a trunk the
    unit wrenches on both links of a point are those of one body.
    """
    m = mobility.shape[0] // 6
    for e in range(carried.size):
        t = carried[e].trunk
        if t >= 0 and not is_idle(carried[e]):
            take_moments_about(carried[t].p, carried[e].Psi)
            if carried[e].other.node >= 0:
                take_moments_about(carried[t].p, carried[e].Psi_other)
    for c in range(m, carried.size):
        row = 6 * (c - m)
        for d in range(max(carried[c].trunk, m), c + 1):
            couple_trunks(carried, m, c, d, d + 1, coupling, coupling, row)
            for r in range(6):
                for k in range(6):
                    coupling[6 * (d - m) + k, 6 * c + r] = coupling[row + r, 6 * d + k]
        for e in range(m):
            if carried[e].trunk == c and carried[e].other.node >= 0 and not is_idle(carried[e]):
                join_links(carried[e], coupling, row, 6 * c)
        couple_trunks(carried, m, c, 0, m, coupling, coupling, row)
    for e in range(m):
        if is_propagated(carried[e]):
            couple_trunks(carried, m, e, 0, e + 1, coupling, mobility, 6 * e)


@inlined
def project_trunks(nodes, carried, m, K):
    """Write the projections of the points' unit wrenches on joints of trunks, from the root out."""
    for k in range(carried.size):
        e = k + m if k + m < carried.size else k + m - carried.size
        t = carried[e].trunk
        if t >= 0:
            Psi, i = carried[e].Psi, carried[t].frame.node
            a, b, c = six(Psi[0], 0), six(Psi[1], 0), six(Psi[2], 0)
            d, f, g = six(Psi[3], 0), six(Psi[4], 0), six(Psi[5], 0)
            while i >= 0:
                row, first = K[i], 6 * t
                put(row, 6 * e, (
                    row[first] * a + row[first + 1] * b + row[first + 2] * c)
                    + (row[first + 3] * d + row[first + 4] * f + row[first + 5] * g))
                i = nodes[i].parent


@inlined
def project_trunks_passively(carried, m, P, rows):
    """Add what trunks project to the points' columns of P, of so many rows, from the root out."""
    for k in range(carried.size):
        e = k + m if k + m < carried.size else k + m - carried.size
        t = carried[e].trunk
        if t >= 0 and not is_idle(carried[e]):
            Psi = carried[e].PsiP
            if carried[e].other.node >= 0:
                add_wrenches(Psi, carried[e].PsiP_other)
            take_moments_about(carried[t].p, Psi)
            a, b, c = six(Psi[0], 0), six(Psi[1], 0), six(Psi[2], 0)
            d, f, g = six(Psi[3], 0), six(Psi[4], 0), six(Psi[5], 0)
            for r in range(rows):
                row, first = P[r], 6 * t
                put(row, 6 * e, six(row, 6 * e) + (
                    row[first] * a + row[first + 1] * b + row[first + 2] * c)
                    + (row[first + 3] * d + row[first + 4] * f + row[first + 5] * g))

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
What planned grips exert at rest, on top of the weights of the links: parts of static efforts.

A grip at p exerts ``[F; n]`` for its share of the object's weight. The part along gravity is that
of a mass ``M = −F·g / g²`` fixed to its link, with the first moment ``M p + n × g / g²``. All else,
internal forces among it, is a wrench that turns with the link.
"""

from opspace_control.compiled import inlined, rare
from opspace_control.control.grasping.grasp_law import object_point, planned_wrench
from opspace_control.spatial.vectors import add_wrench


@inlined
def add_to_branch(nodes, node, sign, part, total):
    """Add signed numbers (k,) to those of a node and of all nodes that carry it, (n, k)."""
    i = node
    while i >= 0:
        for r in range(part.size):
            total[i, r] += sign * part[r]
        i = nodes[i].parent


@inlined
def write_grip_at_rest(grasp, grip, R, p, gravity, wrench, weight, rest):
    """
    Write what a grip exerts at rest: ``weight`` (4,), mass and first moment, and ``rest`` (6,).

    ``p`` and ``R`` are the object's; moments are about the root link's origin. ``wrench`` (3, 6) is
    scratch.
    """
    load, own, internal, square, along = wrench[0], wrench[1], wrench[2], 0.0, 0.0
    for r in range(3):
        load[r] = 0.0
        for c in range(3):
            load[r] -= grasp.mass * R[c, r] * gravity[c]
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        load[3 + r] = grasp.center[i] * load[j] - grasp.center[j] * load[i]
    for r in range(6):
        rest[r] = own[r] = internal[r] = 0.0
    for part in range(0, 6, 3):
        for c in range(3):
            x, y = planned_wrench(grip, load, 1.0, 0.0, part + c), (
                grip.internal[part + c] + grasp.applied_force * grip.unit_force[part + c])
            for r in range(3):
                own[part + r] += R[r, c] * x
                internal[part + r] += R[r, c] * y
    for r in range(3):
        load[r] = p[r]
        for c in range(3):
            load[r] += R[r, c] * grip.place[c]
        square += gravity[r] * gravity[r]
        along -= own[r] * gravity[r]
    add_wrench(load[:3], own, rest)
    add_wrench(load[:3], internal, rest)
    weight[0] = along / square
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        weight[1 + r] = weight[0] * load[r] + (own[3 + i] * gravity[j] - own[3 + j] * gravity[i]
                                               ) / square
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        rest[r] += weight[0] * gravity[r]
        rest[3 + r] += weight[1 + i] * gravity[j] - weight[1 + j] * gravity[i]


@rare
def add_grips_at_rest(robot, demand, grasping, gravity, subtrees, gripped, small):
    """
    Move the weights of objects from their carriers to all grips, and write the rest of the grips.

    ``subtrees`` (n, 4) is that of `gather_weights`, ``gripped`` (n, 6) are wrenches on what the
    subtrees hold, but for weights, about the root link's origin; ``small`` (6, 6) is scratch.
    """
    nodes, points, constrained = robot.nodes, robot.points, demand.constraints.size
    grasps, grips = grasping
    gripped[:] = 0.0
    weight, rest = small[3, :4], small[4]
    for g in range(grasps.size):
        if grasps[g].activation == 0.0:
            continue
        point = points[object_point(points, constrained, grasps[g].task)]
        for k in range(grasps[g].first, grasps[g].end):
            c = grips[k].constraint
            if c < 0:
                continue
            write_grip_at_rest(
                grasps[g], grips[k], point.R, point.p, gravity, small, weight, rest)
            add_to_branch(nodes, points[c].frame.node, 1.0, weight, subtrees)
            add_to_branch(nodes, points[c].frame.node, 1.0, rest, gripped)
            add_to_branch(nodes, points[c].other.node, -1.0, weight, subtrees)
            add_to_branch(nodes, points[c].other.node, -1.0, rest, gripped)

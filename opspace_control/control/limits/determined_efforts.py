# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Which efforts of joints the motion determines, so that they have bounds as rows.

Without closed constraints it determines all of them. Constraints add forces that the motion does
not determine, unless the controller decides them, or grasps plan them.
"""

import math

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.limits.contact_forces import contact_bounds_apply
from opspace_control.control.limits.gravity_torques import is_open_branch, moves_one_side
from opspace_control.model.nodes import PASSIVE


@inlined
def count_closed(constraints):
    """Return how many constraints are closed."""
    closed = 0
    for c in range(constraints.size):
        if constraints[c].activation > 0.0:
            closed += 1
    return closed


@inlined
def all_belong_to_grasps(closed, constraints, grasping):
    """
    Return whether all ``closed`` constraints belong to grasps of activation 1.

    The joints exert all their reactions then. Grasps with minimum-effort internal forces do not
    count: these forces follow from the efforts.
    """
    grasps, grips = grasping
    for g in range(grasps.size):
        if grasps[g].activation == 1.0 and grasps[g].minimum_effort == 0.0:
            for k in range(grasps[g].first, grasps[g].end):
                c = grips[k].constraint
                if c >= 0 and constraints[c].activation == 1.0:
                    closed -= 1
    return closed == 0


@inlined
def moves_grips(supports, grasping, node):
    """Return whether a joint moves effectors of an engaged grasp relative to each other."""
    grasps, grips = grasping
    for g in range(grasps.size):
        for k in range(grasps[g].first, grasps[g].end if grasps[g].activation > 0.0 else 0):
            c = grips[k].constraint
            if c >= 0 and moves_one_side(supports[node, c]):
                return True
    return False


@rare
def grips_are_planned(robot, constraints, grasping):
    """
    Return whether all forces at engaged grasps, one at least, follow from the planned motion.

    Those of grasps that fade in or out, with minimum-effort internal forces or with passive joints
    between the effectors do not.
    """
    grasps, grips = grasping
    engaged = False
    for g in range(grasps.size):
        if grasps[g].activation == 0.0:
            continue
        engaged = True
        if grasps[g].activation < 1.0 or grasps[g].minimum_effort > 0.0:
            return False
        for k in range(grasps[g].first, grasps[g].end):
            c = grips[k].constraint
            if c >= 0 and constraints[c].activation < 1.0:
                return False
    for i in range(robot.nodes.size if engaged else 0):
        if robot.nodes[i].status == PASSIVE and moves_grips(robot.supports, grasping, i):
            return False
    return engaged


@called
def find_determined_efforts(cycle, robot, constraints, grasping, limits):
    """
    Write which constraint forces the drives exert, and which efforts the motion determines.

    It determines those of joints with an open branch beyond them, or of all joints; where contacts
    alone have bounds, not those of joints in grasps. Bounds of gravity torques are withdrawn until
    they are written anew.
    """
    closed = count_closed(constraints)
    cycle.forces_decided = cycle.keep > 0.0 and contact_bounds_apply(constraints)
    cycle.reactions_exerted = grasping.grasps.size > 0 and (closed == 0 or (
        not cycle.has_passive and all_belong_to_grasps(closed, constraints, grasping)))
    if cycle.forces_decided:
        cycle.reactions_exerted = grips_are_planned(robot, constraints, grasping)
    all_determined = closed == 0 or cycle.forces_decided or cycle.reactions_exerted
    in_grasps = cycle.forces_decided and not cycle.reactions_exerted and grasping.grasps.size > 0
    for k in range(limits.size):
        limit = limits[k]
        limit.gravity_bound = math.inf
        limit.determined = all_determined or is_open_branch(
            robot.nodes, robot.supports, constraints, limit.node)
        if in_grasps and moves_grips(robot.supports, grasping, limit.node):
            limit.determined = False

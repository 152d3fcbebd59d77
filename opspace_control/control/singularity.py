# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The neighbourhood of singular configurations, [K87] VIII.

A direction of a level's tasks that joints can hardly move, an eigenvector u of the scaled Λ⁻¹, is
taken out of operational space and led as what it is: the motion of the one combination w of joints
that moves it, in the null space of all other directions. With the paper's s(q), the way x along u
for a way η along w, and its rate of change, the curvature c, both by recursion and for any robot,

    x(η) = s η + c η² / 2

tells where on the way the goal is, x = e, and how far behind the singularity: at one of two
postures, or nowhere, and then where x comes nearest to it, the position error term on s(q).
"""

import math

from opspace_control.compiled import called, inlined
from opspace_control.control.modes import (
    ADVISED,
    BENT,
    DAMP,
    DIRECTION,
    LEAST,
    LED,
    MODE,
    MOVED,
    PULL,
    REACH,
    SPEED,
    STIFF,
    along_mode,
    move_bodies,
    move_mode,
    see_rows,
    strip,
    weigh_mode,
)
from opspace_control.control.release import assemble_modes, handed, project_modes
from opspace_control.model.nodes import ACTIVE, PRISMATIC, REVOLUTE
from opspace_control.spatial.eigen import reflect

# Where a direction may have to be led: at scaled eigenvalues below this times the scaled way that
# is demanded of it. Folding arms have curvatures of 1 to 3 in these units: there the goal's way
# along the joints is bent by as much as it is long. At most at so many times the eigenvalue of
# release.
_CURVED = 2.0
_WIDEST = 64.0
# Of the s at which directions are released: below, goals are followed by less and less, for w may
# turn to its opposite at once.
_VAGUE = 0.1
# A fold passes through to the other posture where it bends at least so much, in units of the
# released eigenvalue, and the posture wants to be at least so far over there, rad.
_FOLDED = 8.0
_LEANING = 0.05
# What makes a robot leave a perfect singularity; so small that it is nowhere seen, rad/s².
_NUDGE = 1e-5


@inlined
def neighbourhood(way, threshold):
    """Return below which scaled eigenvalue a direction is led, for the way demanded along it."""
    return min(max(_CURVED * way, threshold), _WIDEST * threshold)


@called
def near_from(robot, first, last, threshold):
    """Return from which scaled eigenvalue on the directions of some rows may have to be led."""
    cycle, leads, scale = robot[0], robot[1], robot[2]
    if not cycle.leads:
        return threshold
    square = 0.0
    for r in range(first, last):
        way = scale[r] * leads[REACH, r]
        square += way * way
    return neighbourhood(math.sqrt(square), threshold)


@called
def way_to_goal(e, s, c, leaning, threshold):
    """
    Return the way along w to where ``x(η) = s η + c η² / 2`` is e, or is nearest to it.

    Of two such places the near one; but if the goal is behind a fold, and the posture leans that
    way, the other one, through the singularity: [K87] Fig. 5. Where there is neither slope nor
    fold, a goal is not chased: within ``s² + 2 |c e|`` of the threshold, the way gets shorter. It
    does so too where w is vague, unless the posture says which way to go.
    """
    bend = 2.0 * c * e
    square = s * s + bend
    root = math.sqrt(max(square, 0.0))
    if s + root < LEAST:
        return 0.0
    near = 2.0 * e / (s + root) if square > 0.0 else -s / c
    way = near * min(1.0, s / (_VAGUE * math.sqrt(threshold)))
    if bend > 0.0 and s * s < threshold:
        said = ((1.0 - handed(s * s / threshold)) * handed(bend / (_FOLDED * threshold))
                * handed(abs(leaning) / _LEANING))
        way += said * ((near if leaning * near > 0.0 else -(s + root) / c) - way)
    known = s * s + abs(bend)
    return way * known / (known + threshold)


@called
def lead_mode(robot, L, levels, level, threshold, value, demand, mode, scale):
    """
    Return the part of a direction's force, and how much of the direction is led.

    The joints' motion along w is a critically damped unit mass on its way to the goal, held to the
    velocity limits of the joints, and free of what is advised. What else ``demand`` has along u,
    above all what takes off the acceleration that all other motions give it, is left to the task
    as far as it is not lost: no motion along w can do that at a singularity. Off the singularity a
    direction is led only as far as its fold, or the joints' limits, shorten the way to the goal.
    """
    cycle, leads = robot[0], robot[1]
    dofs, limits, v, a_null, w = robot[7], robot[8], robot[9], robot[10], robot[11]
    first = levels[level]
    near = neighbourhood(abs(along_mode(leads, REACH, mode, scale, first)), threshold)
    led = weigh_mode(leads, LED, mode, first) * (1.0 - handed(value / near))
    if led <= 0.0:
        return 0.0, 0.0
    for r in range(mode.size):
        leads[MODE, first + r] = scale[r] * mode[r]
    s = move_mode(robot, L, levels, level)
    pull = along_mode(leads, PULL, mode, scale, first)
    kd, stiffness = weigh_mode(leads, DAMP, mode, first), weigh_mode(leads, STIFF, mode, first)
    e = pull / max(stiffness, LEAST)
    if s < 10.0 * LEAST and abs(e) > LEAST:
        cycle.stuck = True
    if s == 0.0:
        return 0.0, led
    rate = along_mode(leads, MOVED, mode, scale, first) / s
    advised = along_mode(leads, ADVISED, mode, scale, first) / s
    leaning, fastest, turned = 0.0, math.inf, 0.0
    for k in range(w.size):
        leaning += w[k] * (a_null[k] + dofs[k].kd * v[k])
        turned += w[k] * w[k]
        if abs(w[k]) * fastest > limits[k]:
            fastest = limits[k] / abs(w[k])
    c = along_mode(leads, BENT, mode, scale, first)
    rest = demand - pull + s * (kd * rate + advised) + c * rate * rate
    leaning /= max(stiffness, LEAST) * math.sqrt(turned)
    least = max(value, LEAST * LEAST)
    highest = kd * fastest if kd > 0.0 else math.inf
    led *= max(1.0 - handed(value / threshold), handed(abs(2.0 * c * e) / least),
               handed(abs(pull) / (s * highest)))
    pull = stiffness * way_to_goal(e, s, c, leaning, threshold)
    pull = min(max(pull, -highest), highest)
    force = (pull - kd * rate - advised) * s / max(least, s * s)
    return force + rest / (value + threshold), led


@called
def lead_modes(
        robot, L, levels, level, threshold, scale, matrix, vectors, values, gains, parts, x):
    """
    Replace a level's accelerations x by its forces if directions of it are to be led.

    Parameters
    ----------
    robot : tuple
        The cycle's record, rows of the stack, `scale_rows` of all rows, the robot placed, its
        points and posture, velocity limits, v, q̈_null, and scratch (nv,), (6,).
    L, levels : (k, k), (l + 1,) arrays
        As `resolve_forces` has left them for this level.
    level : int
        Its number.
    threshold : float
        Scaled eigenvalue below which its directions are released.
    scale, matrix, vectors, values, gains : arrays
        Of the level, from `release`; for what is led the gains become those of the exact inverse,
        bounded: levels below are kept out of it.
    parts : (n,) array
        Scratch.
    x : (n,) array
        ``a* − a_null`` of the level, what levels above do taken off; becomes the forces.

    Returns
    -------
    bool
        Whether x has been replaced.

    """
    cycle, leads, _, nodes, states, felt, points = robot[:7]
    if not cycle.leads:
        return False
    first, n = levels[level], x.size
    a_null = robot[10]
    move_bodies(nodes, states, felt, a_null, a_null)
    see_rows(nodes, points, states, a_null, False, leads[ADVISED])
    strip(L, levels, level, leads[ADVISED])
    for r in range(first + n):
        leads[MOVED, r] = leads[SPEED, r]
    strip(L, levels, level, leads[MOVED])
    project_modes(matrix, vectors, scale, x, parts)
    mode = leads[DIRECTION, first:first + n]
    near = near_from(robot, first, first + n, threshold)
    for k in range(n):
        demand = parts[k]
        parts[k] *= gains[k]
        if values[k] >= near:
            continue
        for j in range(n):
            mode[j] = vectors[k, j]
        for j in range(n - 3, -1, -1):
            reflect(matrix, j, mode)
        force, led = lead_mode(robot, L, levels, level, threshold, values[k], demand, mode,
                               scale)
        if led > 0.0:
            parts[k] = led * force + (1.0 - led) * parts[k]
            bounded = 1.0 / max(values[k], _VAGUE * _VAGUE * threshold)
            gains[k] = led * bounded + (1.0 - led) * gains[k]
    assemble_modes(matrix, vectors, scale, parts, x)
    return True


@called
def nudge(nodes, a):
    """Add the least advice: a posture that is stuck in a perfect singularity begins to leave it."""
    for i in range(nodes.size):
        node = nodes[i]
        if node.status == ACTIVE and node.kind in (REVOLUTE, PRISMATIC):
            a[node.v_index] += _NUDGE

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

from opspace_control.compiled import called, inlined, rare
from opspace_control.control.hierarchy.modes import (
    DAMP,
    DIRECTION,
    EXERTED,
    LEADER,
    LEAST,
    LED,
    MODE,
    MOVED,
    PULL,
    STIFF,
    TAKEN,
    along,
    bend_mode,
    move_mode,
    turn_mode,
    weigh,
)
from opspace_control.control.hierarchy.truncation import assemble_modes, project_modes
from opspace_control.model.nodes import ACTIVE, PRISMATIC, REVOLUTE
from opspace_control.spatial.eigen import reflect, smooth_step

# Where a direction may have to be led: at scaled eigenvalues below this times the scaled way that
# is demanded of it. Folding arms have curvatures of 1 to 3 in these units: there the goal's way
# along the joints is bent by as much as it is long. At most at so many times the eigenvalue of
# truncation.
_CURVED = 12.0
_WIDEST = 16.0
# Of the s at which directions are truncated: below, goals are followed by less and less, for w may
# turn to its opposite at once.
_VAGUE = 0.1
# A goal this little beyond reach, in units of the truncation threshold, is none.
_PLAIN = 0.5
# Joints that would have to go too fast for a direction lead it below so many truncation thresholds.
_HURRIED = 4.0
# Of what a joint may do at most a direction uses so much: other directions move it, too.
_SHARE = 0.8
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
def near_from(leads, scale, first, last, threshold):
    """Return from which scaled eigenvalue on directions of some rows may have to be led."""
    square = 0.0
    for r in range(first, last):
        way = scale[r] * leads[PULL, r] / max(leads[STIFF, r], LEAST)
        square += way * way
    return neighbourhood(math.sqrt(square), threshold)


@rare
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
        said = ((1.0 - smooth_step(s * s / threshold)) * smooth_step(bend / (_FOLDED * threshold))
                * smooth_step(abs(leaning) / _LEANING))
        way += said * ((near if leaning * near > 0.0 else -(s + root) / c) - way)
    known = s * s + abs(bend)
    return way * known / (known + threshold)


@rare
def lead_mode(data, level, threshold, value, gain, demand, mode, scale):
    """
    Return the part of a direction's force, and how much of the direction is led.

    The joints' motion along w is a critically damped unit mass on its way to the goal, within what
    the joints can do, and free of what is advised. Beyond reach it is s that comes to rest, however
    other motions change it, too. What else ``demand`` has along u, above all what takes off the
    acceleration that all other motions give it, is the task's as far as it is not lost.
    """
    cycle, leads, nodes = data.cycle, data.scratch.limits.leads, data.robot.nodes
    limits, dofs, v = data.bounds.joints, data.demand.dofs, data.v
    a_null, first = data.scratch.a_null, data.demand.levels[level]
    pull = along(leads, PULL, mode, scale, first)
    kd, stiffness = weigh(leads[DAMP], mode, first), weigh(leads[STIFF], mode, first)
    e = pull / max(stiffness, LEAST)
    near = neighbourhood(abs(e), threshold)
    led = cycle.kept * weigh(leads[LED], mode, first)
    led *= 1.0 - smooth_step(2.0 * value / near - 1.0)
    if led <= 0.0:
        return 0.0, 0.0
    for r in range(mode.size):
        leads[MODE, first + r] = scale[r] * mode[r]
    s = move_mode(data, level)
    if s < 10.0 * LEAST and abs(e) > LEAST:
        cycle.stuck = True
    if s == 0.0:
        return 0.0, led
    rate = advised = leaning = turned = 0.0
    fastest = hardest = math.inf
    for k in range(dofs.size):
        w, h = leads[MOVED, k], leads[EXERTED, k] / s
        rate += h * v[k]
        advised += h * a_null[k]
        if nodes[limits[k].node].status == ACTIVE:
            leaning += w * (a_null[k] + dofs[k].kd * v[k])
            turned += w * w
            if abs(w) * hardest > _SHARE * limits[k].acceleration:
                hardest = _SHARE * limits[k].acceleration / abs(w)
        if abs(w) * fastest > _SHARE * limits[k].velocity:
            fastest = _SHARE * limits[k].velocity / abs(w)
    leaning /= max(stiffness, LEAST) * math.sqrt(turned)
    c = bend_mode(data, level, leads[MOVED, :v.size])
    beyond = smooth_step(-2.0 * c * e / max(value, _PLAIN * threshold) - 1.0)
    hurried = smooth_step(4.0 * abs(pull) / (s * kd * fastest) - 3.0)
    hurried *= 1.0 - smooth_step((value / threshold - 1.0) / (_HURRIED - 1.0))
    led *= max(1.0 - smooth_step(value / threshold), beyond, hurried)
    rest = demand - pull + s * (kd * rate + advised) + c * rate * rate
    if beyond > 0.0:
        rest *= 1.0 - beyond
        brake = turn_mode(data, level, c) / c * math.copysign(1.0, rate)
        # Where w turns quickly s may stay while the joints swing: η has to be braked all the same.
        # Nor is more than four times as much any use, where others share the direction.
        brake = min(max(brake, 0.5 * abs(rate)), 4.0 * abs(rate))
        rate += beyond * (math.copysign(brake, rate) - rate)
    way = way_to_goal(e, s, c, leaning, threshold)
    if cycle.has_passive and data.demand.constraints.size == 0:
        # What passive joints are induced to do is no place of theirs: there is no straight arm.
        way *= 1.0 - beyond
    speed = min(stiffness / kd * abs(way), fastest)
    if hardest < math.inf:
        speed = min(speed, math.sqrt(hardest * abs(way)))
    a = kd * (math.copysign(speed, way) - rate)
    a = min(max(a, -hardest), hardest)
    force = (a - advised) / max(LEAST, s)
    return force + gain * rest, led


@rare
def lead_level(data, level, threshold, decomposed, parts, x):
    """
    Replace a level's accelerations x by its forces, directions near singularities being led.

    Parameters
    ----------
    data : Data
        With L as `resolve_forces` has left it for this level, and Q with what constraints bear by
        it.
    level : int
        Its number.
    threshold : float
        Scaled eigenvalue below which its directions are led.
    decomposed : Decomposition
        Of the level, from `truncate`; for what is led the gains become those of the exact inverse,
        bounded: levels below are kept out of it.
    parts : (n,) array
        Scratch.
    x : (n,) array
        ``a* − a_null`` of the level, what levels above do taken off; becomes the forces.

    Returns
    -------
    float
        The smallest eigenvalue; 0 where any direction is truncated or led.

    """
    leads, levels = data.scratch.limits.leads, data.demand.levels
    matrix, vectors, gains, scale, values = decomposed
    first, n = levels[level], x.size
    project_modes(matrix, vectors, scale, x, parts)
    mode = leads[DIRECTION, first:first + n]
    least = math.inf
    for k in range(n):
        demand, least = parts[k], min(least, values[k])
        parts[k] *= gains[k]
        for j in range(n):
            mode[j] = vectors[k, j]
        for j in range(n - 3, -1, -1):
            reflect(matrix, j, mode)
        for r in range(levels[level + 1]):
            leads[MODE, r] = 0.0
        force, led = lead_mode(data, level, threshold, values[k], gains[k], demand, mode, scale)
        for r in range(levels[level + 1]):
            leads[LEADER, r] += led * force * leads[MODE, r]
        for j in range(n):
            if scale[j] > 0.0:
                leads[TAKEN, first + j] += led * (demand - values[k] * force) * mode[j] / scale[j]
        if led > 0.0:
            data.cycle.led, least = True, 0.0
        parts[k] += led * (force - parts[k])
        gains[k] += led * (1.0 / max(values[k], _VAGUE * _VAGUE * threshold) - gains[k])
    assemble_modes(matrix, vectors, scale, parts, x)
    return least if least >= threshold else 0.0


@inlined
def nudge(nodes, a):
    """Add the least advice: a posture that is stuck in a perfect singularity begins to leave it."""
    for i in range(nodes.size):
        node = nodes[i]
        if node.status == ACTIVE and node.kind in (REVOLUTE, PRISMATIC):
            a[node.v_index] += _NUDGE

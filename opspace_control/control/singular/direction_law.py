# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Singular-direction control in the neighbourhood of singular configurations, [K87] VIII.

A singular direction is an eigenvector u of a level's scaled Λ⁻¹ that joints can hardly move. It is
removed from operational space and controlled along its joint motion w, in the null space of all
other directions. A displacement η along w moves u by

    x(η) = s η + c η² / 2

with the paper's s(q) and its rate, the curvature c, both computed by recursion for any robot. The
goal x = e has two solutions, one for each posture, or none; then the nearest x is the target.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.singular.direction_motion import (
    CORRECTION,
    DAMPING,
    DIRECTION,
    EXERTED,
    LEAST,
    MOTION_SHARE,
    MOVED,
    SINGULAR_FORCE,
    STIFFNESS,
    UNDAMPED,
    UNIT_FORCE,
    along,
    curvature_along,
    find_motion,
    mean_along,
    mobility_rate,
)
from opspace_control.control.solver.level_inverse import (
    assemble_modes,
    project_modes,
    spread,
)
from opspace_control.model.nodes import ACTIVE, PRISMATIC, REVOLUTE
from opspace_control.spatial.dense import dot_product
from opspace_control.spatial.eigen import reflect_back, smooth_step

# A direction may be singular at scaled eigenvalues below this times its scaled displacement. Arms
# near full extension have curvatures of 1 to 3 in these units: there both terms of x(η) are alike.
# At most at so many times the eigenvalue of truncation. The first saves eigenvectors and changes no
# result, see doc/measurements/constants.md, where half and twice of all of these are.
_CURVED = 12.0
_WIDEST = 16.0
# Of the s at which directions are truncated: below, the displacement is reduced, as w may change
# its sign from one cycle to the next.
_VAGUE = 0.1
# A goal counts as beyond reach from so many truncation thresholds on.
_PLAIN = 0.5
# A direction that needs joint velocities beyond their limits is singular below so many thresholds.
_FAST = 4.0
# Part of a joint's limits that one direction uses: other directions move the joint, too.
_SHARE = 0.8
# The goal is reached on the other curvature branch where c e is at least so much, in units of the
# truncation threshold, and the posture's goal is at least so far on that side, rad, so that neither
# branch appears at once. Without the first a posture draws an arm from a goal within reach, by 0.07
# rad in test_singularity_motion.py.
_CURVATURE = 8.0
_PREFERENCE = 0.05
# Makes a robot leave an exact singularity; far below what is visible, rad/s².
_PERTURBATION = 1e-5


@inlined
def neighbourhood(displacement, threshold):
    """Return the scaled eigenvalue below which a direction with this displacement is singular."""
    return min(max(_CURVED * displacement, threshold), _WIDEST * threshold)


@inlined
def level_neighbourhood(directions, scale, first, last, threshold):
    """Return the scaled eigenvalue below which directions of some rows may be singular."""
    square = 0.0
    for r in range(first, last):
        displacement = scale[r] * directions[UNDAMPED, r] / max(directions[STIFFNESS, r], LEAST)
        square += displacement * displacement
    return neighbourhood(math.sqrt(square), threshold)


@rare
def displacement_to_goal(e, s, c, preference, threshold):
    """
    Return the displacement η along w with ``x(η) = s η + c η² / 2 = e``, or the nearest x.

    Of two solutions the nearer one, unless the ``preference`` of the posture is for the branch
    beyond the singularity, [K87] Fig. 5. The displacement is reduced where ``s² + 2 |c e|`` is not
    large against the threshold, as there is neither slope nor curvature, and where s is so small
    that the sign of w is uncertain, unless the posture decides.
    """
    bend = 2.0 * c * e
    square = s * s + bend
    root = math.sqrt(max(square, 0.0))
    if s + root < LEAST:
        return 0.0
    near = 2.0 * e / (s + root) if square > 0.0 else -s / c
    displacement = near * min(1.0, s / (_VAGUE * math.sqrt(threshold)))
    if bend > 0.0 and s * s < threshold:
        branch_weight = ((1.0 - smooth_step(s * s / threshold))
                         * smooth_step(bend / (_CURVATURE * threshold))
                         * smooth_step(abs(preference) / _PREFERENCE))
        branch = near if preference * near > 0.0 else -(s + root) / c
        displacement += branch_weight * (branch - displacement)
    known = s * s + abs(bend)
    return displacement * known / (known + threshold)


@inlined
def blend(value, threshold, near, most, apart):
    """
    Return the share of singular-direction control, and the weight of the truncated law.

    The truncated law keeps the part φ of an acceleration. ``share + φ weight`` is 1 where the share
    may be as large as ``most`` = 1: nothing of the reference acceleration is left along the
    direction, and a goal within reach is reached whatever the posture. The share is 1 − φ, or more
    where a direction is to be controlled ``apart`` above the threshold, too.
    """
    kept = smooth_step(value / threshold)
    control_share = max(1.0 - kept, apart * (1.0 - smooth_step(2.0 * value / near - 1.0)))
    return most * control_share, 1.0 - most * (1.0 - (1.0 - control_share) / max(kept, LEAST))


@rare
def control_direction(data, level, threshold, value, gain, demand, u, scale):
    """
    Return the coordinate of a direction's force, and share and weight of `blend`.

    η follows a critically damped unit mass towards the goal, within the joints' limits, without the
    reference acceleration and without what unknown forces are expected to add. Beyond reach the
    rate of s is damped instead, whichever motion causes it. What else ``demand`` has along u, above
    all the compensation of the acceleration by all other motions, stays with the task as far as it
    is not truncated.
    """
    cycle, directions, nodes = data.cycle, data.scratch.bounded.directions, data.robot.nodes
    limits, dofs, v = data.limits.joints, data.demand.dofs, data.v
    a_null, first = data.results.a_null, data.demand.levels[level]
    undamped = along(directions, UNDAMPED, u, scale, first)
    kd = mean_along(directions[DAMPING], u, first)
    stiffness = mean_along(directions[STIFFNESS], u, first)
    e = undamped / max(stiffness, LEAST)
    near = neighbourhood(abs(e), threshold)
    most = cycle.keep * mean_along(directions[MOTION_SHARE], u, first)
    if most <= 0.0 or value >= near:
        return 0.0, 0.0, 1.0
    for r in range(u.size):
        directions[UNIT_FORCE, first + r] = scale[r] * u[r]
    s = find_motion(data, level)
    if s < 10.0 * LEAST and abs(e) > LEAST:
        cycle.direction_lost = True
    if s == 0.0:
        return 0.0, most, 1.0
    rate = reference = preference = turned = 0.0
    fastest = hardest = math.inf
    for k in range(dofs.size):
        w, h = directions[MOVED, k], directions[EXERTED, k] / s
        rate += h * v[k]
        reference += h * a_null[k]
        if nodes[limits[k].node].status == ACTIVE:
            preference += w * (a_null[k] + dofs[k].kd * v[k])
            turned += w * w
            if abs(w) * hardest > _SHARE * limits[k].acceleration:
                hardest = _SHARE * limits[k].acceleration / abs(w)
        if abs(w) * fastest > _SHARE * limits[k].velocity:
            fastest = _SHARE * limits[k].velocity / abs(w)
    preference /= max(stiffness, LEAST) * math.sqrt(turned)
    c = curvature_along(data, level, directions[MOVED, :v.size])
    beyond = smooth_step(-2.0 * c * e / max(value, _PLAIN * threshold) - 1.0)
    fast = smooth_step(4.0 * abs(undamped) / (s * kd * fastest) - 3.0)
    fast *= 1.0 - smooth_step((value / threshold - 1.0) / (_FAST - 1.0))
    control_share, weight = blend(value, threshold, near, most, max(beyond, fast))
    rest = demand - undamped + s * (kd * rate + reference) + c * rate * rate
    if beyond > 0.0:
        rest *= 1.0 - beyond
        brake = mobility_rate(data, level, c) / c * math.copysign(1.0, rate)
        # Where w turns quickly s may be constant while the joints oscillate: η needs damping then,
        # too. More than four times as much has no use where other motions share the direction.
        brake = min(max(brake, 0.5 * abs(rate)), 4.0 * abs(rate))
        rate += beyond * (math.copysign(brake, rate) - rate)
    displacement = displacement_to_goal(e, s, c, preference, threshold)
    if cycle.has_passive and data.demand.constraints.size == 0:
        # The response of passive joints determines no position of theirs, and so no extension.
        displacement *= 1.0 - beyond
    speed = min(stiffness / kd * abs(displacement), fastest)
    if hardest < math.inf:
        speed = min(speed, math.sqrt(hardest * abs(displacement)))
    a = kd * (math.copysign(speed, displacement) - rate)
    a = min(max(a, -hardest), hardest)
    # ε; without an observer there is none, and its row is empty.
    unexpected = dot_product(directions[EXERTED], data.demand.disturbance.unexpected[0],
                             data.demand.disturbance.unexpected.shape[1]) / s
    force = (a - reference - unexpected) / max(LEAST, s)
    return force + gain * rest, control_share, weight


@rare
def control_level(data, level, threshold, decomposed, parts, x):
    """
    Replace a level's accelerations x by its forces, with singular-direction control.

    Parameters
    ----------
    data : Data
        With L as `resolve_forces` leaves it for this level, and Q with its reactions of
        constraints.
    level : int
        Its number.
    threshold : float
        Scaled eigenvalue below which its directions are truncated.
    decomposed : Decomposition
        Of the level, from `truncate`; the gains of singular directions become those of the exact
        inverse, bounded: lower levels do not use them.
    parts : (n,) array
        Scratch.
    x : (n,) array
        ``a* − a_null`` of the level, less the effect of higher levels; becomes the forces.

    Returns
    -------
    float
        The smallest eigenvalue; 0 where any direction is truncated or singular.

    """
    directions, levels = data.scratch.bounded.directions, data.demand.levels
    scale, gains, values = decomposed.scale, decomposed.gains, decomposed.scratch
    first, n, used = levels[level], x.size, decomposed.sizes[1]
    project_modes(decomposed, x, parts)
    u = directions[DIRECTION, first:first + n]
    least = math.inf
    for k in range(used):
        demand, least = parts[k], min(least, values[k])
        parts[k] *= gains[k]
        if values[k] >= _WIDEST * threshold:  # no `neighbourhood` is wider
            continue
        for p in range(used):
            u[p] = decomposed.vectors[k, p]
        reflect_back(decomposed.matrix, u[:used])
        spread(decomposed.order, used, u)
        for r in range(levels[level + 1]):
            directions[UNIT_FORCE, r] = 0.0
        force, control_share, weight = control_direction(
            data, level, threshold, values[k], gains[k], demand, u, scale)
        for r in range(levels[level + 1]):
            directions[SINGULAR_FORCE, r] += control_share * force * directions[UNIT_FORCE, r]
        for j in range(n):
            if scale[j] > 0.0:
                directions[CORRECTION, first + j] += (
                    ((1.0 - weight) * demand - control_share * values[k] * force) * u[j] / scale[j])
        if control_share > 0.0:
            data.cycle.singular_active, least = True, 0.0
            data.cycle.singular_part = max(data.cycle.singular_part, control_share)
        parts[k] = weight * parts[k] + control_share * force
        gains[k] += control_share * (1.0 / max(values[k], _VAGUE * _VAGUE * threshold) - gains[k])
    assemble_modes(decomposed, parts, x)
    return least if least >= threshold else 0.0


@inlined
def perturb(nodes, a):
    """Add a small reference acceleration, by which a robot leaves an exact singularity."""
    for i in range(nodes.size):
        node = nodes[i]
        if node.status == ACTIVE and node.kind in (REVOLUTE, PRISMATIC):
            a[node.v_index] += _PERTURBATION

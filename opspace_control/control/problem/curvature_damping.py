# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Damping of the joints' motion by what of the geometric stiffness links have no inertia for.

The inertias of `geometric_stiffness` are those of forces along links. A wrench of a task, F and M
at l from a joint with the axis u and the rate q̇, also exerts the moment ``m = M + l × F`` there,
which turns with ω of the link: ``q̇ ω·(m × u)`` is its part of the second derivative of what the
task misses. Two joints that turn against each other and move no row of the task so swing between
the bounds of their accelerations, where they have no damping: what the task demands of them changes
its sign with their position alone.

Along the present motion v this is one number, κ: the second derivative of what tasks miss along v,
less that of the links' inertias, and of what bounds exert against that, see `bound_curvature`, over
``vᵀ A v``. It is the square of the frequency at which v would swing. The posture's reference is
damped at ``r = (d / k) κ``, k being the stiffness and d the rate of the damping of the task, so
that v goes to its rest in ``k / (d κ)`` of κ, the time 2 / √k of the task itself. Drives exert ``−r
A (v − v_d)`` in the direction of the momentum: no eigenvector is sought, and at rest it is nothing.
r may be far beyond 1 / dt, so v is that of the cycle's end, ``v + q̈ dt``: the metric of the
problem is ``A (1 + r dt)``. Divided by this factor, its forces are those of a problem in the metric
A whose tasks are softer by it, and q̈_null becomes ``(q̈_null − r (v − v_d)) / (1 + r dt)``: drives
exert ``−r / (1 + r dt) A (v + q̈_null dt − v_d)``. All forces shrink alike, so r does not change
where posture, tasks and bounds are in balance. Without ``q̈_null dt`` it did: r began with
rounding, moved what was at rest, and rose with that.

v changes with r. So r rises with the forces of tasks within 5 ms, but falls slowly: where it
followed κ both ways, both alternated within 14 ms, and efforts stepped.
"""

from opspace_control.compiled import inlined, rare
from opspace_control.control.solver.program import LASTING, PROXIMAL

# In which r falls, s: long beside the 14 ms in which r and v alternate.
_FALL_TIME = 0.1
# Twice the kinetic energy, J, below which κ is rounding.
_AT_REST = 1e-12


@inlined
def posture_rate(dofs):
    """Return the greatest rate at which the posture damps a joint, 1/s."""
    rate = 0.0
    for k in range(dofs.size):
        rate = max(rate, dofs[k].kd)
    return rate


@inlined
def exerted_damping(cycle):
    """Return the rate of the damping that is exerted in this cycle, 1/s."""
    return cycle.damping_rate / (1.0 + cycle.damping_rate * cycle.dt)


@inlined
def regularise_tasks(data, t):
    """
    Make so many rows of tasks softer by 1 + r dt, as the damping of this cycle does it.

    The forces that their steps begin with are less by as much.
    """
    softness, start = data.scratch.bounded.problem.softness, data.scratch.bounded.problem.start
    factor = 1.0 + data.cycle.damping_rate * data.cycle.dt
    for i in range(t):
        softness[PROXIMAL, i] *= factor
        softness[LASTING, i] *= factor
        start[i] /= factor


@rare
def follow_curvature(data, power, energy, part):
    """
    Write r for the next cycle, by what ``vᵀ r A v`` should be now, a ``power``, W.

    ``energy`` is ``vᵀ A v``, J. r rises by this ``part`` of the difference.
    """
    before, change = data.cycle.damping_rate, 0.0
    if energy > _AT_REST:
        change = max(power, 0.0) / energy - before
    if change < 0.0:
        part = min(data.cycle.dt / _FALL_TIME, 1.0)
    data.cycle.damping_rate = before + part * change

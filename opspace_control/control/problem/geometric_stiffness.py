# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The geometric stiffness of the forces of tasks, as rotational inertia of links.

A force F of a task at the end of a link, l from its joint, acts on the link as gravity acts on a
pendulum: a rotation ω of the link changes what the task attains along F by ``−ωᵀ K ω``, ``K = F·l
(1 − l lᵀ / l²)``. Where distances or the ends of joints take away what the task wants, F is the
demand divided by the softness, and ``√(K / A)`` is a frequency far beyond that of the task: arms
swing for good.

This is least squares with a large residual, of which the problem with the metric A is the
Gauss-Newton step. Newton's step counts K. So in the metric of the problem a link has the inertia
``I = max(F·l, 0) (1 − l lᵀ / l²) / k`` more, k being the stiffness of the task: no such frequency
is beyond √k; and the damping ``D = max(2 √k, kd) I``, the critical one, but no less than that of
the posture, of which A + I leaves little. The problem is

``minimise ½ |q̈ − q̈_ref|²_A + ½ |J_ω (q̈ − q̈_m)|²_I + (ω − ω_d)·D J_ω q̈``

within its bounds and tasks. q̈_m is the mean acceleration of the last half second with I. At rest q̈
is not 0 where the model is wrong: its drives exert what the model does not know. So where nothing
moves the problem is that of A, and the posture balances tasks and bounds as without I and D. ω_d is
that of the posture's velocity. F is of the last cycles, as in sequential quadratic programming. It
is the part of a level's force that its residual s causes: each proximal step adds ``S² s / ε``.
What singular-direction control misses is no residual.

K is what the force does along links; the rest of it damps the motion, see `curvature_damping`.
``A + J_ωᵀ I J_ω`` takes no row and no eigenvector: it is added to the articulated inertia. The
drives exert ``−J_ωᵀ (I J_ω (q̈ − q̈_m) + D (ω − ω_d))``. Robots with passive joints or constraints
have none of it, as their drives cannot, nor have tasks that exert forces of their own: there joints
at rest at their limits make singular directions instead, see `find_resting`.
"""

import math

from opspace_control.compiled import inlined, rare
from opspace_control.control.data import (
    ACTIVATION,
    APPLIED,
    RESIDUAL,
    SCALE,
    WANTED,
)
from opspace_control.control.problem.assembly import (
    PROXIMAL_STEPS,
    proximal_softness,
    threshold_of,
    write_gram,
)
from opspace_control.control.problem.bound_curvature import curvature_of_bounds, oppose_residual
from opspace_control.control.problem.curvature_damping import (
    exerted_damping,
    follow_curvature,
    posture_rate,
    regularise_tasks,
)
from opspace_control.control.problem.references import REFERENCE
from opspace_control.control.problem.row_projection import couple_row, project_row
from opspace_control.control.problem.solution import LEAST_RESIDUAL
from opspace_control.control.singular.direction_motion import (
    CORRECTION,
    FORCES,
    STIFFNESS,
)
from opspace_control.control.stack.scaling import copy_mobility, regularise_rows
from opspace_control.dynamics.force_propagation import is_group
from opspace_control.dynamics.link_inertia import (
    add_inertias_at_center,
    add_inertias_by_force,
    common_ancestor,
    kinetic_energy,
    oppose_motion,
    scale_inertias,
    set_inertias,
    stiffness_along,
)
from opspace_control.dynamics.operational_space_inertia import sum_mobility
from opspace_control.dynamics.responses import (
    base_wrench,
    forward_response,
    project_torques,
)
from opspace_control.model.nodes import WORLD

# Of the mean acceleration, s: long beside 1 / √k of a task. From 0.3 to 1 the same of 28 goals of
# doc/measurements/distances.md come to rest.
_MEAN_TIME = 0.5
# In which F follows the residual, s: short beside 1 / √k. In the next cycle I changes the residual;
# without this both alternate from cycle to cycle. From 5 to 20 ms the same of 28 goals come to
# rest; with 20 ms an arm with wrong masses begins to turn twice as fast.
_FORCE_TIME = 0.005
# I, D and r decay in that time, too, once no bound causes any. Links have none from this part of
# them on: I may be a hundred times what links have themselves. With 1e-2 efforts of the arm of
# test_link_inertia.py step by 1.4 N m there, with this by 0.1 N m.
_LEAST_LEFT = 1e-4


@rare
def stiffen(data, count, t):
    """
    Change the metric of the problem to ``A + J_ωᵀ I J_ω``, and its references to those of it.

    Λ⁻¹ of tasks, so many rows of bounds, and the coupling of so many rows of tasks become those of
    it.

    What was decided before, which directions are singular and what is their reference acceleration,
    stays that of the metric A.
    """
    robot, scratch, mobility = data.robot, data.scratch, data.scratch.mobility
    set_inertias(robot.nodes, robot.states, robot.needs_inertia, data.memory.link_inertia)
    sum_mobility(
        robot.nodes, robot.states, robot.needs_inertia, robot.carried, robot.crossing,
        robot.coupling, False, mobility, scratch.passive.projection,
        scratch.projection[:robot.nodes.size])
    regularise_rows(mobility, scratch.passive.constrained, 0, data.results.stack[ACTIVATION])
    copy_mobility(data.results.Lambda_inverse, 0, scratch.bounded.unstiffened)
    copy_mobility(mobility, 0, data.results.Lambda_inverse)
    for w in range(count):
        project_row(data, w)
        couple_row(data, w)
    write_gram(data, t)
    regularise_tasks(data, t)
    change_reference(data, count)


@rare
def change_reference(data, w):
    """
    Change q̈_ref, and what refers to it, to the motion of I and D without tasks and bounds.

    ``q̈_ref − (A + J_ωᵀ I J_ω)⁻¹ J_ωᵀ (I J_ω (q̈_ref − q̈_m) + D (ω − ω_d))``. Row w of the rows of
    bounds is scratch.
    """
    robot, bounded, stack = data.robot, data.scratch.bounded, data.results.stack
    bound_rows, a_ref = bounded.bound_rows, bounded.a_ref
    torque = bound_rows.torque[w]
    torque[:] = 0.0
    exert_link_inertia(data, a_ref, torque)
    forward_response(robot.nodes, robot.states, torque, a_ref, a_ref)
    project_torques(robot.nodes, robot.states, torque, bound_rows.projection[w])
    couple_row(data, w)
    for r in range(stack.shape[1]):
        stack[WANTED, r] -= bound_rows.coupling[w, r]
    torque[:] = 0.0
    exert_link_inertia(data, a_ref, torque)
    for k in range(a_ref.size):
        bounded.tau_ref[REFERENCE, k] += torque[k]


@rare
def exert_link_inertia(data, a, tau):
    """
    Add to tau (nv,) what drives exert for I, D and r where the joints accelerate by a.

    r damps the velocity that q̈_null leads to within the cycle, see `curvature_damping`.
    """
    if data.cycle.stiffened:
        damped, dofs = data.scratch.bounded.directions[FORCES, :tau.size], data.demand.dofs
        for k in range(tau.size):
            damped[k] = data.v[k] - dofs[k].velocity + data.cycle.dt * data.results.a_null[k]
        oppose_motion(
            data.robot.nodes, data.robot.states, data.memory.link_inertia,
            exerted_damping(data.cycle), a, data.memory.mean_acceleration, dofs, data.v, damped,
            tau)


@inlined
def counted_steps(residual_steps):
    """
    Return how many proximal steps of a level count, by how many its residual makes its force.

    All, also where the level ended its steps early; so the force is ``x S² s``, with x their number
    by ε. What truncation misses of a direction counts as nothing: 0 below `LEAST_RESIDUAL` of the
    force.
    """
    if residual_steps == 0.0:
        return 0.0
    return max(PROXIMAL_STEPS - LEAST_RESIDUAL * residual_steps, 0.0)


@rare
def add_inertias_of_point(data, e, x, rate):
    """
    Add the inertias by ``x S² s`` at point e of the stack, and by its reaction.

    They are damped at the ``rate``, 1/s, at least. Returns what the rest of the geometric stiffness
    takes of damping along the present motion, W, and the rate of the damping over the stiffness, s.
    """
    stack, point, directions = data.results.stack, data.robot.points[e], (
        data.scratch.bounded.directions)
    if is_group(point):
        return 0.0, 0.0
    force, wrench, square, stiffness = directions[FORCES, :6], data.scratch.wrench, 0.0, 0.0
    for r in range(6):
        k = 6 * e + r
        force[r] = x * stack[SCALE, k] ** 2 * (stack[RESIDUAL, k] - directions[CORRECTION, k])
        if stack[SCALE, k] > 0.0:
            part = (force[r] / stack[SCALE, k]) ** 2
            square += part
            stiffness += directions[STIFFNESS, k] * part
    if not stiffness > 0.0:
        return 0.0, 0.0
    stiffness /= square
    base_wrench(point, force, 0, wrench)
    nodes, states, inertia = data.robot.nodes, data.robot.states, data.memory.link_inertia
    law = stiffness, max(2.0 * math.sqrt(stiffness), rate)
    if point.whole:
        add_inertias_at_center(
            nodes, states, data.robot.supports, e, point.mass, wrench, law, inertia)
        return 0.0, law[1] / stiffness
    first, other = point.frame.node, point.other.node
    last = common_ancestor(nodes, first, other) if other >= 0 else WORLD
    add_inertias_by_force(nodes, states, point.p, first, last, wrench, law, inertia)
    curvature = stiffness_along(nodes, states, point.p, first, last, wrench, data.v)
    if other >= 0:
        for r in range(6):
            wrench[r] = -wrench[r]
        add_inertias_by_force(nodes, states, point.p, other, last, wrench, law, inertia)
        curvature += stiffness_along(nodes, states, point.p, other, last, wrench, data.v)
    return law[1] / stiffness * curvature, law[1] / stiffness


@inlined
def may_stiffen(data):
    """
    Return whether links may have inertia: all joints are driven, without constraints.

    Nor does any task exert a force of its own, since its references are of the metric A.
    """
    stack, found = data.results.stack, (
        data.cycle.has_passive or data.demand.constraints.size > 0)
    for r in range(stack.shape[1]):
        found = found or stack[APPLIED, r] != 0.0
    return not found


@rare
def begin_link_inertia(data):
    """Begin without I, D, r and q̈_m."""
    data.cycle.stiffened, data.cycle.damping_rate = True, 0.0
    data.memory.mean_acceleration[:] = 0.0
    scale_inertias(data.memory.link_inertia, 0.0)


@rare
def decay_link_inertia(data, left):
    """Leave this part of I and D, and follow q̈_m."""
    mean, of_mean = data.memory.mean_acceleration, min(data.cycle.dt / _MEAN_TIME, 1.0)
    for k in range(mean.size):
        mean[k] += of_mean * (data.results.a_joints[k] - mean[k])
    scale_inertias(data.memory.link_inertia, left)


@inlined
def end_link_inertia(cycle):
    """Let links have no inertia."""
    cycle.stiffened, cycle.inertia_left, cycle.damping_rate = False, 0.0, 0.0


@inlined
def decay_unopposed(cycle, left):
    """Leave this part of r, and of what there was of I when no bound caused any for the first."""
    cycle.inertia_left *= left
    cycle.damping_rate *= left
    if cycle.inertia_left < _LEAST_LEFT:
        end_link_inertia(cycle)


@rare
def write_link_inertia(data):
    """Write the inertias and dampings for the next cycle, by the forces of this one's problem."""
    cycle, levels, problem = data.cycle, data.demand.levels, data.scratch.bounded.problem
    part, rate = min(cycle.dt / _FORCE_TIME, 1.0), posture_rate(data.demand.dofs)
    power, energy, opposed = 0.0, 0.0, False
    if not may_stiffen(data):
        end_link_inertia(cycle)
        return
    if part == 0.0:
        return  # without time all stays
    if cycle.stiffened:
        decay_link_inertia(data, 1.0 - part)
    for level in range(levels.size - 1 if cycle.bound_count > 0 else 0):
        steps = counted_steps(problem.residual_steps[level + 1])
        share = oppose_residual(data, level + 1) if steps > 0.0 else 0.0
        if share > 0.0:
            if not cycle.stiffened:
                begin_link_inertia(data)
            if not opposed:
                energy = kinetic_energy(data.robot.nodes, data.robot.states, data.v)
            opposed, slowest = True, 0.0
            x = steps / proximal_softness(threshold_of(data, level))
            for e in range(levels[level] // 6, levels[level + 1] // 6):
                of_point, time = add_inertias_of_point(data, e, part * share * x, rate)
                power, slowest = power + of_point / part, max(slowest, time)
            power += slowest * steps * curvature_of_bounds(data)
    if opposed:
        cycle.inertia_left = 1.0
        follow_curvature(data, power, energy, part)
    elif cycle.stiffened:
        decay_unopposed(cycle, 1.0 - part)

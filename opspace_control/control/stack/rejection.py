# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Rejection of unknown joint forces along the axes of motion of tasks.

Unknown forces r accelerate the points by ``a_r = J A⁻¹ r``, under constraints by ``J Φ r``, which
has no part of the constraint forces ``J_cᵀ λ`` that r may contain. Tasks exert ``−Λ a_r`` along
axes of motion, ``−J̄ᵀ r`` of the dynamically consistent inverse, [CK00] (8), and nothing against
what r does in the null space. Axes of force control, springs and free axes are left alone. While a
task presses, r has the environment's wrench, its friction and the moment of a contact elsewhere
than at the frame: forces of that task stay as they were before.

Forces of tasks are filtered, not the residual: ``J̄`` of all rows would turn what a filter of joint
forces lacks of a motion in the null space into forces of tasks, and drive that motion.

r balances these forces, as the environment balances those of force control, [K87] (5.5). So they
have a part in efforts and none in the motion, which is that of the law. Tasks of the levels above
compensate for the forces of a level, ``−Y F``, as far as they reject disturbances themselves; what
they exert for that balances r together with F. Other tasks see r and all of these forces.
"""

import math

from opspace_control.compiled import inlined
from opspace_control.control.data import ACTIVATION, REJECTING, SCALE
from opspace_control.control.solver.semidefinite import solve_semidefinite
from opspace_control.control.stack.disturbance import (
    ENERGY,
    FILTERED,
    FOUND,
    GAIN,
    GRASPS,
    GREATEST,
    OWN_FORCE,
    UNKNOWN,
    rejects_at,
)
from opspace_control.control.stack.level_forces import add_compensation, find_forces
from opspace_control.spatial.six import combine_rows, put
from opspace_control.spatial.vectors import dot
from opspace_control.tasks.force_law import presses
from opspace_control.tasks.specification_law import motion_share


@inlined
def shrink_force(rejected):
    """
    Shrink a filtered force and moment to their limits; write what rejects it, their negative.

    What is filtered shrinks, not only what is applied: so it does not take longer to fade, the more
    it was beyond the limits.
    """
    share, F = 1.0, rejected[FILTERED:]
    for part in range(2):
        f = F[3 * part:3 * part + 3]
        size = math.sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
        if size > rejected[GREATEST + part]:
            share = min(share, rejected[GREATEST + part] / size)
    for r in range(6):
        F[r] *= share
        rejected[r] = -F[r]


@inlined
def filter_force(disturbance, record, first, gain, demand, scale):
    """
    Let a task's filtered force follow that of this cycle, of rows from the ``first`` on.

    That of a row without a part ends at once, whatever the ``gain``, since nothing compensates for
    it; tasks that press have what they had before. While a grasp is engaged all of them fade.
    """
    task, F = demand.tasks[record], disturbance.tasks[record, FILTERED:]
    fades = disturbance.flags[FOUND] == GRASPS
    for r in range(6):
        if gain > 0.0:
            own = 0.0 if fades else disturbance.rows[OWN_FORCE, first + r]
            F[r] += gain * (own - F[r])
        idle = scale[first + r] == 0.0 or motion_share(task, r) == 0.0
        if idle and not (fades or presses(task.force)):
            F[r] = 0.0


@inlined
def has_limit(robot, demand, e, tasks):
    """Return whether the force of a point's task is one of those that `greatest_share` limits."""
    return rejects_at(robot, e, tasks) and not presses(demand.tasks[robot.points[e].record].force)


@inlined
def energy_of(forces, first, activation, scratch):
    """
    Return ``fᵀ J Φ Jᵀ f`` of forces of tasks' rows (k,): how much they accelerate the robot.

    Without what `regularise_rows` adds to the mobility of rows that are active in part.
    """
    mobility, a, total = scratch.mobility, scratch.column, 0.0
    for e in range(first, forces.size, 6):
        for d in range(first, e + 1, 6):
            put(a, 0, combine_rows(mobility, e, d, forces, e))
            total += (1.0 if d == e else 2.0) * dot(forces[d:], a)
    for r in range(first, forces.size):
        if forces[r] != 0.0 and activation[r] < 1.0:
            total -= forces[r] * forces[r] * scratch.unconstrained[r] * (
                1.0 - activation[r] * activation[r])
    return total


@inlined
def energy_of_tasks(disturbance, robot, demand, filtered, activation, scratch):
    """
    Return the energy of the forces of tasks that do not press, and of their compensation.

    Those that are ``filtered``, or those of this cycle. `UNKNOWN` is scratch.
    """
    first, forces = 6 * demand.constraints.size, disturbance.rows[UNKNOWN]
    for e in range(robot.points.size):
        record, tasks = robot.points[e].record, disturbance.tasks
        limited = 6 * e >= first and has_limit(robot, demand, e, tasks)
        for r in range(6):
            force = 0.0
            if limited:
                force = tasks[record, FILTERED + r] if filtered else (
                    disturbance.rows[OWN_FORCE, 6 * e + r])
            forces[6 * e + r] = force
    if demand.levels.size > 2:
        add_compensation(disturbance.matrix[0], first, demand.levels, forces, scratch.column)
    return energy_of(forces, first, activation, scratch)


@inlined
def greatest_share(disturbance, robot, demand, gain, activation, scratch):
    """
    Return the share of filtered forces that accelerates the robot by no more than r does.

    The motion changes what the rows of tasks can move, and forces of rows that balanced each other
    balance no more. So ``fᵀ J Φ Jᵀ f`` is at most that of the forces of this cycle, or its value
    behind the same filter. Where the mobility stays it never is more, since it is convex in f, and
    neither is it while f stays. Tasks that press have no part in either, and do not shrink.
    """
    most = energy_of_tasks(disturbance, robot, demand, False, activation, scratch)
    disturbance.rate[ENERGY] += gain * (most - disturbance.rate[ENERGY])
    most = max(most, disturbance.rate[ENERGY], 0.0)
    energy = energy_of_tasks(disturbance, robot, demand, True, activation, scratch)
    return math.sqrt(most / energy) if energy > most else 1.0


@inlined
def write_forces(disturbance, robot, demand, factorised, forces, scratch):
    """Write the forces (k,) of all rows of tasks, with what levels above exert to compensate."""
    first, tasks = 6 * demand.constraints.size, disturbance.tasks
    for e in range(first // 6, robot.points.size):
        if rejects_at(robot, e, tasks):  # the forces of idle points are zero
            for r in range(6):
                forces[6 * e + r] = tasks[robot.points[e].record, r]
        else:
            forces[6 * e:6 * e + 6] = 0.0
    if factorised and demand.levels.size > 2:
        add_compensation(disturbance.matrix[0], first, demand.levels, forces, scratch.column)


@inlined
def shrink_forces(disturbance, robot, demand, share):
    """Leave tasks that do not press a share of their forces."""
    tasks = disturbance.tasks
    for e in range(demand.constraints.size, robot.points.size):
        record = robot.points[e].record
        if share < 1.0 and has_limit(robot, demand, e, tasks):
            for r in range(6):
                tasks[record, FILTERED + r] *= share
                tasks[record, r] *= share


@inlined
def reject_disturbance(disturbance, cycle, robot, demand, results, scratch):
    """
    Write ``−Λ J Φ r`` of tasks, filtered, along their axes of motion, to ``REJECTING``.

    After the elimination of constraints, of which the factor is used, and before the tasks become
    forces. The own force and moment of a task are at most its limits; beyond them all six
    components shrink. `NO_DISTURBANCE` does nothing.
    """
    if disturbance.flags.size > 0:
        first, tasks = 6 * demand.constraints.size, disturbance.tasks
        found, factorised = disturbance.flags[FOUND], False
        if found == 1 or demand.levels.size > 2:
            factorised = find_forces(disturbance, cycle, robot, demand, results.stack, scratch)
        gain = disturbance.rate[GAIN] if found == GRASPS or (found == 1 and factorised) else 0.0
        for e in range(first // 6, robot.points.size):
            if rejects_at(robot, e, tasks):
                filter_force(disturbance, robot.points[e].record, 6 * e, gain, demand,
                             results.stack[SCALE])
                shrink_force(tasks[robot.points[e].record])
        if found == 1 and factorised:
            shrink_forces(disturbance, robot, demand, greatest_share(
                disturbance, robot, demand, gain, results.stack[ACTIVATION], scratch))
        write_forces(
            disturbance, robot, demand, factorised, results.stack[REJECTING], scratch)


@inlined
def rejecting_forces(stack, constrained, mobility, scratch):
    """
    Write to ``moving`` the forces that reject disturbances, (k,), with reactions of constraints.

    These are ``−L_cc⁺ L_ct f``, so that the constraints hold.
    """
    moving = scratch.moving
    for r in range(moving.size):
        moving[r] = stack[REJECTING, r]
    if constrained > 0:
        for c in range(constrained):
            moving[c] = 0.0
            for r in range(constrained, moving.size):
                moving[c] -= mobility[r, c] * moving[r]
        solve_semidefinite(scratch.constraint_factor, moving[:constrained], scratch.coordinates)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A prioritised problem of a cycle, written and solved: at once, or level by level.

What the bounds attain alone, the tasks keep. So where levels are solved one after the other, each
bound that the motion of the bounds alone violates is a part of their level, and has a row: then the
level is what it would be with the rows of all bounds, within 1e-6 of its motion at 100 random
states of Talos beyond its limits. Bounds that a level of tasks violates only on the way, in one of
its steps, have none. With passive joints or constraints bounds alone may refer to q̈_ref, a motion
without the forces of tasks, as of balance: what that violates tells little, and has no row. A
pushed G1 slips at more places where it has.
"""

from opspace_control.compiled import rare
from opspace_control.control.data import DEMANDED, WANTED
from opspace_control.control.limits.determined_efforts import count_closed
from opspace_control.control.problem.assembly import (
    prepare_tasks,
    write_bounds,
    write_demands,
    write_matrix,
)
from opspace_control.control.problem.bound_rows import add_bound_forces, add_violated
from opspace_control.control.problem.effects import find_efforts, write_reactions
from opspace_control.control.problem.geometric_stiffness import exert_link_inertia, may_stiffen
from opspace_control.control.problem.references import evaluate_for_rows
from opspace_control.control.problem.solution import (
    count_unsolved,
    read_forces,
    record_active_sides,
    solve_at_once,
    solve_next_levels,
    write_bound_softness,
    write_levels,
)
from opspace_control.dynamics.responses import (
    apply_wrenches,
    forward_response,
    subtract_inertial_torques,
)


@rare
def write_level_of_bounds(data, count, nominal):
    """
    Write the level of so many bounds, but for the matrix.

    The reference motion is q̈_ref; that of the ``nominal`` problem, which is without
    singular-direction control and begins without forces, is q̈_null.
    """
    write_bounds(
        data, count, data.results.a_null if nominal else data.scratch.bounded.a_ref, nominal)
    write_bound_softness(data, count)


@rare
def write_levels_of_tasks(data, count, t, nominal):
    """Write the levels of t rows of tasks below that of so many bounds, and the whole matrix."""
    write_matrix(data, count, t)
    write_demands(data, count, t, data.results.stack[DEMANDED if nominal else WANTED])
    write_levels(data.scratch.bounded.problem, count, t, not nominal)


@rare
def move_by_bounds(data, count, tau):
    """
    Write what so many solved rows of bounds do alone where all joints are driven and free.

    ``a_joints`` (nv,) receives the accelerations from q̈ = 0 on, tau (nv,) the efforts, which are
    those from q̈_ref on less ``A q̈_ref``.
    """
    bounded, robot, a = data.scratch.bounded, data.robot, data.results.a_joints
    force = data.scratch.joint_force
    read_forces(data, count)
    write_reactions(data, count)
    for k in range(tau.size):
        tau[k] = bounded.tau_singular[k]
    subtract_inertial_torques(robot.nodes, robot.states, bounded.a_ref, force, tau)
    apply_wrenches(robot.nodes, robot.states, robot.points, robot.supports, data.scratch.moving,
                   force, data.scratch.wrench)
    add_bound_forces(count, bounded.bound_rows, force)
    forward_response(robot.nodes, robot.states, force, bounded.a_ref, a)
    find_efforts(data, count, tau, tau)
    exert_link_inertia(data, a, tau)
    for k in range(a.size):
        a[k] -= bounded.a_ref[k]


@rare
def add_violated_by_bounds(data, count, t, evaluated, tau):
    """
    Add the rows of bounds that the bounds alone violate, beside so many and t rows of tasks.

    ``evaluated`` says whether there are efforts of q̈_ref. ``a_joints`` and tau (nv,) are scratch.
    Returns how many rows there are then, whether there are these efforts, and whether the active
    set of the level, which is solved, came to an end.
    """
    problem, before, ended = data.scratch.bounded.problem, -1, True
    while count > before:
        # Efforts of q̈_ref are of s = 1: where forces may be reduced they are there already.
        evaluated = evaluated or evaluate_for_rows(data, count)
        write_matrix(data, count, 0)
        write_level_of_bounds(data, count, False)
        write_levels(problem, count, t, False)
        _, ended, _ = solve_next_levels(problem, 0, 1)
        move_by_bounds(data, count, tau)
        before = count
        count = add_violated(data, count, data.results.a_joints, tau)
    return count, evaluated, ended


@rare
def solve_problem(data, count, t, evaluated, tau):
    """
    Solve the problem of so many rows of bounds and of tasks, ``f_y`` being its result.

    At once, or else level by level; where all joints are driven and no constraint acts, with all
    rows that the bounds alone violate. For parameters and what is returned first see
    `add_violated_by_bounds`.
    """
    problem, bounds_ended, ended, solved = data.scratch.bounded.problem, True, True, 0
    write_level_of_bounds(data, count, False)
    write_levels_of_tasks(data, count, t, False)
    adds_rows = data.cycle.at_once and not (
        data.cycle.has_passive or count_closed(data.demand.constraints) > 0)
    data.cycle.levels_skipped = 0
    if not solve_at_once(data):
        if adds_rows:
            count, evaluated, bounds_ended = add_violated_by_bounds(data, count, t, evaluated, tau)
            write_levels_of_tasks(data, count, t, False)
            solved = 1
        _, ended, data.cycle.levels_skipped = solve_next_levels(
            problem, solved, problem.steps.size)
    count_unsolved(data, bounds_ended and ended)
    return count, evaluated


@rare
def solve_nominal_problem(data, count, t):
    """
    Find the limits that tasks press joints against without singular-direction control.

    They decide which joints rest: with that control the multipliers of these limits vanish. None
    rests where links may have inertia, or have it.
    """
    problem = data.scratch.bounded.problem
    if data.cycle.stiffened or may_stiffen(data):
        count = 0
    elif data.cycle.singular_active:
        prepare_tasks(data, t, 0)
        write_level_of_bounds(data, count, True)
        write_levels_of_tasks(data, count, t, True)
        ended = solve_at_once(data)
        if not ended:
            _, ended, _ = solve_next_levels(problem, 0, problem.steps.size)
        count_unsolved(data, ended)
    record_active_sides(data, count)

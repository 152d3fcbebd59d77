# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Levels that can all be met, solved at once, against dense programs and against level by level."""

import numpy as np
import pytest
from numba import njit
from prioritised import Problem
from test_solver import assert_optimal

from opspace_control.control.solver.attainable import solve_attainable
from opspace_control.control.solver.levels import LEVEL_SCRATCH
from opspace_control.control.solver.program import DEPENDENT, INACTIVE, Levels

STEPS = 8
DOFS, BOUNDS, TASKS = 16, 10, (3, 4)


@njit
def _solve(*arguments):
    return solve_attainable(*arguments)


def solve_at_once(problem, active, forces=0.0):
    """Return whether a problem is solved, and its multipliers and values."""
    n = len(problem.rows)
    f_y = np.full((2, n), np.nan)
    f_y[0] = forces
    solved = _solve(
        Levels(np.array(problem.levels), np.full(len(problem.levels) - 1, STEPS), problem.mobility,
               np.array([problem.lasting, problem.own * problem.mobility.diagonal()]),
               np.array([problem.lower, problem.upper]), np.zeros((2, n)), DEPENDENT),
        active, np.full((n, n), np.nan), np.zeros(n, dtype=int),
        np.full((LEVEL_SCRATCH, n), np.nan), f_y)
    return solved, *f_y


def attainable_problem(random, dofs=DOFS, tasks=TASKS, size=1.0):
    """Return bounds about 0, then levels of equality rows that fewer bounds than joints leave."""
    n, half = BOUNDS + sum(tasks), random.standard_normal((dofs, dofs))
    rows = np.vstack([np.eye(dofs)[:BOUNDS], random.standard_normal((sum(tasks), dofs))])
    wanted, width = size * random.standard_normal(sum(tasks)), random.uniform(0.05, 0.4, BOUNDS)
    return Problem(
        rows, np.concatenate([-width, wanted]), np.concatenate([width, wanted]),
        half @ half.T + dofs * np.eye(dofs), (0, BOUNDS, *(BOUNDS + np.cumsum(tasks))),
        own=np.concatenate([np.full(BOUNDS, 1e-6), np.full(n - BOUNDS, 5e-4)]))


def states(problem):
    return np.zeros((len(problem.levels) - 1, len(problem.rows)), dtype=int)


def solved_at_once(random, count):
    """Yield those of so many random problems that are solved, each with states, f and y."""
    for _ in range(count):
        problem = attainable_problem(random)
        active = states(problem)
        solved, f, y = solve_at_once(problem, active)
        if solved:
            yield problem, active, f, y


def test_they_are_one_program():
    """By quadprog with the rows of all levels; so many have active bounds."""
    solved = bounded = 0
    for problem, active, f, y in solved_at_once(np.random.default_rng(0), 300):
        assert_optimal(problem, f, y)
        assert problem.motion(f) == pytest.approx(problem.by_quadprog(), abs=1e-9)
        assert (active == active[0]).all()
        solved, bounded = solved + 1, bounded + bool((f[:BOUNDS] != 0.0).any())
    assert solved > 150
    assert bounded > 100


def test_they_are_what_levels_one_by_one_come_to():
    compared = 0
    for problem, _, f, _ in solved_at_once(np.random.default_rng(1), 200):
        compared += 1
        g, _, _ = problem.solve_levels(steps=STEPS)
        x = problem.motion(f)
        assert problem.motion(g) == pytest.approx(x, abs=3e-7 * np.linalg.norm(x))
    assert compared > 100


@pytest.mark.parametrize('change', [
    'too many rows', 'a soft row', 'a soft bound', 'a bound that pulls away'])
def test_levels_that_cannot_be_met_are_left_as_they_are(change):
    random, tasks = np.random.default_rng(2), (3, DOFS) if change == 'too many rows' else TASKS
    for _ in range(20):
        problem = attainable_problem(random, tasks=tasks)
        if change == 'a soft row':
            problem.lasting[-1] = 1e-3
        if change == 'a soft bound':
            problem.lasting[0] = 1e-3
        if change == 'a bound that pulls away':
            problem.rows[0], problem.upper[0] = problem.rows[-1], problem.lower[-1] - 1.0
            problem.lower[0] = -np.inf
        active = random.integers(-1, 2, states(problem).shape)
        before, forces = active.copy(), random.standard_normal(len(problem.rows))
        solved, f, _ = solve_at_once(problem, active, forces)
        assert not solved
        assert (active == before).all()
        assert (f == forces).all()


def test_active_bounds_of_before_are_begun_with():
    """From the solution itself, and from any bounds, it comes to the same."""
    random, compared = np.random.default_rng(3), 0
    for problem, active, f, _ in solved_at_once(random, 100):
        again, g, _ = solve_at_once(problem, active)
        assert again
        assert g == pytest.approx(f, abs=1e-12)
        active[-1] = np.where(problem.lower < problem.upper, random.integers(-1, 2, len(f)),
                              INACTIVE)
        other, h, _ = solve_at_once(problem, active)
        if other:
            compared += 1
            assert h == pytest.approx(f, abs=1e-9 * abs(f).max())
    assert compared > 20

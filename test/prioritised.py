# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Prioritised problems for the tests: the solver under test, and dense ones to hold it against."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import proxsuite
import quadprog
from numba import njit

from opspace_control.control.solver.active_set import improve_active
from opspace_control.control.solver.levels import LEVEL_SCRATCH, solve_levels
from opspace_control.control.solver.program import ATTAINABLE, DEPENDENT, ActiveSet, Levels, Program
from opspace_control.control.solver.start import start_active


@njit
def _solve_bounded(program, active, f_y):
    rows = program.free.size
    return improve_active(program, rows, active, start_active(program, rows, active), f_y)[1:]


@njit
def solve_problem_levels(*arguments):
    """Return what `solve_levels` does, compiled."""
    return solve_levels(*arguments)


@dataclass
class Problem:
    """
    Rows ``lower ≤ rows x ≤ upper`` in levels, and x nearest to a reference by the metric A.

    While the first level is solved, that is 0.
    """

    rows: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    metric: np.ndarray
    levels: tuple = ()
    own: float | np.ndarray = ATTAINABLE  # softness ε, of all rows or of each; 0: hard
    lasting: np.ndarray = field(default=None)  # softness δ
    reference: float | np.ndarray = 0.0
    levels_skipped: int = 0
    residual_steps: np.ndarray = field(default=None)  # of `solve_levels`

    def __post_init__(self):
        n = len(self.rows)
        self.levels = self.levels or (0, n)
        if self.lasting is None:
            self.lasting = np.zeros(n)

    @cached_property
    def mobility(self):
        """The Gram matrix ``R A⁻¹ Rᵀ``."""
        gram = self.rows @ np.linalg.solve(self.metric, self.rows.T)
        return 0.5 * (gram + gram.T)

    def motion(self, f):
        """Return x of the multipliers."""
        return self.reference + np.linalg.solve(self.metric, self.rows.T @ f)

    def missed(self, values):
        """Return by how much values violate the bounds of their rows, in parts of √G_rr."""
        return np.maximum(np.maximum(self.lower - values, values - self.upper), 0.0) / np.sqrt(
            self.mobility.diagonal())

    def solve(self, active=None, dependent=DEPENDENT):
        """Return f, y and the changes of the active set, by the solver of one level."""
        n = len(self.rows)
        active = np.zeros(n, dtype=int) if active is None else active
        f, y = f_y = np.full((2, n), np.nan)
        changes, ended = _solve_bounded(
            Program(self.mobility, self.lasting, self.lower, self.upper, np.zeros(n),
                    0, dependent),
            ActiveSet(active, np.full((n, n), np.nan), np.zeros(n, dtype=int),
                      *np.full((2, n), np.nan)), f_y)
        assert ended
        return f, y, changes

    def solve_levels(self, active=None, steps=1, forces=0.0, *, calls=1):
        """
        Return f, y and the changes of all active sets, by the solver of several levels.

        In so many steps, which begin with these multipliers; with two calls the first one solves
        the first level alone. ``levels_skipped`` becomes their number, ``residual_steps`` that of
        each level.
        """
        n = len(self.rows)
        if active is None:
            active = np.zeros((len(self.levels) - 1, n), dtype=int)
        f_y = np.full((2, n), np.nan)
        f_y[0], self.residual_steps = forces, np.full(len(self.levels) - 1, np.nan)
        levels = Levels(
            np.array(self.levels), np.full(len(self.levels) - 1, steps), self.mobility,
            np.array([self.lasting, np.maximum(self.own, np.where(
                np.equal(self.own, 0.0), 0.0, ATTAINABLE)) * self.mobility.diagonal()]),
            np.array([self.lower, self.upper]), np.array([np.zeros(n), self.rows @ (
                self.reference + np.zeros(len(self.metric)))]), DEPENDENT)
        scratch = (np.full((n, n), np.nan), np.zeros(n, dtype=int),
                   np.full((LEVEL_SCRATCH, n), np.nan), f_y, self.residual_steps)
        total = 0
        for solved in range(calls):
            last = len(self.levels) if solved == calls - 1 else 2
            f_y[0, :self.levels[solved]], self.residual_steps[:] = 0.0, np.inf
            changes, ended, self.levels_skipped = solve_problem_levels(
                levels._replace(first_rows=levels.first_rows[:last]), solved, active, *scratch)
            assert ended
            total += changes
        return *f_y, total

    def by_quadprog(self):
        """
        Return x of one level by quadprog.

        Slacks of soft rows are variables of their own; raises ValueError where hard ones contradict
        each other.
        """
        n, m = self.rows.shape
        soft = np.flatnonzero(self.lasting > 0.0)
        slack = np.zeros((n, len(soft)))
        slack[soft, np.arange(len(soft))] = np.sqrt(self.lasting[soft])
        rows = np.hstack([self.rows, slack])
        cost = np.eye(m + len(soft))
        cost[:m, :m] = self.metric
        equal = self.lower == self.upper
        low, high = ~equal & np.isfinite(self.lower), ~equal & np.isfinite(self.upper)
        if not (equal | low | high).any():
            return np.zeros(m)
        return quadprog.solve_qp(
            cost, np.zeros(len(cost)), np.vstack([rows[equal], rows[low], -rows[high]]).T,
            np.concatenate([self.lower[equal], self.lower[low], -self.upper[high]]),
            int(equal.sum()))[0][:m]

    def by_proxqp(self):
        """
        Return x of all levels, one after the other, by ProxQP.

        A level's rows have slacks with the cost ``1 / (ε G_rr)``; what it attains is a hard row of
        those below.
        """
        m = self.rows.shape[1]
        lower, upper = self.lower.copy(), self.upper.copy()
        for first, last in zip(self.levels, self.levels[1:], strict=False):
            own = (self.own * self.mobility.diagonal())[first:last]
            soft = np.zeros((last, last - first))
            soft[first:] = np.diag(np.sqrt(own))
            lasting = np.diag(np.sqrt(self.lasting[:last]))[:, self.lasting[:last] > 0.0]
            x = solve_by_proxqp(self.metric, np.hstack([self.rows[:last], soft, lasting]),
                                lower[:last], upper[:last])
            value = self.rows[:last] @ x[:m] + lasting @ x[m + last - first:]
            equal, own = lower[:last] == upper[:last], np.arange(last) >= first
            # Without some room for rounding nothing is feasible any more.
            rounding = np.where(equal, 0.0, 1e-9 * (1.0 + np.abs(value)))
            lower[:last] = np.where(own & (equal | (value < lower[:last])), value, lower[:last])
            upper[:last] = np.where(own & (equal | (value > upper[:last])), value, upper[:last])
            lower[:last] -= np.where(own, rounding, 0.0)
            upper[:last] += np.where(own, rounding, 0.0)
        return x[:m]


class NotSolvedError(Exception):
    """The dense solver did not come to its tolerance."""


def solve_by_proxqp(metric, rows, lower, upper):
    """
    Return the x nearest to 0, by the metric for its first entries, that keeps the bounds.

    In units in which the metric is 1, and rows and the largest bound are.
    """
    m, n = len(metric), rows.shape[1]
    unit = np.eye(n)
    unit[:m, :m] = np.linalg.inv(np.linalg.cholesky(metric).T)
    rows = rows @ unit
    size = np.linalg.norm(rows, axis=1)
    asked = size > 0.0
    rows, lower, upper = (
        (part[asked].T / size[asked]).T for part in (rows, lower, upper))
    bounds = np.abs(np.concatenate([lower, upper]))
    largest = max(bounds[np.isfinite(bounds)], default=0.0) or 1.0
    for solve in (_by_quadprog, _by_proxqp):
        x = solve(rows, lower / largest, upper / largest)
        if x is not None:
            return largest * unit @ x
    raise NotSolvedError


def _by_quadprog(rows, lower, upper):
    equal, n = lower == upper, rows.shape[1]
    low, high = ~equal & np.isfinite(lower), ~equal & np.isfinite(upper)
    if not (equal | low | high).any():
        return np.zeros(n)
    try:
        return quadprog.solve_qp(
            np.eye(n), np.zeros(n), np.vstack([rows[equal], rows[low], -rows[high]]).T,
            np.concatenate([lower[equal], lower[low], -upper[high]]), int(equal.sum()))[0]
    except ValueError:  # it takes redundant equality rows for contradictions
        return None


def _by_proxqp(rows, lower, upper):
    equal, n = lower == upper, rows.shape[1]
    problem = proxsuite.proxqp.dense.QP(n, int(equal.sum()), int((~equal).sum()))
    problem.settings.eps_abs, problem.settings.eps_rel = 1e-10, 0.0
    problem.settings.max_iter = 1000
    problem.init(np.eye(n), np.zeros(n), rows[equal], lower[equal], rows[~equal],
                 np.maximum(lower[~equal], -1e20), np.minimum(upper[~equal], 1e20))
    problem.solve()
    solved = problem.results.info.status == proxsuite.proxqp.QPSolverOutput.PROXQP_SOLVED
    return problem.results.x if solved else None


def random_problem(random, levels=1, soft=False):
    """Return a random problem, rows of which may repeat or combine others."""
    m = random.integers(2, 9)
    sizes = random.integers(1, 6, levels)
    n = int(sizes.sum())
    rows = random.standard_normal((n, m))
    for _ in range(random.integers(0, 3)):  # degenerate: copies, combinations, nothing
        i, j, k = random.integers(0, n, 3)
        rows[i] = (random.choice([1.0, -1.0, 0.0]) * rows[j]
                   + random.choice([0.0, 0.5]) * rows[k])
    half = random.standard_normal((m, m))
    metric = half @ half.T + 0.1 * np.eye(m)
    values = rows @ random.standard_normal(m) * 3.0
    width = random.choice([0.0, 0.0, 0.1, 1.0, 5.0, np.inf], (2, n))
    equal = random.random(n) < 0.3
    width[:, equal] = 0.0
    lower, upper = values - width[0], values + width[1]
    if levels > 1 or soft:  # goals that contradict each other
        shift = random.standard_normal(n) * random.choice([0.0, 3.0])
        lower, upper = lower + shift, upper + shift
    problem = Problem(rows, lower, upper, metric, tuple(np.cumsum([0, *sizes]).tolist()))
    if soft:
        problem = replace(problem, lasting=random.uniform(1e-3, 1.0, n))
    return problem


def contradictory_problem(random):
    """
    Return hard bounds in one level with soft ones, of which some combine others.

    Those of each combination may contradict those that it combines.
    """
    m = random.integers(2, 9)
    hard, soft = random.integers(2, m + 5), random.integers(0, 6)
    n = hard + soft
    rows = random.standard_normal((n, m))
    for r in range(1, hard):
        if random.random() < 0.4:
            k = random.integers(1, min(r, 3) + 1)
            combined = random.choice([-2.0, -1.0, 1.0, 2.0], k) @ rows[
                random.choice(r, k, replace=False)]
            rows[r] = combined if np.linalg.norm(combined) > 1e-3 else rows[r]
    middle, width = random.standard_normal(n), abs(random.standard_normal(n))
    missing = random.random(n)
    return Problem(
        rows, np.where(missing < 0.2, -np.inf, middle - width),
        np.where(missing > 0.8, np.inf, middle + width), np.eye(m), own=np.concatenate([
            np.zeros(hard), 10.0 ** random.uniform(-6.0, -1.0, soft)]))

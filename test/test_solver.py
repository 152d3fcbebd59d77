# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The solver of prioritised problems against dense ones, on random and degenerate problems."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from prioritised import (
    NotSolvedError,
    Problem,
    contradictory_problem,
    random_problem,
    solve_problem_levels,
)

from opspace_control.control.limits.kinds import KIND_TABLE
from opspace_control.control.solver.cholesky import (
    append_row,
    bound_eigenvalues,
    delete_row,
    factorise,
    solve_lower,
)
from opspace_control.control.solver.levels import LEVEL_SCRATCH
from opspace_control.control.solver.program import (
    AT_LOWER,
    AT_UPPER,
    ATTAINABLE,
    DEPENDENT,
    EQUALITY,
    INACTIVE,
    REDUNDANT,
    REFUSED,
    Levels,
)
from opspace_control.control.solver.semidefinite import (
    Factor,
    decompose_semidefinite,
    solve_semidefinite,
)
from opspace_control.control.solver.truncation import truncate_level


@njit
def _append(factor, count, column, diagonal):
    solve_lower(factor, count, column)
    append_row(factor, count, column, diagonal - column[:count] @ column[:count])


@njit
def _delete(factor, count, row):
    delete_row(factor, count, row)


@njit
def _truncate(*arguments):
    return truncate_level(*arguments)


@njit
def _pseudo_solve(matrix, x):
    n = x.size
    factor = Factor(np.zeros((n, n)), np.zeros((n, n)), np.zeros(n, np.int64),
                    np.zeros(2, np.int64), np.ones(n))
    decompose_semidefinite(matrix, n, np.zeros(n), factor)
    solve_semidefinite(factor, x, np.zeros(n))


def assert_optimal(problem, f, y, tolerance=1e-9):
    """Assert the conditions of optimality: values within bounds, multipliers of active ones."""
    size = 1.0 + np.abs(problem.mobility) @ np.abs(f)
    assert y == pytest.approx((problem.mobility + np.diag(problem.lasting)) @ f,
                              abs=tolerance * size.max())
    assert np.all(y >= problem.lower - tolerance * size)
    assert np.all(y <= problem.upper + tolerance * size)
    free = problem.lower < problem.upper
    assert np.all((f <= tolerance) | ~free | (np.abs(y - problem.lower) <= tolerance * size))
    assert np.all((f >= -tolerance) | ~free | (np.abs(y - problem.upper) <= tolerance * size))


def test_factor_gains_and_loses_rows():
    random = np.random.default_rng(0)
    half = random.standard_normal((9, 9))
    matrix = half @ half.T
    factor, order = np.full((9, 9), np.nan), []
    for _ in range(300):
        left = [r for r in range(9) if r not in order]
        if left and (not order or random.random() < 0.55):
            r = random.choice(left)
            _append(factor, len(order), np.concatenate([matrix[r, order], np.zeros(9)]),
                    matrix[r, r])
            order.append(r)
        else:
            k = random.integers(len(order))
            _delete(factor, len(order), k)
            order.pop(k)
        lower = np.tril(factor[:len(order), :len(order)])
        np.fill_diagonal(lower, 1.0 / lower.diagonal())
        assert lower @ lower.T == pytest.approx(matrix[np.ix_(order, order)], abs=1e-10)


@pytest.mark.parametrize('soft', [False, True])
def test_agrees_with_quadprog(soft):
    random = np.random.default_rng(1)
    solved = 0
    for _ in range(1000):
        problem = random_problem(random, soft=soft)
        f, y, _ = problem.solve()
        assert_optimal(problem, f, y)
        try:
            x = problem.by_quadprog()
        except ValueError:  # it takes redundant equality rows for contradictions
            continue
        assert problem.motion(f) == pytest.approx(x, abs=1e-6)
        solved += 1
    assert solved > 600


@pytest.mark.parametrize('soft', [False, True])
def test_warm_start_comes_to_the_same(soft):
    random = np.random.default_rng(2)
    for _ in range(500):
        problem = random_problem(random, soft=soft)
        f, y, _ = problem.solve()
        g, z, _ = problem.solve(random.integers(-1, 2, len(f)))
        assert_optimal(problem, g, z)
        assert z == pytest.approx(y, abs=1e-7 * (1.0 + np.abs(y).max()))
        active = np.zeros(len(f), dtype=int)
        problem.solve(active)
        assert problem.solve(active)[2] == 0


def test_states_of_rows():
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    infinite = np.inf
    problem = Problem(rows, np.array([1.0, 2.0, 1.0, -infinite, 3.0]),
                      np.array([1.0, 2.0, infinite, 5.0, infinite]), np.eye(2))
    active = np.zeros(5, dtype=int)
    f, y, _ = problem.solve(active)
    assert active.tolist() == [EQUALITY, REDUNDANT, AT_LOWER, INACTIVE, REFUSED]
    assert y == pytest.approx([1.0, 2.0, 1.0, 1.0, 1.0])
    assert problem.motion(f) == pytest.approx([1.0, 1.0])
    problem.upper[3], problem.lower[2] = 0.5, -infinite
    problem.upper[2] = 0.75
    problem.lower[3] = problem.upper[3] - 3.0
    problem.lower[2] = -3.0
    problem.solve(active)
    assert active.tolist() == [EQUALITY, REDUNDANT, INACTIVE, INACTIVE, REFUSED]
    problem.upper[3] = -0.5
    f, y, _ = problem.solve(active)
    assert active[3] == AT_UPPER
    assert y[3] == pytest.approx(-0.5)


@pytest.mark.parametrize('coarser', [1.0, 30.0])
def test_soft_rows_that_contradict_each_other_share_the_residual(coarser):
    """However hard they are, also where more hard rows count as combinations of others."""
    problem = Problem(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1.0, -np.inf]),
                      np.array([np.inf, -1.0]), np.eye(2), lasting=np.full(2, 1e-10))
    active = np.zeros(2, dtype=int)
    f, _, _ = problem.solve(active, coarser * DEPENDENT)
    assert active.tolist() == [AT_LOWER, AT_UPPER]
    assert problem.motion(f) == pytest.approx(np.zeros(2), abs=1e-4)
    for kind in KIND_TABLE.values():
        assert all(each == 0.0 or each > DEPENDENT
                   for each in (kind.softness, kind.softness_beside_forces))


def test_rows_of_infinite_softness_have_no_multiplier():
    """An equality and a bound are as good as none, for one level and for several."""
    rows = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, -1.0], [0.0, 1.0]])
    problem = Problem(rows, np.array([1.0, 5.0, 4.0, 2.0]), np.array([1.0, 5.0, np.inf, 2.0]),
                      np.eye(2), (0, 1, 3, 4), lasting=np.array([0.0, np.inf, np.inf, 0.0]))
    for f, y, _ in (problem.solve(), problem.solve_levels()):
        assert f == pytest.approx([1.0, 0.0, 0.0, 2.0], abs=1e-5)
        assert y == pytest.approx([1.0, 3.0, -1.0, 2.0], abs=1e-5)


def test_a_diagonal_that_rounding_left_negative_hides_no_violation():
    """A direction turned to the eigenvector of a singular one may have −1e-18 there."""
    for levels in (), (0, 1, 2):
        problem = Problem(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([1.0, 1.0]),
                          np.array([1.0, np.inf]), np.eye(2), levels, lasting=np.array([0.1, 0.0]))
        problem.mobility[0, 0] = -1e-18
        _, y, _ = problem.solve_levels() if levels else problem.solve()
        assert y[1] == pytest.approx(1.0, abs=1e-5)


def test_bounds_that_cross_are_an_equality_of_their_level():
    """What the level misses of it, here by its own softness, the levels below leave missed."""
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    problem = Problem(rows, np.array([1.0 + 1e-12, 1.0]), np.ones(2), np.eye(2), (0, 1, 2),
                      own=np.array([0.25, 0.0]))
    _, y, _ = problem.solve_levels()
    assert y == pytest.approx([0.8, 1.0], abs=1e-5)


@pytest.mark.parametrize('steps', [1, 2, 5])
@pytest.mark.parametrize('forces', [0.0, 0.7])
def test_steps_miss_what_they_are_to(steps, forces):
    """Of directions with λ left a part ``(ε / (λ + ε))^K`` of what is missing before them."""
    left, own = np.array([1.0, 1e-2, 1e-4]), 1e-3
    wanted = np.array([1.0, -2.0, 0.5])
    problem = Problem(np.eye(3), wanted, wanted, np.diag(1.0 / left), own=own / left)
    _, y, _ = problem.solve_levels(steps=steps, forces=forces)
    missed = (own / (left + own)) ** steps * (wanted - left * forces)
    assert y == pytest.approx(wanted - missed, abs=1e-12)


@pytest.mark.parametrize('steps', [1, 2])  # a third one would change no residual
def test_residuals_tell_how_many_steps_make_the_forces(steps):
    """Of a bound, of a level that contradicts it, and of one below that is free."""
    rows, wanted = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([0.0, 2.0, 0.0])
    problem = Problem(rows, np.array([-np.inf, 2.0, 0.0]), wanted, np.diag([1.0, 4.0]),
                      levels=(0, 1, 2, 3), own=1e-3)
    problem.solve_levels(steps=steps)
    assert problem.residual_steps == pytest.approx([np.inf, steps, np.inf], rel=1e-9)


def test_steps_bring_what_can_be_had():
    """Goals that some motion reaches are reached, however little bounds leave of them."""
    random, reached = np.random.default_rng(6), 0
    for _ in range(200):
        problem = random_problem(random, levels=2)
        x = 0.1 * random.standard_normal(problem.rows.shape[1])
        first = problem.levels[1]
        value = problem.rows @ x
        problem.lower[:first], problem.upper[:first] = value[:first] - 0.05, value[:first] + 0.05
        problem.lower[first:] = problem.upper[first:] = value[first:]
        f, y, _ = problem.solve_levels(steps=20)
        assert y[first:] == pytest.approx(value[first:], abs=1e-7)
        assert np.all(np.abs(y[:first] - value[:first]) < 0.05 + 1e-7)
        reached += np.abs(f[:first]).max() > 1e-3  # bounds are active
    assert reached > 50


@pytest.mark.parametrize('seed', range(4))
def test_nothing_cycles_at_degenerate_vertices(seed):
    """
    Many bounds meet in one point, copied and combined.

    Of 1,000 problems one or two have rows that rounding alone makes replace each other.
    """
    random = np.random.default_rng(seed)
    for _ in range(1000):
        m = random.integers(2, 7)
        rows = random.integers(-1, 2, (6 * m, m)).astype(float)
        vertex = random.integers(-3, 4, m).astype(float)
        upper = rows @ vertex
        problem = Problem(rows, np.full(6 * m, -np.inf), upper - (upper > 0.0), np.eye(m))
        problem = Problem(rows, problem.lower, upper, np.eye(m))
        f, y, changes = problem.solve()
        assert changes <= 6 * m + 5
        assert_optimal(problem, f, y)


@pytest.mark.parametrize('own', [1e-6, 1e-3])
def test_levels_agree_with_a_cascade(own):
    random = np.random.default_rng(4)
    compared = left_out = 0
    for _ in range(150):
        problem = random_problem(random, levels=random.integers(1, 5))
        problem.own = own
        f, y, _ = problem.solve_levels()
        assert y == pytest.approx(problem.mobility @ f, abs=1e-12 * (
            1.0 + np.abs(problem.mobility) @ np.abs(f)).max())
        try:
            x = problem.by_proxqp()
        except NotSolvedError:
            continue
        if np.abs(f).max() > 1e11:  # nearly parallel rows contradict each other: rounding decides
            left_out += 1
            continue
        assert problem.motion(f) == pytest.approx(x, abs=7e-6 * (1.0 + np.abs(x).max()))
        compared += 1
    assert compared > 100
    assert left_out <= 1


def test_the_first_level_may_be_solved_before_the_others():
    random = np.random.default_rng(6)
    for _ in range(100):
        problem = random_problem(random, levels=random.integers(2, 5))
        *once, changes = problem.solve_levels(steps=4)
        *twice, changes_of_both = problem.solve_levels(steps=4, calls=2)
        np.testing.assert_array_equal(twice, once)
        assert changes_of_both == changes


def test_no_level_disturbs_one_above():
    random = np.random.default_rng(5)
    for _ in range(300):
        problem = random_problem(random, levels=3)
        _, y, _ = problem.solve_levels()
        upper = problem.levels[1]
        alone = Problem(problem.rows[:upper], problem.lower[:upper], problem.upper[:upper],
                        problem.metric)
        _, above, _ = alone.solve_levels()

        def missed(values):
            low, high = problem.lower[:upper], problem.upper[:upper]  # noqa: B023
            return np.maximum(low - values, 0.0) - np.maximum(values - high, 0.0)

        scale = np.sqrt(problem.mobility.diagonal()[:upper]) + 1e-9
        assert missed(y[:upper]) / scale == pytest.approx(missed(above) / scale, abs=5e-3)


class TestTruncation:
    """Nearly singular directions are soft rows."""

    THRESHOLD = 0.1

    def truncate(self, gram, first, bounds, free, scale=None):
        n, m = len(gram), len(gram) - first
        softness = np.zeros(n)
        turned = gram.copy()
        scale = 1.0 / np.sqrt(gram.diagonal()[first:]) if scale is None else scale
        least = _truncate(turned, (0, first), scale, self.THRESHOLD, softness, bounds,
                          free, np.full((n, n), np.nan), np.zeros(n, dtype=int),
                          np.full((2 * m + 1, m), np.nan))
        return turned, softness, least

    def test_regular_level_stays_as_it_is(self):
        gram = np.eye(5) + 0.1
        bounds, free = np.ones((2, 5)), np.zeros(5)
        turned, softness, least = self.truncate(gram, 2, bounds, free)
        assert np.array_equal(turned, gram)
        assert not softness.any()
        above = gram[2:, 2:] - gram[2:, :2] @ np.linalg.solve(gram[:2, :2], gram[:2, 2:])
        smallest = np.linalg.eigvalsh(above / 1.1)[0]
        assert smallest / len(above) <= least <= smallest

    @pytest.mark.parametrize('m', [1, 2, 3, 6])
    def test_multipliers_are_the_truncated_inverse(self, m):
        """f = S φ(M) M⁻¹ S (a* − …) of the scaled Schur complement M, by eigenvalues."""
        random = np.random.default_rng(m)
        half = random.standard_normal((4 + m, 9))
        half[-1] = 1e-3 * half[-1] + (half[-2] if m > 1 else half[0])
        gram = half @ half.T
        wanted, free = random.standard_normal((2, 4 + m))
        bounds = np.array([wanted, wanted])
        scale = 1.0 / np.sqrt(gram.diagonal()[4:])
        above = gram[4:, 4:] - gram[4:, :4] @ np.linalg.solve(gram[:4, :4], gram[:4, 4:])
        rest = (wanted - free)[4:] - gram[4:, :4] @ np.linalg.solve(
            gram[:4, :4], (wanted - free)[:4])
        values, vectors = np.linalg.eigh(scale[:, None] * above * scale)
        t = np.clip(values / self.THRESHOLD, 0.0, 1.0)
        gains = t * t * (3.0 - 2.0 * t) / values
        expected = scale * (vectors @ (gains * (vectors.T @ (scale * rest))))
        moved = half[4:].T @ expected

        turned, softness, least = self.truncate(gram, 4, bounds, free)
        assert least == pytest.approx(values[0], abs=1e-12)
        kept = bounds[0] == bounds[1]
        f = np.zeros(4 + m)
        f[kept] = np.linalg.solve((turned + np.diag(softness))[np.ix_(kept, kept)],
                                  (bounds[0] - free)[kept])
        # The rows themselves are turned; their Gram matrix tells what they do to each other.
        assert f @ turned @ f == pytest.approx(
            self.energy(gram, 4, wanted - free, expected), rel=1e-6)
        assert np.linalg.norm(moved) < 1e4

    @staticmethod
    def energy(gram, first, missing, expected):
        """Return fᵀ G f with the upper level exact beside these multipliers of the lower one."""
        above = np.linalg.solve(gram[:first, :first],
                                missing[:first] - gram[:first, first:] @ expected)
        f = np.concatenate([above, expected])
        return f @ gram @ f

    def test_conflicting_levels_stay_continuous(self):
        """Two levels ask for opposite things along nearly one direction: no jump at φ = 1."""
        motions = []
        for angle in np.linspace(0.0, 0.6, 601):
            rows = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
            gram = rows @ rows.T
            bounds, free = np.array([[1.0, -1.0], [1.0, -1.0]]), np.zeros(2)
            turned, softness, _ = self.truncate(gram, 1, bounds, free)
            kept = bounds[0] == bounds[1]
            f = np.zeros(2)
            f[kept] = np.linalg.solve((turned + np.diag(softness))[np.ix_(kept, kept)],
                                      bounds[0][kept])
            if turned[1, 1] != gram[1, 1] or turned[0, 1] != gram[0, 1]:  # turned round
                f[1] *= np.sign(turned[0, 1] * gram[0, 1]) or 1.0
            motions.append(rows.T @ f)
        steps = np.linalg.norm(np.diff(motions, axis=0), axis=1)
        assert steps.max() < 0.05 * np.ptp(motions, axis=0).max()
        assert motions[0] == pytest.approx([1.0, 0.0])


def test_a_bound_that_cannot_yield_beats_one_that_can():
    """x ≤ 0 hard, x ≥ 1 as soft as contact forces are: whatever is violated more at the start."""
    for free in 0.1, 0.5:
        n = 2
        f_y = np.zeros((2, n))
        _, ended, _ = solve_problem_levels(
            Levels(np.array([0, n]), np.array([8]), np.ones((n, n)),
                   np.array([[0.0, 0.0], [0.0, 1e-8]]), np.array([[-np.inf, 1.0], [0.0, np.inf]]),
                   np.full((2, n), free), DEPENDENT),
            0, np.zeros((1, n), int), np.full((n, n), np.nan), np.zeros(n, int),
            np.full((LEVEL_SCRATCH, n), np.nan), f_y, np.empty(1))
        assert ended
        assert f_y[1, 0] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize('reference', [-5.0, 0.0, 5.0])
@pytest.mark.parametrize('softness', [1e-3, 8.0])
def test_what_the_first_level_attains_depends_on_its_own_reference(softness, reference):
    """x ≥ 2 and x ≤ -1, both soft, above y = 3: x is what both attain from 0 in eight steps."""
    problem = Problem(
        np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -np.inf, 3.0]),
        np.array([np.inf, -1.0, 3.0]), np.eye(2), (0, 2, 3),
        own=np.array([softness, softness, 1e-3]), reference=np.array([reference, 0.0]))
    _, y, _ = problem.solve_levels(steps=8)
    x = f = g = 0.0  # of the proximal steps, f and g being the multipliers of both rows
    for _ in range(8):  # x = f + g, 2 - x = ε (f - f'), -1 - x = ε (g - g')
        x = (1.0 + softness * x) / (2.0 + softness)
        f, g = f + (2.0 - x) / softness, g + (-1.0 - x) / softness
        assert f > 0.0 > g
    assert y == pytest.approx([x, x, 3.0], abs=1e-6)


def test_hard_bounds_that_contradict_each_other_are_a_level_of_their_own():
    """They have the least residual by their mobilities, and soft ones what these leave them."""
    random, contradictory = np.random.default_rng(7), 0
    for _ in range(600):
        problem = contradictory_problem(random)
        active = np.zeros((1, len(problem.rows)), dtype=int)
        f, y, _ = problem.solve_levels(active, steps=8)
        hard = int((problem.own == 0.0).sum())
        apart = replace(problem, levels=(0, hard, len(y)) if hard < len(y) else (0, hard),
                        own=np.maximum(problem.own, ATTAINABLE))
        g, z, _ = apart.solve_levels(steps=8)
        left, best = (np.linalg.norm(problem.missed(values)[:hard]) for values in (y, z))
        if best < 1e-3:
            assert left < 1e-3
            continue
        assert left == pytest.approx(best, rel=1e-4)
        assert problem.motion(f) == pytest.approx(
            problem.motion(g), abs=1e-3 * (1.0 + np.linalg.norm(problem.motion(g))))
        assert (active[0] == REFUSED).sum() == 0
        contradictory += 1
    assert contradictory > 150


def test_an_active_set_that_refuses_rows_comes_to_an_end():
    """The steps towards a row that is refused at last change nothing; `solve` asserts the end."""
    random, refused = np.random.default_rng(8), 0
    for _ in range(1000):
        problem = contradictory_problem(random)
        problem.lasting = problem.own * problem.mobility.diagonal()
        active = random.integers(-1, 2, len(problem.rows))
        _, y, _ = problem.solve(active)
        refused += (active == REFUSED).any()
        kept = (active != REFUSED) & (problem.own == 0.0)
        assert problem.missed(y)[kept] == pytest.approx(0.0, abs=1e-4)
    assert refused > 200


def test_a_bound_against_a_residual_comes_free_continuously():
    """x ≤ 0 above c x + s u = 2 above x = -1: where the second has more and more to move by."""
    softness, motions = 1e-2, []
    for left in softness * np.linspace(0.2, 6.0, 400):
        s, c = np.sqrt(left), np.sqrt(1.0 - left)
        problem = Problem(
            np.array([[1.0, 0.0], [c, s], [1.0, 0.0]]), np.array([-np.inf, 2.0, -1.0]),
            np.array([0.0, 2.0, -1.0]), np.eye(2), (0, 1, 2, 3), own=softness)
        motions.append(problem.motion(problem.solve_levels(steps=8)[0])[0])
    assert motions[0] == pytest.approx(0.0, abs=1e-9)
    assert motions[-1] == pytest.approx(-1.0, abs=1e-3)
    assert abs(np.diff(motions)).max() < 0.2


@pytest.mark.parametrize('side', [-1.0, 1.0])
@pytest.mark.parametrize('apart', [1e-8, 1e-7, 1e-6, 5e-6, 1e-5])
def test_bounds_that_almost_contradict_each_other_leave_the_motion_below(apart, side):
    """Three contradict each other but for a direction that one of them has a small part of."""
    rows = np.array([[1.0, 0.0, 0.0, 0.0], [-0.8, 0.6, 0.0, 0.0], [-0.2, -0.6, apart, 0.0],
                     [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    goals = np.array([50.0 * side, 7.0])
    problem = Problem(rows, np.array([1.0, 1.0, 1.0, *goals]),
                      np.array([np.inf, np.inf, np.inf, *goals]), np.eye(4), (0, 3, 5))
    _, y, _ = problem.solve_levels(steps=8)
    alone = Problem(rows[:3], problem.lower[:3], problem.upper[:3], np.eye(4))
    _, above, _ = alone.solve_levels(steps=8)
    assert problem.levels_skipped == 0
    assert y[3:] == pytest.approx(goals, abs=1e-4)
    assert y[:3] == pytest.approx(above, abs=150.0 * apart + 1e-8)


def test_a_recorded_cycle_of_talos_keeps_its_tasks():
    """Limits of motion and a distance contradict each other, but for 1e-5 of a joint's motion."""
    table = np.loadtxt(Path(__file__).parent / 'talos_beside_a_distance.csv', delimiter=',')
    lower, upper, own, rows = table[:, 0], table[:, 1], table[:, 2], table[:, 3:]
    problem = Problem(rows, lower, upper, np.eye(rows.shape[1]), (0, 8, 20), own)
    f, y, _ = problem.solve_levels(steps=8)
    alone = Problem(rows[:8], lower[:8], upper[:8], np.eye(rows.shape[1]), own=own[:8])
    g, above, _ = alone.solve_levels(steps=8)
    size = np.linalg.norm(rows, axis=1)

    def missed(values):
        return np.maximum(lower[:8] - values, 0.0) + np.maximum(values - upper[:8], 0.0)

    assert problem.levels_skipped == 0
    assert np.all(missed(y[:8]) <= missed(above) + 1e-5 * size[:8] * np.linalg.norm(rows.T @ f))
    weights = 1.0 / (np.sqrt(own) * size)[8:]
    left = np.linalg.norm(weights * (y - lower)[8:])
    assert left < 0.5 * np.linalg.norm(weights * (rows @ (rows[:8].T @ g) - lower)[8:])


def test_levels_that_are_skipped_are_told():
    """Rows that contradict each other and combine those above, some of which rounding defeats."""
    levels_skipped = 0
    for seed in range(2000, 4000):
        random = np.random.default_rng(seed)
        problem = random_problem(random, levels=random.integers(2, 5))
        active = np.zeros((len(problem.levels) - 1, len(problem.rows)), int)
        f = problem.solve_levels(active, steps=8)[0]
        for level in range(1, len(active)):
            own = slice(problem.levels[level], problem.levels[level + 1])
            if problem.levels_skipped and not active[level, own].any():
                assert not f[own].any()
        levels_skipped += problem.levels_skipped
    assert 0 < levels_skipped < 20


@pytest.mark.parametrize('seed', [2709, 2736])  # of 3000 those that violate bounds without it
def test_a_level_that_is_skipped_leaves_the_bounds_of_the_first(seed):
    """Which has a reference of its own, and is the only one above."""
    random = np.random.default_rng(seed)
    problem = random_problem(random, levels=random.integers(2, 5))
    last = problem.levels[1]
    problem = replace(problem, reference=10.0 * np.random.default_rng(seed + 1).standard_normal(
        len(problem.metric)))
    _, y, _ = problem.solve_levels(steps=8)
    assert np.isinf(problem.residual_steps[1])
    alone = Problem(problem.rows[:last], problem.lower[:last], problem.upper[:last],
                    problem.metric)
    _, above, _ = alone.solve_levels(steps=8)
    assert (problem.missed(y)[:last] < alone.missed(above) + 1e-3).all()


def test_a_level_that_is_met_at_once_leaves_its_bounds_free():
    """Both levels can be met with x = (-3, 7), wherever the multipliers begin."""
    problem = Problem(
        np.array([[1.0, 0.0], [1.0, 1.0], [1.0, -1.0]]), np.array([-np.inf, 4.0, -10.0]),
        np.array([1.0, 4.0, -10.0]), np.eye(2), (0, 1, 2, 3), np.array([1e-6, 5e-4, 5e-4]))
    for start in 0.0, np.array([0.0, 3.0, 0.0]):
        f, _, _ = problem.solve_levels(steps=8, forces=start)
        assert problem.motion(f) == pytest.approx([-3.0, 7.0], abs=1e-4)


def test_nan_in_a_semidefinite_matrix_stays_visible():
    for bad in 0, 1:
        matrix, x = np.eye(2), np.ones(2)
        matrix[bad, bad] = np.nan
        _pseudo_solve(matrix, x)
        assert not np.isfinite(x).all()


@njit
def _bound(matrix, enough):
    n = len(matrix)
    return bound_eigenvalues(matrix, n, enough, np.empty(n)) if factorise(matrix, n) else np.nan


def test_eigenvalues_are_bounded_by_the_factor():
    """By the trace within the number of rows, by the norm within its root."""
    random = np.random.default_rng(5)
    for n in (1, 2, 3, 6, 12):
        for _ in range(50):
            half = random.standard_normal((n, n + 2))
            matrix = half @ half.T
            least, inverse = np.linalg.eigvalsh(matrix)[0], np.linalg.inv(matrix)
            by_trace = _bound(matrix.copy(), 0.0)
            assert by_trace == pytest.approx(1.0 / np.trace(inverse), rel=1e-9)
            by_norm = _bound(matrix.copy(), n * by_trace)
            assert by_norm == pytest.approx(1.0 / np.linalg.norm(inverse), rel=1e-9)
            # An eigenvalue that is certainly too small is not bounded twice.
            assert least < 1.01 * n * by_trace
            assert _bound(matrix.copy(), 1.01 * n * by_trace) == by_trace
            assert by_trace <= by_norm * (1.0 + 1e-12)
            assert by_norm <= least * (1.0 + 1e-9) <= np.sqrt(n) * by_norm * (1.0 + 1e-8)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The solver on cycles of real robots whose hands are sent far beyond what joints and drives can do.

Level 0 is the limits of efforts, level 1 those of motion, then those of the hands, their
nearly singular directions truncated. Matrices are Pinocchio's, solutions are held against ProxQP's.
"""

from dataclasses import replace

import numpy as np
import pinocchio
import pytest
from numba import njit
from prioritised import NotSolvedError, Problem
from robots import TALOS, robot_file

from opspace_control.control.solver.program import ATTAINABLE
from opspace_control.control.solver.truncation import truncate_level

# Hands of each, and how many of them are on each level.
ROBOTS = {
    'panda.urdf': (['panda_hand_tcp'], [1]),
    'ur5_robot.urdf': (['tool0'], [1]),
    'xarm7.urdf': (['link_eef'], [1]),
    'z1.urdf': (['link06'], [1]),
    'tiago_pro.urdf': (['arm_left_tool_link', 'arm_right_tool_link'], [1, 1]),
    'g1_29dof_with_hand_rev_1_0.urdf': (['left_hand_palm_link', 'right_hand_palm_link'], [2]),
    TALOS: (['gripper_left_base_link', 'gripper_right_base_link'], [2]),
}
STEP, CYCLES = 1e-3, 400  # s
THRESHOLD = 2.5e-2 / 6
SOFTNESS = 1e-4
FREQUENCY, ACCELERATION = 20.0, 60.0  # rad/s, rad/s²


@njit
def _truncate(*arguments):
    return truncate_level(*arguments)


class WildGoals:
    """A robot whose hands are sent elsewhere every 0.1 s, integrated with the solver's motion."""

    def __init__(self, name, seed):
        whole = pinocchio.buildModelFromUrdf(str(robot_file(name)))
        hands, self.levels = ROBOTS[name]
        moving = {k for hand in hands
                  for k in whole.supports[whole.frames[whole.getFrameId(hand)].parentJoint]}
        # Without fingers and legs, and without continuous joints, which have two coordinates.
        fixed = [k for k in range(1, whole.njoints)
                 if k not in moving or whole.joints[k].nq != 1]
        self.model = pinocchio.buildReducedModel(whole, fixed, pinocchio.neutral(whole))
        self.data = self.model.createData()
        self.hands = [self.model.getFrameId(hand) for hand in hands]
        self.random = np.random.default_rng(seed)
        low, high = self.model.lowerPositionLimit, self.model.upperPositionLimit
        self.q = self.random.uniform(0.6 * low + 0.4 * high, 0.4 * low + 0.6 * high)
        self.v = np.zeros(self.model.nv)
        self.home = self.q.copy()
        self.effort = np.where(self.model.effortLimit > 0.0, self.model.effortLimit, np.inf)
        self.speed = np.where(self.model.velocityLimit > 0.0, self.model.velocityLimit, np.inf)

    def choose_goals(self):
        """Send the hands to where some configuration within the limits has them."""
        q = self.random.uniform(self.model.lowerPositionLimit, self.model.upperPositionLimit)
        pinocchio.framesForwardKinematics(self.model, self.data, q)
        self.goals = [self.data.oMf[hand].copy() for hand in self.hands]

    def bounds_of_motion(self):
        """Return the accelerations within which joints can still stop before their limits."""
        brake = ACCELERATION
        room = np.array([self.model.upperPositionLimit - self.q,
                         self.q - self.model.lowerPositionLimit])
        speed = np.minimum(np.sqrt(np.maximum(room, 0.0) * 2.0 * brake), self.speed)
        least = -(speed[1] + self.v) / (10.0 * STEP)
        greatest = (speed[0] - self.v) / (10.0 * STEP)
        return np.clip(least, -brake, 0.9 * brake), np.clip(greatest, -0.9 * brake, brake)

    def problem(self):
        """Return this cycle's problem, of ``x = q̈ − q̈_ref``, and q̈_ref."""
        model, data, q, v = self.model, self.data, self.q, self.v
        pinocchio.computeJointJacobians(model, data, q)
        pinocchio.forwardKinematics(model, data, q, v, np.zeros_like(v))
        pinocchio.updateFramePlacements(model, data)
        metric = pinocchio.crba(model, data, q)
        metric = np.triu(metric) + np.triu(metric, 1).T + np.diag(model.armature)
        bias = pinocchio.nonLinearEffects(model, data, q, v)
        reference = 25.0 * (self.home - q) - 10.0 * v
        rows, lower, upper = [metric, np.eye(model.nv)], [-self.effort - bias], [self.effort - bias]
        least, greatest = self.bounds_of_motion()
        lower.append(least)
        upper.append(greatest)
        frame = pinocchio.ReferenceFrame.LOCAL
        for hand, goal in zip(self.hands, self.goals, strict=True):
            error = pinocchio.log6(data.oMf[hand].actInv(goal)).vector
            speed = pinocchio.getFrameVelocity(model, data, hand, frame).vector
            drift = pinocchio.getFrameAcceleration(model, data, hand, frame).vector
            wanted = FREQUENCY ** 2 * error - 2.0 * FREQUENCY * speed - drift
            rows.append(pinocchio.getFrameJacobian(model, data, hand, frame))
            lower.append(wanted)
            upper.append(wanted)
        rows = np.vstack(rows)
        moved = rows @ reference
        sizes = [model.nv, model.nv, *(6 * count for count in self.levels)]
        problem = Problem(rows, np.concatenate(lower) - moved, np.concatenate(upper) - moved,
                          metric, tuple(np.cumsum([0, *sizes]).tolist()),
                          own=np.repeat([ATTAINABLE, SOFTNESS],
                                        [2 * model.nv, 6 * len(self.hands)]))
        return self.truncated(problem), reference

    def truncated(self, problem):
        """Return the same problem with the hands' nearly singular directions soft."""
        n, nv = len(problem.rows), self.model.nv
        gram, bounds = problem.mobility.copy(), np.array([problem.lower, problem.upper])
        softness = np.zeros(n)
        for first, last in zip(problem.levels[2:], problem.levels[3:], strict=False):
            size = problem.mobility.diagonal()[first:last].reshape(-1, 3).mean(axis=1)
            m = last - first
            _truncate(gram, (problem.levels[2], first), np.repeat(1.0 / np.sqrt(size), 3),
                      THRESHOLD, softness, bounds, np.zeros(n), np.full((n, n), np.nan),
                      np.zeros(n, dtype=int), np.full((2 * m + 1, m), np.nan))
        rows = problem.rows.copy()  # turned, by what the joints' own rows tell of them
        rows[2 * nv:] = gram[2 * nv:, nv:2 * nv] @ problem.metric
        return replace(problem, rows=rows, lower=bounds[0], upper=bounds[1], lasting=softness)

    def cycles(self):
        """Yield each cycle's problem, and the active bounds that the last one ended with."""
        active = None
        for cycle in range(CYCLES):
            if cycle % 100 == 0:
                self.choose_goals()
            problem, reference = self.problem()
            if active is None:
                active = np.zeros((len(problem.levels) - 1, len(problem.rows)), dtype=int)
            before = active.copy()
            f, _, changes = problem.solve_levels(active)
            yield problem, before, f, changes
            self.v = self.v + STEP * (reference + problem.motion(f))
            self.q = self.q + STEP * self.v


@pytest.mark.parametrize('name', ROBOTS)
def test_agrees_with_proxqp_and_starts_warm(name):
    cold, warm, compared = [], [], 0
    for cycle, (problem, _, f, changes) in enumerate(WildGoals(name, 0).cycles()):
        warm.append(changes)
        if cycle % 20:
            continue
        cold.append(problem.solve_levels()[2])
        motion = problem.motion(f)
        efforts = (problem.rows @ motion)[:problem.levels[1]]
        size = 1.0 + np.abs(efforts).max()
        assert np.all(efforts <= problem.upper[:problem.levels[1]] + 1e-4 * size)
        assert np.all(efforts >= problem.lower[:problem.levels[1]] - 1e-4 * size)
        try:
            expected = problem.by_proxqp()
        except NotSolvedError:
            continue
        assert motion == pytest.approx(expected, abs=1e-5 * (1.0 + np.abs(expected).max()))
        compared += 1
    assert compared >= 10
    assert np.mean(warm) < 0.3 * np.mean(cold)
    assert np.mean(cold) > 1.0  # limits do act

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Under-actuated robots as [JR94] defines them, (4.2)-(4.5) and (6.x), dense over an `Oracle`.

Everything is solved in natural units of the joints, so that only their coupling magnifies rounding.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pinocchio
from oracles import Oracle, pinocchio_oracle
from robots import REAL_ROBOTS, robot_file
from samples import random_state

from opspace_control import RobotModel, RobotState

# Relative; what is as old as Pinocchio 2 rounds ten times as much.
TOLERANCE = 1e-10 if int(pinocchio.__version__.split('.')[0]) > 2 else 1e-9


@dataclass(frozen=True, eq=False)
class DenseHybrid:
    """A robot of active, passive and locked joints at one state."""

    oracle: Oracle
    active: np.ndarray   # (nv,) bool
    passive: np.ndarray  # (nv,) bool

    @cached_property
    def units(self):
        """Natural units of the active and of the passive joints' motion."""
        return self.oracle.joint_units[self.active], self.oracle.joint_units[self.passive]

    @cached_property
    def rounding(self):
        """How far rounding in A, in natural units, may move what needs A_pp⁻¹ or A⁻¹."""
        return 1e-4 * TOLERANCE * max(
            np.linalg.cond(self._passive_inertia) if self.passive.any() else 0.0,
            np.linalg.cond(self.oracle._coupling) if self.oracle.free.any() else 0.0)

    @cached_property
    def active_inertia(self):
        """S_aa = A_aa − A_ap A_pp⁻¹ A_pa, (4.5)."""
        A_ap = self._block(self.active, self.passive)
        return self._block(self.active, self.active) - A_ap @ self._solve_passive(A_ap.T)

    @cached_property
    def coupling(self):
        """S_ap = A_ap A_pp⁻¹, (4.5)."""
        return self._solve_passive(self._block(self.passive, self.active)).T

    @cached_property
    def passive_mobility(self):
        """S_pp = A_pp⁻¹, (4.5)."""
        return self._solve_passive(np.eye(self.passive.sum()))

    @cached_property
    def generalized_jacobian(self):
        """J_G = J_a − J_p A_pp⁻¹ A_pa, (6.8)."""
        J = self.oracle.jacobian
        return J[:, self.active] - J[:, self.passive] @ self.coupling.T

    @cached_property
    def inverse_inertia(self):
        """Λ_U⁻¹ = J_G S_aa⁻¹ J_Gᵀ."""
        return self.generalized_jacobian @ self._solve_active(self.generalized_jacobian.T)

    @cached_property
    def responses(self):
        """What all joints do under J_Gᵀ f, (nv, 6m)."""
        tau = np.zeros((self.active.size, self.generalized_jacobian.shape[0]))
        tau[self.active] = self.generalized_jacobian.T
        return self.oracle._solve(tau)

    def motion(self, acceleration, torque, wrenches):
        """Return q̈ and τ, (nv,) each, by (4.2); wrenches (6m,) act on the oracle's frames."""
        bias = self.oracle.b + self.oracle.g - self.oracle.jacobian.T @ wrenches
        a = np.where(self.active, acceleration, 0.0)
        a[self.passive] = self._solve_passive(
            (torque - bias - self.oracle.A @ a)[self.passive, None])[:, 0]
        return a, self.oracle.A @ a + bias

    @cached_property
    def _passive_inertia(self):
        unit = self.units[1]
        return unit[:, None] * self._block(self.passive, self.passive) * unit

    def _block(self, rows, columns):
        return self.oracle.A[np.ix_(rows, columns)]

    def _solve_passive(self, right):
        unit = self.units[1][:, None]
        return unit * np.linalg.solve(self._passive_inertia, unit * right)

    def _solve_active(self, right):
        unit = self.units[0][:, None]
        return unit * np.linalg.solve(unit * self.active_inertia * unit.T, unit * right)


def masked(urdf, floating_base, seed, shares=(0.5, 0.35, 0.15)):
    """Return a robot whose dofs are active, passive or locked at random, in these shares."""
    names = _dof_names(urdf, floating_base)
    kind = np.random.default_rng(seed).choice(3, len(names), p=shares)
    return RobotModel.from_urdf(
        urdf, floating_base=floating_base,
        passive_joints=[name for name, k in zip(names, kind, strict=True) if k == 1],
        locked_joints=[name for name, k in zip(names, kind, strict=True) if k == 2])


@lru_cache(maxsize=4)
def _dof_names(urdf, floating_base):
    return RobotModel.from_urdf(urdf, floating_base=floating_base).dof_names


def real_robot(name, floating_base, seed, shares=(0.5, 0.35, 0.15)):
    """Return a real robot of random status, a state whose locked joints rest, its `DenseHybrid`."""
    urdf = robot_file(name).read_text()
    model = masked(urdf, floating_base, seed, shares)
    return model, *at_random_state(model, urdf, REAL_ROBOTS[name], seed)


def at_random_state(model, urdf, frames, seed):
    """Return a state whose locked joints rest, and the `DenseHybrid` there."""
    state = random_state(model, seed)
    state = RobotState(model, state.q, np.where(model.locked, 0.0, state.v))
    oracle = pinocchio_oracle(model, urdf, state, frames)
    return state, DenseHybrid(oracle, model.active, model.passive)



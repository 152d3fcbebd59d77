# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Closed chains in dense algebra over Pinocchio: what the recursions are held against.

Four ways to the same motion, from the most to the least literal: the optimum of Gauss' principle as
one least-squares problem; the law of constraints and passive joints in n×n matrices; [RKR95]'s
minimal coordinates; and the object augmented by the effectors' coupled inertia.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from oracles import pinocchio_oracle


@dataclass(frozen=True, eq=False)
class DenseChain:
    """A robot at one state, task rows t and constraint rows c; world or closure axes."""

    A: np.ndarray
    b: np.ndarray
    g: np.ndarray
    J: np.ndarray           # (t, nv)
    bias: np.ndarray        # (t,)
    J_c: np.ndarray         # (c, nv), held rows alone
    bias_c: np.ndarray      # (c,)
    free: np.ndarray        # (nv,) bool, not locked
    passive: np.ndarray     # (nv,) bool
    torque_p: np.ndarray    # (nv,) what the passive joints have of their own, zero elsewhere

    @property
    def active(self):
        return self.free & ~self.passive

    def inverse(self, which):
        """Return the inverse of A over some joints, zero elsewhere, (nv, nv)."""
        inverse = np.zeros_like(self.A)
        pick = np.ix_(which, which)
        inverse[pick] = np.linalg.inv(self.A[pick])
        return inverse

    @cached_property
    def projected(self):
        """Φ of all free joints: accelerations by joint forces while the constraints hold."""
        return self._projected(self.free)

    @cached_property
    def projected_passive(self):
        """The same with the active joints held: how the passive ones give way."""
        return self._projected(self.passive & self.free)

    def _projected(self, which):
        inverse = self.inverse(which)
        X = inverse @ self.J_c.T
        return inverse - X @ pinv(self.J_c @ X, self.constraint_mobility) @ X.T

    @cached_property
    def constraint_mobility(self):
        """J_c A⁻¹ J_cᵀ over all free joints."""
        return self.J_c @ self.inverse(self.free) @ self.J_c.T

    def accelerations(self, tau, a_c=0.0):
        """Return (v̇, λ) of joint forces, those of passive joints included; λ the smallest."""
        inverse = self.inverse(self.free)
        free = inverse @ (tau - self.b - self.g)
        force = pinv(self.constraint_mobility) @ (a_c - self.bias_c - self.J_c @ free)
        return free + inverse @ self.J_c.T @ force, force

    def gauss(self, demand, v_dot_null, a_c=0.0):
        """
        Return (v̇, residual): the motion nearest to v̇_null, in the metric A, that does it all.

        Over v̇, τ_a and λ at once: motion and forces obey the equation of motion, the constraints
        accelerate with a_c, the tasks with ``demand``, the passive joints have their own torque.
        """
        nv, active = len(self.A), np.flatnonzero(self.active)
        free = np.flatnonzero(self.free)
        E = np.eye(nv)
        row_units = 1.0 / np.sqrt(self.A.diagonal()[free, None])
        left = np.block([
            [row_units * self.A[np.ix_(free, free)],
             -row_units * E[np.ix_(free, active)], -row_units * self.J_c.T[free]],
            [self.J_c[:, free], np.zeros((len(self.J_c), len(active) + len(self.J_c)))],
            [self.J[:, free], np.zeros((len(self.J), len(active) + len(self.J_c)))]])
        right = np.concatenate([row_units[:, 0] * (self.torque_p - self.b - self.g)[free],
                                a_c - self.bias_c, demand - self.bias])
        U, s, Vt = np.linalg.svd(left)
        rank = int((s > 1e-11 * s[0]).sum())
        z = Vt[:rank].T @ ((U[:, :rank].T @ right) / s[:rank])
        root = np.linalg.cholesky(self.A[np.ix_(free, free)]).T
        Z = Vt[rank:, :len(free)].T
        # What is left may be internal forces alone, which move nothing but by rounding.
        U, s, Vt = np.linalg.svd(root @ Z, full_matrices=False)
        moving = s > 1e-8 * np.linalg.norm(root, 2)
        wish = U[:, moving].T @ root @ (np.asarray(v_dot_null)[free] - z[:len(free)])
        v_dot = np.zeros(nv)
        v_dot[free] = z[:len(free)] + Z @ (Vt[moving].T @ (wish / s[moving]))
        return v_dot, abs(left @ z - right).max()

    def hybrid(self, v_dot):
        """Return (τ, v̇) where the active joints accelerate as told, the passive ones as must be."""
        p = np.flatnonzero(self.passive & self.free)
        v_dot = np.where(self.active, v_dot, 0.0)
        if len(p):
            v_dot[p] = np.linalg.solve(self.A[np.ix_(p, p)],
                                       self.torque_p[p] - (self.A @ v_dot + self.b + self.g)[p])
        tau = self.A @ v_dot + self.b + self.g
        return np.where(self.active, tau, self.torque_p), v_dot

    def law(self, demand, v_dot_null, a_c=0.0):
        """
        Return τ (nv,) of the law for constraints and passive joints, term by term.

        ``λ0 = Q_cc⁺ (J_c v̇_null + J̇_c v − a_c,hyb)``,
        ``Λ⁻¹ = L_t|c − Q_t|c``,
        ``a_0 = a_t,hyb − (L − Q)_tc λ0 − L_tc L_cc⁺ (a_c,hyb − (L − Q)_cc λ0 − a_c*)``,
        ``τ = hybrid(v̇_null) − J_Gcᵀ λ0 + J_Gtᵀ f − J_Gcᵀ Q_cc⁺ Q_ct f``, ``f = Λ (a* − a_0)``.
        """
        over_free, over_passive = self.inverse(self.free), self.inverse(self.passive & self.free)

        def blocks(inverse):
            t, c = self.J, self.J_c
            return t @ inverse @ t.T, t @ inverse @ c.T, c @ inverse @ c.T

        L_tt, L_tc, L_cc = blocks(over_free)
        Q_tt, Q_tc, Q_cc = blocks(over_passive)
        tau, v_dot = self.hybrid(v_dot_null)
        a_t, a_c_hyb = self.J @ v_dot + self.bias, self.J_c @ v_dot + self.bias_c
        force = pinv(Q_cc, L_cc) @ (self.J_c @ v_dot_null + self.bias_c - a_c_hyb)
        Lambda_inverse = ((L_tt - L_tc @ pinv(L_cc) @ L_tc.T)
                          - (Q_tt - Q_tc @ pinv(Q_cc, L_cc) @ Q_tc.T))
        a_0 = (a_t - (L_tc - Q_tc) @ force
               - L_tc @ pinv(L_cc) @ (a_c_hyb - (L_cc - Q_cc) @ force - a_c))
        f = np.linalg.solve(Lambda_inverse, demand - a_0)
        on_constraints = -force - pinv(Q_cc, L_cc) @ Q_tc.T @ f
        propagate_passive_force = np.eye(len(tau)) - self.A @ over_passive  # J_Gᵀ = this Jᵀ
        wrenches = propagate_passive_force @ (self.J.T @ f + self.J_c.T @ on_constraints)
        return tau + np.where(self.active, wrenches, 0.0)

    def internal_torques(self):
        """Return an orthonormal basis (nv, k) of the active torques that move nothing."""
        active = np.flatnonzero(self.active)
        s, Vt = np.linalg.svd(self.projected[:, active])[1:]
        rank = int((s > 1e-10 * s[0]).sum())
        basis = np.zeros((len(self.A), len(active) - rank))
        basis[active] = Vt[rank:].T
        return basis

    def reduced(self, dependent):
        """
        Return [RKR95] (13)-(22) with the ``dependent`` joints expressed by the others, (25).

        Every joint is active. Returns a dict of Lambda, mu, p, J_bar and C.
        """
        independent = np.flatnonzero(self.free & ~np.isin(np.arange(len(self.A)), dependent))
        C = np.zeros((len(self.A), len(independent)))
        C[independent, np.arange(len(independent))] = 1.0
        by_others = np.linalg.pinv(self.J_c[:, dependent])
        C[dependent] = -by_others @ self.J_c[:, independent]
        C_dot_v = np.zeros(len(self.A))
        C_dot_v[dependent] = -by_others @ self.bias_c       # Ċ q̇_c, from J_c q̈ = −J̇_c q̇
        A_c = C.T @ self.A @ C                              # (14)
        b_c = C.T @ self.b + C.T @ self.A @ C_dot_v         # (15)
        g_c = C.T @ self.g                                  # (16)
        J = self.J @ C                                      # (18)
        J_dot_v = self.bias + self.J @ C_dot_v
        Lambda = np.linalg.inv(J @ np.linalg.solve(A_c, J.T))       # (19)
        J_bar = np.linalg.solve(A_c, J.T) @ Lambda                  # (22)
        return {'C': C, 'Lambda': Lambda, 'J_bar': J_bar,
                'mu': J_bar.T @ b_c - Lambda @ J_dot_v,             # (20), with the dot on J_c
                'p': J_bar.T @ g_c}                                 # (21)


def pinv(L, reference=None):
    """
    Return the pseudo-inverse of a symmetric positive semi-definite matrix of mixed units.

    Rows are measured by those of ``reference``: joints that carry both links of a loop move it not
    at all, and what is left of them then is nothing but rounding.
    """
    unit = np.sqrt((L if reference is None else reference).diagonal().clip(0.0))
    moving = unit > 1e-9 * unit.max(initial=1e-30)
    unit = np.where(moving, 1.0 / np.where(moving, unit, 1.0), 0.0)
    eigenvalues, vectors = np.linalg.eigh(unit[:, None] * L * unit)
    kept = eigenvalues > 1e-11
    half = unit[:, None] * vectors[:, kept] / np.sqrt(eigenvalues[kept])
    return half @ half.T


def dense_chain(model, urdf, state, frames, closures, passive_torque=0.0):
    """Return the `DenseChain` of Pinocchio; arguments as of `closed_chain`."""
    linked = [closure for closure in closures if closure.other is not None]
    every = [*frames, *(closure.frame for closure in closures),
             *(closure.other for closure in linked)]
    oracle = pinocchio_oracle(model, urdf, state, every)
    jacobians = oracle.jacobian.reshape(-1, 6, model.nv)
    biases = oracle.bias_acceleration.reshape(-1, 6)
    m, k = len(frames), len(closures)
    second = iter(range(m + k, len(every)))
    J_c, bias_c = [np.zeros((0, model.nv))], [np.zeros(0)]
    for e, closure in enumerate(closures, m):
        pose = oracle.poses[e]
        place = pose[:3, 3] + pose[:3, :3] @ closure.position
        J, a = _at(jacobians[e], biases[e], place - pose[:3, 3], state.v)
        if closure.other is not None:
            o = next(second)
            J_2, a_2 = _at(jacobians[o], biases[o], place - oracle.poses[o][:3, 3], state.v)
            J, a = J - J_2, a - a_2
        turn = np.kron(np.eye(2), (pose[:3, :3] @ closure.rotation).T)[closure.constrained]
        J_c.append(turn @ J)
        bias_c.append(turn @ a)
    t = 6 * m
    return DenseChain(
        oracle.A, oracle.b, oracle.g, oracle.jacobian[:t], oracle.bias_acceleration[:t],
        np.vstack(J_c), np.concatenate(bias_c), ~model.locked, model.passive,
        np.where(model.passive, passive_torque, 0.0))


def _at(J, a, r, v):
    """Return the Jacobian and bias of the point at r from a frame's origin."""
    hat = np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
    w = J[3:] @ v
    moved = J.copy()
    moved[:3] -= hat @ J[3:]
    a = a.copy()
    a[:3] += np.cross(a[3:], r) + np.cross(w, np.cross(w, r))
    return moved, a


def consistent(model, urdf, state, closures):
    """Return v nearest to the state's that respects the closures."""
    J_c = dense_chain(model, urdf, state, (), closures).J_c
    J_c = J_c[:, ~model.locked]
    v = state.v.copy()
    v[~model.locked] -= np.linalg.lstsq(J_c, J_c @ v[~model.locked], rcond=1e-9)[0]
    return v

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Operational space and forward dynamics of trees that are closed by grasps and contacts.

A closed chain is the tree and the constraint ``J_c v̇ + J̇_c v = 0``. One inward recursion propagates
the unit wrenches of the closures and of the tasks, in O(nm + m³), without A or A⁻¹. [RKR95]
(13)-(22) does the same in minimal coordinates q_c; elimination needs no choice of coordinates.
"""

from dataclasses import dataclass, field

import numpy as np

from opspace_control.dynamics import kinematics
from opspace_control.dynamics.data import make_points, nan_filled
from opspace_control.dynamics.generalized_jacobian import unit_inputs
from opspace_control.dynamics.operational_space import OperationalSpace, invert_inverse_inertia
from opspace_control.dynamics.operational_space_inertia import point_responses
from opspace_control.dynamics.preparation import point_names, prepared
from opspace_control.errors import ModelError
from opspace_control.model.nodes import ACTIVE, LOCKED

RIGID = 'x y z rx ry rz'


@dataclass(frozen=True, eq=False)
class Closure:
    """
    A place where a link is constrained relative to another link, or to the ground.

    ``frame`` is the constrained link and ``other`` the link that it is constrained to, such as the
    other hand of a grasp; None is the ground. ``position`` (3,), m, and ``rotation`` (3, 3), axes
    by column, place it in the frame of the first link. ``axes`` are the constrained directions
    among ``x y z rx ry rz``, along and about these axes: all by default, ``x y z`` for a link
    that may rotate, others depending on friction and shape. Raises a ModelError for axes or numbers
    that cannot be used.
    """

    frame: str
    other: str | None = None
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    axes: str = RIGID

    def __post_init__(self):
        names = self.axes.split() if isinstance(self.axes, str) else ()
        if not names or len(set(names)) != len(names) or not set(names) <= set(RIGID.split()):
            raise ModelError(f"A closure of '{self.frame}' has unknown axes {self.axes!r}.",
                             cure=f'Name one or more of {RIGID}, each once.', value=self.axes)
        position, rotation = np.array(self.position, float), np.array(self.rotation, float)
        if (position.shape != (3,) or rotation.shape != (3, 3) or not np.isfinite(position).all()
                or not abs(rotation @ rotation.T - np.eye(3)).max() < 1e-6):
            raise ModelError(f"The place of the closure of '{self.frame}' is not usable.",
                             cure='Give a position (3,) and a rotation matrix (3, 3).',
                             value=(self.position, self.rotation))
        object.__setattr__(self, 'position', position)
        object.__setattr__(self, 'rotation', rotation)

    @property
    def constrained(self):
        """Which of the six rows are constrained, (6,) bool."""
        return np.isin(RIGID.split(), self.axes.split())


@dataclass(frozen=True, eq=False)
class ClosedChain(OperationalSpace):
    """
    Operational space of a closed chain, ``Λ a + μ + ρ = J̄ᵀ τ``, [RKR95] (17)-(22).

    The fields of `OperationalSpace` under the constraints. τ are the joint forces of the active
    joints, including those of internal grasp forces. ``jacobian`` and ``bias_acceleration`` are
    those of the tree. Without passive joints ``generalized_jacobian`` is that of the tree, too: it
    exerts forces at the points up to internal forces.
    """

    closures: tuple
    """The k closures, in order."""
    constraint_jacobian: np.ndarray
    """J_c, (6k, nv), axes of each closure; rows that are not constrained are zero."""
    constraint_bias: np.ndarray
    """J̇_c v, (6k,), m/s² and rad/s²."""
    constraint_rank: int
    """Rank of the constraint rows: less than their number where rows are redundant."""


def closed_chain(model, state, frames, closures):
    """
    Return the `ClosedChain` of m named frames, at least one, under k `Closure`.

    ``Λ⁻¹ = L_tt − L_tc L_cc⁺ L_ct`` with ``L = J A⁻¹ Jᵀ`` over tasks t and closures c. With passive
    joints the same expression of Q is subtracted, Q being L over the passive joints only. Whether q
    and v satisfy the closures is not checked.
    """
    frames, closures = point_names(model, frames), tuple(closures)
    stack = ConstraintRows(model, state, frames, closures)
    t = 6 * len(frames)
    responses, L, mobility = stack.responses(model.nodes)
    X, Lambda_inverse, H, constraint_rank = stack.eliminated(responses, L, mobility, t)
    bias = stack.bias[:t] - H @ stack.bias[t:]
    forces = X.T @ np.column_stack([model.bias_force(state), model.gravity(state)])
    J_G = stack.jacobian[:t, model.active]
    if model.passive.any():
        braked = model.nodes.copy()
        braked['status'][braked['status'] == ACTIVE] = LOCKED
        X_passive, Q, _ = stack.responses(braked)
        X_passive, Q, H_passive, _ = stack.eliminated(X_passive, Q, mobility, t)
        X, Lambda_inverse = X - X_passive, Lambda_inverse - Q
        J_G = stack.rows @ unit_inputs(model, state, stack.points, model.active)[1]
        J_G = J_G[:t] - H_passive @ J_G[t:]
    inertia, rank = stack.inverted(Lambda_inverse, mobility[:t])
    return ClosedChain(
        frames=frames,
        jacobian=stack.jacobian[:t],
        bias_acceleration=stack.bias[:t],
        generalized_jacobian=J_G,
        inverse_inertia=Lambda_inverse,
        inertia=inertia,
        dynamically_consistent_inverse=X @ inertia,
        coriolis=inertia @ (forces[:, 0] - bias),
        gravity=inertia @ forces[:, 1],
        rank=rank,
        active=model.active,
        closures=closures,
        constraint_jacobian=stack.jacobian[t:],
        constraint_bias=stack.bias[t:],
        constraint_rank=constraint_rank,
    )


def closed_chain_dynamics(model, state, torque, closures):
    """
    Return the joint accelerations v̇ (nv,) and the constraint wrenches λ (k, 6) of k `Closure`.

    ``v̇ = v̇_tree + A⁻¹ J_cᵀ λ``, ``λ = −L_cc⁺ (J_c v̇_tree + J̇_c v)``. ``torque`` (nv,) has the
    joint forces τ, N m or N, those of passive joints too; those of locked joints are ignored, and
    v̇ is zero there. λ acts on the first link of each closure, N and N m, at its place and in its
    axes; for redundant closures it is the solution of least norm. Whether q and v satisfy the
    closures is not checked.
    """
    stack = ConstraintRows(model, state, (), tuple(closures))
    X, L, mobility = stack.responses(model.nodes)
    free = model.forward_dynamics(state, torque)
    wrenches = -stack.inverted(L, mobility)[0] @ (stack.jacobian @ free + stack.bias)
    return free + X @ wrenches, wrenches.reshape(-1, 6)


class ChainResponse:
    """
    The constraint response of k closures at one state, for given nodes with payloads and status.

    ``rates`` (6k,) is J_c v, the constraint velocity, m/s and rad/s.
    """

    def __init__(self, model, state, nodes, closures):
        self._stack = ConstraintRows(model, state, (), tuple(closures), nodes)
        X, L, mobility = self._stack.responses(nodes)
        self._correction = -X @ self._stack.inverted(L, mobility)[0]
        self.rates = self._stack.jacobian @ state.v

    def accelerated(self, free):
        """Return v̇ of the chain, (nv,), from that of the tree, as `closed_chain_dynamics` does."""
        return free + self.correction(self._stack.jacobian @ free + self._stack.bias)

    def correction(self, residual):
        """Return ``−A⁻¹ J_cᵀ L_cc⁺ x`` (nv,), the least motion that removes a residual x (6k,)."""
        return self._correction @ residual


class ConstraintRows:
    """
    The rows of tasks, then of closures, as linear combinations of the rows of points.

    A closure of two links has a point on each link. Its rows are the difference of the two motions
    at the place on the first link, in the closure's axes.
    """

    def __init__(self, model, state, frames, closures, nodes=None):
        self.model, self.state = model, state
        self.least_mobility = 1.0 / model.nodes['mass'].sum()
        linked = [closure for closure in closures if closure.other is not None]
        self.frames = (*frames, *(closure.frame for closure in closures),
                       *(closure.other for closure in linked))
        self.points, self.supports = make_points(model, self.frames)
        own, self.states = prepared(model, state)
        self.nodes = own if nodes is None else nodes
        m, k = len(frames), len(closures)
        first = self.points['frame'][m:m + k]
        for frame, closure in zip(first, closures, strict=True):
            frame['position'] += frame['rotation'] @ closure.position
        self._move()
        second = iter(range(m + k, len(self.points)))
        self.parts = [(e, e, np.eye(6)) for e in range(m)]  # (number in the stack, point, axes)
        for e, closure in enumerate(closures, m):
            turn = np.kron(np.eye(2), (self.points['R'][e] @ closure.rotation).T)
            turn *= closure.constrained[:, None]
            self.parts.append((e, e, turn))
            if closure.other is not None:
                o = next(second)  # moved on its link to the place on the first one
                point, frame = self.points[o], self.points[o]['frame']
                frame['position'] += frame['rotation'] @ (
                    point['R'].T @ (self.points['p'][e] - point['p']))
                self.parts.append((e, o, -turn))
        self._move()
        self.rows = np.zeros((6 * (m + k), 6 * len(self.points)))
        for e, o, turn in self.parts:
            self.rows[6 * e:6 * e + 6, 6 * o:6 * o + 6] = turn
        jacobian = nan_filled((6 * len(self.points), model.nv))
        kinematics.fill_jacobian(self.nodes, self.states, self.points, self.supports, jacobian)
        self.jacobian = self.rows @ jacobian
        self.bias = self.rows @ self.points['a'].ravel()

    def _move(self):
        kinematics.move(self.nodes, self.state.q, self.state.v, np.zeros(self.model.nv),
                        self.states, self.points)

    def responses(self, nodes):
        """
        Return the accelerations under unit wrenches, of the nodes that are not locked.

        ``A⁻¹ Jᵀ`` (nv, rows), ``L = J A⁻¹ Jᵀ`` (rows, rows), and the mobility (rows,): the diagonal
        of L if the two links of a closure were independent. It is the scale of the rank decision,
        because two links that hardly move relative to each other leave only rounding in L.
        """
        moving = self.nodes.copy()
        moving['status'] = nodes['status']
        L, X = point_responses(moving, self.state.q, self.points, self.supports, self.states)
        mobility = np.zeros(len(self.rows))
        for e, o, turn in self.parts:
            own = L[6 * o:6 * o + 6, 6 * o:6 * o + 6]
            mobility[6 * e:6 * e + 6] += (turn @ own @ turn.T).diagonal()
        return X @ self.rows.T, self.rows @ L @ self.rows.T, mobility

    def inverted(self, L, mobility):
        """Return the pseudo-inverse, zero for rows that constrain nothing, and the rank of L."""
        inverse, rank = invert_inverse_inertia(L, self.least_mobility, reference=mobility)
        free = mobility == 0.0
        inverse[free] = inverse[:, free] = 0.0  # else rounding of the eigenvectors is left there
        return inverse, rank

    def eliminated(self, X, L, mobility, t):
        """
        Return the quantities of the first t rows, with the other rows as constraints.

        ``Φ J_tᵀ`` (nv, t) with ``Φ = A⁻¹ − A⁻¹ J_cᵀ L_cc⁺ J_c A⁻¹``, ``J_t Φ J_tᵀ`` (t, t), ``H =
        L_tc L_cc⁺`` (t, 6k), and the rank of the constraint.
        """
        inverse, rank = self.inverted(L[t:, t:], mobility[t:])
        H = L[:t, t:] @ inverse
        return X[:, :t] - X[:, t:] @ H.T, L[:t, :t] - H @ L[t:, :t], H, rank

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A cycle with contacts, held against dense dynamics and a dense lexicographic optimum."""

from typing import NamedTuple

import numpy as np
import quadprog

from opspace_control import Contact, RobotState
from opspace_control.control.constraints.contact_bounds import CONTACT_BOUNDS
from opspace_control.control.data import SCALE
from opspace_control.tasks.arguments import AXES

_STEP = 1e-5  # s, of finite differences


def contact_rows(contact, state):
    """
    Return the axes (3, 3) of a contact's k rows, their place (3,) from the frame, and W (k, 6).

    ``W`` takes motions of the frame, base axes, to motions of the rows.
    """
    R = state.model.forward_kinematics(state, contact.frame)[contact.frame][:3, :3]
    axes, arm = R @ contact.row_axes(R), R @ contact.place
    moved = np.eye(6)
    moved[:3, 3:] = np.cross(np.eye(3), -arm)
    chosen = [AXES.index(axis) for axis in contact.axes]
    return axes, arm, (np.kron(np.eye(2), axes.T) @ moved)[chosen]


class Held(NamedTuple):
    """A grasp of a link of its own, ``object``, of the robot with the payload welded on."""

    grasp: object

    def rows(self, state):
        """Return the rows (6k, nv) of grips relative to the carrier, and their bias, base axes."""
        model, (carrier, *others) = state.model, self.grasp.effectors
        poses = model.forward_kinematics(state, self.grasp.effectors)

        def parts(frame):
            return model.jacobian(state, frame), model.bias_acceleration(state, frame)

        (J, bias), rows, biases = parts(carrier), [], []
        for frame in others:
            arm = poses[frame][:3, 3] - poses[carrier][:3, 3]
            moved = np.eye(6)
            moved[:3, 3:] = np.cross(np.eye(3), -arm)
            w = J[3:] @ state.v
            own, b = parts(frame)
            rows.append(own - moved @ J)
            biases.append(b - moved @ bias - np.r_[np.cross(w, np.cross(w, arm)), np.zeros(3)])
        return np.vstack(rows), np.concatenate(biases)

    def planned(self, state):
        """Return E (6k, nv) and e of the forces ``λ = e − E q̈`` on the grips' links, base axes."""
        R = state.model.forward_kinematics(state, 'object')['object'][:3, :3]
        J, bias = state.model.jacobian(state, 'object'), state.model.bias_acceleration(
            state, 'object')
        w, body, turn = R.T @ J[3:] @ state.v, self.grasp.payload, np.kron(np.eye(2), R)
        c, inertia = body.center_of_mass, body.inertia

        def wrenches(a):
            """Newton and Euler about the object's origin, its axes."""
            a = turn.T @ (a - [0.0, 0.0, -9.81, 0.0, 0.0, 0.0])
            force = body.mass * (a[:3] + np.cross(a[3:], c) + np.cross(w, np.cross(w, c)))
            moment = inertia @ a[3:] + np.cross(w, inertia @ w) + np.cross(c, force)
            grips = self.grasp._grips[1:]
            own = (grips['load_share'] @ np.r_[force, moment] + grips['internal']
                   + self.grasp.applied_force * grips['unit_force'])
            return (own @ turn.T).ravel()

        still = wrenches(np.zeros(6))
        E = np.array([wrenches(unit) - still for unit in np.eye(6)]).T
        return E @ J, -wrenches(bias)


class Dense(NamedTuple):
    """Equation of motion ``A q̈ + h = τ + J_cᵀ λ`` and constraints ``J_c q̈ + Γ λ = −b_c``."""

    A: np.ndarray
    h: np.ndarray
    J_c: np.ndarray
    b_c: np.ndarray
    Gamma: np.ndarray  # of contacts that fade in or out, of which rows are along base axes

    @classmethod
    def of(cls, controller, state, held=None):
        """Return those of closed contacts, as of `contact_rows`, then of a grasp."""
        model, rows, biases, contacts = state.model, [], [], closed_contacts(controller)
        for contact in contacts:
            _, arm, W = contact_rows(contact, state)
            J, bias = model.jacobian(state, contact.frame), model.bias_acceleration(
                state, contact.frame)
            w = J[3:] @ state.v
            rows.append(W @ J)
            bias[:3] += np.cross(w, np.cross(w, arm))
            biases.append(W @ bias)
        A, J_c = model.mass_matrix(state), np.vstack(rows)
        rest = np.concatenate([np.full(len(contact.axes), (1.0 / contact.activation - 1.0) ** 2)
                               for contact in contacts])
        if held is not None:
            J, bias = held.rows(state)
            J_c, biases, rest = np.vstack([J_c, J]), [*biases, bias], np.r_[rest, 0.0 * bias]
        Gamma = np.diag(rest * np.einsum('ij,ji->i', J_c, np.linalg.solve(A, J_c.T)))
        return cls(A, model.inverse_dynamics(state, np.zeros(model.nv)), J_c,
                   np.concatenate(biases), Gamma)

    def constraint(self):
        """Return rows on accelerations and forces that the constraints fix, and their values."""
        size = 1.0 + np.diag(self.Gamma) / np.diag(self.J_c @ np.linalg.solve(self.A, self.J_c.T))
        return np.hstack([self.J_c, self.Gamma]) / size[:, None], -self.b_c / size

    def motion(self, tau):
        """Return how joint forces accelerate the joints, and the constraint forces."""
        n = len(self.A)
        springs, bias = self.constraint()
        K = np.vstack([np.hstack([self.A, -self.J_c.T]), springs])
        x = np.linalg.lstsq(K, np.concatenate([tau - self.h, bias]), rcond=1e-12)[0]
        return x[:n], x[n:]


def facets(controller, state):
    """Return the bounds ``D λ <= u`` of all contact forces, λ as in `Dense`."""
    contacts, closed = controller._limits.scratch.contacts, closed_contacts(controller)
    D, u = [], []
    sizes = [len(contact.axes) for contact in closed]
    # At the place of the rows bounds know wrenches in base axes.
    turns = [np.kron(np.eye(2), contact_rows(contact, state)[0])[
        :, [AXES.index(axis) for axis in contact.axes]] for contact in closed]
    places = [k for k, one in enumerate(controller.constraints.values()) if one in closed]
    for k, direction in enumerate(contacts.direction):
        if k // CONTACT_BOUNDS not in places:
            continue
        c = places.index(k // CONTACT_BOUNDS)
        for sign, bound in ((1.0, contacts.bounds[1, k]), (-1.0, -contacts.bounds[0, k])):
            if np.isfinite(bound):
                row = np.zeros(sum(sizes))
                row[sum(sizes[:c]):sum(sizes[:c + 1])] = sign * direction @ turns[c]
                D.append(row)
                u.append(bound)
    return np.array(D), np.array(u)


def optimum(rows, wanted, conditions, right, equalities, values, regular):
    """Return x with ``conditions x >= right`` nearest to what rows want, equalities kept."""
    slack = 1e-6 * (1.0 + abs(values))
    G = np.vstack([equalities, -equalities, conditions])
    h = np.concatenate([values - slack, -values - slack, right])
    return quadprog.solve_qp(rows.T @ rows + regular, rows.T @ wanted, G.T, h)[0]


def closed_contacts(controller):
    """Return the contacts that are closed, or fade in or out."""
    return [contact for contact in controller.constraints.values()
            if contact.closed and isinstance(contact, Contact)]


def task_rows(task, state, held=None):
    """Return the Jacobian (6, nv) of a task's rows, and their acceleration ``J̇ v``, (6,)."""
    model = state.model

    def jacobian(t):
        moved = RobotState(model, model.integrate(state.q, state.v, t), state.v)
        axes = task.axes_in_base
        if reference := getattr(task, 'reference', None):
            axes = 2 * [model.forward_kinematics(moved, reference)[reference][:3, :3]]
        J = (model.jacobian(moved, 'object') if held and task is held.grasp.task
             else task.jacobian(model, moved))
        return np.vstack([axes[0].T @ J[:3], axes[1].T @ J[3:]])

    return jacobian(0.0), (jacobian(_STEP) - jacobian(-_STEP)) @ state.v / (2.0 * _STEP)


def level_rows(controller, state, held=None):
    """Yield for each level of tasks its active rows, scaled, (k, nv), and what they want, (k,)."""
    tasks, constraints, found = list(controller.tasks.values()), len(controller.constraints), {}
    for k, task in enumerate(tasks):
        first = 6 * (constraints + k)
        scale = controller._rows[SCALE, first:first + 6]
        if task.enabled and scale.any():
            J, bias = task_rows(task, state, held)
            rows, wanted = found.setdefault(task.priority, ([], []))
            rows.append(scale[:, None] * J)
            wanted.append(scale * (task._record['acceleration'] - bias))
    for _, (rows, wanted) in sorted(found.items()):
        active = np.vstack(rows).any(axis=1)
        yield np.vstack(rows)[active], np.concatenate(wanted)[active]


def held_against_optimum(controller, state, tau, joints_may_pass=1e-3, tasks=True, held=None):
    """
    Hold a cycle of a controller against the optimum over accelerations and contact forces.

    Forces of contacts and efforts are within bounds, by the dense dynamics, and each level of tasks
    misses no more than it must, given what those above it attain. Returns for each level whether
    bounds let it attain less than it wants. Bounds on accelerations of joints, rad/s², give way to
    those of forces: the optimum is that within as much. Without ``tasks`` these are not held. With
    ``held``, an engaged grasp whose forces are as planned, the state is that of the loaded robot.
    """
    contacts, records, n = closed_contacts(controller), controller._limits.records, state.model.nv
    dense = Dense.of(controller, state, held)
    a, force = dense.motion(tau)
    D, u = facets(controller, state)
    D = np.pad(D, ((0, 0), (0, len(force) - D.shape[1])))
    weight = 9.81 * controller.model.nodes['mass'].sum()
    assert (D @ force - u).max() < 2e-5 * weight
    told = [one.force - one.internal_wrench for one in contacts]
    parts = np.split(force, np.cumsum([len(one.axes) for one in contacts]))
    for one, wrench, rows in zip(contacts, told, parts[:-1], strict=True):
        assert abs(contact_rows(one, state)[2].T @ rows - wrench).max() < 1e-6 * weight
    a_joints = controller._arguments.storage.results.a_joints
    assert abs(a - a_joints).max() < 1e-5 * abs(a).max() + 1e-6
    # The optimum over q̈ and λ, level by level.
    limits = controller.effort_limits
    driven = slice(6, n)
    effort = np.hstack([dense.A, -dense.J_c.T])[driven]
    joints = np.eye(n, n + len(force))[driven]
    conditions = np.vstack([
        np.hstack([np.zeros((len(D), n)), -D]), effort, -effort, joints, -joints])
    right = np.concatenate([
        -u, -limits[driven] - dense.h[driven], -limits[driven] + dense.h[driven],
        records['least'][driven], -records['greatest'][driven]])
    springs, bias = dense.constraint()
    fixed = np.vstack([np.hstack([dense.A, -dense.J_c.T])[:6], springs])
    values = np.concatenate([-dense.h[:6], bias])
    if held is not None:
        E, e = held.planned(state)
        np.testing.assert_allclose(parts[-1], e - E @ a, atol=1e-5 * weight)
        fixed = np.vstack([fixed, np.hstack([E, np.eye(len(e), len(force), len(force) - len(e))])])
        values = np.concatenate([values, e])
    regular = np.diag(np.concatenate([np.full(n, 1e-9), np.full(len(force), 1e-13)]))
    own = np.concatenate([a, force])
    beyond = right - conditions @ own
    assert beyond[:-2 * (n - 6)].max() < 2e-5 * weight
    assert beyond.max() < joints_may_pass
    right, given_way = np.minimum(right, conditions @ own) - 1e-9, []
    for J, wanted in level_rows(controller, state, held) if tasks else ():
        rows = np.hstack([J, np.zeros((len(J), len(force)))])
        best = optimum(rows, wanted, conditions, right, fixed, values, regular)
        missed, least = (np.linalg.norm(rows @ x - wanted) for x in (own, best))
        # Directions that bounds leave less of than the truncation threshold may be missed.
        assert missed <= 1.02 * least + 1e-2 * np.linalg.norm(wanted)
        given_way.append(least > 0.05 * np.linalg.norm(wanted))
        fixed = np.vstack([fixed, rows])
        values = np.concatenate([values, rows @ own])
    return given_way

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The peer for robots on legs: one dense quadratic program a cycle, Pinocchio and a solver.

As whole-body controllers have it: accelerations and contact forces are the variables; equations of
motion of the base and contacts are equalities; friction, efforts and accelerations are bounds;
tasks are weighted instead of prioritised. Feet that swing are seen from the world, not from the
trunk, so torques differ in a trot; rows, variables and bounds are as many.
"""

import numpy as np
import pinocchio
import quadprog

from opspace_control.tasks.arguments import AXES

try:
    import daqp
except ImportError:
    daqp = None

# Weight of a task beside that of the next level; of accelerations and forces, well below the last.
_LEVEL, _ACCELERATION, _FORCE = 100.0, 1e-9, 1e-11


_EQUALITY = 5  # among daqp's kinds of rows


def solve_quadprog(H, g, rows, bounds, equalities):
    """Return x of least ``½ xᵀ H x − gᵀ x`` with ``rows x ≥ bounds``, the first ones equal."""
    return quadprog.solve_qp(H, g, rows.T, bounds, equalities)[0]


def solve_daqp(H, g, rows, bounds, equalities):
    """Return the same, by daqp."""
    upper, kinds = np.full(len(bounds), 1e30), np.zeros(len(bounds), np.int32)
    upper[:equalities], kinds[:equalities] = bounds[:equalities], _EQUALITY
    x, _, found, _ = daqp.solve(H, -g, rows, upper, bounds, kinds)
    if found <= 0:
        raise ValueError(f'daqp ends with {found}')
    return x


# By name; daqp where it is installed.
SOLVERS = {'quadprog': solve_quadprog, **({'daqp': solve_daqp} if daqp else {})}


class ContactProgram:
    """
    A robot on point feet or soles under one quadratic program.

    Parameters
    ----------
    urdf_text : str
    model : RobotModel
        Of the same robot with a floating base; states come in its order.
    tasks : sequence of PoseTask
        Of a controller, highest priority first, whose accelerations are taken over.
    contacts : sequence of Contact
        Likewise; those that are closed count.
    soles : dict of str to (k, 3) array
        Corners of the soles among them, which are point contacts here.
    acceleration : float
        Bound of the joints' accelerations, rad/s².

    """

    def __init__(self, urdf_text, model, tasks, contacts, soles, acceleration):
        self._pin = pinocchio.buildModelFromXML(urdf_text, pinocchio.JointModelFreeFlyer())
        self._data, self._tasks, self._contacts = self._pin.createData(), tasks, contacts
        names = tuple(self._pin.names)[2:]
        self._dofs = np.array([model.dof_index(name) for name in names])
        self._positions = model.q_index[self._dofs]
        self._efforts = model.effort_limits[self._dofs]
        self._points, self._acceleration = soles, acceleration
        self._frames = {each.frame: self._pin.getFrameId(each.frame)
                        for each in (*tasks, *contacts) if each.frame}

    def compute_torque(self, state, solve=solve_quadprog):
        """Return the efforts of the joints with a drive, N·m, in Pinocchio's order."""
        pin, data = self._pin, self._data
        q = np.r_[state.q[:7], state.q[self._positions]]
        R = pinocchio.Quaternion(q[6], *q[3:6]).matrix()
        v = np.r_[R.T @ state.v[:3], R.T @ state.v[3:6], state.v[self._dofs]]
        A = pinocchio.crba(pin, data, q)
        A = np.triu(A) + np.triu(A, 1).T
        bias = pinocchio.nonLinearEffects(pin, data, q, v)
        pinocchio.forwardKinematics(pin, data, q, v, np.zeros(pin.nv))
        pinocchio.centerOfMass(pin, data, pinocchio.ACCELERATION, False)
        pinocchio.computeJointJacobians(pin, data)
        pinocchio.updateFramePlacements(pin, data)
        Jc, Jf, hc, cones = self._contact_rows()
        n, f = pin.nv, len(Jf)
        H, g = np.diag([*n * [_ACCELERATION], *f * [_FORCE]]), np.zeros(n + f)
        for J, demand, weight in self._task_rows():
            H[:n, :n] += weight * J.T @ J
            g[:n] += weight * J.T @ demand
        efforts = np.hstack([A[6:], -Jf[:, 6:].T])
        joints = np.hstack([np.zeros((n - 6, 6)), np.eye(n - 6), np.zeros((n - 6, f))])
        rows = np.vstack([
            np.hstack([A[:6], -Jf[:, :6].T]), np.hstack([Jc, np.zeros((len(Jc), f))]),
            np.hstack([np.zeros((len(cones), n)), cones]), efforts, -efforts, joints, -joints])
        bounds = np.concatenate([
            -bias[:6], -hc, np.zeros(len(cones)), -self._efforts - bias[6:],
            bias[6:] - self._efforts, np.full(2 * (n - 6), -self._acceleration)])
        x = solve(H, g, rows, bounds, 6 + len(Jc))
        return efforts @ x + bias[6:]

    def _contact_rows(self):
        """Return rows of closed contacts, those of their forces, J̇_c v, and friction pyramids."""
        rows, forces, drifts, cones = [], [], [], []
        for contact in self._contacts:
            if not contact.closed:
                continue
            J, drift = self._motion(contact.frame)
            count = 6 if contact.name in self._points else 3
            rows.append(J[:count])
            drifts.append(drift[:count])
            placement = self._data.oMf[self._frames[contact.frame]]
            for corner in self._points.get(contact.name, np.zeros((1, 3))):
                arm = pinocchio.skew(placement.rotation @ corner)
                forces.append(J[:3] - arm @ J[3:])
                cones.append(contact.friction / np.sqrt(2.0))
        pyramids = np.zeros((5 * len(cones), 3 * len(cones)))
        for k, share in enumerate(cones):
            pyramids[5 * k:5 * k + 5, 3 * k:3 * k + 3] = [
                [0, 0, 1], [1, 0, share], [-1, 0, share], [0, 1, share], [0, -1, share]]
        if not rows:
            return np.zeros((0, self._pin.nv)), np.zeros((0, self._pin.nv)), np.zeros(0), pyramids
        return np.vstack(rows), np.vstack(forces), np.concatenate(drifts), pyramids

    def _task_rows(self):
        """Yield J, ``a* − J̇ v`` and the weight of each task that is enabled."""
        weight = 1.0
        for number, task in enumerate(self._tasks):
            if number and task.priority != self._tasks[number - 1].priority:
                weight /= _LEVEL
            if task.enabled:
                axes = [AXES.index(axis) for axis in task.axes]
                J, drift = self._motion(task.frame)
                yield J[axes], task._record['acceleration'][axes] - drift[axes], weight

    def _motion(self, frame):
        """Return J and J̇ v of a frame, world axes."""
        if not frame:  # the centre of mass
            J = pinocchio.jacobianCenterOfMass(self._pin, self._data)
            return np.vstack([J, 0.0 * J]), np.r_[self._data.acom[0], np.zeros(3)]
        axes, frame = pinocchio.LOCAL_WORLD_ALIGNED, self._frames[frame]
        return (pinocchio.getFrameJacobian(self._pin, self._data, frame, axes),
                pinocchio.getFrameClassicalAcceleration(self._pin, self._data, frame, axes).vector)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Independent answers: Pinocchio and MuJoCo in this package's order and conventions.

Each engine reads the URDF itself. An `Oracle` is dense, made of the engine's own A, b, g, J and
J̇ v; what no engine has (Λ, J̄, μ, ρ) follows from those by the definitions of [CK00] 2.
"""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pytest
from samples import difference

from opspace_control import operational_space

pin = pytest.importorskip('pinocchio')

GRAVITY = np.array([0.0, 0.0, -9.81])


@dataclass(frozen=True, eq=False)
class Oracle:
    """Dynamics of a robot at one state, in the order of ``dof_names`` and in world axes."""

    A: np.ndarray
    b: np.ndarray
    g: np.ndarray
    jacobian: np.ndarray
    bias_acceleration: np.ndarray
    poses: np.ndarray   # (m, 4, 4) of the frames
    free: np.ndarray    # (nv,) bool: not locked

    @cached_property
    def joint_units(self):
        """Natural unit of each joint's motion, 1 / sqrt(A_kk)."""
        return 1.0 / np.sqrt(self.A.diagonal())

    @cached_property
    def row_units(self):
        """Natural units of the rows of J: one for all linear rows, one for all angular ones."""
        rows = np.sqrt(self.inverse_inertia.diagonal().clip(0.0)).reshape(-1, 2, 3)
        units = np.broadcast_to(rows.max(axis=(0, 2))[:, None], rows.shape).ravel()
        return np.where(units > 0.0, units, 1.0)

    @cached_property
    def rounding(self):
        """How far rounding in A and Λ⁻¹, in natural units, may move what needs their inverses."""
        L = self.inverse_inertia / np.outer(self.row_units, self.row_units)
        points = np.linalg.cond(L)
        return 1e-14 * max(np.linalg.cond(self._coupling), points if points < 1e11 else 0.0)

    @cached_property
    def responses(self):
        """X = A⁻¹ Jᵀ, (nv, 6m)."""
        return self._solve(self.jacobian.T)

    @cached_property
    def inverse_inertia(self):
        """Λ⁻¹ = J A⁻¹ Jᵀ, [CK00] (6)."""
        return self.jacobian @ self.responses

    @cached_property
    def inertia(self):
        """Λ, where Λ⁻¹ has full rank."""
        return np.linalg.inv(self.inverse_inertia)

    @cached_property
    def dynamically_consistent_inverse(self):
        """J̄ = A⁻¹ Jᵀ Λ, [CK00] (8)."""
        return self.responses @ self.inertia

    @cached_property
    def coriolis(self):
        """μ = J̄ᵀ b − Λ J̇ v, [CK00] (7)."""
        return (self.dynamically_consistent_inverse.T @ self.b
                - self.inertia @ self.bias_acceleration)

    @cached_property
    def gravity(self):
        """ρ = J̄ᵀ g, [CK00] (7)."""
        return self.dynamically_consistent_inverse.T @ self.g

    def forward_dynamics(self, torque):
        """v̇ of joint forces; zero at locked joints."""
        return self._solve((torque - self.b - self.g)[:, None])[:, 0]

    @cached_property
    def _coupling(self):
        unit = self.joint_units[self.free]
        return unit[:, None] * self.A[np.ix_(self.free, self.free)] * unit

    def _solve(self, right):
        """Solve with A over the free joints, in natural units: only their coupling counts."""
        unit = self.joint_units[self.free, None]
        x = np.zeros_like(right)
        x[self.free] = unit * np.linalg.solve(self._coupling, unit * right[self.free])
        return x


def pinocchio_oracle(model, urdf, state, frames):
    """
    Return Pinocchio's `Oracle`.

    A planar joint is rewritten as the three joints that it is; a mimic joint stands where its
    leader puts it and does not move.
    """
    theirs = _pinocchio_model(urdf, model.floating_base)
    data = theirs.createData()
    q, T, drift = _pinocchio_coordinates(model, theirs, state)
    v = T @ state.v
    A = pin.crba(theirs, data, q)
    A = T.T @ (np.triu(A) + np.triu(A, 1).T) @ T
    g = T.T @ pin.computeGeneralizedGravity(theirs, data, q)
    b = T.T @ pin.rnea(theirs, data, q, v, drift) - g
    pin.computeJointJacobians(theirs, data, q)
    pin.forwardKinematics(theirs, data, q, v, drift)
    pin.updateFramePlacements(theirs, data)
    ids = [theirs.getFrameId(name, pin.BODY) for name in frames]
    axes = pin.LOCAL_WORLD_ALIGNED
    return Oracle(
        A, b, g,
        jacobian=np.vstack([pin.getFrameJacobian(theirs, data, i, axes).reshape(6, theirs.nv)
                            for i in ids]) @ T,
        bias_acceleration=np.concatenate([
            pin.getFrameClassicalAcceleration(theirs, data, i, axes).vector for i in ids]),
        poses=np.array([data.oMf[i].homogeneous for i in ids]),
        free=~model.locked)


def pinocchio_forward_dynamics(model, urdf, state, torque):
    """Return v̇ by Pinocchio's articulated-body recursion; mimic joints are welded as they stand."""
    theirs = _pinocchio_model(urdf, model.floating_base)
    q = _pinocchio_coordinates(model, theirs, state)[0]
    followers = [theirs.getJointId(name) for name in model.mimics]
    theirs = pin.buildReducedModel(theirs, followers, q)
    q, T, drift = _pinocchio_coordinates(model, theirs, state)
    # T is orthogonal: their joint forces are T τ, our v̇ is theirs beyond the drift, turned back.
    return T.T @ (pin.aba(theirs, theirs.createData(), q, T @ state.v, T @ torque) - drift)


def pinocchio_terms(model, urdf, state):
    """
    Return ``A v`` and ``Cᵀ v − g``, (nv,) each, of Pinocchio's dense matrices.

    In its coordinates ``v_theirs = T v``, where T turns with the bodies of free-flyers:
    ``d/dt (Tᵀ p_theirs) = Tᵀ ṗ_theirs + Ṫᵀ p_theirs``.
    """
    theirs = _pinocchio_model(urdf, model.floating_base)
    data = theirs.createData()
    q, T, _ = _pinocchio_coordinates(model, theirs, state)
    v = T @ state.v
    A = pin.crba(theirs, data, q)
    p = (np.triu(A) + np.triu(A, 1).T) @ v
    rate = (pin.computeCoriolisMatrix(theirs, data, q, v).T @ v
            - pin.computeGeneralizedGravity(theirs, data, q))
    turning = np.zeros_like(p)  # Ṫᵀ p: for each free-flyer ω × R p
    for name, joint in zip(theirs.names[1:], theirs.joints[1:], strict=True):
        if joint.nv == 6:
            first, block = joint.idx_v, slice(joint.idx_v, joint.idx_v + 6)
            R = T[first:first + 3, model.joint_dofs['base' if name == 'root_joint' else name][:3]].T
            w = R @ v[first + 3:first + 6]
            turning[block] = np.r_[R.T @ np.cross(w, R @ p[first:first + 3]),
                                   R.T @ np.cross(w, R @ p[first + 3:first + 6])]
    return T.T @ p, T.T @ (rate + turning)


def mujoco_oracle(model, urdf, state, frames):
    """Return MuJoCo's `Oracle`; its importer reads the tree, without meshes and joint friction."""
    mujoco = pytest.importorskip('mujoco')
    theirs, data, T = _mujoco_data(model, urdf, state)
    mujoco.mj_fwdPosition(theirs, data)
    mujoco.mj_fwdVelocity(theirs, data)
    A = np.zeros((model.nv, theirs.nv))
    for row, column in zip(A, T.T.copy(), strict=True):
        mujoco.mj_mulM(theirs, data, row, column)
    b_and_g = T.T @ data.qfrc_bias
    J, J_dot, poses = [], [], []
    for name in frames:
        body = theirs.body('/world' if name == 'world' else name).id
        block = np.zeros((6, theirs.nv))
        mujoco.mj_jacBody(theirs, data, block[:3], block[3:], body)
        J.append(block @ T)
        block = np.zeros((6, theirs.nv))
        mujoco.mj_jacDot(theirs, data, block[:3], block[3:], data.xpos[body], body)
        J_dot.append(block @ T)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = data.xmat[body].reshape(3, 3), data.xpos[body]
        poses.append(pose)
    data.qvel[:] = 0.0
    mujoco.mj_fwdVelocity(theirs, data)
    g = T.T @ data.qfrc_bias
    # The base's rotation does not change what T makes of v: Ṫ v = −Rᵀ (ω × ω) = 0.
    return Oracle(A @ T, b_and_g - g, g, np.vstack(J), np.vstack(J_dot) @ state.v,
                  np.array(poses), ~model.locked)


def joint_of_frame(frame):
    """Return the joint that carries a frame of Pinocchio; before version 3 it had another name."""
    return frame.parentJoint if hasattr(frame, 'parentJoint') else frame.parent


@lru_cache(maxsize=4)
def _pinocchio_model(urdf, floating_base):
    text = _split_planar_joints(urdf)
    if floating_base:
        return pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    return pin.buildModelFromXML(text)


@lru_cache(maxsize=4)
def _mujoco_model(urdf, floating_base):
    from opspace_control.simulation.mujoco_model import World, compile_model
    return compile_model(urdf, World(gravity=GRAVITY), floating_base=floating_base)[:2]


def _pinocchio_coordinates(model, theirs, state):
    """
    Return (q, T, drift): their position, ``v_theirs = T v`` and ``Ṫ v``, what is left when v̇ = 0.

    A free-flyer's velocity is in its own axes, ours in the joint frame's (a floating base: the
    world's): ``v_theirs = Rᵀ v``, so ``d/dt (Rᵀ v) = Rᵀ (v̇ − ω × v)``.
    """
    q, T, drift = pin.neutral(theirs), np.zeros((theirs.nv, model.nv)), np.zeros(theirs.nv)
    for name, joint in zip(theirs.names[1:], theirs.joints[1:], strict=True):
        if joint.nv == 6:
            dofs = model.joint_dofs['base' if name == 'root_joint' else name]
            first = model.q_index[dofs[0]]
            pose = q[joint.idx_q:joint.idx_q + 7] = state.q[first:first + 7]
            R = pin.Quaternion(pose[3:]).matrix()
            T[joint.idx_v:joint.idx_v + 3, dofs[:3]] = R.T
            T[joint.idx_v + 3:joint.idx_v + 6, dofs[3:]] = R.T
            v = state.v[dofs]
            drift[joint.idx_v:joint.idx_v + 3] = -R.T @ np.cross(v[3:], v[:3])
            continue
        x = _coordinate(model, state, name)
        if name not in model.mimics:
            T[joint.idx_v, model.dof_index(name)] = 1.0
        q[joint.idx_q:joint.idx_q + joint.nq] = (np.cos(x), np.sin(x)) if joint.nq == 2 else x
    return q, T, drift


def _mujoco_data(model, urdf, state):
    """
    Return (model, data, T) of MuJoCo at a state, with ``v_theirs = T v``.

    A free joint's angular velocity is in its own axes, ours in the world's.
    """
    import mujoco
    theirs, joints = _mujoco_model(urdf, model.floating_base)
    data = mujoco.MjData(theirs)
    T = np.zeros((theirs.nv, model.nv))
    if model.floating_base:
        data.qpos[:7] = state.q[[0, 1, 2, 6, 3, 4, 5]]
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, data.qpos[3:7])
        T[:3, :3] = np.eye(3)
        T[3:6, 3:6] = R.reshape(3, 3).T
    for joint in joints.values():
        for dof, part in zip(joint.dof_names, joint.parts, strict=True):
            data.joint(part).qpos[:] = _coordinate(model, state, dof)
            if joint.mimic is None:
                T[theirs.joint(part).dofadr[0], model.dof_index(dof)] = 1.0
    data.qvel[:] = T @ state.v
    return theirs, data, T


def _coordinate(model, state, dof):
    """Return the coordinate of a one-degree-of-freedom joint, led or not."""
    leader, multiplier, offset = model.mimics.get(dof, (dof, 1.0, 0.0))
    return multiplier * state.q[model.q_index[model.dof_index(leader)]] + offset


def _split_planar_joints(urdf):
    """
    Return a URDF whose planar joints are two prismatic ones and a revolute one, named like dofs.

    Their axes are the joint frame's x and y after the smallest rotation that takes z to the normal.
    """
    robot = ET.fromstring(urdf)
    for joint in robot.findall("joint[@type='planar']"):
        name, parent = joint.get('name'), joint.find('parent').get('link')
        normal = np.fromstring(joint.find('axis').get('xyz'), sep=' ')
        normal /= np.linalg.norm(normal)
        turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), normal).matrix()
        for suffix, axis in (('/x', turn[:, 0]), ('/y', turn[:, 1])):
            ET.SubElement(robot, 'link', name=name + suffix)
            slide = ET.SubElement(robot, 'joint', name=name + suffix, type='prismatic')
            ET.SubElement(slide, 'parent', link=parent)
            ET.SubElement(slide, 'child', link=name + suffix)
            ET.SubElement(slide, 'axis', xyz=' '.join(map(repr, axis.tolist())))
            ET.SubElement(slide, 'limit', effort='1', velocity='1', lower='-1', upper='1')
            if suffix == '/x' and joint.find('origin') is not None:
                slide.append(joint.find('origin'))
            parent = name + suffix
        if joint.find('origin') is not None:
            joint.remove(joint.find('origin'))
        joint.set('name', name + '/rz')
        joint.set('type', 'continuous')
        joint.find('parent').set('link', parent)
    return ET.tostring(robot, encoding='unicode')


def assert_agrees(model, state, frames, oracle, tolerance=1e-10):
    """
    Hold everything this package says about a state against an oracle.

    What needs the inverse of a matrix may differ by as much as that inverse magnifies rounding in
    the oracle itself.
    """
    direct, inverted = differences(model, state, frames, oracle)
    assert max(direct.values()) < tolerance, direct
    assert max(inverted.values()) < max(tolerance, oracle.rounding), (inverted, oracle.rounding)


def differences(model, state, frames, oracle):
    """
    Return how far this package is from an oracle, by quantity: what needs no inverse, what does.

    Quantities are compared in natural units, so that a finger's row counts as much as a torso's.
    What needs Λ is left out where the points cannot move independently.
    """
    osd = operational_space(model, state, frames)
    joints, rows = oracle.joint_units, oracle.row_units
    torque = np.random.default_rng(0).standard_normal(model.nv) / joints
    poses = model.forward_kinematics(state, frames)
    direct = {
        'poses': difference(np.array([poses[name] for name in frames]), oracle.poses),
        'A': difference(model.mass_matrix(state), oracle.A, 1.0 / joints, 1.0 / joints),
        'b': difference(model.bias_force(state), oracle.b, 1.0 / joints),
        'g': difference(model.gravity(state), oracle.g, 1.0 / joints),
        'J': difference(osd.jacobian, oracle.jacobian, rows, 1.0 / joints),
        'bias acceleration': difference(osd.bias_acceleration, oracle.bias_acceleration, rows),
    }
    inverted = {
        'forward dynamics': difference(model.forward_dynamics(state, torque),
                                       oracle.forward_dynamics(torque), joints),
        'inverse inertia': difference(osd.inverse_inertia, oracle.inverse_inertia, rows, rows),
    }
    if osd.rank == 6 * len(frames):
        inverted |= {
            'inertia': difference(osd.inertia, oracle.inertia, 1.0 / rows, 1.0 / rows),
            'J bar': difference(osd.dynamically_consistent_inverse,
                                oracle.dynamically_consistent_inverse, joints, 1.0 / rows),
            'coriolis': difference(osd.coriolis, oracle.coriolis, 1.0 / rows),
            'gravity': difference(osd.gravity, oracle.gravity, 1.0 / rows),
        }
    return direct, inverted

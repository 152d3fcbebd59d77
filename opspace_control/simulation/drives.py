# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The drives and brakes of the simulated joints, and joints that are welded."""

from typing import NamedTuple

import mujoco
import numpy as np

from opspace_control.errors import SimulationError
from opspace_control.model.topology import nearest
from opspace_control.simulation.arguments import joint_values
from opspace_control.simulation.urdf_reader import body_name

_BRAKE = 'brake of '


def add_brakes(spec, joints, timestep):
    """Add to a MuJoCo spec, for each of these `Joint`s, a brake that is off."""
    for joint in joints:
        for part in joint.parts:
            brake = spec.add_equality(name=_BRAKE + part)
            brake.type = mujoco.mjtEq.mjEQ_JOINT
            brake.name1 = part
            brake.active = False
            make_stiff(brake, timestep)


def make_stiff(equality, timestep):
    """Make a constraint between joints as stiff as the time step allows."""
    equality.solref[:2] = 2.0 * timestep, 1.0
    equality.solimp[:2] = 0.99, 0.9999


class Drives:
    """
    Ideal drives, one per degree of freedom, that obey efforts or positions, and brakes.

    MuJoCo's ``model`` and ``data`` have the brakes of `add_brakes`. ``dofs`` are the name of each
    degree of freedom, its joint's, and its MuJoCo joint, None if welded; ``limits`` (n,) the effort
    limits, N·m or N. With ``friction`` the joints of working drives have that of the URDF, too.

    ``effort`` (n,), N·m or N, are the efforts of the drives that obey efforts, zero for the others;
    ``free`` (k,) the degrees of freedom that are not welded, ``in_qpos`` and ``in_qvel`` (k,) where
    MuJoCo has their positions and velocities.
    """

    def __init__(self, model, data, dofs, limits, friction):
        self._model, self._data = model, data
        self._names = {name: i for i, (name, _, _) in enumerate(dofs)}
        self._joints = [joint for _, joint, _ in dofs]
        self._limits = limits
        self.effort = np.zeros(len(dofs))
        self._powered = np.ones(len(dofs), bool)
        self.free = np.array([i for i, dof in enumerate(dofs) if dof[2] is not None], int)
        parts = [dofs[i][2] for i in self.free]
        self.in_qpos = np.array([model.joint(part).qposadr[0] for part in parts], int)
        self.in_qvel = np.array([model.joint(part).dofadr[0] for part in parts], int)
        self._brakes = np.array([model.equality(_BRAKE + part).id for part in parts], int)
        self._braked = np.zeros(len(parts), bool)
        self._position, self._by_position = np.full(len(dofs), np.nan), False
        # Mimic joints have no friction either if the drives overcome it.
        self._frictions = [] if friction else [
            (values, values.copy()) for values in (model.dof_damping, model.dof_frictionloss)]

    def reset(self):
        """Reset to zero effort, working drives and open brakes."""
        self.effort[:] = 0.0
        self._position[:], self._by_position = np.nan, False
        self._braked[:] = False
        self._power(np.ones(len(self.effort), bool))
        self._hold()

    @property
    def applied(self):
        """Efforts of all drives, (n,), N·m or N."""
        applied = self.effort.copy()
        servo = self._servo()
        if servo.any():
            data = self._data
            forces = np.zeros(self._model.neq)
            rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
            # Each has one row or several; a joint's has one, with a Jacobian of 1.
            np.add.at(forces, data.efc_id[rows], data.efc_force[rows])
            applied[self.free[servo]] = forces[self._brakes[servo]]
        return applied

    def set_effort(self, effort):
        """Command efforts, as `SimulatedRobot.set_effort`."""
        effort = joint_values(effort, self.effort, self._names, 'effort')
        np.clip(effort, -self._limits, self._limits, out=self.effort)
        self._apply()

    def set_position(self, position):
        """Command positions, as `SimulatedRobot.set_position`."""
        if not (position or self._by_position):  # as in most cycles
            return
        none = np.zeros(len(self.effort))
        values = joint_values(dict(position), none, self._names, 'position')
        self._position[:], self._by_position = np.nan, bool(position)
        for name in position:
            self._position[self._names[name]] = values[self._names[name]]
        self._hold()
        self._apply()

    def _servo(self):
        """Return which of the free degrees of freedom a drive keeps at a commanded position."""
        return (np.isfinite(self._position) & self._powered)[self.free] & ~self._braked

    def _hold(self):
        """Set the constraints of closed brakes and of drives that obey positions."""
        servo = self._servo()
        self._model.eq_data[self._brakes[servo], 0] = self._position[self.free][servo]
        self._data.eq_active[self._brakes] = servo | self._braked

    def set_status(self, passive=None, locked=None):
        """Set dead drives and closed brakes, as `SimulatedRobot.set_status`."""
        dead = None if passive is None else self._chosen(passive, 'passive')
        braked = None if locked is None else self._chosen(locked, 'locked')
        if braked is not None:
            # A closing brake locks the present position; a closed one keeps its position.
            new = braked[self.free] & ~self._braked
            self._model.eq_data[self._brakes[new], 0] = self._data.qpos[self.in_qpos[new]]
            self._braked = braked[self.free]
        if dead is not None:
            self._power(~dead)
        self._hold()
        self._apply()

    def _power(self, working):
        """Set which drives work, (n,) bool; only those overcome the friction of their joints."""
        self._powered[:] = working
        dead = self.in_qvel[~working[self.free]]
        for values, all_values in self._frictions:
            values[:] = 0.0
            values[dead] = all_values[dead]

    def _apply(self):
        self.effort[~self._powered | np.isfinite(self._position)] = 0.0
        self._data.qfrc_applied[self.in_qvel] = self.effort[self.free]

    def _chosen(self, names, argument):
        """Return the (n,) mask of the degrees of freedom that names of joints or of them mean."""
        chosen = np.zeros(len(self._joints), bool)
        known = {**self._names, **dict.fromkeys(self._joints)}
        for name in names:
            if name not in known:
                raise SimulationError(f"{argument} names '{name}', which is no joint.",
                                      cure=nearest(name, known), joint=name)
            chosen |= [name in (own, joint)
                       for own, joint in zip(self._names, self._joints, strict=True)]
        return chosen


class Weld(NamedTuple):
    """A locked joint: where its link is at zero, and how the joint's coordinates displace it."""

    body: str
    position: np.ndarray    # (3,) m, in the parent's body frame
    quaternion: np.ndarray  # (4,) wxyz
    axes: tuple             # (slides, axis (3,) in the body frame) of each degree of freedom

    def place(self, model, values):
        """Fix the link where the joint's coordinates are ``values``, rad or m."""
        position, quaternion = self.position.copy(), self.quaternion.copy()
        for (slides, axis), value in zip(self.axes, values, strict=True):
            if slides:
                step = np.empty(3)
                mujoco.mju_rotVecQuat(step, axis * value, quaternion)
                position += step
            else:
                turn = np.empty(4)
                mujoco.mju_axisAngle2Quat(turn, axis, value)
                mujoco.mju_mulQuat(quaternion, quaternion.copy(), turn)
        body = model.body(self.body)
        body.pos, body.quat = position, quaternion


def weld(spec, joint):
    """Take a joint out of a MuJoCo spec and return its `Weld`."""
    body = spec.body(body_name(joint.child))
    axes = []
    for part in joint.parts:
        element = spec.joint(part)
        axis = np.array(element.axis)
        axes.append((element.type == mujoco.mjtJoint.mjJNT_SLIDE, axis / np.linalg.norm(axis)))
        # MuJoCo moved this method from the element to the spec in 3.3.
        if hasattr(spec, 'delete'):
            spec.delete(element)
        else:
            element.delete()
    return Weld(body.name, np.array(body.pos), np.array(body.quat), tuple(axes))

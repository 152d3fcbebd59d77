# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The drives and brakes of the simulated joints, and joints that are welded."""

from typing import NamedTuple

import mujoco
import numpy as np

from opspace_control.errors import SimulationError
from opspace_control.model.topology import nearest
from opspace_control.simulation.arguments import joint_values
from opspace_control.simulation.measurements import DelayLine
from opspace_control.simulation.urdf_reader import body_name

_BRAKE = 'brake of '
# MuJoCo's impedances of a stiff constraint.
STIFF = 0.99, 0.9999


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
    equality.solref[:2] = stiff_reference(timestep)
    equality.solimp[:2] = STIFF


def stiff_reference(timestep):
    """Return MuJoCo's time constant, s, and damping ratio of the stiffest constraint."""
    return 2.0 * timestep, 1.0


class Drives:
    """
    Drives, one per degree of freedom, that obey efforts or positions, and brakes.

    MuJoCo's ``model`` and ``data`` have the brakes of `add_brakes`. ``dofs`` are the name of each
    degree of freedom, its joint's, and its MuJoCo joint, None if welded; ``limits`` (n,) the effort
    limits, N·m or N. With ``friction`` the joints of working drives have that of the URDF, too.

    ``effort`` (n,), N·m or N, are the efforts of the drives that obey efforts, zero for the others;
    ``free`` (k,) the degrees of freedom that are not welded, ``in_qpos`` and ``in_qvel`` (k,) where
    MuJoCo has their positions and velocities. ``delay``, s, is the time by which they obey late; if
    it is not zero, call `obey` before each time step.
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
        self._commanded = self.effort.copy()
        self.delay = 0.0
        self._forget_commands()
        # Mimic joints have no friction either if the drives overcome it.
        self._overcome = not friction
        self._urdf_friction = model.dof_frictionloss.copy(), model.dof_damping.copy()
        self._softness = model.dof_solref.copy(), model.dof_solimp.copy()
        self._friction = np.zeros((2, len(dofs)))
        self._hold()

    def reset(self):
        """Reset to zero effort, working drives and open brakes."""
        self._forget_commands()
        self._braked[:] = False
        self._power(np.ones(len(self.effort), bool))
        self._hold()

    def _forget_commands(self):
        self.effort[:] = self._commanded[:] = 0.0
        # Of drives that obey positions, others NaN; such arrays are replaced, never changed.
        self._position = self._wanted = np.full(len(self.effort), np.nan)
        self._by_position, self._commands = False, DelayLine()
        self._commands.put(-np.inf, (self.effort.copy(), self._position))

    @property
    def applied(self):
        """Efforts of all drives, (n,), N·m or N."""
        applied = self.effort.copy()
        servo = self._serving
        if servo is not None:
            data = self._data
            forces = np.zeros(self._model.neq)
            rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
            # Each has one row or several; a joint's has one, with a Jacobian of 1.
            np.add.at(forces, data.efc_id[rows], data.efc_force[rows])
            applied[self.free[servo]] = forces[self._brakes[servo]]
        return applied

    def set_effort(self, effort):
        """Command efforts, as `SimulatedRobot.set_effort`."""
        effort = joint_values(effort, self._commanded, self._names, 'effort')
        np.minimum(effort, self._limits, out=effort)
        np.maximum(effort, -self._limits, out=self._commanded)  # np.clip takes twice as long
        self._command()

    def set_position(self, position):
        """Command positions, as `SimulatedRobot.set_position`."""
        if not (position or self._by_position):  # as in most cycles
            return
        values = joint_values(dict(position), np.zeros(len(self.effort)), self._names, 'position')
        named = [self._names[name] for name in position]
        self._wanted, self._by_position = np.full(len(values), np.nan), bool(position)
        self._wanted[named] = values[named]
        self._commanded[named] = 0.0
        self._command()

    def set_friction(self, coulomb, viscous):
        """Set the friction of drives (n,), N·m or N, N·m·s/rad or N·s/m, beside the URDF's."""
        self._friction[:] = coulomb, viscous
        sticking = self.in_qvel[self._friction[0, self.free] > 0.0]
        self._model.dof_solref[:], self._model.dof_solimp[:] = self._softness
        # Joints that stick creep: by MuJoCo's default by 1 mrad/s for each rad/s² that they resist.
        self._model.dof_solref[sticking] = stiff_reference(self._model.opt.timestep)
        self._model.dof_solimp[sticking, :2] = STIFF[1]
        self._apply_friction()

    def _command(self):
        self._commands.put(self._data.time, (self._commanded.copy(), self._wanted))
        if not self.delay:
            self.obey()

    def obey(self):
        """Obey the commands that have arrived."""
        effort, position = self._commands.get(self._data.time - self.delay)[1]
        self.effort[:] = effort
        if position is not self._position:
            self._position = position
            self._hold()
        self._apply()

    def _hold(self):
        """Set the constraints of closed brakes and of drives that obey positions."""
        by_position = np.isfinite(self._position)
        servo = (by_position & self._powered)[self.free] & ~self._braked
        self._serving = servo if servo.any() else None
        self._silent = ~self._powered | by_position
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
        """Set which drives work, (n,) bool."""
        self._powered[:] = working
        self._commanded[~self._powered] = 0.0
        self._apply_friction()

    def _apply_friction(self):
        """Set the friction of all joints; only drives that work overcome the URDF's."""
        dead = self.in_qvel[~self._powered[self.free]]
        in_mujoco = self._model.dof_frictionloss, self._model.dof_damping
        for values, all_values, own in zip(
                in_mujoco, self._urdf_friction, self._friction, strict=True):
            if self._overcome:
                values[:] = 0.0
                values[dead] = all_values[dead]
            else:
                values[:] = all_values
            values[self.in_qvel] += own[self.free]

    def _apply(self):
        self.effort[self._silent] = 0.0
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

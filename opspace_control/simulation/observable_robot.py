# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What can be seen of a simulated robot and measured at it."""

import mujoco
import numpy as np

from opspace_control.errors import SimulationError
from opspace_control.model.topology import nearest
from opspace_control.simulation.arguments import IDENTITY_POSE
from opspace_control.simulation.drives import Drives
from opspace_control.simulation.grips import Grips
from opspace_control.simulation.measurements import Measurements
from opspace_control.simulation.mujoco_model import SENSORS, World, compile_model
from opspace_control.simulation.reality import Reality
from opspace_control.simulation.urdf_reader import body_name, link_name


class ObservableRobot:
    """
    The measurements of a `SimulatedRobot`, which documents arguments and attributes.

    A SimulationError names a link that does not exist.
    """

    timestep = property(lambda self: self.model.opt.timestep, doc='Duration of a step, s.')
    time = property(lambda self: self.data.time, doc='Time since the last `reset`, s.')

    def __init__(self, urdf_text, *, floating_base=False, joint_friction=True, objects=(),
                 shapes=(), locked_joints=(), wrench_sensors=(), reality=None, **world):
        objects = tuple(objects)
        self.model, self._joints, self._welds = compile_model(
            urdf_text, World(**world, objects=objects), floating_base=floating_base, shapes=shapes,
            locked_joints=locked_joints, wrench_sensors=wrench_sensors)
        self.data = mujoco.MjData(self.model)
        self._warnings = self.data.warning.number  # a view of how often MuJoCo gave each
        self.floating_base = floating_base
        bodies = [link_name(self.model.body(i).name) for i in range(1, self.model.nbody)]
        self.link_names = tuple(bodies[:len(bodies) - len(objects)])
        self.objects = {box.name: box for box in objects}
        self._grips = Grips(self.model, self.data)
        driven = [(joint, *dof) for joint in self._joints.values() if joint.mimic is None
                  for dof in zip(joint.dof_names, joint.parts, strict=True)]
        self.joint_names = tuple(dof_name for _, dof_name, _ in driven)
        self.lower_position_limits = np.array([joint.lower for joint, _, _ in driven])
        self.upper_position_limits = np.array([joint.upper for joint, _, _ in driven])
        self.effort_limits = np.array([joint.effort for joint, _, _ in driven])
        self._index = {name: i for i, name in enumerate(self.joint_names)}
        self._drives = Drives(
            self.model, self.data,
            [(name, joint.name, None if joint.name in self._welds else part)
             for joint, name, part in driven], self.effort_limits, joint_friction)
        self._free = self._drives.free
        self._in_qpos, self._in_qvel = self._drives.in_qpos, self._drives.in_qvel
        self._start = np.zeros(len(driven))
        self._wrenches = {}
        self._inertias = self.model.body_mass.copy(), self.model.body_inertia.copy()
        self.reality = reality or Reality()
        self._measurements = Measurements(self)

    @property
    def reality(self):
        """How the robot differs from its URDF: a `Reality`, which may be set at any time."""
        return self._reality

    @reality.setter
    def reality(self, reality):
        self._drives.set_friction(*reality.drive_friction(self.effort_limits, self.joint_names))
        self._drives.delay = reality.command_delay
        factors = np.ones(self.model.nbody)
        factors[1:1 + len(self.link_names)] = reality.mass_factors(len(self.link_names))
        mass, inertia = self._inertias
        if (self.model.body_mass != factors * mass).any():
            self.model.body_mass[:] = factors * mass
            self.model.body_inertia[:] = factors[:, None] * inertia
            mujoco.mj_setConst(self.model, mujoco.MjData(self.model))
        self._reality = reality

    @property
    def drive_friction(self):
        """Coulomb and viscous friction (2, n) of drives, N·m or N, N·m·s/rad or N·s/m."""
        return np.array(self._reality.drive_friction(self.effort_limits, self.joint_names))

    @property
    def measured(self):
        """The present `Measurement` of joints and base, by `reality`; do not change its arrays."""
        return self._measurements.read()

    @property
    def positions(self):
        """Positions of the joints, (n,), rad or m: a copy."""
        positions = self._start.copy()
        positions[self._free] = self.data.qpos[self._in_qpos]
        return positions

    @property
    def velocities(self):
        """Velocities of the joints, (n,), rad/s or m/s: a copy."""
        velocities = np.zeros(len(self._start))
        velocities[self._free] = self.data.qvel[self._in_qvel]
        return velocities

    @property
    def efforts(self):
        """Efforts (n,) that the drives apply, after their clamp, N·m or N: a copy."""
        return self._drives.applied

    @property
    def base_pose(self):
        """Pose (7,) ``[x y z qx qy qz qw]`` of the root link in the world."""
        if not self.floating_base:
            return np.array(IDENTITY_POSE)
        return self.data.qpos[[0, 1, 2, 4, 5, 6, 3]]

    @property
    def base_twist(self):
        """Velocity (6,) ``[v; ω]`` of the root link's origin, world axes, m/s and rad/s."""
        twist = np.zeros(6)
        if self.floating_base:
            twist[:3] = self.data.qvel[:3]
            # MuJoCo gives the angular part in the base's axes.
            mujoco.mju_rotVecQuat(twist[3:], self.data.qvel[3:6], self.data.qpos[3:7])
        return twist

    def frame_pose(self, link):
        """Return the pose (7,) ``[x y z qx qy qz qw]`` of a link or object in the world."""
        body = self._body(link)
        mujoco.mj_kinematics(self.model, self.data)
        w, x, y, z = self.data.xquat[body]
        return np.array([*self.data.xpos[body], x, y, z, w])

    def skeleton(self):
        """Return lines (k, 2, 3), m, from each link to its parent, in the world."""
        places = [self.frame_pose(link)[:3] for link in self.link_names]
        parents = self.model.body_parentid[1:len(places) + 1] - 1  # behind the links are objects
        return np.array([(places[parent], place)
                         for parent, place in zip(parents, places, strict=True) if parent >= 0])

    def energy(self):
        """Return the mechanical energy, kinetic plus that of height above the world's origin, J."""
        mujoco.mj_fwdPosition(self.model, self.data)
        mujoco.mj_fwdVelocity(self.model, self.data)
        mujoco.mj_energyPos(self.model, self.data)
        mujoco.mj_energyVel(self.model, self.data)
        return float(self.data.energy.sum())

    def momentum(self, point=(0.0, 0.0, 0.0), link=None):
        """
        Return the momentum (6,) ``[p; L]`` of everything, or of one link, kg m/s and kg m²/s.

        World axes; the angular part about a point (3,) that is fixed in the world, m: about a
        moving point it would not be conserved.
        """
        bodies = range(1, self.model.nbody) if link is None else [self._body(link)]
        model, data = self.model, self.data
        for update in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_comVel):
            update(model, data)
        point, total = np.asarray(point, float), np.zeros(6)
        for body in bodies:
            # MuJoCo's velocities are angular first, and those of the tree's centre of mass.
            w, v = data.cvel[body].reshape(2, 3)
            center = data.xipos[body]
            v = v + np.cross(w, center - data.subtree_com[model.body_rootid[body]])
            axes = data.ximat[body].reshape(3, 3)
            linear = model.body_mass[body] * v
            total[:3] += linear
            total[3:] += axes @ (model.body_inertia[body] * (w @ axes))
            total[3:] += np.cross(center - point, linear)
        return total

    def wrench(self, link):
        """
        Return what a force/torque sensor between a link and its parent has measured last.

        The wrench (6,) ``[f; n]``, N and N·m, of the link's side on the parent's, in the link's
        frame and about its origin: at rest, the external forces on the link and on all links that
        it carries, weight included. It is that of the step to the present state. The link must be
        one of ``wrench_sensors``.
        """
        try:
            # MuJoCo's is the wrench of the parent on the link.
            return -np.concatenate([self.data.sensor(name + link).data for name in SENSORS])
        except KeyError:
            raise SimulationError(f"There is no wrench sensor at '{link}'.", link=link,
                                  cure='Name the link in wrench_sensors=(...).') from None

    def contact_wrench(self, link):
        """
        Return the wrench (6,) ``[f; n]`` of contacts on a link and all links fixed to it.

        N and N·m, in the link's frame and about its origin; zero without contact. It is that of the
        step to the present state.
        """
        model, data, body = self.model, self.data, self._body(link)
        rigid = model.body_weldid[body]
        force, moment, about, six = np.zeros(3), np.zeros(3), np.empty(3), np.empty(6)
        for i in range(data.ncon):
            contact = data.contact[i]
            own = model.body_weldid[model.geom_bodyid[contact.geom]] == rigid
            if own[0] == own[1]:
                continue
            # In the contact's axes, by rows; on the second of the two shapes.
            mujoco.mj_contactForce(model, data, i, six)
            f, n = (six.reshape(2, 3) @ contact.frame.reshape(3, 3)) * (own[1] * 2.0 - 1.0)
            force += f
            mujoco.mju_cross(about, contact.pos - data.xpos[body], f)
            moment += n + about
        R = data.xmat[body].reshape(3, 3)
        return np.concatenate([force @ R, moment @ R])

    def grip_wrench(self, link, other):
        """
        Return the wrench of a link on the object in its grip, (6,) ``[f; n]``, N and N·m.

        World axes, at the gripped place, which moves with the link. It is that of the step to the
        present state. A SimulationError is raised if there is no such grip.
        """
        return self._grips.wrench((link, other))

    def _body(self, link):
        body = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, body_name(link))
        if body < 0:
            raise SimulationError(f"The robot has no link '{link}'.", link=link,
                                  cure=nearest(link, [*self.link_names, *self.objects]))
        return body

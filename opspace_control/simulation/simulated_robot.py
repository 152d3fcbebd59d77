# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot from its URDF, driven by joint efforts."""

import mujoco
import numpy as np

from opspace_control.checks import checked
from opspace_control.errors import SimulationError
from opspace_control.model.topology import nearest
from opspace_control.simulation.arguments import base_state, check_within, joint_values
from opspace_control.simulation.observable_robot import ObservableRobot


class SimulatedRobot(ObservableRobot):
    """
    A simulated robot with drives of efforts or, where commanded, of positions.

    Joints have the friction and end stops of the URDF; efforts are clamped at its limits, as a
    drive does; velocity limits are not enforced. Mimic joints are coupled by a stiff constraint and
    carry their own inertia. Where all links beyond a joint are massless each gets one gram, so that
    the joint can be simulated at all.

    The world frame is the root link's when the base is fixed. Quaternions are xyzw. A planar joint
    is three: ``joint/x``, ``joint/y`` and ``joint/rz``. Wherever a method takes a link, it also
    takes an object. A SimulationError names a link, object or joint that does not exist and a
    number that is not usable; then nothing changes.

    Parameters
    ----------
    urdf_text : str
        The robot; meshes are never opened. A ModelError names an element that cannot be used, a
        SimulationError one that cannot be simulated.
    floating_base : bool
        Whether the root link is free to move; otherwise it is fixed.
    timestep : float
        s.
    gravity : (3,) array_like
        m/s², world axes.
    joint_friction : bool
        Whether the joints have the damping and friction of the URDF; False for drives that
        overcome it while they work.
    contacts, floor : bool
        Whether the links touch each other, and a floor at z = 0. Of the collision shapes only
        boxes, cylinders and spheres count. Links that overlap in the zero posture do not touch.
    shapes : iterable of Shape
        Of links, instead of their collision shapes.
    friction : float
        Coefficient of sliding friction of links and floor; of two bodies the greater one counts.
    locked_joints : iterable of str
        Joints that are welded for good: `reset` places them, nothing else moves them.
    wrench_sensors : iterable of str
        Links at which `wrench` measures.
    reality : Reality, optional
        Friction, wrong masses, delay of commands, and how the state is ``measured``; by default
        the robot is as its URDF, its drives and measurements are ideal.
    objects : iterable of Box
        They touch the floor and each other, and with ``contacts`` the robot.

    Attributes
    ----------
    joint_names : tuple of str
        Every moving joint that mimics no other, locked ones included: depth first from the root
        link, children in the order of the file. All (n,) arrays below are in this order.
    lower_position_limits, upper_position_limits, effort_limits : (n,) float
        ±inf where there is none. rad or m, N·m or N.
    link_names : tuple of str
        Every link, the root link first.
    objects : dict of str to Box
        As given.
    model, data : mujoco.MjModel, mujoco.MjData
        For what this class does not offer.

    """

    def __init__(self, urdf_text, **options):
        super().__init__(urdf_text, **options)
        self.reset()

    def accelerations(self):
        """Return the joints' accelerations under the present efforts, (n,), rad/s² or m/s²."""
        self._apply_wrenches()
        mujoco.mj_forward(self.model, self.data)
        accelerations = np.zeros(len(self._start))
        accelerations[self._free] = self.data.qacc[self._in_qvel]
        return accelerations

    def set_effort(self, effort):
        """
        Command efforts, N·m or N, until the next command; they are clamped at the effort limits.

        An array (n,), or a dict by joint name; joints that are not in a dict keep theirs.
        """
        self._drives.set_effort(effort)

    def set_position(self, position):
        """
        Let drives move their joints to positions, rad or m by joint name, with unlimited effort.

        They are there within a few time steps, so command points of a trajectory. The drives of all
        other joints obey efforts.
        """
        self._drives.set_position(position)

    def set_status(self, *, passive=None, locked=None):
        """
        Set the dead drives and the closed brakes, of joints or single degrees of freedom.

        Commands to a dead drive, ``passive``, have no effect. A brake, ``locked``, stops its joint
        within a few time steps and locks it there. What is not given does not change. `reset`
        repairs all drives and opens all brakes.
        """
        self._drives.set_status(passive, locked)

    def apply_wrench(self, link, wrench):
        """
        Apply a wrench to a link until the next call; zero removes it.

        ``[f; n]`` (6,) at the link frame's origin, world axes, N and N·m.
        """
        body, wrench = self._body(link), checked(
            wrench, f"The wrench on '{link}'", SimulationError, (6,), link=link)
        if wrench.any():
            self._wrenches[body] = wrench
        else:  # no time is spent on it in further steps
            self._wrenches.pop(body, None)
            self.data.xfrc_applied[body] = 0.0

    def grip(self, link, other, *, place=None, rigid=True):
        """
        Close a grip of a link on another at the present pose, until `release` or `reset`.

        ``other`` is an object or link; None is the world. ``place`` (3,) is the point of the grip
        in the link's frame, m; its origin if not given. ``rigid`` constrains the relative rotation,
        too; else only the position. A SimulationError is also raised if the grip is closed already,
        or no grip is left.
        """
        first = self._body(link)
        second = 0 if other is None else self._body(other)
        mujoco.mj_kinematics(self.model, self.data)
        place = np.zeros(3) if place is None else np.array(place, float)
        place = self.data.xpos[first] + self.data.xmat[first].reshape(3, 3) @ place
        self._grips.close((link, other), first, second, place, rigid)

    def release(self, link, other):
        """Open a grip of a link, or raise a SimulationError if there is none."""
        self._grips.open((link, other))

    def place_object(self, name, pose, twist=None):
        """
        Set the pose (7,) ``[x y z qx qy qz qw]`` in the world of an object that is not fixed.

        ``twist`` (6,) ``[v; ω]`` is that of its frame's origin, world axes; at rest if not given.
        """
        if name not in self.objects or self.objects[name].fixed:
            free = [box.name for box in self.objects.values() if not box.fixed]
            raise SimulationError(f"There is no free object '{name}'.", cure=nearest(name, free),
                                  element=name)
        joint = self.model.joint(name)
        qpos, qvel = base_state(pose, twist)
        self.data.qpos[joint.qposadr[0]:joint.qposadr[0] + 7] = qpos
        self.data.qvel[joint.dofadr[0]:joint.dofadr[0] + 6] = qvel
        mujoco.mj_forward(self.model, self.data)

    def step(self, n=1):
        """
        Advance by ``n`` time steps under the present efforts.

        A SimulationError is raised if the motion diverges; `reset` restarts.
        """
        reality = self.reality
        if self._wrenches or reality.state_delay or reality.base_delay or reality.command_delay:
            for _ in range(n):
                if reality.command_delay:
                    self._drives.obey()
                self._apply_wrenches()
                mujoco.mj_step(self.model, self.data)
                self._measurements.record()
        else:
            mujoco.mj_step(self.model, self.data, n)
        if np.count_nonzero(self._warnings):
            raise SimulationError(
                f'The simulation blew up before t = {self.time:.3f} s.',
                cure='Lower the gains or efforts, or take a smaller timestep.', time=self.time)

    def reset(self, positions=None, velocities=None, *, base_pose=None, base_twist=None):
        """
        Reset to time 0, without efforts, wrenches and grips, objects at their initial poses.

        ``positions`` and ``velocities`` are (n,) or dicts by joint name, rad or m, rad/s or m/s.
        Joints not in a dict start at rest at zero or, if zero is out of reach, at the nearest
        position limit. A SimulationError refuses a position beyond its limits.

        Of a floating base ``base_pose`` (7,) is ``[x y z qx qy qz qw]``, the world's origin by
        default, and ``base_twist`` (6,) ``[v; ω]`` of its origin, world axes, at rest by default.
        """
        lower, upper = self.lower_position_limits, self.upper_position_limits
        zero = np.zeros(len(self.joint_names))
        start = joint_values(positions, np.clip(zero, lower, upper), self._index, 'position')
        speed = joint_values(velocities, zero, self._index, 'velocity')
        check_within(start, lower, upper, self.joint_names)
        if not self.floating_base and not (base_pose is None and base_twist is None):
            raise SimulationError('The base is fixed: it takes no pose and no twist.',
                                  cure='Use floating_base=True.')
        base = base_state(base_pose, base_twist) if self.floating_base else None
        mujoco.mj_resetData(self.model, self.data)
        self._wrenches.clear()
        self._drives.reset()
        self._grips.reset()
        self._start = start
        self.data.qpos[self._in_qpos] = start[self._free]
        self.data.qvel[self._in_qvel] = speed[self._free]
        if self.floating_base:
            self.data.qpos[:7], self.data.qvel[:6] = base
        self._place_mimics_and_welds()
        mujoco.mj_forward(self.model, self.data)
        self._measurements.restart()

    def _place_mimics_and_welds(self):
        for joint in self._joints.values():
            if joint.mimic is not None:
                mimicked, multiplier, offset = joint.mimic
                mimicked = self._index[mimicked]
                values = [multiplier * self._start[mimicked] + offset]
            else:
                values = [self._start[self._index[name]] for name in joint.dof_names]
            if joint.name in self._welds:
                self._welds[joint.name].place(self.model, values)
            elif joint.mimic is not None:
                mimic, other = (self.model.joint(name) for name in (joint.name, joint.mimic[0]))
                self.data.qpos[mimic.qposadr[0]] = values[0]
                self.data.qvel[mimic.dofadr[0]] = multiplier * self.data.qvel[other.dofadr[0]]

    def _apply_wrenches(self):
        """Apply the wrenches at the present pose."""
        if not self._wrenches:
            return
        mujoco.mj_kinematics(self.model, self.data)
        for body, wrench in self._wrenches.items():
            # MuJoCo takes it at the centre of mass.
            arm = self.data.xpos[body] - self.data.xipos[body]
            self.data.xfrc_applied[body, :3] = wrench[:3]
            self.data.xfrc_applied[body, 3:] = wrench[3:] + np.cross(arm, wrench[:3])

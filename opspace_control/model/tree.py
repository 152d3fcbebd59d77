# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The robot, immutable: names, limits, the flat arrays of the recursions, the status of joints."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from opspace_control.errors import ModelError, StateError
from opspace_control.model.assembly import Assembly
from opspace_control.model.mobility import check_mobility
from opspace_control.model.nodes import ACTIVE, LOCKED, PASSIVE, PRISMATIC, QUATERNION, REVOLUTE
from opspace_control.model.ros2_control import joints_with_command, refused_mimics, unknown_joints
from opspace_control.model.topology import nearest
from opspace_control.model.urdf import read_bytes, read_urdf
from opspace_control.spatial.quaternions import turned


def write_status(nodes, passive, locked):
    """Write the status of driven NODE records; those that mimic others stay locked."""
    status = np.where(locked, LOCKED, np.where(passive, PASSIVE, ACTIVE))
    driven = nodes['v_index'] >= 0
    nodes['status'][driven] = status[nodes['v_index'][driven]]


def read_status(dof_names, joint_dofs, mimics, passive_joints, locked_joints):
    """
    Return which degrees of freedom lists of names make passive and locked, (nv,) bool each.

    ``passive_joints`` and ``locked_joints`` name joints or single dofs. ``joint_dofs`` has the
    indices into v of each joint, ``mimics`` the mimicked joint, multiplier and offset of each mimic
    joint.
    """
    passive = _chosen(dof_names, joint_dofs, mimics, passive_joints, 'passive_joints')
    locked = _chosen(dof_names, joint_dofs, mimics, locked_joints, 'locked_joints')
    for name in np.array(dof_names, object)[passive & locked]:
        raise ModelError(f"'{name}' is both in passive_joints and in locked_joints.",
                         cure='Leave it in one of them.', element=name)
    return passive, locked


def _chosen(dof_names, joint_dofs, mimics, names, argument):
    """Return the (nv,) mask of the dofs that ``names`` (of joints or of dofs) stand for."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ModelError(f'{argument} is {names!r}, not a list of names.',
                         cure=f'Write {argument}=[...].', value=names)
    mask = np.zeros(len(dof_names), bool)
    dof_index = {name: number for number, name in enumerate(dof_names)}
    for name in map(str, names):
        if name in joint_dofs:
            mask[joint_dofs[name]] = True
        elif name in dof_index:
            mask[dof_index[name]] = True
        elif name in mimics:
            raise ModelError(f"{argument} names '{name}', which mimics '{mimics[name][0]}'.",
                             cure='Name the joint that it mimics.', element=name)
        else:
            raise ModelError(f"{argument} names '{name}', which is no moving joint of the robot.",
                             cure=nearest(name, [*joint_dofs, *dof_index]), element=name)
    return mask


# In the order of an `Assembly`'s limits.
_BY_DOF = ('lower_position_limits', 'upper_position_limits', 'velocity_limits', 'effort_limits',
           'lower_soft_limits', 'upper_soft_limits', 'damping', 'friction')


@dataclass(frozen=True, eq=False, repr=False)
class KinematicTree:
    """
    A robot as a tree of one-degree-of-freedom nodes, read from a URDF; all of it is read-only.

    A floating base comes first: ``q = [x y z qx qy qz qw ...]``, ``v = [v; ω; ...]`` of the root
    link's origin in world axes, dofs ``base/x`` ... ``base/rz``. The joints follow depth first,
    children in document order. A revolute, continuous or prismatic joint is one number in q and
    one in v; a planar joint three, ``[x y θ]`` (``joint/x``, ``joint/y``, ``joint/rz``), where x
    and y are the joint frame's own, turned the short way with its z onto the joint axis; a
    ``floating`` joint seven and six, like the base but in its joint frame's axes. A mimic joint
    follows the position of another and is no degree of freedom; its limits of position and velocity
    are among those of the other. Units are m, rad, kg, s, N, N·m.
    """

    name: str
    root_link: str
    floating_base: bool
    dof_names: tuple
    joint_names: tuple            # moving joints that follow no other; not the floating base
    frame_names: tuple            # links, depth first; the root link is the first
    nq: int
    nodes: np.ndarray             # NODE records, parents before children
    frames: np.ndarray            # FRAME records, one a frame name
    q_index: np.ndarray           # (nv,) of each dof into q, -1 for the rotations of a quaternion
    lower_position_limits: np.ndarray  # (nv,) rad or m, -inf where there is none
    upper_position_limits: np.ndarray  # (nv,) rad or m, +inf where there is none
    velocity_limits: np.ndarray   # (nv,) rad/s or m/s, +inf where there is none
    effort_limits: np.ndarray     # (nv,) N·m or N, +inf where there is none
    lower_soft_limits: np.ndarray  # (nv,) rad or m: those of position, or closer, by the URDF's
    upper_soft_limits: np.ndarray  # (nv,) <safety_controller>
    damping: np.ndarray           # (nv,) N·m·s/rad or N·s/m
    friction: np.ndarray          # (nv,) N·m or N
    passive: np.ndarray           # (nv,) bool: without a drive to command
    locked: np.ndarray            # (nv,) bool: with a closed brake
    mimics: MappingProxyType      # joint -> (independent joint, multiplier, offset)
    ros2_control: tuple           # Hardware blocks
    effort_joints: tuple          # joints with an effort command interface
    warnings: tuple               # doubtful elements of the file, and how they were read
    joint_dofs: MappingProxyType  # joint, or 'base' -> range of its indices into v

    @classmethod
    def from_urdf_file(cls, path, *, floating_base=False, passive_joints=(), locked_joints=()):
        """Read a URDF or xacro file; keywords are those of `from_urdf`. Meshes are never opened."""
        return cls._from_description(read_urdf(read_bytes(path), path), floating_base,
                                     passive_joints, locked_joints)

    @classmethod
    def from_urdf(cls, text, *, floating_base=False, passive_joints=(), locked_joints=()):
        """
        Read the XML text of a URDF, str or bytes.

        A ModelError is raised if the text is no URDF, the robot no tree that can be moved, or a
        name is unknown; it names the element and the cure.

        Parameters
        ----------
        text : str or bytes
            The URDF.
        floating_base : bool
            Whether the root link moves freely. Its six dofs are active unless ``passive_joints``
            says otherwise; ``'base'`` names all six.
        passive_joints, locked_joints : sequence of str
            Joints (all their dofs) or single dofs without a drive, [JR94] 3, or with a closed
            brake. They stay in q, v and ``dof_names``.

        """
        return cls._from_description(read_urdf(text), floating_base, passive_joints, locked_joints)

    @classmethod
    def _from_description(cls, description, floating_base, passive_joints, locked_joints):
        robot = Assembly(description, floating_base)
        passive, locked = read_status(
            robot.dof_names, robot.dofs, robot.mimics, passive_joints, locked_joints)
        write_status(robot.nodes, passive, locked)
        check_mobility(robot)
        by_dof = dict(zip(_BY_DOF, np.array(robot.limits).T.copy(), strict=True))
        with_effort = joints_with_command(description.hardware, 'effort')
        return cls(
            name=description.name,
            root_link=robot.root_link,
            floating_base=bool(floating_base),
            dof_names=tuple(robot.dof_names),
            joint_names=tuple(name for name in robot.dofs if name in description.joints),
            frame_names=robot.frame_names,
            nq=robot.nq,
            nodes=robot.nodes,
            frames=robot.frames,
            q_index=np.array(robot.q_index),
            **by_dof,
            passive=passive,
            locked=locked,
            mimics=robot.mimics,
            ros2_control=description.hardware,
            effort_joints=tuple(name for name in robot.dofs if name in with_effort),
            warnings=(*robot.warnings, *unknown_joints(description),
                      *refused_mimics(description)),
            joint_dofs=robot.dofs)

    def __post_init__(self):
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            elif isinstance(value, dict):
                object.__setattr__(self, name, MappingProxyType(value))

    def __getstate__(self):
        return {name: dict(value) if isinstance(value, MappingProxyType) else value
                for name, value in vars(self).items()}

    def __setstate__(self, state):
        vars(self).update(state)
        self.__post_init__()

    @property
    def nv(self):
        """Return the number of degrees of freedom, the length of v and of every torque."""
        return len(self.dof_names)

    def __repr__(self):
        base = ', floating base' if self.floating_base else ''
        return (f'<{type(self).__name__} {self.name!r}: {self.nv} degrees of freedom, '
                f'{len(self.frame_names)} links{base}>')

    def dof_index(self, name):
        """Return the index into v of a degree of freedom, or raise a ModelError."""
        return _index(self._dof_numbers, name, 'degree of freedom')

    def dofs_of(self, name):
        """Return the indices into v of a joint, or of one dof, by name, or raise a ModelError."""
        dofs = self.joint_dofs.get(name)
        return [self.dof_index(name)] if dofs is None else dofs

    def names_of(self, dofs):
        """Return the names of the degrees of freedom of a mask, (nv,) bool, as a tuple."""
        return tuple(self.dof_names[k] for k in np.flatnonzero(dofs))

    def frame_index(self, name):
        """Return the index into ``frames`` of a link, or raise a ModelError."""
        return _index(self._frame_numbers, name, 'link')

    def neutral(self):
        """Return q (nq,) with every coordinate zero and every quaternion identity."""
        q = np.zeros(self.nq)
        for start in self.quaternions:
            q[start + 3] = 1.0
        return q

    def integrate(self, q, v, dt):
        """
        Return the positions (nq,) that are reached in ``dt``, s, at constant velocities v (nv,).

        A quaternion is turned by the angular velocity's rotation vector, in the axes that ω has
        (those of the world, or of the joint frame), and stays of unit norm. A StateError refuses
        another shape.
        """
        q, v = np.array(q, dtype=float), np.asarray(v, dtype=float)
        if q.shape != (self.nq,) or v.shape != (self.nv,):
            raise StateError(f'q and v have shapes {q.shape} and {v.shape}.',
                             cure=f'This robot needs ({self.nq},) and ({self.nv},).')
        scalar = self.q_index >= 0
        q[self.q_index[scalar]] += v[scalar] * dt
        last = self.nodes[self.nodes['kind'] == QUATERNION]
        for i, dof in zip(last['q_index'], last['v_index'], strict=True):
            q[i:i + 4] = turned(q[i:i + 4], v[dof - 2:dof + 1] * dt)
        return q

    @cached_property
    def active(self):
        """Return which dofs have a drive to command, (nv,) bool: neither passive nor locked."""
        active = ~(self.passive | self.locked)
        active.setflags(write=False)
        return active

    @cached_property
    def quaternions(self):
        """Return the indices into q of every quaternion's first number, as a tuple."""
        return tuple(self.nodes['q_index'][self.nodes['kind'] == QUATERNION].tolist())

    @cached_property
    def coordinate_names(self):
        """Return a name for each number of q: its dof's, or ``joint/qx`` ... of a quaternion."""
        names = np.empty(self.nq, object)
        scalar = self.q_index >= 0
        names[self.q_index[scalar]] = np.array(self.dof_names, object)[scalar]
        last = self.nodes[self.nodes['kind'] == QUATERNION]
        for i, dof in zip(last['q_index'], last['v_index'], strict=True):
            joint = self.dof_names[dof].rpartition('/')[0]
            names[i:i + 4] = [f'{joint}/q{axis}' for axis in 'xyzw']
        return tuple(names)

    @cached_property
    def slides(self):
        """Return which dofs are translations, of m and N instead of rad and N·m, (nv,) bool."""
        slides = np.zeros(self.nv, dtype=bool)
        moving = self.nodes[self.nodes['v_index'] >= 0]
        slides[moving['v_index']] = moving['kind'] == PRISMATIC
        slides.setflags(write=False)
        return slides

    @cached_property
    def turns_freely(self):
        """Return which dofs are rotations without position limits, (nv,) bool: q may wrap."""
        endless = np.zeros(self.nv, dtype=bool)
        turning = self.nodes['v_index'][self.nodes['kind'] == REVOLUTE]
        endless[turning[turning >= 0]] = True
        endless &= np.isinf(self.lower_position_limits) & np.isinf(self.upper_position_limits)
        endless.setflags(write=False)
        return endless

    @cached_property
    def _dof_numbers(self):
        return {name: number for number, name in enumerate(self.dof_names)}

    @cached_property
    def _frame_numbers(self):
        return {name: number for number, name in enumerate(self.frame_names)}


def _index(numbers, name, what):
    try:
        return numbers[name]
    except (KeyError, TypeError):
        raise ModelError(f"The robot has no {what} '{name}'.", cure=nearest(name, numbers),
                         name=name) from None

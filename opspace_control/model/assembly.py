# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The assembly of a description into flat arrays: nodes, frames on nodes, numbers per dof."""

import numpy as np

from opspace_control.errors import ModelError
from opspace_control.model.bodies import check_body, doubts, lump
from opspace_control.model.limits import Limits, limits_of
from opspace_control.model.nodes import (
    FRAME,
    LOCKED,
    NODE,
    PRISMATIC,
    QUATERNION,
    QUATERNION_AXIS,
    REVOLUTE,
    WORLD,
)
from opspace_control.model.topology import depth_first, resolve_mimics

BASE = 'base'
_FREE = (*Limits(), 0.0, 0.0)
_SCALAR_KINDS = {'revolute': REVOLUTE, 'continuous': REVOLUTE, 'prismatic': PRISMATIC}
_X, _Y, _Z = np.eye(3)
_FLOATING = (('/x', PRISMATIC, _X), ('/y', PRISMATIC, _Y), ('/z', PRISMATIC, _Z),
             ('/rx', QUATERNION_AXIS, _X), ('/ry', QUATERNION_AXIS, _Y), ('/rz', QUATERNION, _Z))


class Assembly:
    """
    The flat form of a robot while it grows, one pass over the joints, parents first.

    A fixed joint places its child link on the body of its parent; any other adds the nodes of a new
    body. `KinematicTree` is made of what is here in the end.
    """

    def __init__(self, description, floating_base):
        self.root_link, joints = depth_first(description)
        self.mimics = resolve_mimics(description.joints)
        self._limits, self.warnings = limits_of(
            {joint.name: joint for joint in joints}, self.mimics)
        self.dofs = {}       # moving, independent joint (and the base) -> its indices into v
        self.dof_names = []
        self.limits = []     # by dof: four limits, two soft ones, damping, friction
        self.q_index = []    # by dof: index into q, -1 for the rotations of a quaternion
        self.nq = 0
        self._nodes = []      # records of NODE
        self._mimic_nodes = {}  # mimic joint -> its node
        self._owners = {}     # name of a joint or dof -> joint
        self._places = {}     # link -> (node, rotation, position) in the node's body frame

        place = (WORLD, np.eye(3), np.zeros(3))
        if floating_base:
            self._refuse_second_floating_joint(description, joints)
            place = self._add_chain(BASE, _FLOATING, *place)
        self._places[self.root_link] = place
        for joint in joints:
            self._places[joint.child] = self._add_joint(joint)
        if not self.dof_names:
            raise ModelError(f"The robot '{description.name}' has no joint that moves.",
                             cure='Give it one, or pass floating_base=True.', element='robot')
        self._couple_mimics()
        self._lump_links(description.links)
        self.nodes = np.array(self._nodes, NODE)
        self.frame_names = tuple(self._places)
        self.frames = np.array(list(self._places.values()), FRAME)

    def _add_joint(self, joint):
        """Add what a joint moves and return the place of its child link."""
        node, rotation, position = self._places[joint.parent]
        position = position + rotation @ joint.position
        rotation = rotation @ joint.rotation
        if joint.type == 'fixed':
            return node, rotation, position
        if joint.name in self.mimics:
            self._mimic_nodes[joint.name] = len(self._nodes)
            return self._add_node(_SCALAR_KINDS[joint.type], joint.axis, node, rotation, position)
        chain = _chain(joint)
        place = self._add_chain(joint.name, chain, node, rotation, position,
                                (*self._limits[joint.name], joint.damping, joint.friction))
        if len(chain) == 1:
            self._nodes[-1]['armature'] = joint.armature
        return place

    def _add_chain(self, name, chain, node, rotation, position, limits=_FREE):
        """Add the nodes of a moving joint, one a degree of freedom; return its body's place."""
        first, first_dof = len(self._nodes), len(self.dof_names)
        place = (node, rotation, position)
        for number, (suffix, kind, axis) in enumerate(chain):
            place = self._add_node(kind, axis, *place)
            row = self._nodes[-1]
            row['q_index'] = self.nq + min(number, 3)
            row['v_index'] = len(self.dof_names)
            if kind in (QUATERNION_AXIS, QUATERNION):
                row['carrier'] = first + 2
                self.q_index.append(-1)
            else:
                self.q_index.append(row['q_index'])
            self.dof_names.append(name + suffix)
            self.limits.append(limits)
        self.nq += len(chain) + (kind == QUATERNION)  # a quaternion has a number more than dofs
        self._claim_names(name, self.dof_names[first_dof:])
        self.dofs[name] = range(first_dof, len(self.dof_names))
        return place

    def _add_node(self, kind, axis, node, rotation, position):
        """Add one node, driven by nothing yet, and return the place of its body frame."""
        row = np.zeros((), NODE)
        row['parent'] = row['carrier'] = node
        row['kind'], row['axis'] = kind, axis
        row['rotation'], row['position'] = rotation, position
        row['status'], row['v_index'] = LOCKED, -1
        row['q_scale'] = 1.0
        self._nodes.append(row)
        return len(self._nodes) - 1, np.eye(3), np.zeros(3)

    def _claim_names(self, joint, dofs):
        """Keep the names of joints and degrees of freedom distinct: users name both."""
        for name in {joint, *dofs}:
            if name in self._owners:
                owner = self._owners[name]
                raise ModelError(
                    f"The joint '{joint}' has a degree of freedom '{name}' and so has "
                    f"{'the floating base' if owner == BASE else f'joint {owner!r}'}.",
                    cure='Rename the joint.', element=joint)
            self._owners[name] = joint

    def _couple_mimics(self):
        """Set the coordinate of each mimic node; the mimicked joint may follow it in the file."""
        for mimic, number in self._mimic_nodes.items():
            mimicked, multiplier, offset = self.mimics[mimic]
            row = self._nodes[number]
            row['q_index'] = self.q_index[self.dofs[mimicked][0]]
            row['q_scale'], row['q_offset'] = multiplier, offset

    def _lump_links(self, links):
        """Give each moving body the mass and inertia of the links welded to it."""
        bodies = {}
        for name, (node, rotation, position) in self._places.items():
            self.warnings += doubts(links[name])
            bodies.setdefault(node, []).append((links[name], rotation, position))
        bodies.pop(WORLD, None)  # what never moves has no dynamics
        for node, parts in bodies.items():
            mass, center_of_mass, inertia = lump(parts)
            check_body(mass, inertia, [link for link, _, _ in parts])
            row = self._nodes[node]
            row['mass'], row['center_of_mass'], row['inertia'] = mass, center_of_mass, inertia

    def _refuse_second_floating_joint(self, description, joints):
        """Refuse a floating base under a massless root link that floats by a joint of its own."""
        from_root = [joint for joint in joints if joint.parent == self.root_link]
        if (len(from_root) == 1 and from_root[0].type == 'floating'
                and description.links[self.root_link].mass == 0.0):
            name = from_root[0].name
            raise ModelError(
                f"The robot floats already, by joint '{name}' from the massless link "
                f"'{self.root_link}': a floating base under that could not be controlled.",
                cure='Leave out floating_base=True, or remove that joint and that link.',
                element=name)


def _chain(joint):
    """Return (suffix of the name, kind of node, axis) of each degree of freedom of a joint."""
    if joint.type == 'floating':
        return _FLOATING
    if joint.type == 'planar':
        x, y = _in_plane_axes(joint.axis)
        return ('/x', PRISMATIC, x), ('/y', PRISMATIC, y), ('/rz', REVOLUTE, joint.axis)
    return (('', _SCALAR_KINDS[joint.type], joint.axis),)


def _in_plane_axes(normal):
    """
    Return the x and y axes of a planar joint, (3,) each, right-handed with its ``normal``.

    They are the joint frame's own x and y, turned by the smallest rotation that takes its z to the
    normal; for the opposite normal, which has no smallest one, by half a turn about x.
    """
    a, b, c = normal
    across = a * a + b * b
    if c < 0.0 and across == 0.0:
        return _X, -_Y
    # Columns of Rodrigues' formula for the rotation about z × normal, by a factor 1 / (1 + c) that
    # near the opposite normal is more precise from the small components.
    factor = 1.0 / (1.0 + c) if c > 0.0 else (1.0 - c) / across
    return (np.array([1.0 - factor * a * a, -factor * a * b, -a]),
            np.array([-factor * a * b, 1.0 - factor * b * b, -b]))

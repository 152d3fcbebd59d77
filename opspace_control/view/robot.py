# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The robot in the scene: a node for each joint, with its child link."""

import math

import numpy as np
from viser.transforms import SO3

from opspace_control.collision.urdf_shapes import MeshError, find_mesh, load_mesh, read_looks
from opspace_control.model.limits import limits_of
from opspace_control.model.topology import depth_first, resolve_mimics
from opspace_control.model.urdf import SCALAR_TYPES, read_urdf

_GREY = (165, 168, 172)
_BONE = (90, 120, 160)
_BONE_RADIUS = 0.012   # of the robot's size
_STILL = 1e-6          # rad or m: less is no motion


class RobotScene:
    """
    A robot whose joints move.

    Browsers compose the joints' transforms, so that a motion is a few numbers for each joint that
    moves. Links show their meshes, or primitive shapes; without these, the shapes of their
    collisions; without these, too, bones from joint to joint. A ModelError says that the text is no
    URDF of a tree. ``limits`` are (lower, upper, effort), rad or m, N·m or N, perhaps infinite, of
    each joint of one degree of freedom that mimics none; ``doubts`` tells what is not shown.
    """

    def __init__(self, scene, text, root='/robot'):
        self._scene = scene
        description = read_urdf(text)
        root_link, joints = depth_first(description)
        self._root = scene.add_frame(root, show_axes=False)
        self._nodes = {root_link: self._root}
        self._origins = {root_link: (np.zeros(3), SO3.identity())}
        self._parents = {joint.child: joint.parent for joint in joints}
        mimicked_joints = resolve_mimics(description.joints)
        limits, _ = limits_of(description.joints, mimicked_joints)
        self._joints, self.limits = [], {}
        for joint in joints:
            node = self._add(joint)
            if joint.type not in SCALAR_TYPES:
                continue
            mimicked = mimicked_joints.get(joint.name, (joint.name, 1.0, 0.0))
            self._joints.append(_MovingJoint(joint, node, mimicked))
            if joint.name not in mimicked_joints:
                limit = limits[joint.name]
                self.limits[joint.name] = limit.lower, limit.upper, limit.effort
        looks = read_looks(text)
        self.doubts = list(looks.doubts)
        self._dress(looks, joints)
        self._names, self._order = None, ()

    def node(self, frame):
        """Return the name of the scene's node of a frame, or None."""
        link = self._link(frame)
        return self._nodes[link].name if link else None

    def move(self, names, positions):
        """Put joints at positions, rad or m; joints that are not named stay."""
        if names != self._names:
            where = {name: i for i, name in enumerate(names)}
            self._order = [(moving, where[moving.mimicked]) for moving in self._joints
                           if moving.mimicked in where]
            self._names = list(names)
        for moving, i in self._order:
            moving.go(positions[i])

    def place(self, frame, position, wxyz):
        """Put a link at a position (3,), m, and a quaternion wxyz, and the robot with it."""
        link, turn = self._link(frame), SO3(wxyz)
        while link in self._parents:  # back to the root
            node = self._nodes[link]
            turn = turn @ SO3(node.wxyz).inverse()
            position = position - turn @ node.position
            link = self._parents[link]
        if link:
            self._root.position, self._root.wxyz = position, turn.wxyz

    def _link(self, frame):
        """Return the link that messages call so, None if there is none; it may have a prefix."""
        return next((link for link in (frame, frame.rpartition('/')[2]) if link in self._nodes),
                    None)

    def remove(self):
        """Remove the robot from the scene, with all its nodes."""
        self._root.remove()

    def bounds(self):
        """Return the least and greatest corner (3,), m, of the links' origins at zero positions."""
        points = np.array([position for position, _ in self._origins.values()])
        return points.min(axis=0), points.max(axis=0)

    @property
    def base(self):
        """Position (3,) of the root link in the world, m."""
        return np.array(self._root.position)

    def _add(self, joint):
        """Add the node of a joint, which carries its child; return it."""
        position, turn = self._origins[joint.parent]
        own = SO3.from_matrix(joint.rotation)
        self._origins[joint.child] = position + turn @ joint.position, turn @ own
        self._nodes[joint.child] = self._scene.add_frame(
            f'{self._nodes[joint.parent].name}/{joint.name.replace("/", "|")}',
            wxyz=own.wxyz, position=joint.position, show_axes=False)
        return self._nodes[joint.child]

    def _dress(self, looks, joints):
        bare = [link for link, node in self._nodes.items()
                if not self._show(node, looks.seen[link])
                and not self._show(node, looks.touched[link])]
        # A frame without shapes gets bones only if no link has shapes.
        if len(bare) < len(self._nodes):
            bare = [link for link in bare if looks.seen[link] or looks.touched[link]]
        radius = _BONE_RADIUS * max(np.linalg.norm(np.subtract(*self.bounds())), 0.1)
        for link in bare:
            self._add_bones(link, [joint for joint in joints if joint.parent == link], radius)

    def _show(self, node, shapes):
        """Add shapes to a link's node; return whether there is any."""
        shown = False
        for i, shape in enumerate(shapes):
            try:
                _add_shape(self._scene, f'{node.name}/shape_{i}', shape)
            except MeshError as error:
                self.doubts.append(str(error))
            else:
                shown = True
        return shown

    def _add_bones(self, link, joints, radius):
        """Add bones from a link's origin to the joints that it carries."""
        name = self._nodes[link].name
        self._scene.add_icosphere(f'{name}/joint', 1.6 * radius, _BONE)
        for i, joint in enumerate(joints):
            length = np.linalg.norm(joint.position)
            if length > radius:
                self._scene.add_cylinder(
                    f'{name}/bone_{i}', radius, length, _BONE, position=joint.position / 2.0,
                    wxyz=_turn_of_z(joint.position / length))


class _MovingJoint:
    """A joint of one degree of freedom, with the node of its child and the joint it mimics."""

    def __init__(self, joint, node, mimicked):
        self.mimicked, self._factor, self._offset = mimicked
        self._slides = joint.type == 'prismatic'
        self._node = node
        self._position = joint.position
        self._along = joint.rotation @ joint.axis
        turn = SO3.from_matrix(joint.rotation)
        self._turn = turn.wxyz
        # Half a turn further about the axis.
        self._other = (turn @ SO3(np.array([0.0, *joint.axis]))).wxyz
        self._at = math.nan

    def go(self, position):
        """Move to a position of the independent joint, rad or m."""
        q = self._factor * position + self._offset
        if not math.isfinite(q) or abs(q - self._at) < _STILL:
            return
        self._at = q
        if self._slides:
            self._node.position = self._position + q * self._along
        else:
            # R0 exp(axis q) in half angles.
            self._node.wxyz = math.cos(q / 2.0) * self._turn + math.sin(q / 2.0) * self._other


def _add_shape(scene, name, shape):
    """Add a shape as a node, or raise a MeshError."""
    color = shape.color or _GREY
    where = {'position': shape.position, 'wxyz': shape.wxyz}
    if shape.kind == 'box':
        scene.add_box(name, color, shape.size, **where)
    elif shape.kind == 'cylinder':
        scene.add_cylinder(name, *shape.size, color, **where)
    elif shape.kind == 'sphere':
        scene.add_icosphere(name, *shape.size, color, **where)
    else:
        mesh = load_mesh(find_mesh(shape.file))
        if shape.color is None and mesh.visual.defined:
            scene.add_mesh_trimesh(name, mesh, scale=shape.size, **where)
        else:
            scene.add_mesh_simple(name, mesh.vertices, mesh.faces, color=color, flat_shading=True,
                                  scale=shape.size, **where)


def _turn_of_z(direction):
    """Return the shortest rotation, as a quaternion wxyz, from z to a unit vector (3,)."""
    axis = np.cross((0.0, 0.0, 1.0), direction)
    sine = np.linalg.norm(axis)
    if sine < 1e-9:  # along z: a cylinder looks the same either way up
        return (1.0, 0.0, 0.0, 0.0)
    return SO3.exp(axis / sine * math.atan2(sine, direction[2])).wxyz

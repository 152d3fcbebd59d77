# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The data of the recursions: one record per node and one per point, allocated once."""

import math
from itertools import accumulate

import numpy as np

from opspace_control.model.nodes import FRAME, WORLD, path_to_root, with_subtrees

# The data of a node at one state, in the textbook's letters.
# Vectors are in world axes, moments about the root link's origin.
NODE_STATE = np.dtype([
    ('R', np.float64, (3, 3)),    # axes of the body
    ('p', np.float64, (3,)),      # origin of the body, m
    ('S', np.float64, (6,)),      # motion subspace, [CK00] 3.1
    ('V', np.float64, (6,)),      # spatial velocity, [CK00] (17)
    ('A', np.float64, (6,)),      # spatial acceleration, without gravity, [CK00] (18)
    ('f', np.float64, (6,)),      # force of the body; after gathering that of the joint, Table 2
    ('c', np.float64, (3,)),      # centre of mass, m
    ('Ic', np.float64, (3, 3)),   # rotational inertia about it, kg m²
    ('IA', np.float64, (6, 6)),   # articulated-body inertia, [CK00] (20); composite in the CRBA
    ('U', np.float64, (6,)),      # IA S
    ('inverse_D', np.float64),    # 1 / Sᵀ IA S, [CK00] (21); 0 at a locked joint
    ('u', np.float64),            # force that accelerates a passive joint, N m or N
    ('IP', np.float64, (6, 6)),   # articulated-body inertia, passive joints free and all others
                                  # locked, [JR94] (4.8)
    ('UP', np.float64, (6,)),     # IP S
    ('DP', np.float64),           # Sᵀ IP S, [JR94] (4.8)
    ('z', np.float64, (6,)),      # force through the joint in passive elimination, [JR94] (5.2a)
    ('B', np.float64, (6,)),      # induced spatial acceleration, in addition to the known one
    ('z2', np.float64, (6,)),     # z, B and u of a second set of forces, see `respond_to_both`
    ('B2', np.float64, (6,)),
    ('u2', np.float64),
    ('F', np.float64, (6, 3)),    # unit forces at a centre of mass, by column, propagated through
                                  # the joint
    ('FP', np.float64, (6, 3)),   # the same, passive joints free and all others locked
], align=True)

# An operational point: a frame and its data at one state. Or a group of up to six joints: its rows
# are then the motions of these joints, its unit wrenches their unit torques. Or the centre of mass
# of several bodies: a unit force there acts on each body in proportion to its mass.
POINT = np.dtype([
    ('record', np.int64),         # index of its task or constraint in the array of that kind
    ('trunk', np.int64),          # that continues its path to the root, WORLD for none
    ('root', np.int64),           # node without parent on its path, WORLD for none or several
    ('joints', np.int64, (6,)),   # nodes of the group, WORLD for none; all WORLD for a frame
    ('whole', np.int64),          # 1 for a centre of mass: of the subtree of ``frame``'s body, or
                                  # of the whole robot for WORLD; FLOATING if that floats freely
    ('mass', np.float64),         # of these bodies, kg
    ('begin', np.int64),          # rows that it has in this cycle, 0 or 3 to 3 or 6; at the end no
    ('end', np.int64),            # more than at the begin if none. Others have no mobility.
    ('cleared', np.int64),        # 1 if it had none in the last cycle: what is summed of it is 0
    ('frame', FRAME),
    ('other', FRAME),             # reference frame of its motion, relative to that frame's link at
                                  # the point; WORLD for absolute motion
    ('axes', np.float64, (2, 3, 3)),  # along which its linear and angular rows are, by column
    ('R', np.float64, (3, 3)),    # axes of the frame, in world axes
    ('p', np.float64, (3,)),      # its origin, from the root link's origin, m
    ('v', np.float64, (6,)),      # its velocity [v; ω], m/s and rad/s
    ('a', np.float64, (6,)),      # its classical acceleration, m/s² and rad/s²
    ('other_R', np.float64, (3, 3)),  # the same of the other frame
    ('other_p', np.float64, (3,)),
    ('other_v', np.float64, (6,)),    # of the other link, where the point is
    ('other_a', np.float64, (6,)),
    ('Psi', np.float64, (6, 6)),  # unit wrenches at the point, propagated inwards, by column
    ('Psi_other', np.float64, (6, 6)),  # their reactions on the other link, likewise
    ('PsiP', np.float64, (6, 6)),       # as these two, passive joints free and all others locked
    ('PsiP_other', np.float64, (6, 6)),
    ('own_mobility', np.float64, (2,)),  # of a point with another link: the mobility of its
                                         # own, linear and angular, 1/kg and 1/(kg m²)
    ('K', np.float64, (6,)),      # Ψᵀ S at the node last passed
    ('K_other', np.float64, (6,)),
], align=True)


_LINE = 64  # bytes of a line of the cache
# Types of arrays that are filled with zeros, by what their shape ends with.
_TYPES = {'int': np.int64, 'bool': np.bool_, 'zeros': np.float64}


def zeros_together(kinds):
    """Return arrays of zeros of these shapes and types in one block, each from a line on."""
    sizes = [math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in kinds]
    *places, end = accumulate((-(-size // _LINE) * _LINE for size in sizes), initial=0)
    block = np.zeros(end + _LINE, np.uint8)
    block = block[-block.ctypes.data % _LINE:]
    return [block[place:place + size].view(dtype).reshape(shape)
            for (shape, dtype), place, size in zip(kinds, places, sizes, strict=True)]


def nan_filled(shape, dtype=np.float64):
    """Return an array of NaN, so that an element that a recursion fails to write is detected."""
    array = np.zeros(shape, dtype)
    array.reshape(-1).view(np.float64)[:] = np.nan
    return array


def make_arrays(kind, sizes, **arrays):
    """
    Return a NamedTuple of a ``kind`` with new arrays in all fields but those of ``arrays``.

    The default of a field is its shape, in numbers and names of ``sizes``, or a kind of its own.
    Arrays are filled with NaN; those that end with ``int``, ``bool`` or ``zeros`` with zeros. They
    are one block, of few pages: a cycle that finds them in no cache takes some 3 % less.
    """
    wanted = []
    _assemble(kind, sizes, arrays, lambda *each: wanted.append(each))
    made = iter(zeros_together(wanted))
    return _assemble(kind, sizes, arrays, lambda *_: next(made))


def _assemble(kind, sizes, arrays, take):
    """Return a kind of ``arrays`` and of what ``take`` returns for the other shapes and types."""
    parts = []
    for name in kind._fields:
        shape = kind._field_defaults.get(name)
        if name in arrays:
            parts.append(arrays[name])
        elif not isinstance(shape, str):
            parts.append(_assemble(shape, sizes, {}, take))
        else:
            *shape, last = shape.split()
            dtype = _TYPES.get(last)
            shape = [int(part) if part.isdigit() else sizes[part]
                     for part in (shape if dtype else [*shape, last])]
            array = take(shape, dtype or np.float64)
            if array is not None and not dtype:
                array[:] = np.nan
            parts.append(array)
    return kind(*parts)


# Bits of the support of a point by a node.
OWN = 1  # the node moves the point's own link
OTHER = 2  # it moves the other link
UNIT = 4  # it is a joint of the point's group
SEEN = 8  # it moves the own link of a point that has another link
CENTER = 16  # it moves a centre of mass
COUNTS = 32  # its body is a part of that centre of mass

# Of ``whole``: a force at the centre of mass accelerates all bodies alike.
FLOATING = 2


def new_points(count):
    """Return POINT records on no link, in base axes; NaN where the recursions write."""
    points = nan_filled(count, POINT)
    points['joints'], points['axes'] = WORLD, np.eye(3)
    points['whole'] = points['begin'] = points['cleared'] = 0
    points['end'] = 6
    for link in ('frame', 'other'):
        points[link]['node'], points[link]['rotation'] = WORLD, np.eye(3)
        points[link]['position'] = 0.0
    return points


def make_points(tree, frames):
    """
    Return `points_on` frames, and which nodes support which point, (n, m) int.

    The support is not zero where the node's joint moves the point: OWN on the path from its own
    link to the root (with SEEN if it has another link), OTHER on that from the other link, UNIT for
    the joints of its group.
    """
    points = points_on(tree, frames)
    return points, find_supports(tree.nodes, points)


def points_on(tree, frames, references=()):
    """
    Return the POINT records (m,) of the named frames.

    ``references`` has the reference frame of each, None for the base (a floating base: the world).
    """
    points = new_points(len(frames))
    for e, name in enumerate(frames):
        points['frame'][e] = tree.frames[tree.frame_index(name)]
    for e, name in enumerate(references):
        if name is not None:
            points['other'][e] = tree.frames[tree.frame_index(name)]
    return points


def find_supports(nodes, points):
    """Return the ``supports`` of `make_points`, (n, m) of int."""
    supports = np.zeros((nodes.size, points.size), dtype=np.int8)
    parents = nodes['parent'].tolist()
    for link, bit in (('frame', OWN), ('other', OTHER)):
        for e, node in enumerate(points[link]['node']):
            supports[path_to_root(parents, node), e] |= bit
    seen = points['other']['node'] != WORLD
    supports[:, seen] |= np.where(supports[:, seen] & OWN, SEEN, 0).astype(np.int8)
    for e in np.flatnonzero(points['whole']):
        root = points['frame']['node'][e]
        counts = with_subtrees(nodes, (root == WORLD) | (np.arange(nodes.size) == root))
        supports[:, e] = np.where(counts, COUNTS, 0)
        for i in np.flatnonzero(counts):
            supports[path_to_root(parents, i), e] |= OWN + CENTER
    for e, joints in enumerate(points['joints']):
        for node in joints[joints != WORLD]:
            supports[path_to_root(parents, node), e] |= OWN
            supports[node, e] |= UNIT
    return supports


def make_center_point(tree, frame=None):
    """Return the POINT record, in an array of one, of a robot's or a subtree's centre of mass."""
    points = points_on(tree, [frame or tree.root_link])
    points['whole'] = 1
    if frame is None:
        points['frame']['node'] = WORLD
    return points


def make_joint_points(nodes, dofs):
    """Return POINT records of the groups of joints that `group_by_branch` makes of ``dofs``."""
    groups = group_by_branch(nodes, dofs)
    points = new_points(len(groups))
    points['R'], points['p'], points['v'], points['a'] = np.eye(3), 0.0, 0.0, 0.0
    node_of = {k: i for i, k in enumerate(nodes['v_index'].tolist())}
    for point, group in zip(points, groups, strict=True):
        point['joints'][:len(group)] = [node_of[int(dofs[k])] for k in group]
    return points


def group_by_branch(nodes, dofs):
    """
    Return a partition of the indices into ``dofs``, in lists of up to six.

    The joints of each list are on one path from the root: one set of columns cannot hold the unit
    torques of joints on different branches.
    """
    node_of = {k: i for i, k in enumerate(nodes['v_index'].tolist())}
    groups, tips = [], []
    for k in sorted(range(len(dofs)), key=lambda k: node_of[int(dofs[k])]):
        node = node_of[int(dofs[k])]
        path = path_to_root(nodes['parent'], node)
        for group, tip in zip(groups, tips, strict=True):
            if tip[0] in path and len(group) < 6:
                group.append(k)
                tip[0] = node
                break
        else:
            groups.append([k])
            tips.append([node])
    return groups


def moment_nodes(tree):
    """
    Return a copy of the tree's nodes without the position of a floating base.

    Moments are taken about the root link's origin, so a robot 10 km from the world's origin has the
    same precision.
    """
    nodes = tree.nodes.copy()
    if tree.floating_base:
        nodes['q_scale'][:3] = 0.0
    return nodes


def nodes_in_inertia(nodes, supports):
    """Return whose inertia a point needs, (n,) bool: nodes on its path and all further out."""
    return with_subtrees(nodes, supports.any(axis=1))


def reach(nodes):
    """Return an upper bound of the distance of a mass from the root, m: all links in one line."""
    lengths = np.linalg.norm(nodes['position'], axis=1)
    for i, parent in enumerate(nodes['parent']):
        if parent != WORLD:
            lengths[i] += lengths[parent]
    lengths += np.linalg.norm(nodes['center_of_mass'], axis=1)
    return lengths.max(initial=0.0)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The flat form of a robot that the recursions read: one record per degree of freedom."""

import numpy as np

# Kinds of node. Every joint is a chain of one-degree-of-freedom nodes ([JR94] 4).
REVOLUTE = 0
PRISMATIC = 1
# Three consecutive nodes make the rotation of a floating joint. Their axes are those of the joint
# frame, carried by none of the three; the last one turns the body by the quaternion.
QUATERNION_AXIS = 2
QUATERNION = 3

# Status of a node, [JR94] 3: a drive commands its torque; its torque is known; it does not move.
ACTIVE = 0
PASSIVE = 1
LOCKED = 2

WORLD = -1

NODE = np.dtype([
    ('parent', np.int64),         # node whose body carries this one, WORLD for none; parent < node
    ('carrier', np.int64),        # node whose motion carries the axis: the parent, but for the
                                  # rotations of a floating joint its last translation
    ('kind', np.int64),           # REVOLUTE, PRISMATIC, QUATERNION_AXIS, QUATERNION
    ('status', np.int64),         # ACTIVE, PASSIVE, LOCKED (mimic nodes are locked)
    ('q_index', np.int64),        # into q: own coordinate, or that of the mimicked joint; of
                                  # qx at QUATERNION; unused at QUATERNION_AXIS
    ('v_index', np.int64),        # into v, -1 for a mimic node
    ('q_scale', np.float64),      # coordinate = q_scale * q[q_index] + q_offset (mimic; else 1, 0)
    ('q_offset', np.float64),     # rad or m
    ('axis', np.float64, (3,)),   # unit vector in the joint frame
    ('rotation', np.float64, (3, 3)),  # axes of the joint frame in the parent's body frame
    ('position', np.float64, (3,)),    # origin of the joint frame in the parent's body frame, m
    ('mass', np.float64),              # kg, links welded on included; 0 inside a chain
    ('center_of_mass', np.float64, (3,)),  # in the body frame, m
    ('inertia', np.float64, (3, 3)),       # about the centre of mass, body axes, kg m^2
    ('armature', np.float64),              # of the motor, seen through the gear, kg m^2 or kg
], align=True)

FRAME = np.dtype([
    ('node', np.int64),                # node whose body carries the frame, WORLD if it never moves
    ('rotation', np.float64, (3, 3)),  # its axes in that body's frame (the root link's for WORLD)
    ('position', np.float64, (3,)),    # its origin in that body's frame, m
], align=True)


def path_to_root(parents, node):
    """Return a node and all that carry it, in a list; none for WORLD."""
    path = []
    while node != WORLD:
        path.append(node)
        node = parents[node]
    return path


def with_subtrees(nodes, chosen):
    """Return the mask (n,) of chosen nodes and all nodes further out."""
    chosen = chosen.copy()
    for i, parent in enumerate(nodes['parent'].tolist()):
        chosen[i] |= parent != WORLD and chosen[parent]
    return chosen

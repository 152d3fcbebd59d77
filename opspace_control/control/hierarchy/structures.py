# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
What a cycle works on: named tuples of arrays, and the names of the rows of their blocks.

The controller makes them once; kernels take them apart by name. n is the number of nodes, nv that
of degrees of freedom, k that of rows of the stack, six for each point.
"""

from typing import NamedTuple

import numpy as np

# Rows of `Scratch.rows`, a number for each row of the stack: how much of it is asked for, 0 to 1;
# whether a joint alone answers to it; forces that come on top, N and N m, and what of them moves;
# 1 where such forces may move it; its scale; what giving way adds to its acceleration; λ0 of
# `eliminate_constraints`; constraint forces; what grips share; accelerations that are wanted, that
# are missed, that are lost, and lost without joints at their ends; forces; and scratch.
(ASKED, ALONE, PUSH, MOVING, COMPLIANT, SCALE, YIELDED, HELD, REACTION, GRIPPED, WANTED, MISSED,
 LOST, LOST_AT_ALL, FORCE, SPARE) = range(16)
ROWS = SPARE + 5
# Squares of `Scratch.squares`, a number for each pair of rows: Λ⁻¹ through all joints and through
# passive ones, then factors of a level and of the constraints.
SQUARES = 8
L, Q, FACTOR, VECTORS, FACTOR_L, GRAM_L, FACTOR_Q, GRAM_Q = range(SQUARES)
# Planes of `Scratch.room`, of a cycle that keeps limits of joints: what joints feel of the stack,
# and of the rows that hold them; the joint forces of these rows' units, what constraints bear of
# them, their coupling with the stack and with each other, and the forces that hold against those of
# the stack; two of scratch; numbers a row; and what directions near singularities are led by; what
# nodes carry, and how loads of joints grow.
(FEELING, FELT, TORQUES, BORNE, COUPLING, OWN_MOBILITY, AGAINST, FACTORED, ROTATION, NUMBERS,
 LEADING, CARRIED, LOADS) = range(13)
PLANES = 13


class Robot(NamedTuple):
    """The robot, and the points where something is asked of it."""

    nodes: np.ndarray  # (n,) NODE
    states: np.ndarray  # (n,) NODE_STATE; scratch of each cycle
    needs_inertia: np.ndarray  # (n,) bool: nodes whose inertia counts
    responds: np.ndarray  # (n,) bool: nodes that passive joints move
    points: np.ndarray  # (k / 6,) POINT; constraints' first
    supports: np.ndarray  # (n, k / 6) int8: how nodes move a point, by bits; see `find_supports`
    carried: np.ndarray  # of `plan_propagation`, and the next two
    crossing: np.ndarray
    coupling: np.ndarray


class Demand(NamedTuple):
    """What is asked for; the records also receive what became of it."""

    constraints: np.ndarray  # (c,) CONSTRAINT
    tasks: np.ndarray  # (t,) TASK
    sensors: np.ndarray  # (s,) SENSOR
    joint_tasks: np.ndarray  # (j,) JOINT_TASK
    levels: np.ndarray  # (l + 1,) int: first row of each level, and the end of the last
    dofs: np.ndarray  # (nv,) POSTURE
    posture: np.ndarray  # (nq,) the posture's goal
    passive_dofs: np.ndarray  # (nv,) PASSIVE_DOF


class Grasping(NamedTuple):
    """The grasps of a cycle; None stands for it where there are none."""

    grasps: np.ndarray  # (g,) GRASP
    grips: np.ndarray  # (h,) GRIP


class Bounds(NamedTuple):
    """The limits of the joints."""

    efforts: np.ndarray  # (nv,) N m and N
    joints: np.ndarray  # (nv,) LIMIT, of motion and load; None for the bare law


class Scratch(NamedTuple):
    """Memory of a cycle, none of which has to outlast it but `MISSED` of the rows."""

    a_null: np.ndarray  # (nv,) the posture's acceleration
    a_task: np.ndarray  # (nv,)
    passive_torque: np.ndarray  # (nv,)
    joint_force: np.ndarray  # (nv,)
    Lambda_inverse: np.ndarray  # of the tasks' rows
    rows: np.ndarray  # (ROWS, k)
    squares: np.ndarray  # (SQUARES, k, k)
    orders: np.ndarray  # (2, k) int
    small: np.ndarray  # (3, 6, 6)
    room: np.ndarray  # (PLANES, side, side); None for the bare law


class Arguments(NamedTuple):
    """What a controller gives to its kernel in every cycle."""

    cycle: np.ndarray  # (1,) CYCLE
    robot: Robot
    demand: Demand
    grasping: Grasping
    bounds: Bounds
    scratch: Scratch


class Data(NamedTuple):
    """All of a cycle that keeps limits of joints."""

    cycle: np.void  # CYCLE
    robot: Robot
    demand: Demand
    bounds: Bounds
    scratch: Scratch
    v: np.ndarray  # (nv,)


class Decomposition(NamedTuple):
    """A level's scaled Λ⁻¹, decomposed: its factor, or eigenvectors where it is near singular."""

    matrix: np.ndarray  # (m, m)
    vectors: np.ndarray  # (m, m)
    gains: np.ndarray  # (m,)
    scale: np.ndarray  # (m,)
    spare: np.ndarray  # (m,)

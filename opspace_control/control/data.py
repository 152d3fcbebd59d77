# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The data of a control cycle: named tuples of arrays, and the names of the rows of their blocks.

The controller makes them once; kernels access their members by name. n is the number of nodes, nv
that of degrees of freedom, k that of rows of the stack, six for each point.
"""

from typing import NamedTuple

import numpy as np

# Rows of `Scratch.rows`, a number for each row of the stack: its activation, 0 to 1; whether it is
# of a single joint; applied forces, N and N m, and the part of them that moves; 1 where such forces
# may move the row; its scale; its acceleration by the passive-joint response; λ0 of
# `eliminate_constraints`; constraint reactions; grip forces; wanted accelerations (of constraints
# z of `eliminate_constraints`, N and N m), their residual, and those before singular-direction
# control; the accelerations to attain, which become forces; and scratch.
(ACTIVATION, SINGLE_JOINT, APPLIED, MOVING, COMPLIANT, SCALE, PASSIVE_RESPONSE, CONSTRAINT_FORCE,
 REACTION, GRIP_FORCE, WANTED, RESIDUAL, DEMANDED, FORCE, SPARE) = range(15)
ROWS = SPARE + 5
# Squares of `Scratch.squares`, a number for each pair of rows: Λ⁻¹ through all joints and through
# passive ones, then factors of a level and of the constraints, those of Q two after those of L.
SQUARES = 8
L, Q, FACTOR, VECTORS, FACTOR_L, GRAM_L, FACTOR_Q, GRAM_Q = range(SQUARES)


class LargeInertia(NamedTuple):
    """Contacts that are large inertias of their links; each has six rows, base axes."""

    constraints: np.ndarray  # (c,) CONSTRAINT
    points: np.ndarray  # (c,) POINT
    inertia: np.ndarray  # (c, 6) I_c of each row, kg and kg m²; 0 without contact
    demand: np.ndarray  # (c, 6) acceleration a_c − a of the contact
    response: np.ndarray  # (c, 6) its acceleration by passive joints
    opposing: np.ndarray  # (c, 6) force that opposes the reference motion
    exerted: np.ndarray  # (c, 6) wrench that the drives exert there
    projection: np.ndarray  # (n, b): of unit wrenches at the stack's points on the joints
    work: np.ndarray  # (6,) scratch


class Robot(NamedTuple):
    """The robot, and the points of constraints and tasks."""

    nodes: np.ndarray  # (n,) NODE
    states: np.ndarray  # (n,) NODE_STATE; scratch of each cycle
    needs_inertia: np.ndarray  # (n,) bool: nodes whose inertia counts
    responds: np.ndarray  # (n,) bool: nodes that passive joints move
    points: np.ndarray  # (k / 6,) POINT; constraints' first
    supports: np.ndarray  # (n, k / 6) int8: how nodes move a point, by bits; see `find_supports`
    carried: np.ndarray  # of `plan_propagation`, and the next two
    crossing: np.ndarray
    coupling: np.ndarray
    contacts: LargeInertia  # None where contacts are eliminated


class Demand(NamedTuple):
    """Constraints, tasks and posture; the records also receive results."""

    constraints: np.ndarray  # (c,) CONSTRAINT
    tasks: np.ndarray  # (t,) POSE_TASK
    sensors: np.ndarray  # (s,) SENSOR
    joint_tasks: np.ndarray  # (j,) JOINT_TASK
    levels: np.ndarray  # (l + 1,) int: first row of each level, and the end of the last
    dofs: np.ndarray  # (nv,) POSTURE_DOF
    posture: np.ndarray  # (nq,) the posture's goal
    passive_dofs: np.ndarray  # (nv,) PASSIVE_DOF


class Grasping(NamedTuple):
    """The grasps of a cycle; None stands for it where there are none."""

    grasps: np.ndarray  # (g,) GRASP
    grips: np.ndarray  # (h,) GRIP


class Bounds(NamedTuple):
    """The limits of the joints."""

    efforts: np.ndarray  # (nv,) N m and N
    joints: np.ndarray  # (nv,) LIMIT, of motion and gravity torque; None for the bare law


class Scratch(NamedTuple):
    """
    Memory of a cycle.

    The next cycle needs of it `RESIDUAL` of the rows, and of the limits ``bound_rows.state`` and
    ``contacts.active``. Users read ``a_null``, ``Lambda_inverse`` and rows after the cycle.
    """

    a_null: np.ndarray  # (nv,) q̈_null, the reference motion
    a_task: np.ndarray  # (nv,) q̈ of the forces of the stack and of bounds
    passive_torque: np.ndarray  # (nv,) known forces of passive joints, such as springs
    joint_force: np.ndarray  # (nv,) scratch
    Lambda_inverse: np.ndarray  # (t, t) of the t rows of tasks, lower triangle
    rows: np.ndarray  # (ROWS, k)
    squares: np.ndarray  # (SQUARES, k, k)
    orders: np.ndarray  # (3, k) int: used rows of the constraints in L and Q, and of a level
    small: np.ndarray  # (3, 6, 6)
    limits: NamedTuple  # LimitData; None for the bare law


class BoundRows(NamedTuple):
    """
    Rows of the bounds that a cycle needs: m of them at most, all that `bound_number` counts.

    The first ones are those of joints at rest at their limits, ``CYCLE.resting_count`` in number.
    """

    index: np.ndarray  # (m,) int: the row of a bound in this cycle, by number, -1 without one
    state: np.ndarray  # (l + 1, m) int: of a bound at each level of the last problem, by number
    dof: np.ndarray  # (m,) int; of a contact force, its bound
    kind: np.ndarray  # (m,) int
    projection: np.ndarray  # (m, n): of its joint forces on the joints
    torque: np.ndarray  # (m, nv): joint forces for a multiplier of 1
    coordinates: np.ndarray  # (m, k): of C_c in the factor of L_cc, see `eliminate_constraints`
    coupling: np.ndarray  # (m, k): ``C = R A⁻¹ Jᵀ`` of what constraints leave
    direction: np.ndarray  # (m, k): d, how constraint forces change its value
    internal: np.ndarray  # (m, k): internal constraint forces for a multiplier of 1
    gram: np.ndarray  # (m, m): ``R A⁻¹ Rᵀ`` of what constraints leave, lower triangle
    mobility: np.ndarray  # (m,): its diagonal before constraints
    offset: np.ndarray  # (m,): what constraints add to its value under the reference acceleration
    force: np.ndarray  # (m,): multipliers


class ContactForces(NamedTuple):
    """Forces of c constraints that the controller decides, and their b bounds."""

    direction: np.ndarray  # (b, 6): d of each bound
    bounds: np.ndarray  # (2, b)
    active: np.ndarray  # (b,) int: as of `LIMIT`
    force: np.ndarray  # (6c,): on the links
    internal: np.ndarray  # (6c,): that drives exert for them
    reference: np.ndarray  # (2, 6c): without the forces of tasks and bounds; and without those of
    #                        singular directions either
    effort: np.ndarray  # (2, nv): joint forces, likewise
    singular: np.ndarray  # (6c,): reactions to those of singular directions
    work: np.ndarray  # (6c,): scratch


class RestingRows(NamedTuple):
    """What joints at rest at their limits, m at most, take from the mobility of directions."""

    response: np.ndarray  # (k, m): ``M⁻¹ C``, forces at limits for a unit of the stack's force
    factor: np.ndarray  # (m, m)
    vectors: np.ndarray  # (m, m)
    numbers: np.ndarray  # (4, m): gains, scale, scratch, wanted accelerations
    multipliers: np.ndarray  # (m,)
    gravity_node: np.ndarray  # (m,) int: whose gravity torque is at its limit, or -1
    order: np.ndarray  # (m,) int: as of `Factor`, and the next one
    sizes: np.ndarray  # (2,) int


class Problem(NamedTuple):
    """The prioritised problem of a cycle: N rows, bounds first, then the t rows of tasks."""

    task_rows: np.ndarray  # (t,) int: active rows of tasks in the stack
    levels: np.ndarray  # (l + 1,) int: first of them of each level, and the end of the last
    gram: np.ndarray  # (t, t): of these rows, turned where truncated
    left: np.ndarray  # (t, t): what joints at rest at their limits leave of it
    vectors: np.ndarray  # (t, t): scaled eigenvectors ``V S`` of each turned level, block by block
    turned: np.ndarray  # (l,) bool: levels that are turned
    softness: np.ndarray  # (2, t): δ and ε of these rows
    start: np.ndarray  # (t,): multipliers to begin with
    first_rows: np.ndarray  # (l + 2,) int: of levels of the whole problem, bounds first
    steps: np.ndarray  # (l + 1,) int
    G: np.ndarray  # (N, N)
    all_softness: np.ndarray  # (2, N)
    bounds: np.ndarray  # (2, N)
    free: np.ndarray  # (N,)
    state: np.ndarray  # (l + 1, N) int: INACTIVE, AT_UPPER, ... of each row at each level
    factor: np.ndarray  # (N, N)
    order: np.ndarray  # (N,) int
    scratch: np.ndarray  # (LEVEL_SCRATCH, N)
    f_y: np.ndarray  # (2, N)


class LimitData(NamedTuple):
    """Memory of a cycle that keeps limits of joints."""

    projection: np.ndarray  # (n, k): of the stack's unit forces on the joints
    a_ref: np.ndarray  # (nv,) reference acceleration
    tau_posture: np.ndarray  # (nv,) joint forces of the posture, with its feed-forward
    tau_null: np.ndarray  # (nv,) likewise, with what moves singular directions
    tau_ref: np.ndarray  # (nv,) likewise, with the grip forces
    carried: np.ndarray  # (n + 1, 4): masses and first moments of subtrees; a vector of scratch
    gravity_rates: np.ndarray  # (nv + 1, max(n, nv)): rates of gravity torques; scratch
    singular: np.ndarray  # (SINGULAR_ROWS, side): of singular-direction control
    bound_rows: BoundRows
    contacts: ContactForces
    resting_rows: RestingRows
    problem: Problem


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

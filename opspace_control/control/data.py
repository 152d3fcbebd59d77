# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The data of a control cycle: named tuples of arrays, and the names of the rows of their blocks.

The controller makes them once. n is the number of nodes, nv of degrees of freedom, k of rows of the
stack, six for each point. Shapes are defaults of the fields, from which `make_arrays` makes them.
"""

from typing import NamedTuple

import numpy as np

from opspace_control.control.constraints.passive_mobility import PassiveMobility
from opspace_control.control.solver.level_inverse import Decomposition
from opspace_control.control.solver.semidefinite import Factor
from opspace_control.dynamics.drive_friction import NO_DRIVE_FRICTION

# Rows of `Results.stack`, a number for each of its rows: m/s² and rad/s², or N and N m.
STACK_ROWS = 16
(ACTIVATION,        # from 0 to 1
 SINGLE_JOINT,      # 1 for the acceleration of a single joint, else 0
 OWN_MOBILITY,      # of a point seen from another link, by its own link; else inf
 APPLIED,           # forces that are applied
 MOVING,            # the part of them that moves
 REJECTING,         # forces against disturbances, with what levels above compensate for
 COMPLIANT,         # 1 where `MOVING` forces may move the row, else 0
 SCALE,             # of the row
 PASSIVE_RESPONSE,  # acceleration by the passive-joint response
 CONSTRAINT_FORCE,  # λ0 of `eliminate_constraints`
 REACTION,          # constraint reactions
 GRIP_FORCE,        # planned wrenches of grips
 WANTED,            # accelerations; of constraints z of `eliminate_constraints`, a force
 RESIDUAL,          # what of them is not attained
 DEMANDED,          # accelerations before singular-direction control
 FORCE,             # accelerations to attain; `resolve_tasks` replaces them by forces
 ) = range(STACK_ROWS)


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
    contacts: NamedTuple  # LargeInertia; None where contacts are eliminated
    collision: NamedTuple  # CollisionData, d near pairs at most; None for the bare law


class Disturbance(NamedTuple):
    """Unknown joint forces that tasks compensate along their axes of motion."""

    memory: np.ndarray  # (ROWS, nv): that of `momentum_observer`
    flags: np.ndarray  # (4,) int, of `disturbance`
    rate: np.ndarray  # (3,) of the filter, 1/s; what it follows in this cycle; ``fᵀ J Φ Jᵀ f``
    tasks: np.ndarray  # (t, 14), N and N m: force of each task that compensates, along its axes;
    #                    its greatest one and moment, -1: none; both filtered, without these limits
    unexpected: np.ndarray  # (2, nv) ε of `unexpected_motion`; the velocity of the last cycle
    matrix: np.ndarray  # (2, k + 3, k) scratch: Λ⁻¹ of tasks and its factor; an inverse of a level
    rows: np.ndarray  # (5, k) scratch, of `disturbance`


NO_DISTURBANCE = Disturbance(np.empty((0, 0)), np.empty(0, int), np.empty(0), np.empty((0, 14)),
                             np.empty((2, 0)), np.empty((2, 0, 0)), np.empty((5, 0)))


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
    disturbance: Disturbance = NO_DISTURBANCE
    friction: np.ndarray = NO_DRIVE_FRICTION  # (nv,) DRIVE_FRICTION, or (0,)


class Grasping(NamedTuple):
    """The grasps of a cycle."""

    grasps: np.ndarray  # (g,) GRASP
    grips: np.ndarray  # (h,) GRIP


class Limits(NamedTuple):
    """The limits of the joints; a LIMIT has its bounds of this cycle and its state, too."""

    efforts: np.ndarray  # (nv,) limits, N m and N
    joints: np.ndarray  # (nv,) LIMIT, of motion and gravity torque; None for the bare law
    numbers: np.ndarray  # (KINDS + 1,) int: number of the first bound of each kind, and of all


class Memory(NamedTuple):
    """What the next cycle needs of this one, beside CYCLE, LIMIT and the records of tasks."""

    bound_state: np.ndarray = 'l+1 m int'  # of each bound at each level, by `bound_number`
    bound_active: np.ndarray = 'm int'  # 1, -1: at the upper bound, at the lower one; 0: at none
    near_pairs: np.ndarray = 'd int'  # `number_of` each, -1 for none
    link_inertia: np.ndarray = '2 n 3 3 zeros'  # I, kg m², and D, N m s, of `geometric_stiffness`
    mean_acceleration: np.ndarray = 'nv zeros'  # of the last half second


class Results(NamedTuple):
    """What a cycle computes, and users may read after it."""

    a_null: np.ndarray = 'nv'  # q̈_null, the reference motion
    a_joints: np.ndarray = 'nv'  # q̈ under all forces, with limits; of passive joints in the end
    Lambda_inverse: np.ndarray = 't t'  # of the t rows of tasks, lower triangle
    stack: np.ndarray = 'STACK_ROWS k'  # ``RESIDUAL``: of the last problem, 0 without limits


class GraspScratch(NamedTuple):
    """Intermediate results of grasps; ``C``, ``U``: of `fill_passive_rows`."""

    passive_rows: np.ndarray = '2 k k'  # C and U
    admissible: np.ndarray = '2 k'  # change of forces to admissible ones, and a wrench of each grip
    basis: np.ndarray = 'k k'  # X, internal forces of `minimise_effort`
    gram: np.ndarray = 'k k'  # J_c W² J_cᵀ
    factor: np.ndarray = 'k k'  # Cholesky factor of XᵀGX
    gradient: np.ndarray = 'k'  # J_c W² τ, then x
    column: np.ndarray = 'k'  # of J_c, of one joint
    half: np.ndarray = 'k'  # y after the forward substitution; the goal of `exert_least_effort`
    change: np.ndarray = 'k'  # y
    slope: np.ndarray = 'k'  # of y by the grasp force; the scales S of `exert_least_effort`
    shares: np.ndarray = 'k'  # forces of objects by which efforts of grips follow the motion


class Scratch(NamedTuple):
    """Intermediate results, of no use after their cycle."""

    passive_torque: np.ndarray = 'nv'  # known forces of passive joints, such as springs
    joint_force: np.ndarray = 'nv'  # joint forces of the wrenches applied last
    second_force: np.ndarray = 'nv'  # of a second set of them, see `respond_to_both`
    wrench: np.ndarray = '6'
    small: np.ndarray = '3 6 6'
    mobility: np.ndarray = 'k k'  # L, J A⁻¹ Jᵀ of all joints, lower triangle with whole blocks
    projection: np.ndarray = 'n b zeros'  # K of `sum_mobility`
    passive: PassiveMobility = PassiveMobility  # Q, the same through passive joints
    unconstrained: np.ndarray = 'k'  # the diagonal of L before constraints are eliminated
    constraint_factor: Factor = Factor  # of L's constraint rows, with coordinates of others
    passive_factor: Factor = Factor  # of Q
    remaining: np.ndarray = 'k'  # of `factorise_pivoted`
    coordinates: np.ndarray = 'k'  # of one of these factors
    level: Decomposition = Decomposition  # of the level that is resolved
    column: np.ndarray = 'k'  # of a level's coupling, or of J_c
    moving: np.ndarray = 'k'  # forces that move the robot, see `moving_forces`
    exerted: np.ndarray = 'k'  # forces that the joints exert
    bound_reaction: np.ndarray = 'k'  # constraint forces that multipliers of bounds take away
    response_reaction: np.ndarray = 'k'  # constraint forces to responses of passive joints
    grasps: GraspScratch = GraspScratch
    bounded: NamedTuple = None  # BoundedScratch; None for the bare law


class Storage(NamedTuple):
    """The arrays of a controller that are no inputs."""

    memory: Memory
    results: Results
    scratch: Scratch


class BoundRows(NamedTuple):
    """Rows of a cycle's bounds, m at most, the first ``CYCLE.resting_count`` of joints at rest."""

    index: np.ndarray = 'm int'  # the row of a bound in this cycle, by number, -1 without one
    dof: np.ndarray = 'm int'  # of a contact force, its bound; of a distance, the near pair
    kind: np.ndarray = 'm int'
    projection: np.ndarray = 'm n'  # of its joint forces on the joints
    response: np.ndarray = 'n'  # a projection over D; scratch
    torque: np.ndarray = 'm nv'  # joint forces for a multiplier of 1
    coordinates: np.ndarray = 'm k'  # of C_c in the factor of L_cc, see `eliminate_constraints`
    coupling: np.ndarray = 'm k'  # ``C = R A⁻¹ Jᵀ`` of what constraints leave; then of trunks
    direction: np.ndarray = 'm k'  # d, how constraint forces change its value
    internal: np.ndarray = 'm k'  # internal constraint forces for a multiplier of 1
    gram: np.ndarray = 'm m'  # ``R A⁻¹ Rᵀ`` of what constraints leave, lower triangle
    mobility: np.ndarray = 'm'  # its diagonal without what constraints take away
    offset: np.ndarray = 'm'  # what constraints add to its value under the reference acceleration
    multiplier: np.ndarray = 'm'  # ``A (q̈ − q̈_ref) = Rᵀ f_R``; units in doc/reference/notation.md
    force_share_rate: np.ndarray = 'm'  # c, change of its value by the share of applied forces


class ContactForces(NamedTuple):
    """Forces of c constraints that the controller decides, and their b bounds."""

    direction: np.ndarray = 'b 6'  # d of each bound
    bounds: np.ndarray = '2 b'
    force: np.ndarray = '6c'  # on the links
    internal: np.ndarray = '6c'  # that drives exert for them
    reference: np.ndarray = '2 6c'  # ``force`` where all multipliers are 0: of q̈_ref, of q̈_null
    singular_reaction: np.ndarray = '6c'  # to the forces of singular directions
    coordinates: np.ndarray = '6c'  # of ``Scratch.passive_factor``


class AppliedForces(NamedTuple):
    """Forces of force control that limits may reduce: those of the stack, and their effects."""

    force: np.ndarray = 'k'  # f_a, N and N m
    compensation: np.ndarray = 'k zeros'  # forces of tasks above that compensate for f_a
    effort: np.ndarray = 'nv'  # w, efforts of drives for both
    reaction: np.ndarray = '6c'  # of contacts to them
    inverse_cost: np.ndarray = '1 zeros'  # 1/μ of their share


class RestingRows(NamedTuple):
    """What joints at rest at their limits, m at most, take from the mobility of directions."""

    response: np.ndarray = 'k m'  # ``M⁻¹ C``, forces at limits for a unit of the stack's force
    level: Decomposition = Decomposition  # of their Gram matrix
    diagonal: np.ndarray = 'm'  # of that matrix, before it is regularised
    wanted: np.ndarray = 'm'  # accelerations that keep them at rest
    multipliers: np.ndarray = 'm'
    gravity_node: np.ndarray = 'm int'  # whose gravity torque is at its limit, or -1


class Problem(NamedTuple):
    """The prioritised problem of a cycle: N rows, bounds first, then the t rows of tasks."""

    task_rows: np.ndarray = 't int'  # active rows of tasks in the stack
    levels: np.ndarray = 'l+1 int'  # first of them of each level, and the end of the last
    gram: np.ndarray = 't t'  # of these rows, of eigenvectors where truncated
    left: np.ndarray = 't t'  # what joints at rest at their limits leave of it
    vectors: np.ndarray = 't t'  # scaled eigenvectors ``V S`` of truncated levels, block by block
    truncated: np.ndarray = 'l bool'  # levels whose rows are those of eigenvectors
    softness: np.ndarray = '2 t'  # δ and ε of these rows
    start: np.ndarray = 't'  # multipliers to begin with
    first_rows: np.ndarray = 'l+2 int'  # of levels of the whole problem, bounds first
    steps: np.ndarray = 'l+1 int'
    G: np.ndarray = 'N N'
    all_softness: np.ndarray = '2 N'
    bounds: np.ndarray = '2 N'
    free: np.ndarray = '2 N'  # of the bounds alone, and of the whole problem
    state: np.ndarray = 'l+1 N int'  # INACTIVE, AT_UPPER, ... of each row at each level
    factor: np.ndarray = 'N N'
    order: np.ndarray = 'N int'
    scratch: np.ndarray = 'LEVEL_SCRATCH N'
    f_y: np.ndarray = '2 N'
    residual_steps: np.ndarray = 'l+1'  # of `solve_levels`


class Truncation(NamedTuple):
    """Intermediate results of the truncation of the rows of tasks, t at most."""

    bounds: np.ndarray = '2 t'  # finite for directions of which something is kept
    free: np.ndarray = 't'
    scale: np.ndarray = 't'  # of each row
    product: np.ndarray = 't'  # of eigenvectors and numbers of rows
    factor: np.ndarray = 't t'  # of the levels above
    order: np.ndarray = 't int'  # its rows
    work: np.ndarray = '2t+1 t'  # scaled Schur complement, eigenvectors and eigenvalues


class BoundedScratch(NamedTuple):
    """Intermediate results of a cycle that keeps limits of joints."""

    effort_limits: np.ndarray = 'nv'  # those that drive friction leaves
    a_ref: np.ndarray = 'nv'  # q̈_ref, of q̈_null and singular directions
    tau_null: np.ndarray = 'nv'  # ``A q̈_null + b + g`` with the feed-forward
    tau_singular: np.ndarray = 'nv'  # efforts of q̈_ref without grips, tasks and bounds
    tau_ref: np.ndarray = '2 nv'  # efforts where all multipliers are 0, of q̈_ref and of q̈_null
    subtrees: np.ndarray = 'n 4'  # masses and first moments of subtrees
    gripped: np.ndarray = 'n 6'  # wrenches of grips beyond them at rest, but for weights
    moment: np.ndarray = '4'  # of a subtree's weight
    moments: np.ndarray = '2 n'  # of `bound_moments`, kg m
    gravity_gradient: np.ndarray = 'nv nv'  # ∇|g_k|, N·m/rad and the like
    directions: np.ndarray = 'DIRECTION_ROWS nv,k'  # of singular-direction control
    bound_rows: BoundRows = BoundRows
    contacts: ContactForces = ContactForces
    applied: AppliedForces = AppliedForces
    unstiffened: np.ndarray = 't t'  # Λ⁻¹ of the metric A, while it is of another one
    distances: NamedTuple = None  # Distances
    resting_rows: RestingRows = RestingRows
    problem: Problem = Problem
    truncation: Truncation = Truncation


class Data(NamedTuple):
    """All of a cycle that keeps limits of joints."""

    cycle: np.void  # CYCLE
    robot: Robot
    demand: Demand
    grasping: Grasping
    limits: Limits
    memory: Memory
    results: Results
    scratch: Scratch
    v: np.ndarray  # (nv,)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The kinds of limits: what each bounds, and which of them is kept where not all can be.

At each cycle a limit has a bound, a row ``least ≤ y ≤ greatest`` of the uppermost level, y being
the value of a quantity under the accelerations, joint forces, contact forces and share of applied
forces of the cycle.
``KIND_TABLE` says which quantity; what differs from quantity to quantity is in `bounds` and in
`project_row`.
"""

from typing import NamedTuple

from opspace_control.compiled import inlined
from opspace_control.errors import ControlError

# What a limit bounds: the force of joint k, its acceleration, the second rate of its gravity
# torque, a component of a contact's force, the second rate of the distance of two shapes, or the
# share of the forces of force control that is exerted.
(JOINT_FORCE, JOINT_ACCELERATION, GRAVITY_TORQUE_ACCELERATION, FORCE_COMPONENT,
 DISTANCE_ACCELERATION, APPLIED_SHARE) = QUANTITIES = range(6)

# Kinds of limits of a joint: of its effort, of its position and velocity, of its gravity torque,
# and of the acceleration that the law counts on to brake. The second and the last bound the same
# acceleration, on either side of it one of them: see `kind_of_side`.
JOINT_KINDS = 4
EFFORT, MOTION, GRAVITY_TORQUE, BRAKING = range(JOINT_KINDS)
# And one of contacts, one of the share of applied forces, and two of pairs of shapes: that they
# come no nearer than their margin, and that they part where they are nearer.
KINDS = JOINT_KINDS + 4
CONTACT_FORCE, FORCE_SHARE, DISTANCE, PARTING = range(JOINT_KINDS, KINDS)

# All kinds of these quantities.
_OF_JOINTS = {JOINT_FORCE: (EFFORT,), JOINT_ACCELERATION: (MOTION, BRAKING)}

# What may bound the acceleration of a joint.
REASONS = 'acceleration', 'velocity', 'position'
ACCELERATION, VELOCITY, POSITION = range(3)


class Kind(NamedTuple):
    """What the rows of a kind of limits have in common."""

    quantity: int
    """One of `QUANTITIES`."""
    softness: float
    """In the level of the bounds, in parts of a row's own mobility. The ratio of two of them
    decides which row has the residual where not both can be kept."""
    softness_beside_forces: float
    """The same where forces of contacts have bounds: softness counts from 1e-10 on, beside
    rounding, and such a force is to be kept before the motion. Also, beside passive joints, of a
    joint whose own effort has a row: it is too fast then, not all joints are."""
    may_rest: bool = False
    """Whether a joint may rest at such a limit, see `find_resting`."""
    inactive_unless_violated: bool = True
    """Whether no bound of the kind is active where the motion without bounds violates none. Not so
    of efforts, which are not known before the problem is solved, of the share of forces, and of
    distances, which also bound what a moving world does next."""
    lasts_at_rest: bool = False
    """Whether multipliers remain where nothing moves: those of motions and efforts end with these.
    Of a joint's acceleration only where a limit of its position is why."""
    in_every_problem: bool = False
    """Whether each problem has a row of each such limit, not only those that matter."""
    name: str = ''
    """What `ActiveLimit.limit` calls it; '' for limits of motion, which have `REASONS`, of
    contacts, which have `BOUND_NAMES`, and of the share of forces, which is none of these."""


# That shapes part is the softest, then the acceleration that the law counts on to brake, distances
# of shapes, then positions, velocities and gravity torques; contact forces and efforts, which are
# physical, are the hardest.
# Where a G1 reaches and is pushed, efforts and contact forces can be kept in all cycles, but not
# together with all that joints are to keep: feet pull or slip in 65 of 12,900 cycles with 1e-8, in
# 3 with 1e-9, in none of ten times as many with 1e-10.
# Standing still keeps all distances, so these contradict each other, or limits of joints, only in a
# world that moves: limits of joints, which are physical, come first. Where two walls close on an
# arm its joints stay within their velocity limits with 1e-4, and go at 21 times of them with 1e-6.
# Ways to part from several shapes may contradict each other. So that is far softer than all else: a
# row attains its demand alone, and exerts up to 27 times the force that it takes where others
# contradict it. With 0.1 an arm that a wall pierces shakes at two of four places, with 0.3, 1 and 2
# at one; a ball that flies at a hand comes as near as 9.4, 9.2 and 9.0 mm with these three.
KIND_TABLE = {
    EFFORT: Kind(JOINT_FORCE, 0.0, 0.0, inactive_unless_violated=False, name='effort'),
    MOTION: Kind(JOINT_ACCELERATION, 1e-6, 1e-4, may_rest=True, lasts_at_rest=True),
    GRAVITY_TORQUE: Kind(GRAVITY_TORQUE_ACCELERATION, 1e-6, 1e-6, may_rest=True,
                         lasts_at_rest=True, name='gravity torque'),
    BRAKING: Kind(JOINT_ACCELERATION, 1e-3, 1e-3),
    CONTACT_FORCE: Kind(FORCE_COMPONENT, 1e-10, 1e-10),
    FORCE_SHARE: Kind(APPLIED_SHARE, 0.0, 0.0, inactive_unless_violated=False),
    DISTANCE: Kind(DISTANCE_ACCELERATION, 1e-4, 1e-4, inactive_unless_violated=False,
                   lasts_at_rest=True, name='distance'),
    PARTING: Kind(DISTANCE_ACCELERATION, 0.3, 0.3, inactive_unless_violated=False,
                  lasts_at_rest=True, in_every_problem=True, name='distance')}

# Its columns, for kernels.
_KINDS = tuple(KIND_TABLE[kind] for kind in sorted(KIND_TABLE))
_QUANTITY = tuple(kind.quantity for kind in _KINDS)
_SOFTNESS = tuple((kind.softness, kind.softness_beside_forces) for kind in _KINDS)
_INACTIVE_UNLESS_VIOLATED = tuple(kind.inactive_unless_violated for kind in _KINDS)
_LASTS_AT_REST = tuple(kind.lasts_at_rest for kind in _KINDS)
_IN_EVERY_PROBLEM = tuple(kind.in_every_problem for kind in _KINDS)
RESTING_KINDS = tuple(k for k in range(JOINT_KINDS) if _KINDS[k].may_rest)
# Those that bound neither a joint's effort nor its acceleration, which are many and tested at once.
OTHER_KINDS = tuple(
    k for k in range(KINDS) if _QUANTITY[k] not in (JOINT_FORCE, JOINT_ACCELERATION))


def check_kinds(table=None):
    """
    Raise a ControlError unless each kind of limits, and none but these, has its quantity.

    Efforts and accelerations of joints have no further kinds: `bounds` knows these alone.
    """
    table = KIND_TABLE if table is None else table
    wrong = [kind for kind in {*range(KINDS), *table}
             if not 0 <= kind < KINDS or kind not in table
             or table[kind].quantity not in QUANTITIES
             or kind not in _OF_JOINTS.get(table[kind].quantity, (kind,))]
    if wrong:
        raise ControlError(
            f'Kinds of limits {wrong} have no known quantity, or one that `bounds` looks for in '
            'other kinds.', value=table, cure='Give each kind an entry of KIND_TABLE.')


@inlined
def quantity_of(kind):
    """Return what a kind of limits bounds, one of `QUANTITIES`."""
    return _QUANTITY[kind]


@inlined
def softness_of(kind, beside_forces):
    """Return the softness of a row, see `Kind.softness_beside_forces`."""
    return _SOFTNESS[kind][1] if beside_forces else _SOFTNESS[kind][0]


@inlined
def is_inactive_unless_violated(kind):
    """Return whether a motion without bounds that violates none tells that none is active."""
    return _INACTIVE_UNLESS_VIOLATED[kind]


@inlined
def lasts_at_rest(kind):
    """Return whether limits of a kind have multipliers where nothing moves."""
    return _LASTS_AT_REST[kind]


@inlined
def is_in_every_problem(kind):
    """Return whether each problem has the rows of all limits of a kind."""
    return _IN_EVERY_PROBLEM[kind]

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The limits of joints that a controller's cycle keeps, and how they change."""

import itertools

import numpy as np

from opspace_control.collision.data import set_influence
from opspace_control.control.constraints.contact_bounds import CONTACT_BOUNDS
from opspace_control.control.data import BoundedScratch, Memory, RestingRows
from opspace_control.control.limits.distance_limits import COUNTED, FEATURE_ZONE, DistanceLimits
from opspace_control.control.limits.distances import Distances, active_pairs
from opspace_control.control.limits.joint_limits import JointLimits
from opspace_control.control.limits.kinds import (
    CONTACT_FORCE,
    DISTANCE,
    FORCE_SHARE,
    JOINT_KINDS,
    KINDS,
    PARTING,
    check_kinds,
)
from opspace_control.control.singular.direction_motion import DIRECTION_ROWS
from opspace_control.control.solver.level_inverse import Decomposition
from opspace_control.control.solver.levels import LEVEL_SCRATCH
from opspace_control.dynamics.data import make_arrays
from opspace_control.errors import ControlError

# Numbers of `LIMIT` that follow from those of `JointLimits`, and of `CYCLE`.
_OF_JOINTS = ('lower', 'upper', 'velocity', 'ordinary_speed', 'acceleration', 'slow', 'clear',
              'gravity_torque')
_OF_ALL = 'return_rate', 'approach_rate', 'keep', 'least_effort'
# Of `DistanceLimits`, by names in `CYCLE`.
_OF_DISTANCES = {'margin': 'distance_margin', 'acceleration': 'distance_braking',
                 'parting_speed': 'parting_speed', 'repulsion': 'repulsion',
                 'repulsion_influence': 'repulsion_influence'}


class LimitData:
    """
    Limits of joints, as a compiled cycle reads them; all their numbers may change gradually.

    ``limits`` and ``distances`` are those that have been set, ``records`` (nv,) of LIMIT,
    ``numbers`` (KINDS + 1,) those of bounds, ``collision``, ``memory`` and ``scratch`` what the
    cycle has of them, ``gradual`` the numbers themselves, by name. The nodes, (n,), and the record
    of the CYCLE, which receives what is no matter of single joints, are the controller's, and
    ``effort_limits`` (nv,); the other arguments are sizes of its stack. Raises a ControlError if
    the limits are another model's, or count on more effort than the controller exerts, or a kind of
    limits is not known: `check_kinds`.
    """

    def __init__(self, limits, distances, nodes, cycle, effort_limits, constraints, rows, levels):
        check_kinds()
        self._effort_limits = effort_limits
        self._model, self._nodes, self._cycle = distances.model, nodes, cycle
        model = distances.model
        limits = self._checked(limits)
        self.records = limits.records(nodes)
        self.numbers = count_numbers(
            model.nv, CONTACT_BOUNDS * constraints, distances.capacity)
        self.memory, self.scratch = _make_arrays(
            nodes.size, model.nv, constraints, rows, levels, distances.capacity, self.numbers[-1])
        self.distances = None
        self.set_distances(distances)
        self.gradual = {f'limits.{name}': self.records[name] for name in _OF_JOINTS} | {
            f'limits.{name}': cycle[name] for name in _OF_ALL} | {
            f'distances.{name}': cycle[name] for name in _OF_DISTANCES.values()}
        self.set(limits)

    def set(self, limits):
        """Keep other limits from now on, those `within` the efforts; raises as the constructor."""
        limits = self._checked(limits)
        records = limits.records(self._nodes)
        for name in _OF_JOINTS:
            self.records[name] = records[name]
        for name in _OF_ALL:
            self._cycle[name] = getattr(limits, name)
        self.limits = limits

    def set_distances(self, distances):
        """
        Keep other distances from now on, or raise a ControlError.

        Other shapes are a new ``collision``, for which a cycle is to be bound anew, unless there is
        room in the present one; where both have a shape of the world alike, it stays where it is,
        with its twist.
        """
        if not isinstance(distances, DistanceLimits) or distances.model is not self._model:
            raise ControlError(f'distances = {distances!r} cannot be used.',
                               cure='Give DistanceLimits of a CollisionModel of the same model.')
        if distances.capacity != self.scratch.distances.attainable.size:
            raise ControlError(
                f'distances have room for {distances.capacity} near pairs.',
                cure=f'Give capacity={self.scratch.distances.attainable.size}, as at the start.')
        shapes, before = distances.collision, self.distances and self.distances.collision
        if shapes is not before:
            if not (before and shapes.replace_in(self.collision, before)):
                collision = shapes.data(
                    distances.capacity, distances.repulsion_influence, FEATURE_ZONE, COUNTED,
                    distances.further)
                if before:
                    shapes.keep_poses(collision, before, self.collision.shapes)
                self.collision = collision
            self._forget_pairs()
        for name, number in _OF_DISTANCES.items():
            self._cycle[number] = getattr(distances, name)
        set_influence(self.collision, distances.repulsion_influence)
        self.distances = distances

    def active_bounds(self):
        """Yield kind, index and side, ±1, of each bound that was active in the last problem."""
        for kind, (first, end) in enumerate(itertools.pairwise(self.numbers)):
            sides = self.memory.bound_active[first:end]
            for k in np.flatnonzero(sides) if kind != FORCE_SHARE else ():
                yield kind, int(k), int(sides[k])

    def restore_shapes(self):
        """Put the shapes into their arrays again, where the model has them."""
        self.distances.collision.replace_in(self.collision)
        set_influence(self.collision, self.distances.repulsion_influence)
        self._forget_pairs()

    def near_pairs(self, q):
        """Return the `Separation` of each pair that is near at positions q (nq,), a tuple."""
        distances = self.distances
        return tuple(distances.collision.distances(
            q, distances.furthest, self.collision.shapes))

    def urgent_pairs(self):
        """Return the `Separation` of each pair that had a bound at the last cycle, a tuple."""
        return tuple(self.distances.collision.separations(
            self.collision, self._cycle['origin'][0]))

    def _forget_pairs(self):
        self.memory.near_pairs[:], active_pairs(self.memory, self.numbers)[:] = -1, 0

    def _checked(self, limits):
        if not isinstance(limits, JointLimits) or limits.model is not self._model:
            raise ControlError(f'limits = {limits!r} cannot be used.',
                               cure='Give JointLimits(model) of the same model.')
        return limits.within(self._effort_limits)


def count_numbers(dofs, contacts, near):
    """
    Return the number of the first bound of each kind, and how many numbers there are, (KINDS + 1,).

    They are for so many joints, bounds of contacts and near pairs.
    """
    counts = dict.fromkeys(range(JOINT_KINDS), dofs) | {
        CONTACT_FORCE: contacts, FORCE_SHARE: 1, DISTANCE: near, PARTING: near}
    return np.cumsum([0, *(counts[kind] for kind in range(KINDS))])


def _make_arrays(nodes, dofs, constraints, rows, levels, near, m):
    """Return the `Memory` and the `BoundedScratch` of a controller, of so many parts."""
    b, levels = CONTACT_BOUNDS * constraints, max(levels, 1)
    sizes = {'n': nodes, 'nv': dofs, 'k': rows, 't': rows, '2t+1': 2 * rows + 1, 'm': m,
             'N': m + rows, 'b': b, '6c': 6 * constraints, 'd': near, 'l': levels,
             'l+1': levels + 1, 'l+2': levels + 2, 'LEVEL_SCRATCH': LEVEL_SCRATCH,
             'DIRECTION_ROWS': DIRECTION_ROWS, 'nv,k': max(dofs, rows, 12)}
    return make_arrays(Memory, sizes), make_arrays(
        BoundedScratch, sizes, distances=make_arrays(Distances, sizes), resting_rows=make_arrays(
            RestingRows, sizes, level=make_arrays(Decomposition, {'k': m})))

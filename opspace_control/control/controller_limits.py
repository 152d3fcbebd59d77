# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The limits that a controller keeps, shapes that keep distances, and what is at its limit."""

from typing import NamedTuple

import numpy as np

from opspace_control.collision.features import FEATURES
from opspace_control.control.constraints.contact_bounds import BOUND_NAMES, CONTACT_BOUNDS
from opspace_control.control.limits.kinds import DISTANCE, KIND_TABLE, REASONS
from opspace_control.errors import ControlError


class ActiveLimit(NamedTuple):
    """A limit of a joint, of a contact's force, or of the distance of a pair, that is active."""

    name: str
    """Of the degree of freedom, or of the contact; of a pair 'a and b', its shapes."""
    limit: str
    """Of a joint 'position', 'velocity', 'acceleration', 'effort' or 'gravity torque'; of a contact
    'normal force', 'friction', 'centre of pressure' or 'friction torque'; of a pair 'distance'."""
    side: int
    """1 at the upper limit, or the one of positive motion or effort; -1 at the other."""


class ControllerLimits:
    """The properties of an `OperationalSpaceController` that are about limits."""

    @property
    def active_limits(self):
        """Limits that were active at the last cycle, a tuple of `ActiveLimit`; () without any."""
        active = []
        if self._kept and self._cycle['problems'][0] > 0:
            names, limits = self.model.dof_names, self._kept.records
            for k, kind in np.argwhere(limits['active']):
                side = int(limits['active'][k, kind])
                why = KIND_TABLE[kind].name or REASONS[limits['reason'][k, int(side > 0)]]
                active.append(ActiveLimit(names[k], why, side))
            contacts, sides = tuple(self.constraints), self._kept.memory.contact_active
            active.extend(dict.fromkeys(
                ActiveLimit(contacts[k // CONTACT_BOUNDS], BOUND_NAMES[k % CONTACT_BOUNDS],
                            int(sides[k])) for k in np.flatnonzero(sides)))
            memory, pairs = self._kept.memory, self._kept.distances.pairs
            near = memory.near_pairs[memory.distance_active != 0] // FEATURES
            active.extend(ActiveLimit(' and '.join(pairs[k]), KIND_TABLE[DISTANCE].name, -1)
                          for k in dict.fromkeys(near.tolist()))
        return tuple(active)

    @property
    def near_pairs(self):
        """Pairs of shapes that were near at the last cycle, a tuple of `Separation`."""
        return self._kept.near_pairs(self._q) if self._kept and self._compute else ()

    @property
    def urgent_pairs(self):
        """Pairs of shapes that had a bound at the last cycle, a tuple of `Separation`."""
        return self._kept.urgent_pairs() if self._kept else ()

    @property
    def limit_solutions(self):
        """How many problems with bounds the last cycle solved because of `limits`."""
        return int(self._cycle['problems'][0])

    @property
    def unsolved_limits(self):
        """
        How many problems with bounds the last cycle did not solve: 0, but for a numerical failure.

        The iteration came to no end, or forces are not finite. Bounds may be passed then; efforts
        are cut at their limits as ever, those that are not finite stay so.
        """
        return int(self._cycle['unsolved'][0])

    @property
    def levels_given_up(self):
        """
        How many levels of tasks the last cycle gave up because rounding left them no motion.

        Where levels above contradict each other or their bounds, all that they attain may be a
        single motion but for rounding. A level that finds none within their bounds exerts no force;
        those above and the bounds are kept.
        """
        return int(self._cycle['levels_given_up'][0])

    @property
    def limits(self):
        """The `JointLimits`, or None; others may be set where there are any."""
        return self._kept.limits if self._kept else None

    @limits.setter
    def limits(self, limits):
        self._check_kept()
        self._kept.set(limits)

    @property
    def distances(self):
        """
        The `DistanceLimits`, None without ``limits``; others of the same capacity may be set.

        They may have other shapes; one of the world that was there before stays where it is.
        """
        return self._kept.distances if self._kept else None

    @distances.setter
    def distances(self, distances):
        self._check_kept()
        self._kept.set_distances(distances)
        robot, collision = self._arguments.robot, self._kept.collision
        if robot.collision is not collision:
            self._arguments = self._arguments._replace(robot=robot._replace(collision=collision))
            if self._compute is not None:
                self.warm_up()

    @property
    def shapes(self):
        """The shapes that keep distances, a tuple of `Shape`, of the world where they are now."""
        return self._kept.distances.collision.present_shapes(self._kept.collision) if (
            self._kept) else ()

    @property
    def shape_capacity(self):
        """How many shapes the arrays of the cycle have room for; 0 without ``limits``."""
        return self._kept.collision.shapes.size if self._kept else 0

    def move_shape(self, name, position=None, rotation=None, twist=None):
        """
        Put a shape of the world elsewhere, for the next cycle; it may jump.

        In each cycle after that it moves on at its twist, for the time between the cycles: poses
        may arrive at a lower rate than that of the cycles.

        Parameters
        ----------
        name : str
            Of the shape.
        position : (3,) array, optional
            Its centre in the world, m, of a half-space a point of its plane; as it is if not given.
        rotation : (3, 3) array, optional
            Its axes in the world, by column; likewise.
        twist : (6,) array, optional
            Velocity of its centre and angular velocity, [v; ω], in world axes, m/s and rad/s; at
            rest if not given.

        Raises
        ------
        ModelError
            If there is no such shape, if it is on a link, or if a number cannot be used; names the
            shape, and nothing has changed.
        ControlError
            If the controller was made without limits.

        """
        self._check_kept()
        self._kept.distances.collision.move_shape(
            self._kept.collision, name, position, rotation, twist)

    def _check_kept(self):
        if not self._kept:
            raise ControlError('The controller was made without limits.',
                               cure='Make it with limits=JointLimits(model).')

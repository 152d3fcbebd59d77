# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The limits that a controller keeps, shapes that keep distances, and what is at its limit."""

from typing import NamedTuple

from opspace_control.collision.features import FEATURES
from opspace_control.control.constraints.contact_bounds import BOUND_NAMES, CONTACT_BOUNDS
from opspace_control.control.limits.kinds import CONTACT_FORCE, JOINT_KINDS, KIND_TABLE, REASONS
from opspace_control.errors import ControlError, ModelError


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
        if self._limits and self._cycle['problems'][0] > 0:
            active = [self._named(*bound) for bound in self._limits.active_bounds()]
        return tuple(dict.fromkeys(active))

    def _named(self, kind, k, side):
        """Return the `ActiveLimit` of a bound; those of two features of a pair are one."""
        if kind < JOINT_KINDS:
            why = KIND_TABLE[kind].name or REASONS[
                self._limits.records['reason'][k, int(side > 0)]]
            return ActiveLimit(self.model.dof_names[k], why, side)
        if kind == CONTACT_FORCE:
            return ActiveLimit(tuple(self.constraints)[k // CONTACT_BOUNDS],
                               BOUND_NAMES[k % CONTACT_BOUNDS], side)
        pair = self._limits.distances.pairs[self._limits.memory.near_pairs[k] // FEATURES]
        return ActiveLimit(' and '.join(pair), KIND_TABLE[kind].name, side)

    @property
    def near_pairs(self):
        """Pairs of shapes that were near at the last cycle, a tuple of `Separation`."""
        return self._limits.near_pairs(self._q) if self._limits and self._compute else ()

    @property
    def urgent_pairs(self):
        """Pairs of shapes that had a bound at the last cycle, a tuple of `Separation`."""
        return self._limits.urgent_pairs() if self._limits else ()

    @property
    def limit_solutions(self):
        """How many problems with bounds the last cycle solved because of `limits`."""
        return int(self._cycle['problems'][0])

    @property
    def unsolved_limits(self):
        """
        How many problems with bounds the last cycle did not solve: 0, but for a numerical failure.

        The bounds alone came to no end, or forces are not finite. Bounds may be violated then; all
        efforts are cut at their limits as ever, those that are not finite stay so.
        """
        return int(self._cycle['unsolved'][0])

    @property
    def levels_skipped(self):
        """
        How many levels of tasks the last cycle skipped because rounding left them no motion.

        Where levels above contradict each other or their bounds, all that they attain may be a
        single motion but for rounding. A level that finds none within their bounds, or comes to no
        end, exerts no force; those above and the bounds are kept.
        """
        return int(self._cycle['levels_skipped'][0])

    @property
    def limits(self):
        """The `JointLimits`, or None; others may be set where there are any."""
        return self._limits.limits if self._limits else None

    @limits.setter
    def limits(self, limits):
        self._check_limits()
        self._limits.set(limits)

    @property
    def position_limits(self):
        """
        Lower and upper limits of positions that the law keeps, (nv,) each, rad or m.

        Those of `limits`, while it keeps them, else of the model; ±inf for none.
        """
        if self._keeps_limits:
            return self.limits.lower, self.limits.upper
        return self.model.lower_position_limits, self.model.upper_position_limits

    @property
    def velocity_limits(self):
        """The same of velocities, (nv,), rad/s or m/s."""
        return self.limits.velocity if self._keeps_limits else self.model.velocity_limits

    _keeps_limits = property(lambda self: self.limits is not None and self.limits.keep)

    @property
    def distances(self):
        """
        The `DistanceLimits`, None without ``limits``; others of the same capacity may be set.

        They may have other shapes; one of the world that was there before stays where it is.
        """
        return self._limits.distances if self._limits else None

    @distances.setter
    def distances(self, distances):
        self._check_limits()
        self._limits.set_distances(distances)
        robot, collision = self._arguments.robot, self._limits.collision
        if robot.collision is not collision:
            self._arguments = self._arguments._replace(robot=robot._replace(collision=collision))
            if self._compute is not None:
                self.warm_up()

    @property
    def shapes(self):
        """The shapes that keep distances, a tuple of `Shape`, of the world where they are now."""
        return self._limits.distances.collision.present_shapes(self._limits.collision) if (
            self._limits) else ()

    @property
    def shape_capacity(self):
        """How many shapes the arrays of the cycle have room for; 0 without ``limits``."""
        return self._limits.collision.shapes.size if self._limits else 0

    def move_shape(self, name, position=None, rotation=None, twist=None):
        """
        Put a shape of the world elsewhere, for the next cycle; it may jump.

        In each cycle after that it moves on at its twist, for the time between the cycles: poses
        may arrive at a lower rate than that of the cycles. Raises a ModelError that names the shape
        if there is none, if it is on a link, or if a number cannot be used, and changes nothing
        then; a ControlError if the controller was made without limits.

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

        """
        self._check_limits()
        self._limits.distances.collision.move_shape(
            self._limits.collision, name, position, rotation, twist)

    def _change_shapes(self, gone, shapes, touching):
        """Keep distances without shapes of these names, and with others; as `Payloads` needs it."""
        self._check_limits()
        distances = self._limits.distances
        if shapes and distances.capacity == 0:
            raise ControlError('The controller keeps no distances.',
                               cure='Make it with distances=DistanceLimits(collision).')
        collision = distances.collision
        collision = collision.without_shapes([name for name in gone if name in collision.names])
        for shape in shapes:
            if shape.name in collision.names:
                raise ModelError(f"There is a shape '{shape.name}' already.", element=shape.name,
                                 cure='Give it another name.')
        self.distances = distances.changed(
            collision=collision.with_shapes(shapes, touching=touching))

    def _check_limits(self):
        if not self._limits:
            raise ControlError('The controller was made without limits.',
                               cure='Make it with limits=JointLimits(model).')

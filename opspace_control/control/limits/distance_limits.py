# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Least distances of pairs of shapes that a controller keeps."""

import copy

from opspace_control.checks import checked
from opspace_control.collision import CollisionModel
from opspace_control.control.limits.joint_limits import limit_number
from opspace_control.errors import ControlError

# Features that are further than the nearest points of two shapes by less than this have rows, m.
FEATURE_ZONE = 0.03
# Pairs whose second rate of the distance cannot come near its bound count for nothing, m/s²; those
# that need half of it count in full, so that no bound becomes active at once.
COUNTED = 20.0
# A pair that may brake faster is stopped within a cycle from any speed, m/s². From 1e12 on rounding
# of bounds is beyond accelerations of joints, and links pass each other.
GREATEST_ACCELERATION = 1e3
# What `DistanceLimits.changed` takes.
_NUMBERS = ('margin', 'influence', 'acceleration', 'parting_speed', 'repulsion',
            'repulsion_influence')


class DistanceLimits:
    """
    Least distances of the links from each other and from what else there is.

    A pair of shapes never approaches faster than ``acceleration`` can stop it at its margin, by the
    law of `JointLimits`, at whatever distance it has to begin to brake; within its margin it comes
    no nearer, and parts. They are above tasks and posture; limits of joints' motion are on the same
    level.

    With a gain η, ``repulsion``, the pair has the potential ``½ η (1/ρ − 1/ρ₀)²`` of [K86], too, at
    distances ρ below ρ₀, ``repulsion_influence``. Its forces move the joints in the null space of
    the tasks, with the posture; none makes a joint pass its limit of acceleration. Raises a
    ControlError for a number that is not usable, or what is no CollisionModel.

    Parameters
    ----------
    collision : CollisionModel
        Of the controller's model: its shapes and pairs.
    margin : float
        Distance that is kept, m.
    influence : float
        Distance up to which `near_pairs` of a controller tells a pair, m; nothing else depends on
        it.
    acceleration : float
        That the pair can always brake with, and parts with, m/s², 1000 at most.
    parting_speed : float
        At which pairs that are nearer than the margin part at most, m/s.
    capacity : int
        How many pairs of shapes and features may be near at once; of more, those that have to brake
        first count.
    repulsion : float
        Gain of the potential, J m²; 0: there is none.
    repulsion_influence : float
        Distance from which on there is none, m; with a gain `near_pairs` tells pairs up to it, too.
    further : int
        How many further shapes have room in a controller that is made with these: a cycle in
        another process takes no more. Elsewhere a controller makes room for them.

    """

    def __init__(self, collision, *, margin=0.01, influence=0.3, acceleration=2.0,
                 parting_speed=0.1, capacity=64, repulsion=0.0, repulsion_influence=0.3,
                 further=0):
        self._keep(collision)
        for name, count in (('capacity', capacity), ('further', further)):
            if not (isinstance(count, int) and count >= 0):
                raise ControlError(f'{name} = {count!r} is not allowed.', cure='Give a count.')
        self.capacity, self.further = capacity, further
        self._set(margin, influence, acceleration, parting_speed, repulsion, repulsion_influence)

    def changed(self, collision=None, **numbers):
        """
        Return these with another ``collision`` or other numbers; raises as the constructor.

        Of all that the constructor takes but ``capacity`` and ``further``.
        """
        distances = copy.copy(self)
        if collision is not None:
            distances._keep(collision)
        distances._set(**{name: getattr(self, name) for name in _NUMBERS} | numbers)
        return distances

    def _keep(self, collision):
        if not isinstance(collision, CollisionModel):
            raise ControlError(f'{collision!r} has no shapes.', cure='Give a CollisionModel.')
        self.collision, self.model, self.pairs = collision, collision.robot, collision.pairs

    def _set(self, margin, influence, acceleration, parting_speed, repulsion,
             repulsion_influence):
        self.margin = limit_number(margin, 'margin')
        self.influence = limit_number(influence, 'influence', 1e-6)
        self.acceleration = limit_number(
            acceleration, 'acceleration', 1e-6, GREATEST_ACCELERATION)
        self.parting_speed = limit_number(parting_speed, 'parting_speed')
        self.repulsion = checked(repulsion, 'repulsion', ControlError, lowest=0.0)
        self.repulsion_influence = limit_number(repulsion_influence, 'repulsion_influence', 1e-6)
        if self.influence <= self.margin:
            raise ControlError(
                f'influence = {influence!r} m is not beyond margin = {margin!r} m.',
                cure='Give a greater influence.', value=influence)

    @property
    def furthest(self):
        """Distance up to which pairs are told as near, m: `influence`, or that of a potential."""
        return max(self.influence, self.repulsion_influence if self.repulsion > 0.0 else 0.0)

    @staticmethod
    def checked(distances, model, limits):
        """Return the distances that a controller of a model keeps; a ControlError says why not."""
        if distances is None:
            return DistanceLimits(CollisionModel(model, ()), capacity=0)
        if not isinstance(distances, DistanceLimits) or distances.model is not model:
            raise ControlError(f'distances = {distances!r} cannot be used.',
                               cure='Give DistanceLimits of a CollisionModel of the same model.')
        if limits is None:
            raise ControlError('Distances are kept together with limits of joints only.',
                               cure='Give limits=JointLimits(model), too.')
        return distances

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Friction of drives: Coulomb, viscous and Stribeck, and what overcomes it."""

import math
from types import MappingProxyType

import numpy as np

from opspace_control.compiled import inlined
from opspace_control.dynamics.dof_quantities import DofQuantities
from opspace_control.errors import ModelError

# The friction of the drive of one degree of freedom.
DRIVE_FRICTION = np.dtype([
    ('coulomb', np.float64),    # N·m or N
    ('breakaway', np.float64),  # at the least velocities, N·m or N; at least ``coulomb``
    ('stribeck_velocity', np.float64),  # of the transition between the two, rad/s or m/s
    ('viscous', np.float64),    # N·m·s/rad or N·s/m
    ('slip_velocity', np.float64),  # at which three quarters of the friction act, rad/s or m/s
    ('horizon', np.float64),    # s
    ('motion', np.float64),     # v + T q̈ behind its filter, rad/s or m/s
    ('level', np.float64),      # dry friction at the velocity of the cycle, without its sign
    ('effort', np.float64),     # that overcame it in the last cycle, N·m or N
], align=True)
NO_DRIVE_FRICTION = np.empty(0, DRIVE_FRICTION)

# Half and twice of these change little, see doc/measurements/disturbances.md.
SLIP_VELOCITY = 0.1  # rad/s or m/s
HORIZON = 0.4  # s, longer than 1 / kd of tasks and posture
STRIBECK_VELOCITY = 0.05  # rad/s or m/s, of harmonic drives
# Of the filter of v + T q̈, 1/s. With half of it one of six pairs of goals of Talos' hands takes
# 4.0 s instead of 1.6, without a filter another 4.5 s instead of 2.6.
MOTION_RATE = 200.0


@inlined
def any_friction(friction):
    """Return whether a drive has friction."""
    largest = 0.0
    for k in range(friction.size):
        largest = max(largest, friction[k].coulomb, friction[k].breakaway, friction[k].viscous)
    return largest > 0.0


@inlined
def friction_level(dof, v):
    """Return the dry friction at a velocity, without its sign: Stribeck's curve."""
    level = dof.coulomb
    if dof.breakaway > dof.coulomb:
        x = v / dof.stribeck_velocity
        level += (dof.breakaway - dof.coulomb) * math.exp(-x * x)
    return level


@inlined
def overcoming_effort(dof, v, acceleration, gain):
    """
    Return the effort that overcomes friction of a ``level``, see `DriveFriction`.

    ``gain`` is the part of a difference that the filter of the motion follows in this cycle.
    """
    dof.motion += gain * (v + dof.horizon * acceleration - dof.motion)
    # NaN of one cycle is none of those that follow. `isfinite` of a sum is always true where
    # floating point is reassociated.
    if not abs(dof.motion) < math.inf:
        dof.motion = 0.0
    # tanh x by its exponential, to 1e-16 and in half the time.
    direction = 1.0 - 2.0 / (math.exp(2.0 * dof.motion / dof.slip_velocity) + 1.0)
    return dof.level * direction + dof.viscous * v


class DriveFriction(DofQuantities):
    """
    Friction of drives, which `OperationalSpaceController.drive_friction` overcomes.

    The efforts of the law are those of drives without friction. To them are added

    ``F = (F_c + (F_b − F_c) exp(−(v / v_s)²)) tanh((v + T q̈) / v_0) + b v``

    of the Coulomb friction F_c, the breakaway friction F_b, the Stribeck velocity v_s and the
    viscous friction b, [ADC94]. Friction opposes the motion and, at rest, the forces that would
    cause one. So its sign is that of the velocity at which a joint without friction would be after
    the horizon T, q̈ being the acceleration that the law's efforts would cause: joints that stick
    are set in motion, and those that arrive are braked by their friction. No velocity has to be
    exactly zero for that. With T longer than 1 / kd of tasks and posture noise of the velocity does
    not move a joint, and friction that is less than assumed makes no oscillation. ``v + T q̈``
    passes a filter of the first order, of 200/s, since noise would give it another sign in each
    cycle.

    A number is for all dofs, an array (nv,) is in the order of ``dof_names``, a dict names joints
    or dofs. Raises a ModelError for an unknown name, a wrong number of numbers, one that is not
    finite or negative, and a velocity that is not positive.

    Parameters
    ----------
    model : RobotModel
    coulomb, viscous : float, (nv,) array, or dict of str to float
        Coulomb friction F_c, N·m or N, and viscous friction b, N·m·s/rad or N·s/m.
    breakaway : float, (nv,) array, or dict of str to float
        Friction F_b where motion begins, N·m or N. Below ``coulomb`` it is as that.
    stribeck_velocity : float, (nv,) array, or dict of str to float
        Velocity v_s of the transition from F_b to F_c, rad/s or m/s.
    slip_velocity : float, (nv,) array, or dict of str to float
        Velocity v_0 at which three quarters of the friction are overcome, rad/s or m/s.
    horizon : float, (nv,) array, or dict of str to float
        Time T, s.

    """

    what = 'drive friction'
    allowed = MappingProxyType({
        'stribeck_velocity': {'above': 0.0}, 'slip_velocity': {'above': 0.0}})

    def __init__(self, model, *, coulomb=0.0, viscous=0.0, breakaway=0.0,
                 stribeck_velocity=STRIBECK_VELOCITY, slip_velocity=SLIP_VELOCITY,
                 horizon=HORIZON):
        super().__init__(
            model, DRIVE_FRICTION, coulomb=coulomb, viscous=viscous, breakaway=breakaway,
            stribeck_velocity=stribeck_velocity, slip_velocity=slip_velocity, horizon=horizon)

    @classmethod
    def from_urdf(cls, model):
        """Return the friction that the URDF's ``<dynamics>`` gives each joint."""
        return cls(model, coulomb=model.friction, viscous=model.damping)

    @property
    def effort(self):
        """The efforts that overcame friction in the last cycle, (nv,), N·m or N; a copy."""
        return self._dofs['effort'].copy()

    def checked_for(self, model, effort_limits):
        """
        Return the records for a controller of a model; a ModelError says why not.

        Dry friction beyond an effort limit (nv,), N·m or N, leaves the law nothing. A drive with
        the limit 0 has no effort for friction either. Viscous friction grows with the velocity: it
        is cut where efforts are.
        """
        if model is not self._model:
            raise ModelError('This drive friction is that of another model.',
                             cure="Make it of the controller's model.")
        for quantity in ('coulomb', 'breakaway'):
            values = self._dofs[quantity]
            for k in np.flatnonzero((values > effort_limits) & (effort_limits > 0.0)):
                raise ModelError(
                    f"drive friction: {quantity} of '{model.dof_names[k]}' is {values[k]:g}, more "
                    f'than its effort limit, {effort_limits[k]:g}.', joint=model.dof_names[k],
                    parameter=quantity, cure='Give less friction, or a higher effort limit.')
        return self._dofs

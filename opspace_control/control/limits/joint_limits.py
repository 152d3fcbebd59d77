# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of the joints' motion that a controller keeps, and what joints can brake with."""

import copy
import functools

import numpy as np

from opspace_control.checks import checked
from opspace_control.control.limits.effort_limits import read_effort_limits
from opspace_control.control.limits.limit_law import LIMIT
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.errors import ControlError
from opspace_control.model.mobility import carried_by_joints

# doc/measurements/constants.md has what half and twice of these change.
# A joint takes at least so long to stop from its greatest velocity, s: light links could brake
# within a few cycles. Half of it makes efforts of nine robots step by up to twice as much; with
# twice of it weak joints of Talos are 3.6 times as fast as they may be.
SHORTEST_STOP = 0.1
# One that its gravity torque leaves no effort counts as needing so long: it must brake with
# something. With twice of it weak joints of Talos pass limits by 31 degrees, not by one or two.
LONGEST_STOP = 1.0
# Of the effort that gravity leaves a joint, this part is for braking; the rest is for what other
# joints do to it.
BRAKING_SHARE = 0.4
# Random postures in which that is found out.
_POSTURES = 64
# Limit of the gravity torque, in parts of the effort limit: where gravity took all of it nothing
# would be left to brake with, and weak joints of Talos pass limits by 9 degrees.
_GRAVITY_SHARE = 0.95
# As good as no limit, rad/s² or m/s²: what limits are compared with has to be a number. No motion
# changes from a tenth to ten times of it.
_HARDEST = 1e6
# Rates beyond that of any cycles let joints oscillate, 1/s.
_FASTEST_RETURN = 1e4
# For a joint without a limit of velocity, rad/s or m/s: that of usual arms, 2 to 3. It scales the
# braking acceleration as the two times do, half of it as twice ``SHORTEST_STOP``.
_ORDINARY_SPEED = 2.0
# What `JointLimits.changed` takes.
_NUMBERS = (
    'position_margin', 'velocity_kept', 'soft_limits', 'return_rate', 'approach_rate', 'keep',
    'least_effort')


class JointLimits:
    """
    Limits of positions, velocities and accelerations of joints.

    A joint moves no faster than its acceleration can stop it, as far as its drive has that. The
    default acceleration is two fifths of what the effort limit leaves beyond the greatest gravity
    torque of 64 postures, by the greatest inertia of these; at most what stops the joint from full
    speed in 0.1 s, and at least what stops it in 1 s, which a ``weak`` joint does not have. Raises
    a ControlError for a number that is not usable or an unknown joint.

    Parameters
    ----------
    model : RobotModel
        Its URDF gives the limits.
    position_margin : float
        Distance of the kept limits of positions from those of the URDF, rad or m.
    velocity_kept : float
        Part of the velocity limits that is used, from 0 to 1.
    soft_limits : bool
        Whether the soft limits of a <safety_controller> replace the limits of positions.
    acceleration : float, (nv,) array or dict of str to float, optional
        rad/s² or m/s², inf for none; joints that a dict leaves out keep theirs.
    effort_limits : float or (nv,) array, optional
        What joints may brake with, N·m or N; if not given, the effort limits of the controller,
        and before there is one the URDF's. A controller refuses more than its own.
    return_rate : float
        At which a joint that is too fast returns to the allowed velocity, 1/s, 10,000 at most; well
        below the rate of the cycles.
    approach_rate : float
        At which a joint approaches its limit at last, 1/s; well below ``return_rate``.
    keep : bool
        False for the bare law, as if there were none, until others are set.
    least_effort : float
        Part, from 0 to 1, of what internal forces between contacts with bounds can spare the
        drives, each in parts of its effort limit; 0: internal forces are of least norm. Contacts
        with a commanded internal wrench, and those of grasps, take no part.

    Arrays are computed anew by `changed`, and by a controller with other effort limits; of what is
    written to them only entries of ``gravity_torque`` stay then.

    Attributes
    ----------
    lower, upper : (nv,) arrays
        rad or m.
    effort_limits : (nv,) array
        N·m or N, inf for none.
    velocity, acceleration : (nv,) arrays
        rad/s and rad/s², or m/s and m/s².
    gravity_torque : (nv,) array
        Limits of gravity torques, N·m or N: 95 % of the effort limits, inf for none.
    weak : tuple of str
        Joints that may pass limits of their motion, for gravity leaves their drives too little to
        brake with in some posture: less than the least default, a stop in 1 s, or, where
        ``acceleration`` is given, less than that takes.

    """

    def __init__(self, model, *, position_margin=0.0, velocity_kept=1.0, soft_limits=True,
                 acceleration=None, effort_limits=None, return_rate=100.0, approach_rate=20.0,
                 keep=True, least_effort=0.0):
        self.model = model
        self._given, self._follows = acceleration, effort_limits is None
        self._count_on(read_effort_limits(model, effort_limits))
        self._set(position_margin, velocity_kept, soft_limits, return_rate, approach_rate, keep,
                  least_effort)

    def changed(self, **numbers):
        """
        Return these limits with some of their numbers changed; raises as the constructor.

        Of ``position_margin``, ``velocity_kept``, ``soft_limits``, ``return_rate``,
        ``approach_rate``, ``keep`` and ``least_effort``; what joints can brake with stays.
        """
        limits = copy.copy(self)
        limits.gravity_torque = self.gravity_torque.copy()
        limits._set(**{name: getattr(self, name) for name in _NUMBERS} | numbers)
        return limits

    def within(self, effort_limits):
        """
        Return these limits for a controller with effort limits (nv,), N·m or N.

        Those without effort limits of their own count on these; entries of ``gravity_torque`` that
        were set stay. A ControlError refuses limits that count on more.
        """
        if self._follows and not np.array_equal(self.effort_limits, effort_limits):
            limits, usual = copy.copy(self), _gravity_torque(self.effort_limits)
            limits._count_on(effort_limits.copy())
            limits.gravity_torque = np.where(
                self.gravity_torque == usual, limits.gravity_torque, self.gravity_torque)
            return limits.changed()
        for k in np.flatnonzero(self.effort_limits > effort_limits):
            name = self.model.dof_names[k]
            raise ControlError(
                f"limits count on {self.effort_limits[k]:g} N m or N of '{name}', but its effort "
                f'limit is {effort_limits[k]:g}.', joint=name,
                cure='Leave out effort_limits of JointLimits, or give what the controller has.')
        return self

    def _count_on(self, effort_limits):
        """Find what joints can brake with within effort limits (nv,)."""
        self.effort_limits = effort_limits
        self._strength = _braking_strength(self.model, effort_limits)
        self.gravity_torque = _gravity_torque(effort_limits)

    def _set(self, position_margin, velocity_kept, soft_limits, return_rate, approach_rate, keep,
             least_effort):
        """Work out the limits from numbers, which are checked."""
        model = self.model
        self.position_margin = limit_number(position_margin, 'position_margin')
        self.velocity_kept = limit_number(velocity_kept, 'velocity_kept', 1e-6, 1.0)
        self.return_rate = limit_number(return_rate, 'return_rate', 1.0, _FASTEST_RETURN)
        self.approach_rate = limit_number(
            approach_rate, 'approach_rate', 0.1, 0.5 * self.return_rate)
        self.least_effort = limit_number(least_effort, 'least_effort', 0.0, 1.0)
        self.soft_limits, self.keep = bool(soft_limits), bool(keep)
        lower, upper = (
            (model.lower_soft_limits, model.upper_soft_limits) if self.soft_limits
            else (model.lower_position_limits, model.upper_position_limits))
        with np.errstate(invalid='ignore'):  # there may be no middle
            middle = 0.5 * (lower + upper)
            self.lower = np.fmin(lower + self.position_margin, middle)
            self.upper = np.fmax(upper - self.position_margin, middle)
        self.velocity = self.velocity_kept * model.velocity_limits
        fastest = self._ordinary_speed()
        usual = np.clip(self._strength, fastest / LONGEST_STOP, fastest / SHORTEST_STOP)
        self.acceleration = usual if self._given is None else _accelerations(
            model, self._given, usual)
        whole = np.maximum(self._strength / BRAKING_SHARE, 0.0)
        weak = np.where(self.acceleration == usual, self._strength < usual,
                        self.acceleration > whole)
        self.weak = model.names_of(weak & model.active & (model.q_index >= 0))

    def _ordinary_speed(self):
        """Return the greatest velocities (nv,), usual ones where there is no limit."""
        return np.where(np.isfinite(self.velocity), self.velocity, _ORDINARY_SPEED)

    def records(self, nodes):
        """Return the LIMIT records, (nv,), of a controller with these nodes."""
        limits = np.zeros(self.model.nv, LIMIT)
        limits['node'][nodes['v_index'][nodes['v_index'] >= 0]] = np.flatnonzero(
            nodes['v_index'] >= 0)
        limits['q_index'] = self.model.q_index
        limits['gravity_torque'] = self.gravity_torque
        for name in ('lower', 'upper', 'velocity'):
            limits[name] = getattr(self, name)
        limits['ordinary_speed'] = self._ordinary_speed()
        limits['acceleration'] = np.minimum(self.acceleration, _HARDEST)
        # Nothing but ±a bounds a joint with v ≤ v_max/2 for which s ≥ v_max: there it may go at
        # 2^(-1/4) v_max, and the slope of that is no more than a / v_max.
        a, fastest = self.acceleration, limits['ordinary_speed']
        slack = self.return_rate * (0.5 ** 0.25 - 0.5) * fastest - 0.5 * a
        quick = slack >= a
        limits['slow'] = np.where(quick, 0.5 * fastest, -1.0)
        with np.errstate(invalid='ignore', divide='ignore'):
            limits['clear'] = np.where(
                quick, 0.5 * (fastest ** 2 / a + a / self.approach_rate ** 2), np.inf)
        return limits


def _gravity_torque(effort_limits):
    """Return the usual bounds of gravity torques (nv,), N·m or N, inf without a motor."""
    return np.where(effort_limits > 0.0, _GRAVITY_SHARE * effort_limits, np.inf)


@functools.lru_cache(maxsize=4)
def _greatest_loads(model):
    """Return the greatest gravity torques and diagonal entries of A of 64 postures, (nv,)."""
    chosen = model.q_index >= 0
    where = model.q_index[chosen]
    lower = np.where(np.isfinite(model.lower_position_limits), model.lower_position_limits, -np.pi)
    upper = np.where(np.isfinite(model.upper_position_limits), model.upper_position_limits, np.pi)
    moved = model.nodes['v_index'] >= 0
    dofs = model.nodes['v_index'][moved]
    rng = np.random.default_rng(0)
    load, inertia = np.zeros(model.nv), np.full(model.nv, 1e-9)
    for _ in range(_POSTURES):
        q = model.neutral()
        q[where] = rng.uniform(lower, np.maximum(lower, upper))[chosen]
        # Not by `mass_matrix` and `gravity`, which would have to be compiled for this alone.
        inertias, loads = carried_by_joints(model.nodes, q, -GRAVITY)
        inertia[dofs] = np.maximum(inertia[dofs], inertias[moved])
        load[dofs] = np.maximum(load[dofs], abs(loads[moved]))
    return load, inertia


def _braking_strength(model, effort_limits):
    """Return the accelerations (nv,) that effort limits, less gravity, leave for braking."""
    load, inertia = _greatest_loads(model)
    return BRAKING_SHARE * (effort_limits - load) / inertia


def _accelerations(model, values, usual):
    """Return accelerations (nv,) as given, or the usual ones; a ControlError if unusable."""
    allowed = {'above': 0.0, 'infinite': True}
    if not isinstance(values, dict):
        return checked(values, 'acceleration', ControlError, (model.nv,), each=True, **allowed)
    accelerations = usual.copy()
    for name, value in values.items():
        accelerations[model.dof_index(name)] = checked(
            value, f"acceleration of '{name}'", ControlError, **allowed)
    return accelerations


def limit_number(value, name, lowest=0.0, highest=np.inf):
    """Return a number within bounds, which may be inf, or raise a ControlError."""
    return checked(value, name, ControlError, lowest=lowest, highest=highest, infinite=True)

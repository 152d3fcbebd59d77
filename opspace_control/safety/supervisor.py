# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Trips, and their state machine: whether the robot may be controlled, or its state is unknown."""

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from opspace_control.compiled import called, inlined, recorded


class Recovery(IntEnum):
    """Condition under which a trip ends once the states are good; a stricter one is greater."""

    AUTOMATIC = 0
    BEFORE_RELEASE = 1  # automatic, but acknowledged once the robot is released
    ACKNOWLEDGED = 2    # the user acknowledges it


@dataclass(frozen=True)
class Trip:
    """
    A reason to stop controlling.

    ``name`` is used in logs, diagnostics and tests; ``cure`` is what the user should do; ``blind``
    is whether the state is unknown: then the robot is damped by the last known state and released,
    else held in position, or, if it is ``compliant``, damped while its weight is compensated.
    """

    name: str
    cure: str
    recovery: Recovery = Recovery.AUTOMATIC
    blind: bool = True
    compliant: bool = False


STATE_TIMEOUT = Trip(
    'state_timeout', 'Check the publisher of joint_states: is it alive, does its time advance?')
STATE_INVALID = Trip(
    'state_invalid', 'Correct the publisher of joint_states.')
TIME_STOPPED = Trip(
    'time_stopped', 'Check the publisher of /clock, or the stamps of joint_states.',
    blind=False)
TIME_BACKWARDS = Trip(
    'time_backwards', 'Causes are a restarted simulation, or two publishers of joint_states.')
ODOM_TIMEOUT = Trip(
    'odom_timeout', 'Check the publisher of odom: is it alive, by the same clock as joint_states?')
ODOM_INVALID = Trip(
    'odom_invalid', 'Correct the publisher of odom.')
POSITION_JUMP = Trip(
    'position_jump', 'Check encoder and driver; call ~/hold if the new position is right.',
    Recovery.BEFORE_RELEASE)
VELOCITY_LIMIT = Trip(
    'velocity_limit', 'Check masses, gains and goals; then call ~/hold.',
    Recovery.ACKNOWLEDGED, blind=False)
PASSIVE_VELOCITY = Trip(
    'passive_velocity', 'Use tasks of links that are not beyond this joint, or lock it; then call '
    '~/hold.', Recovery.ACKNOWLEDGED, blind=False)
FALLEN = Trip(
    'fallen', 'Fold the legs, feet below the trunk; then call ~/hold: the robot stands up.',
    Recovery.ACKNOWLEDGED, blind=False)
EFFORT_NOT_FINITE = Trip(
    'effort_not_finite', 'Check gains and goals; then call ~/hold.',
    Recovery.ACKNOWLEDGED, blind=False)
_FREE = 'Free the robot; then call ~/hold.'
COLLISION_STOP = Trip('collision_stop', _FREE, Recovery.ACKNOWLEDGED, blind=False)
COLLISION_COMPLY = Trip(
    'collision_comply', _FREE, Recovery.ACKNOWLEDGED, blind=False, compliant=True)


# By number, as compiled code knows them; `NO_TRIP` is none of them.
TRIPS = (STATE_TIMEOUT, STATE_INVALID, TIME_STOPPED, TIME_BACKWARDS, ODOM_TIMEOUT, ODOM_INVALID,
         POSITION_JUMP, VELOCITY_LIMIT, PASSIVE_VELOCITY, FALLEN, EFFORT_NOT_FINITE, COLLISION_STOP,
         COLLISION_COMPLY)
NO_TRIP = -1
NUMBER_OF = {trip: k for k, trip in enumerate(TRIPS)}
# What trips are, two bits each.
_RECOVERIES = sum(trip.recovery.value << 2 * k for k, trip in enumerate(TRIPS))
_BLIND = sum(trip.blind << 2 * k for k, trip in enumerate(TRIPS))
_COMPLIANT = sum(trip.compliant << 2 * k for k, trip in enumerate(TRIPS))
_AUTOMATIC, _BEFORE_RELEASE = Recovery.AUTOMATIC.value, Recovery.BEFORE_RELEASE.value

# Number of good states in a row that end a trip or a blind time: single good states do not.
GOOD_STATES = 10

SUPERVISOR = np.dtype([
    ('trip', np.int64),           # number of the active trip, or `NO_TRIP`
    ('blind_since', np.float64),  # steady time since when the state is unknown, s; NaN: it is known
    ('seen', np.int64),           # usable states in a row
    ('good', np.int64),           # and those without a fault
    ('reported', np.int64),       # a bit for the number of each trip
    ('acknowledged', np.bool_),
    ('released', np.bool_),       # whether the robot was released during the trip
    ('release_time', np.float64),  # s
    ('least_recovery', np.int64),  # of any trip
], align=True)


@inlined
def recovery_of(trip):
    """Return the number of the `Recovery` of a trip."""
    return (_RECOVERIES >> 2 * trip) & 3


@inlined
def is_compliant(trip):
    """Return whether the robot is damped in a trip, its weight compensated."""
    return trip != NO_TRIP and (_COMPLIANT >> 2 * trip) & 1 == 1


@inlined
def is_blind(supervisor):
    """Return whether the state is unknown."""
    return not math.isnan(supervisor.blind_since)


@inlined
def is_released(supervisor, now):
    """Return whether the robot has been released since the trip."""
    return supervisor.released or now - supervisor.blind_since >= supervisor.release_time


@called
def fade(supervisor, elapsed):
    """Return a linear ramp from 1 to 0 within the release time."""
    if supervisor.release_time > 0.0:
        return max(0.0, 1.0 - elapsed / supervisor.release_time)
    return 0.0


@called
def see_state(supervisor, now):
    """Record a usable state: enough of them in a row end the blind time."""
    supervisor.released = is_released(supervisor, now)
    supervisor.seen += 1
    if supervisor.seen >= GOOD_STATES:
        supervisor.blind_since = math.nan


@called
def record_fault(supervisor, trip, now):
    """Record the fault of a trip, by number; return whether to report it: once for each kind."""
    supervisor.good = 0
    blind, active = (_BLIND >> 2 * trip) & 1 == 1, supervisor.trip
    if blind:
        supervisor.seen = 0
        if not is_blind(supervisor):
            supervisor.blind_since = now
    else:
        see_state(supervisor, now)
    if active == NO_TRIP or (blind and recovery_of(trip) > recovery_of(active)):
        supervisor.trip, supervisor.acknowledged = trip, False
    news = (blind or trip == supervisor.trip) and (supervisor.reported >> trip) & 1 == 0
    if news:
        supervisor.reported |= 1 << trip
    return news


@inlined
def may_end(supervisor):
    """Return whether good states end the trip: acknowledged, or of automatic recovery."""
    recovery = max(recovery_of(supervisor.trip), supervisor.least_recovery)
    return supervisor.acknowledged or recovery == _AUTOMATIC or (
        recovery == _BEFORE_RELEASE and not supervisor.released)


@called
def record_good_state(supervisor, now):
    """Record a good state; return whether control may resume with it."""
    if supervisor.trip == NO_TRIP:
        return True
    see_state(supervisor, now)
    supervisor.good += 1
    return supervisor.good >= GOOD_STATES and may_end(supervisor)


@called
def end_trip(supervisor):
    """Reset all trips."""
    supervisor.trip, supervisor.blind_since = NO_TRIP, math.nan
    supervisor.seen = supervisor.good = supervisor.reported = 0
    supervisor.acknowledged = supervisor.released = False


class Supervisor:
    """
    The active trip, from the first fault until control may resume; times are steady, in s.

    ``trip`` is the reason not to control, or None, and ``reason`` the description of the fault, a
    sentence, until the next trip. Within ``release_time`` a robot of unknown state is damped before
    it is released. No trip has less than the ``least_recovery``. ``records``, one of SUPERVISOR, is
    what compiled code has of it.
    """

    release_time = recorded('release_time', 'Time of damping before a release, s.', writable=True)
    least_recovery = recorded('least_recovery', 'The least `Recovery` of all trips.', writable=True)

    def __init__(self, release_time=0.3, least_recovery=Recovery.AUTOMATIC):
        self.records = np.zeros(1, SUPERVISOR)
        self._record = self.records.view(np.recarray)[0]  # for calls of compiled functions
        self.release_time, self.least_recovery = release_time, least_recovery
        self.restart()

    def restart(self):
        """Reset all trips."""
        end_trip(self._record)
        self.reason = ''

    @property
    def trip(self):
        """The active `Trip`, or None."""
        number = self.records['trip'][0]
        return None if number == NO_TRIP else TRIPS[number]

    def note(self, before, reason):
        """Keep the reason of the active trip, unless it is still the one of ``before``."""
        if self.trip is not before:
            self.reason = reason

    @property
    def may_resume(self):
        """Whether good states end the trip: it is acknowledged, or its recovery is automatic."""
        return bool(may_end(self._record))

    @property
    def blind(self):
        """Whether the state is unknown."""
        return is_blind(self._record)

    def fading(self, elapsed):
        """Return a linear ramp from 1 to 0 within the release time."""
        return float(fade(self._record, elapsed))

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Trips, and their state machine: whether the robot may be controlled, or its state is unknown."""

from dataclasses import dataclass
from enum import IntEnum


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
    else held in position, or, if it ``gives_way``, damped while its weight is carried.
    """

    name: str
    cure: str
    recovery: Recovery = Recovery.AUTOMATIC
    blind: bool = True
    gives_way: bool = False


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
COLLISION_GIVE_WAY = Trip(
    'collision_give_way', _FREE, Recovery.ACKNOWLEDGED, blind=False, gives_way=True)


# Number of good states in a row that end a trip or a blind time: single good states do not.
GOOD_STATES = 10


class Supervisor:
    """
    The active trip, from the first fault until control may resume; times are steady, in s.

    ``trip`` is the reason not to control, or None, and ``reason`` the description of the fault, a
    sentence, until the next trip. Within ``release_time`` a robot of unknown state is damped before
    it is released. No trip has less than the ``least_recovery``.
    """

    def __init__(self, release_time=0.3, least_recovery=Recovery.AUTOMATIC):
        self.release_time, self.least_recovery = release_time, least_recovery
        self.restart()

    def restart(self):
        """Reset all trips."""
        self.trip, self.reason = None, ''
        self._blind_since = None
        self._seen = self._good = 0  # states in a row: usable ones, and ones without a fault
        self._reported = set()
        self._acknowledged = self._released = False

    def on_fault(self, trip, reason, now):
        """
        Record a fault; return whether to report it: once for each kind.

        Faults of an uncontrolled robot, such as a fast fall, are no new trip.
        """
        self._good = 0
        if trip.blind:
            self._seen = 0
            if not self.blind:
                self._blind_since = now
        else:
            self._see(now)
        if self.trip is None or (trip.blind and trip.recovery > self.trip.recovery):
            self.trip, self.reason = trip, reason
            self._acknowledged = False
        news = (trip.blind or trip is self.trip) and trip.name not in self._reported
        if news:
            self._reported.add(trip.name)
        return news

    def on_good_state(self, now):
        """Record a good state; return whether control may resume with it."""
        if self.trip is None:
            return True
        self._see(now)
        self._good += 1
        if self._good < GOOD_STATES:
            return False
        return self.may_resume

    @property
    def may_resume(self):
        """Whether good states end the trip: it is acknowledged, or its recovery is automatic."""
        recovery = max(self.trip.recovery, self.least_recovery)
        return self._acknowledged or recovery == Recovery.AUTOMATIC or (
            recovery == Recovery.BEFORE_RELEASE and not self._released)

    def resume(self):
        """End the trip; return whether the robot was released during it."""
        released = self._released
        self.restart()
        return released

    def acknowledge(self):
        """Let the active trip end as soon as the states are good."""
        self._acknowledged = self.trip is not None

    @property
    def blind(self):
        """Whether the state is unknown."""
        return self._blind_since is not None

    def released(self, now):
        """Return whether the robot has been released since the trip."""
        return self._released or (self.blind and now - self._blind_since >= self.release_time)

    def damping_left(self, now):
        """Return the damping scale of a robot of unknown state, from 1 down to 0."""
        return self.fading(now - self._blind_since) if self.blind else 1.0

    def fading(self, elapsed):
        """Return a linear ramp from 1 to 0 within the release time."""
        return max(0.0, 1.0 - elapsed / self.release_time) if self.release_time > 0.0 else 0.0

    def _see(self, now):
        self._released = self.released(now)
        self._seen += 1
        if self._seen >= GOOD_STATES:
            self._blind_since = None

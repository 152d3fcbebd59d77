# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""When a trip is on, what is told of it, and what ends it."""

import pytest

from opspace_control.safety import supervisor as trips
from opspace_control.safety.supervisor import (
    EFFORT_NOT_FINITE,
    GOOD_STATES,
    NUMBER_OF,
    POSITION_JUMP,
    STATE_INVALID,
    STATE_TIMEOUT,
    TIME_BACKWARDS,
    VELOCITY_LIMIT,
    Recovery,
    Supervisor,
    Trip,
    record_fault,
    record_good_state,
)

RELEASE = 0.3


class Watched(Supervisor):
    """A Supervisor that is told of states here, and not by the servo."""

    def on_fault(self, trip, reason, now):
        """Record a fault; return whether to report it."""
        before = self.trip
        news = record_fault(self._record, NUMBER_OF[trip], now)
        self.note(before, reason)
        return bool(news)

    def on_good_state(self, now):
        """Record a good state; return whether control may resume with it."""
        return bool(record_good_state(self._record, now))

    def acknowledge(self):
        """Let the active trip end as soon as the states are good."""
        self._record.acknowledged = self.trip is not None

    def resume(self):
        """End the trip; return whether the robot was released during it."""
        released = bool(self._record.released)
        self.restart()
        return released

    def damping_left(self, now):
        """Return the scale of damping, from 1 down to 0."""
        return self.fading(now - self._record.blind_since) if self.blind else 1.0


@pytest.fixture
def supervisor():
    return Watched(RELEASE)


def good_states(supervisor, now, count=GOOD_STATES):
    """Return whether control may go on with the last of so many good states."""
    return [supervisor.on_good_state(now + 0.001 * k) for k in range(count)][-1]


def test_every_trip_has_a_name_and_a_cure():
    all_trips = [trip for trip in vars(trips).values() if isinstance(trip, Trip)]
    assert len({trip.name for trip in all_trips}) == len(all_trips)
    assert all(trip.cure.endswith(('.', '?')) for trip in all_trips)
    assert all('~/hold' in trip.cure for trip in all_trips if trip.recovery != Recovery.AUTOMATIC)


def test_without_a_fault_every_state_will_do(supervisor):
    assert supervisor.trip is None
    assert supervisor.on_good_state(0.0)
    assert supervisor.damping_left(0.0) == 1.0
    assert not supervisor.blind


@pytest.mark.parametrize('trip', [STATE_TIMEOUT, STATE_INVALID, TIME_BACKWARDS])
def test_ends_by_itself_after_good_states_in_a_row(supervisor, trip):
    assert supervisor.on_fault(trip, 'why', 1.0)
    assert (supervisor.trip, supervisor.reason) == (trip, 'why')
    assert supervisor.blind
    assert not good_states(supervisor, 1.0, GOOD_STATES - 1)
    assert not supervisor.on_fault(trip, 'again', 1.01)
    assert not good_states(supervisor, 1.01, GOOD_STATES - 1)
    assert supervisor.on_good_state(1.02)
    assert not supervisor.blind
    assert supervisor.reason == 'why'
    assert not supervisor.resume()
    assert supervisor.trip is None


def test_damping_fades_until_the_robot_is_released(supervisor):
    supervisor.on_fault(STATE_TIMEOUT, '', 1.0)
    assert supervisor.damping_left(1.0) == 1.0
    assert supervisor.damping_left(1.15) == pytest.approx(0.5)
    assert supervisor.damping_left(1.4) == 0.0
    assert not trips.is_released(supervisor._record, 1.29)
    assert trips.is_released(supervisor._record, 1.3)
    supervisor.on_fault(STATE_INVALID, '', 1.35)  # does not begin anew
    assert supervisor.damping_left(1.4) == 0.0
    assert good_states(supervisor, 1.4)
    assert supervisor.resume()


def test_without_a_release_time_the_robot_is_released_at_once():
    supervisor = Watched(0.0)
    supervisor.on_fault(STATE_TIMEOUT, '', 1.0)
    assert supervisor.damping_left(1.0) == 0.0
    assert good_states(supervisor, 1.0)
    assert supervisor.resume()


@pytest.mark.parametrize('trip', [VELOCITY_LIMIT, EFFORT_NOT_FINITE])
def test_ends_by_hand_alone(supervisor, trip):
    supervisor.on_fault(trip, '', 1.0)
    assert not supervisor.blind
    assert not good_states(supervisor, 1.0, 1000)
    supervisor.acknowledge()
    assert supervisor.on_good_state(2.0)
    assert not supervisor.resume()


def test_an_acknowledgement_waits_for_good_states_but_not_for_another_trip(supervisor):
    supervisor.acknowledge()  # of nothing
    supervisor.on_fault(VELOCITY_LIMIT, '', 1.0)
    assert not good_states(supervisor, 1.0)
    supervisor.acknowledge()
    supervisor.on_fault(VELOCITY_LIMIT, '', 1.1)
    assert not good_states(supervisor, 1.1, GOOD_STATES - 1)
    assert good_states(supervisor, 1.2)
    supervisor.resume()
    supervisor.on_fault(VELOCITY_LIMIT, '', 2.0)
    assert not good_states(supervisor, 2.0)


@pytest.mark.parametrize(('trip', 'least'), [
    (POSITION_JUMP, Recovery.AUTOMATIC), (STATE_TIMEOUT, Recovery.BEFORE_RELEASE)])
def test_a_jump_is_forgiven_only_before_the_release_and_all_trips_of_legs(trip, least):
    supervisor = Watched(RELEASE, least)
    supervisor.on_fault(trip, '', 1.0)
    assert good_states(supervisor, 1.1)
    supervisor.resume()
    supervisor.on_fault(trip, '', 2.0)
    assert not good_states(supervisor, 2.5, 100)
    supervisor.acknowledge()
    assert good_states(supervisor, 3.0)


def test_the_stricter_of_two_faults_counts_and_each_is_told_once(supervisor):
    assert supervisor.on_fault(STATE_INVALID, 'first', 1.0)
    assert supervisor.on_fault(POSITION_JUMP, 'second', 1.1)
    assert supervisor.trip is POSITION_JUMP
    assert not supervisor.on_fault(STATE_INVALID, 'third', 1.2)
    assert not supervisor.on_fault(POSITION_JUMP, 'fourth', 1.2)
    assert supervisor.reason == 'second'
    assert not good_states(supervisor, 1.5)


def test_a_robot_that_falls_while_it_is_released_need_not_be_acknowledged(supervisor):
    """It is seen, so it has gravity compensation; when it is slow again control resumes."""
    supervisor.on_fault(STATE_TIMEOUT, '', 1.0)
    for k in range(GOOD_STATES):
        assert supervisor.blind
        assert not supervisor.on_fault(VELOCITY_LIMIT, '', 2.0 + 0.001 * k)
    assert not supervisor.blind
    assert supervisor.trip is STATE_TIMEOUT
    assert good_states(supervisor, 2.1)
    assert supervisor.resume()

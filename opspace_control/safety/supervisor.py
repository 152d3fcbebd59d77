# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the robot may be controlled, and for how long nothing has been known of it."""

from opspace_control.safety.trips import Ends

# So many states in a row make sight good again, or end a trip: a publisher that is right every
# now and then is not.
GOOD_STATES = 10


class Supervisor:
    """
    The trip that is on, from the first fault until control may go on.

    Times are those of a steady clock, in s.

    Attributes
    ----------
    trip : Trip or None
        The reason not to control.
    reason : str
        What was seen, in a sentence; stays until the next trip.
    release_time : float
        For so long a robot of which nothing is known is damped, s; then it is released.

    """

    def __init__(self, release_time=0.3):
        self.release_time = release_time
        self.restart()

    def restart(self):
        """Forget all trips."""
        self.trip, self.reason = None, ''
        self._blind_since = None
        self._seen = self._good = 0  # states in a row: usable ones, and such that nothing is wrong
        self._told = set()
        self._acknowledged = self._released = False

    def on_fault(self, trip, reason, now):
        """
        Take note of a fault; return whether it is to be told: once for each kind.

        What a robot does that is not controlled, such as falling fast, is no new trip.
        """
        self._good = 0
        if trip.blind:
            self._seen = 0
            if not self.blind:
                self._blind_since = now
        else:
            self._see(now)
        if self.trip is None or (trip.blind and trip.ends > self.trip.ends):
            self.trip, self.reason = trip, reason
            self._acknowledged = False
        news = (trip.blind or trip is self.trip) and trip.name not in self._told
        if news:
            self._told.add(trip.name)
        return news

    def on_good_state(self, now):
        """Take note of a good state; return whether control may go on with it."""
        if self.trip is None:
            return True
        self._see(now)
        self._good += 1
        if self._good < GOOD_STATES:
            return False
        return self.ends_by_itself

    @property
    def ends_by_itself(self):
        """Whether good states end the trip: it is acknowledged, or needs not be."""
        return self._acknowledged or self.trip.ends == Ends.BY_ITSELF or (
            self.trip.ends == Ends.IF_PROMPT and not self._released)

    def resume(self):
        """End the trip; return whether the robot had been released meanwhile."""
        released = self._released
        self.restart()
        return released

    def acknowledge(self):
        """Let the trip that is on end as soon as the states are good."""
        self._acknowledged = self.trip is not None

    @property
    def blind(self):
        """Whether there is no state to go by."""
        return self._blind_since is not None

    def released(self, now):
        """Return whether the robot has been released since the trip."""
        return self._released or (self.blind and now - self._blind_since >= self.release_time)

    def damping_left(self, now):
        """Return how much of the damping of a robot not seen is left, from 1 down to 0."""
        return self.fading(now - self._blind_since) if self.blind else 1.0

    def fading(self, elapsed):
        """Return what is left of something that fades within the release time, from 1 to 0."""
        return max(0.0, 1.0 - elapsed / self.release_time) if self.release_time > 0.0 else 0.0

    def _see(self, now):
        self._released = self.released(now)
        self._seen += 1
        if self._seen >= GOOD_STATES:
            self._blind_since = None

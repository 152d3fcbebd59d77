# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Commands for a robot whose controller stopped: hold, return of the joints, release."""

import math
import time

from opspace_control.ros.middleware.conversions import listed
from opspace_control.safety.state_clock import LONGEST_LEAP


class RunningTime:
    """
    Elapsed time: simulated if joint states have the stamps of ``/clock``, else steady.

    If only one of ``/clock`` and joint states advances, or ``/clock`` was set, steady time is used.
    So only a pause of the simulation, which stops both, stops this time. It begins with the steady
    time ``now``, s; ``time``, s, is that of the last `step`. Steady time between two steps counts
    up to ``longest_step``, s: during the rest the process did not run, and could not receive
    anything.
    """

    def __init__(self, now, longest_step=math.inf):
        self.time = self._steady = now
        self._longest_step = longest_step
        self._latest = 0  # ns, of /clock and stamps; 0 or None: not known

    def step(self, now, clock, stamp, tolerance):
        """
        Go on to the steady time ``now``, s, and return this time, s.

        ``clock`` is the time of ``/clock``, ns: None where the node ignores it, 0 before it is
        known. ``stamp`` is that of the last joint state, ns, 0 if there is none; the two are the
        same time up to ``tolerance``, s.
        """
        elapsed, before = min(now - self._steady, self._longest_step), self._latest
        # Between two messages of a slow /clock the stamps of the states give the time.
        self._steady, self._latest = now, clock and max(clock, stamp)
        if clock and before and abs(clock - stamp) <= 1e9 * tolerance:
            # As with stamps, a leap ahead means that the clock was set, and does not count.
            elapsed = min(max(1e-9 * (self._latest - before), 0.0), max(elapsed, LONGEST_LEAP))
        self.time += elapsed
        return self.time


_REST_TIME = 0.1  # s, time in which zero is repeated, so that every receiver gets it
_COMPLAIN_EVERY = 1.0  # s
_PERIOD = 0.002  # s, between two commands while the node ends
# Time for a switch when the node ends; `ros2 launch` sends SIGTERM after 5 s.
_LEAVE_TIME = 2.0  # s


class LostCommands:
    """
    Detects that commands have stopped, and commands the robot until they are back.

    The robot is held in position until the previous controllers have the joints, or, without
    previous controllers, for ``hold_time``; then it is released. All times are of one
    `RunningTime`. The parameters are present values of the node's; ``joints`` are the commanded
    ones, and ``topic`` that of the commands, for the log. The HandBack is None without a controller
    manager.
    """

    def __init__(self, parameters, state_input, output, hand_back, joints, topic, logger):
        self._parameters, self._hand_back = parameters, hand_back
        self._state_input, self._output = state_input, output
        self._joints, self._topic, self._logger = joints, topic, logger
        self._loose = False     # whether the last command was not zero
        self._alarm = None      # time at which the commands stopped
        self._release = None    # time at which the release began
        self._last = 0.0        # time of the last command
        self._leaving = False

    def note(self, efforts, now):
        """Record that efforts, in the order of the command, were relayed at ``now``, s."""
        begins, self._last = now - self._last > self._parameters['deadline'], now
        self._newest = efforts
        self._loose = bool(efforts.any())
        if self._alarm is not None:
            self._end_alarm()
            self._logger.info('Commands are back and relayed.')
        if self._hand_back and begins:
            self._hand_back.look(begins)

    def look(self, now):
        """Command the robot if a command is late at ``now``, s; to be called often."""
        if self._hand_back:
            self._hand_back.look()
        if not self._loose or now - self._last < self._parameters['deadline']:
            return
        if self._alarm is None:
            self._begin_alarm(now)
            self._logger.error(f'No command for {1e3 * (now - self._last):.0f} ms. The robot is '
                               f'{self._plan(now)}. Check the publisher of {self._topic}.')
        self._brake(now)

    def leave(self, clock):
        """Release the robot, or return its joints, at the end, by a clock, s, without pauses."""
        if self._loose and self._alarm is not None and self._returns_joints:
            self._hand_back_at_once(clock)
        self._leaving = True
        if self._loose and self._alarm is None:
            self._begin_alarm(clock())
        while self._loose:
            self._brake(clock())
            time.sleep(_PERIOD)

    def _plan(self, now):
        """Return the plan for a robot without commands, as text."""
        previous = listed(self._hand_back.previous) if self._returns_joints else ''
        if not self._should_hold(now):
            return 'damped, then released' + (
                f', unless {previous} can have the joints' if previous else '')
        if self._returns_joints and not previous:
            return ('held in position until a controller takes the joints: the '
                    'previous one is not known')
        then = f'{previous} gets the joints' if previous else 'it is released'
        hold_time = self._parameters['hold_time']
        return f'held in position; after {hold_time:g} s {then}'

    @property
    def _returns_joints(self):
        """Whether other controllers get the joints after the hold."""
        return bool(self._hand_back) and self._parameters['hand_back']

    def _begin_alarm(self, now):
        self._alarm = now
        self._output.continue_from(self._newest, self._last)

    def _end_alarm(self):
        self._alarm = self._release = None
        if self._hand_back:
            self._hand_back.cancel()

    def _should_hold(self, now):
        """Return whether the robot is to be held, and its state is known."""
        hold_time = self._parameters['hold_time']
        return (not self._leaving and self._state_input.known and self._damping_left(now) > 0.0
                and (now - self._alarm < hold_time or (self._returns_joints and hold_time > 0.0))
                and self._is_seen(now))

    def _is_seen(self, now):
        return now - self._state_input.last_accepted < self._parameters['deadline']

    def _damping_left(self, now):
        """Return the damping scale during the release, from 1 to 0."""
        return 1.0 if self._release is None else self._output.supervisor.fading(now - self._release)

    def _brake(self, now):
        """Hold the robot in position, or release it: fading damping, then zero."""
        holds = self._should_hold(now)
        if self._returns_joints:
            late = not holds or now - self._alarm >= self._parameters['hold_time']
            if late and not self._leaving:
                self._hand_back.attempt(self._driven_joints(), now)
            if self._hand_back.done:
                self._end_alarm()
                self._loose = False
                return
        if holds:
            self._release = None
            self._output.hold(now)
            return
        if self._release is None:
            self._release = now
            if now > self._alarm:
                self._logger.error(
                    f'The robot is released now, {self._reason(now)}: it falls unless brakes or '
                    'another controller hold it.',
                    throttle_duration_sec=_COMPLAIN_EVERY)
        self._output.damp_without_state(self._damping_left(now), now)
        rested = now - self._release - self._parameters['release_time']
        self._loose = self._output.torque.any() or rested < _REST_TIME
        if not self._loose:
            self._logger.warning('The robot is released: zero effort is commanded.' + (
                ' Its joints are not returned: activate a controller by hand.'
                if self._returns_joints and not self._leaving else ''))

    def _reason(self, now):
        if self._leaving:
            return 'as this node ends'
        return 'after hold_time' if self._is_seen(now) else 'as its state is unknown'

    def _driven_joints(self):
        """Return the joints that need a controller: neither passive nor locked."""
        return set(self._joints).difference(
            self._parameters['passive_joints'], self._parameters['locked_joints'])

    def _hand_back_at_once(self, clock):
        """Attempt to return the joints, and hold the robot meanwhile."""
        now = clock()
        end = now + _LEAVE_TIME
        self._hand_back.cancel()
        self._hand_back.attempt(self._driven_joints(), now)
        self._alarm = min(self._alarm, now - self._parameters['hold_time'])
        while self._loose and not self._hand_back.tried and now < end:
            self._brake(now)
            time.sleep(_PERIOD)
            now = clock()

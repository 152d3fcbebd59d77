# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What becomes of a robot whose commands stop: carried, handed back, or released at last."""

import time

from opspace_control.ros.middleware.conversions import listed

# Zero is repeated for so long: who keeps to the last command must have got it.
_REST_TIME = 0.1  # s
_COMPLAIN_EVERY = 1.0  # s
_PERIOD = 0.002  # s, between two commands while the node ends
# For what the manager is asked when the node ends; `ros2 launch` insists after 5 s.
_LEAVE_TIME = 2.0  # s


class LostCommands:
    """
    Finds out that commands have stopped, and commands the robot instead until they are back.

    The robot is damped and carried until the previous controllers have the joints, or, without any
    to hand them back to, for a while; then it is released. Times are steady, or stand still while
    a simulation pauses, always the same.

    Parameters
    ----------
    parameters : mapping
        Values of the node's parameters, as they are now.
    state_input : StateIntake
        Knows the state of the robot.
    output : CommandOutput
        Sends the commands.
    hand_back : HandBack or None
        Without it there is no controller manager.
    joints : list of str
        Those that are commanded.
    topic : str
        Of the commands, for the log.
    logger : rclpy logger

    """

    def __init__(self, parameters, state_input, output, hand_back, joints, topic, logger):
        self._parameters = parameters
        self._state_input = state_input
        self._output = output
        self._hand_back = hand_back
        self._joints = joints
        self._topic = topic
        self._logger = logger
        self._loose = False     # whether the robot is under a command that is not zero
        self._alarm = None      # when the commands stopped
        self._release = None    # when the robot began to be released
        self._last = 0.0        # when the last command came
        self._leaving = False

    def note(self, efforts, now):
        """Note that efforts, in the order of the command, have been passed on at ``now``, s."""
        begins, self._last = now - self._last > self._parameters['deadline'], now
        self._newest = efforts
        self._loose = bool(efforts.any())
        if self._alarm is not None:
            self._end_alarm()
            self._logger.info('Commands are back and passed on.')
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
            self._logger.error(
                f'No command for {1e3 * (now - self._last):.0f} ms. The robot is '
                f'{self._plan(now)}. Look at what publishes {self._topic}.')
        self._brake(now)

    def leave(self, clock):
        """
        Do not leave the robot under the last command; return when it is under none.

        Parameters
        ----------
        clock : callable
            Returns the present time, s, which no simulation stops any more.

        """
        if self._loose and self._alarm is not None and self._hands_back:
            self._hand_back_at_once(clock)
        self._leaving = True
        if self._loose and self._alarm is None:
            self._begin_alarm(clock())
        while self._loose:
            self._brake(clock())
            time.sleep(_PERIOD)

    def _plan(self, now):
        """Return, in words, what becomes of a robot without commands."""
        previous = listed(self._hand_back.previous) if self._hands_back else ''
        if not self._carries(now):
            return 'damped, then released' + (
                f', unless {previous} can have the joints' if previous else '')
        if self._hands_back and not previous:
            return ('damped and carried until a controller takes the joints: it is not known which '
                    'one had them before')
        then = f'{previous} gets the joints' if previous else 'it is released'
        return f'damped and carried; after {self._parameters["carry_time"]:g} s {then}'

    @property
    def _hands_back(self):
        """Whether the joints are to go to other controllers when the robot is not carried."""
        return bool(self._hand_back) and self._parameters['hand_back']

    def _begin_alarm(self, now):
        self._alarm = now
        self._output.take_over(self._newest, self._last)

    def _end_alarm(self):
        self._alarm = self._release = None
        if self._hand_back:
            self._hand_back.cancel()

    def _carries(self, now):
        """Return whether the robot is to be carried, and can be: by where it is now."""
        carry_time = self._parameters['carry_time']
        return (not self._leaving and self._state_input.known and self._damping_left(now) > 0.0
                and (now - self._alarm < carry_time or (self._hands_back and carry_time > 0.0))
                and self._is_seen(now))

    def _is_seen(self, now):
        return now - self._state_input.last_good < self._parameters['deadline']

    def _damping_left(self, now):
        """Return how much of the damping is left of a robot that is being released."""
        if self._release is None:
            return 1.0
        elapsed, release_time = now - self._release, self._parameters['release_time']
        return max(0.0, 1.0 - elapsed / release_time) if release_time else 0.0

    def _brake(self, now):
        """Carry the robot, or command what is left of its damping and at last zero for a while."""
        carries = self._carries(now)
        if self._hands_back:
            late = not carries or now - self._alarm >= self._parameters['carry_time']
            if late and not self._leaving:
                self._hand_back.attempt(self._driven_joints(), now)
            if self._hand_back.done:
                self._end_alarm()
                self._loose = False
                return
        if carries:
            self._release = None
            self._output.carry(now)
            return
        if self._release is None:
            self._release = now
            if now > self._alarm:
                self._logger.error(
                    f'The robot is released now, {self._reason(now)}: nothing but brakes, or '
                    'another controller, keeps it from falling.',
                    throttle_duration_sec=_COMPLAIN_EVERY)
        self._output.coast(self._damping_left(now), now)
        rested = now - self._release - self._parameters['release_time']
        self._loose = self._output.torque.any() or rested < _REST_TIME
        if not self._loose:
            self._logger.warning('The robot is released: zero effort is commanded.' + (
                ' Its joints are not handed back any more: activate a controller by hand.'
                if self._hands_back and not self._leaving else ''))

    def _reason(self, now):
        if self._leaving:
            return 'as this node ends'
        return 'after carry_time' if self._is_seen(now) else 'as no joint state tells where it is'

    def _driven_joints(self):
        """Return the joints that fall if no controller commands them."""
        return set(self._joints).difference(
            self._parameters['passive_joints'], self._parameters['locked_joints'])

    def _hand_back_at_once(self, clock):
        """Make an attempt to hand back the joints, and carry the robot meanwhile."""
        now = clock()
        end = now + _LEAVE_TIME
        self._hand_back.cancel()
        self._hand_back.attempt(self._driven_joints(), now)
        self._alarm = min(self._alarm, now - self._parameters['carry_time'])
        while self._loose and not self._hand_back.tried and now < end:
            self._brake(now)
            time.sleep(_PERIOD)
            now = clock()

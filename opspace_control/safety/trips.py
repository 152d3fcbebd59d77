# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Why a robot is no longer controlled: every reason has a name, a cure and a way back."""

from dataclasses import dataclass
from enum import IntEnum


class Ends(IntEnum):
    """How a trip ends, once the states are good again; the stricter the greater."""

    BY_ITSELF = 0
    IF_PROMPT = 1  # by itself, but not after the robot has been released
    BY_HAND = 2    # when somebody acknowledges it


@dataclass(frozen=True)
class Trip:
    """
    A reason to stop controlling.

    Attributes
    ----------
    name : str
        In logs, diagnostics and tests.
    cure : str
        What to do about it.
    ends : Ends
    blind : bool
        Whether it leaves no state to go by: then the robot is damped from what is known and
        released, else damped and carried.

    """

    name: str
    cure: str
    ends: Ends = Ends.BY_ITSELF
    blind: bool = True


STATE_TIMEOUT = Trip(
    'state_timeout', 'Look at what publishes joint_states: is it alive, does its time go on?')
STATE_INVALID = Trip(
    'state_invalid', 'Correct what publishes joint_states.')
TIME_STOPPED = Trip(
    'time_stopped', 'Look at what publishes /clock, or gives joint_states their stamps.',
    blind=False)
TIME_BACKWARDS = Trip(
    'time_backwards', 'A restarted simulation does this, and two publishers of joint_states do.')
ODOM_TIMEOUT = Trip(
    'odom_timeout', 'Look at what publishes odom: is it alive, by the same clock as joint_states?')
ODOM_INVALID = Trip(
    'odom_invalid', 'Correct what publishes odom.')
POSITION_JUMP = Trip(
    'position_jump', 'Check encoder and driver; call ~/hold if the new position is right.',
    Ends.IF_PROMPT)
VELOCITY_LIMIT = Trip(
    'velocity_limit', 'Check masses, gains and goals; then call ~/hold.',
    Ends.BY_HAND, blind=False)
PASSIVE_VELOCITY = Trip(
    'passive_velocity', 'Let tasks move links that it does not carry, or lock it; then call '
    '~/hold.', Ends.BY_HAND, blind=False)
EFFORT_NOT_FINITE = Trip(
    'effort_not_finite', 'Check gains and goals; then call ~/hold.',
    Ends.BY_HAND, blind=False)

TRIPS = (STATE_TIMEOUT, STATE_INVALID, TIME_STOPPED, TIME_BACKWARDS, ODOM_TIMEOUT, ODOM_INVALID,
         POSITION_JUMP, VELOCITY_LIMIT, PASSIVE_VELOCITY, EFFORT_NOT_FINITE)

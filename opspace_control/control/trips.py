# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Why a robot is no longer controlled: every reason has a name, a cure and a way back."""

from dataclasses import dataclass

# How a trip ends, once the states are good again.
BY_ITSELF = 'by itself'            # at once
IF_PROMPT = 'by itself if prompt'  # at once, but not after the robot has been released
BY_HAND = 'by hand'                # not before somebody has acknowledged it


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
    ends : str
        BY_ITSELF, IF_PROMPT or BY_HAND.
    blind : bool
        Whether it leaves no state to go by: then the robot is damped from what is known and
        released, else damped and carried.

    """

    name: str
    cure: str
    ends: str = BY_ITSELF
    blind: bool = True


STATE_TIMEOUT = Trip(
    'state_timeout', 'Look at what publishes joint_states: is it alive, is its time going on?')
STATE_INVALID = Trip(
    'state_invalid', 'Correct what publishes joint_states.')
TIME_BACKWARDS = Trip(
    'time_backwards', 'A restarted simulation does this, and two publishers of joint_states.')
POSITION_JUMP = Trip(
    'position_jump', 'Check encoder and driver; call ~/hold if the new position is right.',
    IF_PROMPT)
VELOCITY_LIMIT = Trip(
    'velocity_limit', 'Check masses, gains and goals; then call ~/hold.', BY_HAND, blind=False)
EFFORT_NOT_FINITE = Trip(
    'effort_not_finite', 'Check gains and goals; then call ~/hold.', BY_HAND, blind=False)

TRIPS = (STATE_TIMEOUT, STATE_INVALID, TIME_BACKWARDS, POSITION_JUMP, VELOCITY_LIMIT,
         EFFORT_NOT_FINITE)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Trips: the reasons to stop controlling a robot, each with a name, a cure and a recovery."""

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
    else held in position.
    """

    name: str
    cure: str
    recovery: Recovery = Recovery.AUTOMATIC
    blind: bool = True


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
EFFORT_NOT_FINITE = Trip(
    'effort_not_finite', 'Check gains and goals; then call ~/hold.',
    Recovery.ACKNOWLEDGED, blind=False)

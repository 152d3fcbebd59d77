# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Gaits: when each foot is on the ground, and numbers of steps."""

from dataclasses import dataclass

from opspace_control.errors import ControlError
from opspace_control.model.topology import nearest


@dataclass(frozen=True)
class Gait:
    """
    A schedule of the feet on the ground.

    The phase of a leg is that of the clock plus its offset, modulo 1. From 0 to ``duty`` the foot
    is on the ground, from there to 1 it swings. Raises a ControlError for a number that cannot be
    used.
    """

    period: float
    """Duration of a stride in units of ``√(h/g)``, the time constant of a pendulum of the
    trunk's height h: one table serves robots of all sizes."""
    duty: float
    """Duty factor, the part of the stride in which a foot is on the ground, between 0 and 1."""
    offsets: tuple
    """Of the phases, in the order of the feet; of a quadruped: front left, front right, rear
    left, rear right."""
    tilting: float = 0.0
    """From 0 to 1: how much of the moment of feet that are not below the centre of mass tilts
    the trunk; the rest accelerates it horizontally."""

    def __post_init__(self):
        if not (self.period > 0.0 and 0.0 < self.duty < 1.0 and 0.0 <= self.tilting <= 1.0):
            raise ControlError(f'{self} is not a gait.', value=self,
                               cure='Its period is positive, its duty factor between 0 and 1, '
                                    'its tilting from 0 to 1.')


# Of quadrupeds. Periods and duty factors are measured optima, see doc/explanation/legged_robots.md.
GAITS = {
    'trot': Gait(1.5, 0.5, (0.0, 0.5, 0.5, 0.0)),
    'running_trot': Gait(1.25, 0.32, (0.0, 0.5, 0.5, 0.0)),
    'walk': Gait(1.5, 0.6, (0.0, 0.5, 0.75, 0.25)),
    'pronk': Gait(1.8, 0.5, (0.0, 0.0, 0.0, 0.0)),
    'bound': Gait(1.4, 0.4, (0.0, 0.0, 0.5, 0.5), tilting=1.0),
}


@dataclass(frozen=True)
class Stepping:
    """
    Numbers of a `Locomotion`; lengths are in parts of the trunk's height.

    doc/explanation/legged_robots.md has for each what half and double of it does.
    """

    clearance: float = 0.12
    """Height of a swinging foot above the ground at its middle."""
    touch_down_depth: float = 0.02
    """The goal of a swing is so far below the ground, so that a foot whose height is known less
    well is on the ground when it gets its load: in the air it would be accelerated by it."""
    descent_rate: float = 1.0
    """Velocity, in units of ``√(g h)``, of a foot that has met no ground when it should, and
    goes on down: it gets its load when it is at rest."""
    force_line: float = 1.3
    """κ of `TrunkMotion`: 1 is a force along the line from foot to hip."""
    step_gain: float = 1.0
    """In units of that which nulls an error of velocity in one step."""
    reach: float = 0.6
    """Greatest step to any side of the symmetric stance. A foot that is farther in the second
    half of its stance lifts early."""
    acceleration: float = 1.0
    """Greatest rate of the command, m/s² and rad/s²."""
    rise_rate: float = 0.3
    """At which the trunk rises to its height, m/s."""


def read_gait(gait, feet):
    """Return a `Gait` of so many feet, given by itself or by name; a ControlError if unusable."""
    if isinstance(gait, str):
        if gait not in GAITS:
            raise ControlError(f"There is no gait '{gait}'.", cure=nearest(gait, GAITS), value=gait)
        gait = GAITS[gait]
    if not isinstance(gait, Gait) or len(gait.offsets) != feet:
        raise ControlError(f'{gait!r} is not a gait of {feet} feet.', value=gait,
                           cure='Give a Gait with one offset for each foot.')
    return gait

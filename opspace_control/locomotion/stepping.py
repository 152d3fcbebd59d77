# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers of steps."""

from dataclasses import dataclass


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

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of swinging feet."""

import math

# Rise of a goal by the lag of its foot: greater than the friction of what may block the foot.
_LAG_RISE = 1.0


def _along(s):
    """Return ``10 s³ − 15 s⁴ + 6 s⁵`` and two derivatives: at rest without jerk at both ends."""
    return (s**3 * (10.0 + s * (6.0 * s - 15.0)), 30.0 * (s * (1.0 - s))**2,
            60.0 * s * (1.0 - s) * (1.0 - 2.0 * s))


def _above(s):
    """Return ``16 s² (1 − s)²`` and two derivatives: 1 at the middle, at rest at both ends."""
    u = s * (1.0 - s)
    return 16.0 * u * u, 32.0 * u * (1.0 - 2.0 * s), 32.0 * (1.0 - 6.0 * u)


def swing(start, end, clearance, s, duration):
    """
    Return position, velocity and acceleration of a foot, (3,) each, m, m/s and m/s².

    Parameters
    ----------
    start, end : (3,) arrays
        Where it leaves the ground and where it will touch it, m, world axes. At both the foot is
        at rest relative to the ground.
    clearance : float
        Height above the straight line at its middle, m.
    s : float
        Part of the time that is over, from 0 to 1.
    duration : float
        Of the whole swing, s.

    """
    step, rate = end - start, 1.0 / duration
    (x, dx, ddx), (z, dz, ddz) = _along(s), _above(s)
    position, velocity, acceleration = start + x * step, rate * dx * step, rate * rate * ddx * step
    position[2] += z * clearance
    velocity[2] += rate * dz * clearance
    acceleration[2] += rate * rate * ddz * clearance
    return position, velocity, acceleration


def raise_lagging(goal, position, velocity, step):
    """
    Raise the goal of a foot that lags behind it, as at the face of a step.

    What blocks a foot is pushed forward by ``Λ (kp e + kd ė)``, e being the lag along the ``step``.
    A friction of μ keeps it there against μ times this force. The goal is raised by the lag: then
    the foot is pushed up as much as forward, and rises for any μ below 1.

    Parameters
    ----------
    goal : tuple of (3,) arrays
        Position, velocity, and what else, of `swing`; changed in place.
    position, velocity, step : (3,) arrays
        Of the foot, m and m/s, and from where it left the ground to where it will touch it, m,
        world axes.

    """
    length = math.hypot(step[0], step[1])
    if length == 0.0:
        return
    x, y = step[:2] / length
    lag, rate = ((at[:2] - actual[:2]) @ (x, y)
                 for at, actual in zip(goal[:2], (position, velocity), strict=True))
    if lag > 0.0:
        goal[0][2] += _LAG_RISE * lag
        goal[1][2] += _LAG_RISE * rate

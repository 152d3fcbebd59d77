# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of swinging feet."""

import numpy as np

# Rise of a goal by the lag of its foot: greater than the friction of what may block the foot.
_LAG_RISE = 1.0
# m; a foot that goes nowhere has no lag.
_LEAST_STEP = np.finfo(float).tiny


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
    Return position, velocity and acceleration of feet, (k, 3) each, m, m/s and m/s².

    Parameters
    ----------
    start, end : (k, 3) arrays
        Where they leave the ground and where they will touch it, m, world axes. At both a foot is
        at rest relative to the ground.
    clearance : (k,) array
        Height above the straight line at its middle, m.
    s : (k,) array
        Part of the time that is over, from 0 to 1.
    duration : (k,) array
        Of the whole swing, s.

    """
    step, rate = end - start, 1.0 / duration
    motion = []
    for along, above in zip(_along(s), _above(s), strict=True):
        motion.append(along[:, None] * step)
        motion[-1][:, 2] += above * clearance
    position, velocity, acceleration = motion
    return start + position, rate[:, None] * velocity, (rate * rate)[:, None] * acceleration


def raise_lagging(goal, position, velocity, step):
    """
    Raise the goals of feet that lag behind them, as at the face of a step.

    What blocks a foot is pushed forward by ``Λ (kp e + kd ė)``, e being the lag along the ``step``.
    A friction of μ keeps it there against μ times this force. The goal is raised by the lag: then
    the foot is pushed up as much as forward, and rises for any μ below 1.

    Parameters
    ----------
    goal : tuple of (k, 3) arrays
        Position, velocity, and what else, of `swing`; changed in place.
    position, velocity, step : (k, 3) arrays
        Of the feet, m and m/s, and from where they left the ground to where they will touch it, m,
        world axes.

    """
    direction = step[:, :2] / np.maximum(np.hypot(step[:, 0], step[:, 1]), _LEAST_STEP)[:, None]
    lag = ((goal[0] - position)[:, :2] * direction).sum(axis=1)
    rate = ((goal[1] - velocity)[:, :2] * direction).sum(axis=1)
    goal[0][:, 2] += np.where(lag > 0.0, _LAG_RISE * lag, 0.0)
    goal[1][:, 2] += np.where(lag > 0.0, _LAG_RISE * rate, 0.0)

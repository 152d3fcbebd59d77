# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Where feet are put down, and the plane of the ground through where they were."""

import math

import numpy as np

# Part by which new footholds change the slope of the ground: one foot on a step is no slope.
_SLOPE_SHARE = 0.5


def rotate_about_z(angle):
    """Return the rotation by an angle, rad, about the vertical axis, (3, 3)."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def step_gain(height, period, steps, gravity, force_line):
    """
    Return the gain of Raibert's rule, s, by which an error of velocity vanishes in one step.

    Feet that are δ ahead of the symmetric stance decelerate the trunk by ``κ g δ/h`` in the mean,
    κ being the ``force_line``. A step takes ``T/n``, T being the period, s, and n the steps in it:
    ``k = n h/(κ g T)``.
    """
    return steps * height / (force_line * gravity * period)


def step_length(velocity, error, stance_time, gain, reach):
    """
    Return where a foot is put down from the place below its hip at touch-down, (3,), m.

    ``(v + e) T_s/2 + k e``: half the way of the stance, and Raibert's rule for the error
    ``e = v − v_cmd``, (3,), m/s; it is cut at the ``reach``, m.
    """
    step = 0.5 * stance_time * (velocity + error) + gain * error
    length = math.hypot(step[0], step[1])
    return step if length <= reach else step * (reach / length)


class GroundPlane:
    """The plane through the last footholds (n, 3), m, world axes, least squares."""

    def __init__(self, footholds):
        self._footholds, self._slope = np.array(footholds, float), np.zeros(2)
        self._center = self._footholds.mean(axis=0)

    def touch(self, feet, places):
        """Take new footholds (k, 3), m, of feet (n,) bool."""
        self._footholds[feet] = places
        self._center = self._footholds.mean(axis=0)
        arms = self._footholds - self._center
        # Footholds on a line say nothing of the slope across it, which is then 0.
        slope = np.linalg.pinv(arms[:, :2], rcond=0.1) @ arms[:, 2]
        self._slope += _SLOPE_SHARE * (slope - self._slope)

    @property
    def normal(self):
        """Direction away from the ground, (3,), a unit vector."""
        x, y = self._slope
        return np.array([-x, -y, 1.0]) / math.sqrt(1.0 + x * x + y * y)

    def rise(self, velocity):
        """Return the rate of the ground's height below what has a velocity (3,), m/s."""
        return float(self._slope @ velocity[:2])

    def height(self, places):
        """Return the height of the ground at places (..., 3), m."""
        return self._center[2] + (places[..., :2] - self._center[:2]) @ self._slope

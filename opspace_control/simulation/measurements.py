# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What is measured of a simulated robot: its state, late, with noise and rounded."""

from collections import deque
from typing import NamedTuple

import mujoco
import numpy as np

_ROUNDING = 1e-9  # s, of sums of time steps


class DelayLine:
    """Values that arrive late, in the order of their times."""

    def __init__(self):
        self._values = deque()

    def put(self, time, value):
        """Add a value of a time, s; of values of one time the last counts."""
        if self._values and self._values[-1][0] == time:
            self._values.pop()
        self._values.append((time, value))

    def clear(self):
        """Forget all values."""
        self._values.clear()

    def get(self, latest):
        """Return the last (time, value) until a time, s, or the first if all are later."""
        values = self._values
        while len(values) > 1 and values[1][0] <= latest + _ROUNDING:
            values.popleft()
        return values[0]


class Measurement(NamedTuple):
    """The measured state of a simulated robot."""

    positions: np.ndarray   # (n,) of the joints, rad or m
    velocities: np.ndarray  # (n,) rad/s or m/s
    base_time: float        # s, of the state of the base
    base_pose: np.ndarray   # (7,) [x y z qx qy qz qw] of the root link in the world
    base_twist: np.ndarray  # (6,) [v; ω] of its origin, world axes


class Measurements:
    """
    The measurements of a `SimulatedRobot` by its ``reality``, which may change at any time.

    The robot calls `record` in each state that it passes.
    """

    def __init__(self, robot):
        self._robot = robot
        self.restart()

    def restart(self):
        """Forget earlier states, and begin with the first noise."""
        self._rng = None  # made with the first noise, which most robots do not have
        self._joints, self._base, self._last = DelayLine(), DelayLine(), None

    def record(self):
        """Record the present state, of joints and of the base, where it is to arrive late."""
        for line, delay, read in self._lines():
            if delay:
                line.put(self._robot.time, read())
            else:
                line.clear()

    def read(self):
        """Return the `Measurement` of the present time: the same until time goes on."""
        time = self._robot.time
        now = time, self._robot.reality
        if self._last is None or self._last[0] != now:
            self.record()
            (_, joints), (base_time, base) = (
                line.get(time - delay) if delay else (time, read())
                for line, delay, read in self._lines())
            base = self._noisy_base(*base)
            self._last = now, Measurement(*self._noisy_joints(*joints), base_time, *base)
        return self._last[1]

    def _lines(self):
        """Return of joints and of the base: their `DelayLine`, their delay, s, and their state."""
        robot, reality = self._robot, self._robot.reality
        return ((self._joints, reality.state_delay, lambda: (robot.positions, robot.velocities)),
                (self._base, reality.base_delay, lambda: (robot.base_pose, robot.base_twist)))

    def _noise(self, deviation, count=None):
        """Return white, Gaussian noise of standard deviations, the same after each restart."""
        if self._rng is None:
            self._rng = np.random.default_rng(self._robot.reality.seed)
        return self._rng.normal(0.0, deviation, count)

    def _noisy_base(self, pose, twist):
        noise = self._robot.reality.base_noise
        if not (self._robot.floating_base and any(noise)):
            return pose, twist
        errors = self._noise(np.repeat(noise, 3))
        axis, turned, quaternion = errors[3:6].copy(), np.empty(4), np.empty(4)
        angle = mujoco.mju_normalize3(axis)
        mujoco.mju_axisAngle2Quat(turned, axis, angle)
        mujoco.mju_mulQuat(quaternion, turned, pose[[6, 3, 4, 5]])
        return (np.concatenate([pose[:3] + errors[:3], quaternion[[1, 2, 3, 0]]]),
                twist + errors[6:])

    def _noisy_joints(self, positions, velocities):
        reality = self._robot.reality
        if reality.position_noise:
            positions = positions + self._noise(reality.position_noise, len(positions))
        if reality.velocity_noise:
            velocities = velocities + self._noise(reality.velocity_noise, len(velocities))
        if reality.position_resolution:
            positions = reality.position_resolution * np.round(
                positions / reality.position_resolution)
        return positions, velocities

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Where an object is, and how it moves, by the poses that messages tell."""

from dataclasses import dataclass, field

import numpy as np

from opspace_control.collision import Shape
from opspace_control.errors import RosInterfaceError
from opspace_control.spatial.rotations import matrix_from_vector, vector_from_matrix

# What seems to be faster has jumped, m/s and rad/s.
_FASTEST = 10.0, 50.0
# Two stamps that are nearer tell no velocity, s.
_SHORTEST = 1e-3


@dataclass
class CollisionObject:
    """A shape that messages put somewhere, and what the last one said."""

    shape: Shape   # as it was when it came
    stamp: int     # ns; 0 where nothing moves it
    received: int  # ns, time of the joint states
    twist: np.ndarray = field(default_factory=lambda: np.zeros(6))  # m/s and rad/s
    silent: bool = False  # whether it moved until its messages ceased

    def __post_init__(self):
        self._position, self._rotation = np.array(self.shape.position), np.array(
            self.shape.rotation)

    def continues(self, shape):
        """Return whether a shape is this one in the world at another pose."""
        return shape.link is None and (None, shape.kind, shape.size) == (
            self.shape.link, self.shape.kind, self.shape.size)

    def move(self, shape, stamp, now, timeout):
        """
        Take the pose of a shape at a stamp, ns; return position (3,) and rotation (3, 3) now.

        The twist is that between this pose and the last, 0 after a longer time than ``timeout``, s.
        ``now``, ns, is the time of the joint states, None before the first. A RosInterfaceError
        refuses a stamp older than the last.
        """
        elapsed = 1e-9 * (stamp - self.stamp)
        if elapsed < 0.0:
            raise RosInterfaceError(
                'Its stamp is older than that of its last marker.',
                cure='Send markers in their order, from one clock; if that was set back, DELETE '
                     'it first.')
        position, rotation = np.array(shape.position), np.array(shape.rotation)
        if elapsed >= _SHORTEST:
            twist = np.concatenate([position - self._position, vector_from_matrix(
                rotation @ self._rotation.T)]) / elapsed
            speeds = np.linalg.norm(twist.reshape(2, 3), axis=1)
            has_jumped = elapsed > timeout or (speeds > _FASTEST).any()
            self.twist = np.zeros(6) if has_jumped else twist
            self._position, self._rotation, self.stamp = position, rotation, stamp
        # It has moved on since the stamp, unless that is of another clock.
        age = 0.0 if now is None else 1e-9 * (now - stamp)
        if 0.0 < age < timeout:
            position = position + age * self.twist[:3]
            rotation = matrix_from_vector(age * self.twist[3:]) @ rotation
        return position, rotation

    def stop(self):
        """Take it to stay where it is, since no message tells of it any more."""
        self.twist, self.silent = np.zeros(6), True

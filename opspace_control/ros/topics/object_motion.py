# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Where something is, and how it moves, by the poses that messages give."""

from typing import NamedTuple

import numpy as np

from opspace_control.collision import Shape
from opspace_control.errors import RosInterfaceError
from opspace_control.spatial.rotations import matrix_from_vector, vector_from_matrix

# What seems to be faster has jumped, m/s and rad/s.
_FASTEST = 10.0, 50.0
# Two stamps that are nearer give no velocity, s.
_SHORTEST = 1e-3


class Motion:
    """
    A pose that messages give, and the velocity between the last two of them.

    ``pose``, (4, 4), and ``stamp``, ns, are those of the last message, ``received`` is the time of
    the joint states at which it came, ns, and ``twist``, (6,), the velocity ``[v; ω]``, m/s and
    rad/s.
    """

    def __init__(self, pose, stamp, now):
        self.pose, self.stamp, self.received, self.twist = pose, stamp, now, np.zeros(6)
        self._before = pose, stamp  # from which the velocity is measured

    def take(self, pose, stamp, now, timeout):
        """
        Take a pose (4, 4) with its stamp, ns, at the time ``now`` of the joint states, ns.

        After more than the ``timeout``, s, the velocity is 0. A RosInterfaceError refuses a stamp
        older than the last.
        """
        before, since = self._before
        elapsed = 1e-9 * (stamp - since)
        if elapsed < 0.0:
            raise RosInterfaceError(
                'Its stamp is older than that of its last marker.',
                cure='Send markers in their order, from one clock; if that was set back, DELETE '
                     'it first.')
        if elapsed >= _SHORTEST:
            twist = np.concatenate([pose[:3, 3] - before[:3, 3], vector_from_matrix(
                pose[:3, :3] @ before[:3, :3].T)]) / elapsed
            speeds = np.linalg.norm(twist.reshape(2, 3), axis=1)
            has_jumped = elapsed > timeout or (speeds > _FASTEST).any()
            self.twist, self._before = np.zeros(6) if has_jumped else twist, (pose, stamp)
        self.pose, self.stamp, self.received = pose, stamp, now

    def at(self, now, timeout):
        """
        Return the pose (4, 4) at the time ``now`` of the joint states, ns.

        It has moved on since the stamp, unless that is of another clock: in the future, or older
        than the ``timeout``, s.
        """
        age, pose = 1e-9 * (now - self.stamp), self.pose.copy()
        if 0.0 < age < timeout and self.twist.any():
            pose[:3, 3] += age * self.twist[:3]
            pose[:3, :3] = matrix_from_vector(age * self.twist[3:]) @ pose[:3, :3]
        return pose

    def is_silent(self, now, timeout):
        """Return whether no message has come for longer than a time, s."""
        return now - self.received > 1e9 * timeout

    def stop(self):
        """Take it to stay where it is."""
        self.twist = np.zeros(6)


class CollisionObject(NamedTuple):
    """A shape that messages put somewhere."""

    shape: Shape    # as it was when it came
    motion: Motion  # by its markers; one that follows a frame has the motion of its frame

    def is_moved_to(self, shape):
        """Return whether a shape is this one in the world, at another pose."""
        return shape.link is None and (None, shape.kind, shape.size) == (
            self.shape.link, self.shape.kind, self.shape.size)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Commands of topic-based hardware: the last value of every command interface of ros2_control."""

import numpy as np


class NamedCommands:
    """
    What the drives are to obey, by JointStates of ros2_control's topic-based hardware.

    These carry the last effort and the last position of each joint, and do not tell which of them a
    controller has. A drive obeys the one that has changed last: a controller that gets a joint
    writes what differs from what the last one left. Where both have changed since the last message
    it is the position: efforts, unlike positions that are held, change again at once.

    Parameters
    ----------
    joints : sequence of str
        Of the robot.

    Attributes
    ----------
    efforts : (n,) float
        Zero where none has come. N·m or N.

    """

    def __init__(self, joints):
        self._index = {name: i for i, name in enumerate(joints)}
        self._joints = list(joints)
        self.reset()

    def reset(self):
        """Forget all commands."""
        self.efforts = np.zeros(len(self._joints))
        self._positions = np.full(len(self._joints), np.nan)
        self._by_position = np.zeros(len(self._joints), bool)

    @property
    def positions(self):
        """Positions by name, rad or m, of the joints whose drives obey those."""
        return {self._joints[i]: self._positions[i] for i in np.flatnonzero(self._by_position)}

    def take(self, message):
        """
        Take a JointState with an effort for each of its names; NaN is no command.

        Positions do not count unless there is one for each name.
        """
        indices = [self._index.get(name) for name in message.name]
        for i, effort in zip(indices, message.effort, strict=True):
            if i is not None and not np.isnan(effort) and effort != self.efforts[i]:
                self.efforts[i], self._by_position[i] = effort, False
        if len(message.position) != len(indices):
            return
        for i, position in zip(indices, message.position, strict=True):
            if i is not None and np.isfinite(position) and position != self._positions[i]:
                self._positions[i], self._by_position[i] = position, True

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Serialized joint states, matched by name."""

from typing import NamedTuple

import numpy as np
from sensor_msgs.msg import JointState

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.conversions import listed
from opspace_control.ros.middleware.serialized import MessageReader


class OpenedJointState(NamedTuple):
    """
    What counts of a JointState: stamp, ns, names, positions, rad or m, velocities, rad/s or m/s.

    The numbers may be read only.
    """

    stamp: int
    names: list
    positions: np.ndarray
    velocities: np.ndarray


class JointStateReader:
    """
    Read positions and velocities out of serialized JointState messages.

    Joints are matched by name (``model.dof_names``) in any order; further joints are ignored. The
    order is worked out once and kept while the publisher keeps it, so that a message costs a few
    comparisons of bytes and two gathers.

    Parameters
    ----------
    model : KinematicTree
        Robot whose dofs, those of a floating base aside, all have a coordinate of their own.

    Raises
    ------
    RosInterfaceError
        The model has dofs that no JointState can carry.

    """

    def __init__(self, model):
        first = 6 * model.floating_base
        self._wanted = model.dof_names[first:]
        for name, index in zip(self._wanted, model.q_index[first:], strict=True):
            if index < 0:
                raise RosInterfaceError(
                    f"'{name}' cannot be given by a JointState.", joint=name,
                    cure='Use joints of one degree of freedom, and floating_base for the base.')
        self._reader = MessageReader(JointState)
        self._names = None
        self._from = np.zeros(len(self._wanted), dtype=np.intp)

    def open(self, data):
        """Return a serialized JointState, bytes, as OpenedJointState; raises as `open_message`."""
        opened = self._reader.open(data)
        positions, velocities, _ = opened.numbers
        return OpenedJointState(opened.stamp, opened.like.name, positions, velocities)

    def read(self, opened):
        """
        Return the positions and velocities of an OpenedJointState, in the order of the model.

        Raises
        ------
        RosInterfaceError
            A joint is missing, or the lengths of the message's arrays differ.

        """
        _, names, positions, velocities = opened
        if names is not self._names and names != self._names:
            self._match(names)
        if not len(positions) == len(velocities) == len(names):
            raise RosInterfaceError(
                f'The joint state names {len(names)} joints but has {len(positions)} positions '
                f'and {len(velocities)} velocities.',
                cure='Its publisher must give all three with one length.')
        return positions[self._from], velocities[self._from]

    def _match(self, names):
        self._names = None
        where = {name: i for i, name in enumerate(names)}
        missing = [name for name in self._wanted if name not in where]
        if missing:
            raise RosInterfaceError(
                f'The joint state lacks {listed(missing)}.', joint=missing[0],
                cure='Its publisher must give every joint of the robot description in one message.')
        self._from[:] = [where[name] for name in self._wanted]
        self._names = names

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The commanded joint forces and their parts, on topics."""

import array
from functools import partial

import numpy as np
from sensor_msgs.msg import JointState

from opspace_control.control.split import SOURCES, split_efforts


class JointEfforts:
    """
    ``controller_state``: the commanded joint forces; a topic below it for each of their sources.

    Parameters
    ----------
    controller : OperationalSpaceController
    cycle : ControlCycle
        Has the last state and command.
    joints : sequence of str
        The commanded joints, in the order of the command.

    """

    def __init__(self, controller, cycle, joints):
        self._controller = controller
        self._cycle = cycle
        self._joints = list(joints)
        self._index = np.array([controller.model.dof_index(name) for name in joints])
        self._parts, self._parts_of = {}, None

    def add_to(self, feedback):
        """Add the topics to a Feedback."""
        message = self._message()
        feedback.add('~/controller_state', message, partial(self._fill_command, message))
        for source in SOURCES:
            message = self._message()
            feedback.add(f'~/controller_state/{source}', message,
                         partial(self._fill_part, source, message))

    def _message(self):
        zeros = array.array('d', bytes(8 * len(self._joints)))
        return JointState(name=self._joints, effort=zeros)

    def _fill_command(self, message, stamp):
        self._fill(message, stamp, self._cycle.commanded)

    def _fill_part(self, source, message, stamp):
        if self._parts_of is not stamp:  # computed once for all sources of a cycle
            self._parts_of = stamp
            self._parts = split_efforts(
                self._controller, self._cycle.state, self._cycle.commanded)
        self._fill(message, stamp, self._parts[source])

    def _fill(self, message, stamp, efforts):
        message.header.stamp = stamp
        np.frombuffer(message.effort)[:] = efforts[self._index]

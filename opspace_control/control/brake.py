# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What to command a robot that is not controlled: it is to lose its motion, and to be carried."""

import math

import numpy as np

from opspace_control.control.controller import DAMPING_RATE
from opspace_control.model import RobotState


class Brake:
    """
    Joint damping, and the weight of the robot.

    Parameters
    ----------
    controller : OperationalSpaceController
        Whose robot, and whose effort limits.

    """

    def __init__(self, controller):
        model = controller.model
        self._controller = controller
        self._coasting = RobotState(model, model.neutral(), np.zeros(model.nv))

    def weight(self, state, out):
        """
        Write the efforts (nv,) that carry the robot; zero where its hardware does so.

        Passive joints count as if they stood still, which they do where they hang.
        """
        out[:] = 0.0
        if self._controller.gravity_compensation:
            out[:] = self._controller.model.gravity(state)
            out[self._controller.passive | self._controller.locked] = 0.0

    def carry(self, state, out):
        """Write the efforts (nv,) that damp the motion of a robot and carry it."""
        self.weight(state, out)
        out += self._controller.damping_torque(state)

    def coast(self, state, age, scale, out):
        """
        Write the efforts (nv,) that damp a robot that was last seen ``age`` s ago, times ``scale``.

        The velocity is what this damping has left of the last one.
        """
        out[:] = 0.0
        if scale > 0.0:
            self._coasting.update(state.q, math.exp(-DAMPING_RATE * age) * state.v)
            self._controller.damping_torque(self._coasting, out=out)
            out *= scale

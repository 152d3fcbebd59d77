# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What to command a robot that is not controlled: to hold where it is, or to damp its motion."""

import numpy as np

from opspace_control.control.brake_law import (
    BRAKE,
    BRAKE_DOF,
    COMPLIANT_HOLD,
    DAMP,
    DAMP_ALL,
    GRAVITY_HOLD,
    WEIGHT,
    Braking,
    brake_robot,
)
from opspace_control.control.constraints.contact import Contact
from opspace_control.dynamics.data import NODE_STATE, make_points, nan_filled


class Brake:
    """Joint damping, the weight of the robot of a controller, and a hold about where it was."""

    def __init__(self, controller):
        model = controller.model
        feet, supports = make_points(model, [
            one.frame for one in controller.constraints.values()
            if isinstance(one, Contact) and model.floating_base])
        self.lies_down = bool(feet.size)  # the robot is on legs
        numbers, dofs = np.zeros(1, BRAKE), np.zeros(model.nv, BRAKE_DOF)
        numbers['contact_mass'] = model.nodes['mass'].sum() / max(feet.size, 1)
        dofs['q_index'], dofs['turns_freely'] = model.q_index, model.turns_freely
        robot = controller._arguments
        self.arguments = Braking(
            numbers, dofs, robot.cycle, robot.robot.nodes, robot.limits.efforts,
            nan_filled(model.nodes.size, NODE_STATE), feet, supports,
            *np.zeros((4, model.nv)))
        self._q, self._v, self._tau = model.neutral(), *np.zeros((2, model.nv))
        self._write = brake_robot.partial(
            self.arguments, 0.0, 0.0, 0.0, self._q, self._v, self._tau)

    @property
    def manner(self):
        """What `gravity_hold` does to the robot, as text."""
        return 'damped: it lies down' if self.lies_down else 'held in position'

    def weight(self, state, out):
        """
        Write the gravity torques (nv,) of the robot; zero where its hardware compensates them.

        Passive joints count as if they stood still, which they do where they hang.
        """
        self._brake(WEIGHT, state, out)

    def gravity_hold(self, state, out, *, compliant=False):
        """
        Write the efforts (nv,) that hold a robot about where it was at the first call.

        ``τ = g − A (k s + d v)`` with the displacements s since then, d = `DAMPING_RATE` and
        k = d²/4: every joint comes back by s̈ = −d ṡ − k s, critically damped, and an error of g
        moves the robot by as much as k holds against. The first call has s = 0. The impedance is
        bounded as `damping_torque` is; the base and joints that are passive, locked or without
        effort have none. A ``compliant`` one has no stiffness, and a robot on legs has none: g
        knows no ground, and it lies down.
        """
        self._brake(COMPLIANT_HOLD if compliant else GRAVITY_HOLD, state, out)

    def forget(self):
        """Begin the next hold at the position of the robot then."""
        self.arguments.numbers['hold_active'] = False

    def damp(self, state, age, scale, out):
        """
        Write the efforts (nv,) that damp a robot that was last seen ``age`` s ago, times ``scale``.

        The velocity is what this damping has left of the last one. What legs carry is damped by a
        present velocity alone: a fall has another one soon, and the efforts of an old one kick. The
        next hold begins anew.
        """
        self._brake(DAMP, state, out, age, scale)

    def damp_all(self, state, rate, out):
        """Write the efforts (nv,) that damp every joint with a drive, at the ``rate``, 1/s."""
        self._brake(DAMP_ALL, state, out, scale=rate)

    def _brake(self, manner, state, out, age=0.0, scale=0.0):
        self._q[:], self._v[:] = state.q, state.v
        self._write(float(manner), age, scale)
        out[:] = self._tau

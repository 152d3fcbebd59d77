# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What to command a robot that is not controlled: to hold where it is, or to damp its motion."""

import math

import numpy as np

from opspace_control.control.constraints.contact import Contact
from opspace_control.control.controller import DAMPING_RATE
from opspace_control.control.limits.effort_limits import shrink_to_limits
from opspace_control.model import RobotState

# Of the hold, 1/s²: critical with DAMPING_RATE. An error Δτ of the gravity torques moves the joints
# by A⁻¹ Δτ / _STIFFNESS. With masses wrong by 10 % the hands of dual_arm move by 40 mm; by 83 mm
# with half the stiffness, by 19 mm with twice of it, which passes on 1.4 times the noise of
# velocities: each time with critical damping.
_STIFFNESS = DAMPING_RATE ** 2 / 4.0
# A reading that changes by more from one call to the next does not tell of a motion.
_JUMP = 0.1  # rad or m; 50 rad/s at 500 Hz
_PRESENT = 0.05  # s, age of a velocity; a fall has changed its own by 0.5 m/s then


class Brake:
    """
    Joint damping, the weight of the robot, and a hold about where it was.

    Parameters
    ----------
    controller : OperationalSpaceController
        Whose robot, and whose effort limits.

    """

    def __init__(self, controller):
        model = controller.model
        self._controller = controller
        self._scratch = RobotState(model, model.neutral(), np.zeros(model.nv))
        self._scalar = model.q_index >= 0
        self._q, self._displacement = None, np.zeros(model.nv)
        self._feet = [one.frame for one in controller.constraints.values()
                      if isinstance(one, Contact) and model.floating_base]
        self._damping = np.zeros(model.nv)

    @property
    def lies_down(self):
        """Whether the robot is on legs, and lies down where it is not controlled."""
        return bool(self._feet)

    @property
    def manner(self):
        """What `carry` does to the robot, as text."""
        return 'damped: it lies down' if self.lies_down else 'held in position'

    def weight(self, state, out):
        """
        Write the efforts (nv,) that carry the robot; zero where its hardware does so.

        Passive joints count as if they stood still, which they do where they hang.
        """
        out[:] = 0.0
        if self._controller.gravity_compensation:
            out[:] = self._controller.model.gravity(state)
            out[self._controller.passive | self._controller.locked] = 0.0

    def carry(self, state, out, *, gives_way=False):
        """
        Write the efforts (nv,) that hold a robot about where it was at the first call.

        ``τ = g − A (k s + d v)`` with the displacements s since then, d = `DAMPING_RATE` and
        k = d²/4: every joint comes back by s̈ = −d ṡ − k s, critically damped, and an error of g
        moves the robot by as much as k holds against. The first call has s = 0. The impedance is
        bounded as `damping_torque` is; the base and joints that are passive, locked or without
        effort have none. One that ``gives_way`` has no stiffness, and a robot on legs has none: g
        knows no ground, and it lies down.
        """
        s = self._displaced(state)
        if self._feet or gives_way:
            s = np.zeros(s.size)
        self.weight(state, out)
        self._scratch.update(state.q, state.v + _STIFFNESS / DAMPING_RATE * s)
        out += self._damping_torque()

    def forget(self):
        """Begin the next hold at the position of the robot then."""
        self._q = None

    def _displaced(self, state):
        """Return how far each dof with one coordinate is from where the hold began, (nv,)."""
        model, s = state.model, self._displacement
        q = np.where(self._scalar, state.q[model.q_index], 0.0)
        if self._q is None:
            self._q, s[:] = q, 0.0
        step = q - self._q
        turns = np.round(step / (2.0 * math.pi))
        step -= np.where(model.turns_freely, 2.0 * math.pi * turns, 0.0)
        s += np.where(abs(step) < _JUMP, step, 0.0)
        s[self._controller.passive | self._controller.locked] = 0.0
        self._q = q
        return s

    def damp(self, state, age, scale, out):
        """
        Write the efforts (nv,) that damp a robot that was last seen ``age`` s ago, times ``scale``.

        The velocity is what this damping has left of the last one. What legs carry is damped by a
        present velocity alone: a fall has another one soon, and the efforts of an old one kick. The
        next hold begins anew.
        """
        self.forget()
        out[:] = 0.0
        if scale > 0.0:
            self._scratch.update(state.q, math.exp(-DAMPING_RATE * age) * state.v)
            out[:] = scale * self._damping_torque(carries=age < _PRESENT)

    def _damping_torque(self, carries=True):
        """
        Return the damping (nv,) of the scratch state, and of what legs carry, which lie down then.

        `damping_torque` knows nothing of what legs carry. Of a floating robot of mass m with n
        contacts, engaged or not, each is damped as if it carried m/n, ``−rate Jᵀ (m/n) J v``, J
        being its Jacobian from the base: it sinks at ``g/rate``, 1 m/s. The bound is the same.
        """
        controller, state, tau = self._controller, self._scratch, self._damping
        controller.damping_torque(state, out=tau)
        if not (self._feet and carries):
            return tau
        model = controller.model
        share = DAMPING_RATE * model.nodes['mass'].sum() / len(self._feet)
        for foot in self._feet:
            J = model.jacobian(state, foot)[:3, 6:]
            tau[6:] -= share * J.T @ (J @ state.v[6:])
        limits = controller.effort_limits
        usable = ~controller.locked & ~controller.passive & (limits > 0.0)
        return shrink_to_limits(tau, usable, limits)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot under a controller in lock-step: the same numbers on any machine."""

import time

import numpy as np

from opspace_control.model import RobotState


class ModelledRobot:
    """A `SimulatedRobot`, ``simulated``, seen and commanded in the order of its RobotModel."""

    def __init__(self, simulated, model):
        self.simulated, self.model = simulated, model
        self._first = 6 * model.floating_base  # of the joints among the degrees of freedom
        self._order = [simulated.joint_names.index(joint)
                       for joint in model.dof_names[self._first:]]
        self._in_q, self._neutral = model.q_index[self._first:], model.neutral()

    def in_order(self, values):
        """Return values by joint of ``simulated``, (n,), in the order of the model's joints."""
        return values[self._order]

    def observed(self):
        """Return q (nq,) and v (nv,) of the model as they are measured; a base in world axes."""
        seen, q, v = self.simulated.measured, self._neutral.copy(), np.empty(self.model.nv)
        if self._first:
            q[:7], v[:6] = seen.base_pose, seen.base_twist
        q[self._in_q], v[self._first:] = self.in_order(seen.positions), self.in_order(
            seen.velocities)
        return q, v

    def command(self, tau):
        """Command generalized forces (nv,), N·m or N; those of a base have no effect."""
        effort = np.empty(len(self._order))
        effort[self._order] = tau[self._first:]
        self.simulated.set_effort(effort)


class LockStep(ModelledRobot):
    """
    A simulated robot and its controller: `cycle`, then a step of ``simulated``.

    ``law(state, dt)`` returns generalized forces (nv,), N·m or N; that of the controller if not
    given. ``state`` is what it has seen, ``took``, s, the time of its last computation.
    """

    def __init__(self, simulated, controller, law=None):
        super().__init__(simulated, controller.model)
        self.controller, self.took = controller, 0.0
        self._law = law or (lambda state, dt: controller.compute_torque(state, dt=dt))
        self.state = RobotState(self.model, *self.observed())

    def cycle(self, dt=1e-3):
        """Look at the robot, and command what the law computes; return that, (nv,), N·m or N."""
        self.state.update(*self.observed())
        begun = time.perf_counter()
        tau = self._law(self.state, dt)
        self.took = time.perf_counter() - begun
        self.command(tau)
        return tau

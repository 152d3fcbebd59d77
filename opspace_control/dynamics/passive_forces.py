# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The known forces of passive joints: friction, springs and applied forces, [JR94] 4."""

import math
from types import MappingProxyType

import numpy as np

from opspace_control.compiled import inlined, kernel
from opspace_control.dynamics.dof_quantities import DofQuantities
from opspace_control.dynamics.preparation import check_state
from opspace_control.errors import ModelError
from opspace_control.model.nodes import PASSIVE

# The known force of one degree of freedom, used while its joint is passive.
PASSIVE_DOF = np.dtype([
    ('applied', np.float64),        # applied from outside, N·m or N
    ('damping', np.float64),        # viscous friction, N·m·s/rad or N·s/m
    ('friction', np.float64),       # Coulomb friction, N·m or N
    ('slip_velocity', np.float64),  # at which it has three quarters of its value, rad/s or m/s
    ('stiffness', np.float64),      # of a spring, N·m/rad or N/m
    ('rest', np.float64),           # rest position of the spring, rad or m
], align=True)

# Slow compared with useful motion, and without a step in the torque of a joint at rest.
PASSIVE_SLIP_VELOCITY = 0.01


@inlined
def passive_forces(nodes, dofs, q, v, torque):
    """
    Write the forces τ_p of the passive joints of [JR94] (4.2), zero for all other joints.

    ``τ_p = applied − damping v − friction tanh(v / slip_velocity) − stiffness (q − rest)``. Coulomb
    friction is continuous at rest: a joint under less than the friction creeps, slower than the
    slip velocity.
    """
    for k in range(torque.size):
        torque[k] = 0.0
    for i in range(nodes.size):
        if nodes[i].status != PASSIVE:
            continue
        k = nodes[i].v_index
        dof = dofs[k]
        force = dof.applied - dof.damping * v[k]
        if dof.friction != 0.0:
            force -= dof.friction * math.tanh(v[k] / dof.slip_velocity)
        if dof.stiffness != 0.0:
            force -= dof.stiffness * (q[nodes[i].q_index] - dof.rest)
        torque[k] = force


@kernel
def passive_torque(nodes, dofs, q, v, torque):
    """Write the forces of the passive joints, (nv,)."""
    passive_forces(nodes, dofs, q, v, torque)


class PassiveForces(DofQuantities):
    """
    The known forces of passive joints, [JR94] 4.1; zero by default.

    ``τ_p = applied − damping v − friction tanh(v / slip_velocity) − stiffness (q − rest)``. Any
    joint can have values; they are used while it is passive. One number is for all dofs, an array
    (nv,) is in the order of ``dof_names``, a dict names joints or dofs. A ModelError refuses an
    unknown name, a wrong number of numbers, and one that is not finite or is negative; then nothing
    changes.

    Parameters
    ----------
    model : RobotModel
    damping, friction : float, (nv,) array, or dict of str to float
        Viscous friction, N·m·s/rad or N·s/m; Coulomb friction, N·m or N.
    stiffness, rest : float, (nv,) array, or dict of str to float
        Of springs, N·m/rad or N/m, and their rest positions, rad or m; a quaternion has none.
    slip_velocity : float, (nv,) array, or dict of str to float
        Speed at which Coulomb friction has about three quarters of its value, rad/s or m/s.

    """

    what = 'passive forces'
    allowed = MappingProxyType({'applied': {}, 'rest': {}, 'slip_velocity': {'above': 0.0}})

    def __init__(self, model, *, damping=0.0, friction=0.0, stiffness=0.0, rest=0.0,
                 slip_velocity=PASSIVE_SLIP_VELOCITY):
        if np.ndim(stiffness) == 0 and not isinstance(stiffness, dict):
            stiffness = np.where(model.q_index >= 0, stiffness, 0.0)
        super().__init__(model, PASSIVE_DOF, damping=damping, friction=friction,
                         stiffness=stiffness, rest=rest, slip_velocity=slip_velocity)

    @classmethod
    def from_urdf(cls, model):
        """Return the friction that the URDF's ``<dynamics>`` gives each joint."""
        return cls(model, damping=model.damping, friction=model.friction)

    @property
    def applied(self):
        """Forces applied from outside, (nv,), N·m or N; a copy."""
        return self._dofs['applied'].copy()

    def set_applied(self, forces):
        """Set the forces applied from outside, N·m or N; joints not in a dict keep theirs."""
        self.set(applied=forces)

    def torque(self, state):
        """Return τ_p (nv,), N·m or N: zero for joints that are not passive."""
        check_state(self._model, state)
        torque = np.empty(self._model.nv)
        passive_torque(self._model.nodes, self._dofs, state.q, state.v, torque)
        return torque

    def _check(self):
        for k in np.flatnonzero((self._dofs['stiffness'] > 0.0) & (self._model.q_index < 0)):
            raise ModelError(
                f"'{self._model.dof_names[k]}' is a quaternion's rotation: it has no spring.",
                cure='Set the force of such a joint with set_applied.',
                joint=self._model.dof_names[k])

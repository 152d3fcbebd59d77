# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The generalized-momentum observer of unknown joint forces, [DM03], [DM05]."""

import math
from typing import NamedTuple

import numpy as np

from opspace_control.checks import read_numbers
from opspace_control.compiled import called, inlined, kernel
from opspace_control.dynamics.data import NODE_STATE, moment_nodes, nan_filled
from opspace_control.dynamics.generalized_momentum import sum_generalized_momentum
from opspace_control.dynamics.passive_forces import PassiveForces, passive_forces
from opspace_control.dynamics.preparation import (
    GRAVITY,
    check_state,
    check_time,
    joint_vector,
)
from opspace_control.errors import StateError
from opspace_control.model.nodes import LOCKED

# Rows of the memory of an observer, (ROWS, nv): the residual; p of the last state, and its rate
# under no drive; these of this state; the forces of passive joints; those that are applied.
ROWS = 7
RESIDUAL_TORQUE, P_BEFORE, RATE_BEFORE, P, P_RATE, PASSIVE_TORQUE, APPLIED_TORQUE = range(ROWS)


class Observed(NamedTuple):
    """What an observer gives to its kernel at each update."""

    nodes: np.ndarray  # (n,) NODE
    states: np.ndarray  # (n,) NODE_STATE, scratch
    passive_dofs: np.ndarray  # (nv,) PASSIVE_DOF
    gravity: np.ndarray  # (3,) m/s²
    gains: np.ndarray  # (2, nv): rates, 1/s, and limits, N m or N
    started: np.ndarray  # (1,) int: 0 without a last state
    memory: np.ndarray  # (ROWS, nv)


@inlined
def mean_unknown(memory, k, frequency):
    """Return the mean unknown force of a joint since the last state, N m or N; 1/s."""
    return frequency * (memory[P, k] - memory[P_BEFORE, k]) - memory[APPLIED_TORQUE, k] - 0.5 * (
        memory[RATE_BEFORE, k] + memory[P_RATE, k])


@called
def advance_residual(nodes, gains, started, memory, dt):
    """
    Advance the residual by dt from the last state to this one; return whether all is finite.

    If not, nothing has changed. ``P_RATE`` becomes that with passive forces.
    """
    residual, p, rate = memory[RESIDUAL_TORQUE], memory[P], memory[P_RATE]
    last_gain = share = 0.0  # most joints have the rate of the one before
    frequency = 1.0 / dt if dt > 0.0 else 0.0
    for k in range(p.size):
        rate[k] += memory[PASSIVE_TORQUE, k]
        # One by one: reassociation of floating point would cancel their sum in the test.
        if not (math.isfinite(p[k]) and math.isfinite(rate[k])
                and math.isfinite(memory[APPLIED_TORQUE, k])):
            return False
    for i in range(nodes.size):
        k = nodes[i].v_index
        if k >= 0 and nodes[i].status == LOCKED:
            residual[k] = 0.0
        elif k >= 0 and started[0] != 0 and dt > 0.0:
            unknown = mean_unknown(memory, k, frequency)
            if gains[0, k] != last_gain:
                last_gain, share = gains[0, k], -math.expm1(-gains[0, k] * dt)
            x = residual[k] + share * (unknown - residual[k])
            residual[k] = min(max(x, -gains[1, k]), gains[1, k])
    for k in range(p.size):
        memory[P_BEFORE, k], memory[RATE_BEFORE, k] = p[k], rate[k]
    started[0] = 1
    return True


@kernel
def observe(data, dt, q, v, torque):
    """Advance the residual by dt under joint forces (nv,); return as `advance_residual` does."""
    memory = data.memory
    for k in range(torque.size):
        memory[APPLIED_TORQUE, k] = torque[k]
    sum_generalized_momentum(
        data.nodes, q, v, data.gravity, data.states, memory[P], memory[P_RATE])
    passive_forces(data.nodes, data.passive_dofs, q, v, memory[PASSIVE_TORQUE])
    return advance_residual(data.nodes, data.gains, data.started, memory, dt)


class MomentumObserver:
    """
    Observer of the joint forces that the model does not know, by the generalized momentum.

    ``r = K (p − p(0) − ∫ (τ + Cᵀ v − g + r) dt)``, [DM03] (11), [DM05]: with ``p = A v`` and
    ``ṗ = τ + Cᵀ v − g + τ_ext`` each joint's residual is its unknown force behind a filter of the
    first order, ``ṙ = K (τ_ext − r)``. Neither accelerations nor A nor Ȧ are needed: O(n).

    Over a time step the mean of ``τ_ext`` is that of the model's equation, with the trapezoidal
    rule for ``Cᵀ v − g``, and r approaches it by ``1 − exp(−K dt)``: exact for a force that is
    constant, and stable for every ``K dt``.

    What r contains is all that is not in ``torque``: contact and payload by ``Jᵀ f``, friction, and
    errors of the model by the forces that they take. The forces of passive joints are known, those
    of ``passive_forces``. Of a closed chain, or of a robot that stands, r has the constraint forces
    ``J_cᵀ λ`` unless they are in ``torque``; of a floating base r has the wrench on it, moment
    about its origin. At a locked joint r is zero. Raises a StateError for a rate that is not
    positive, a limit that is negative, or a wrong number of them.

    Parameters
    ----------
    model : RobotModel
    rate : float or (nv,) array
        K, 1/s: after 1/K a constant force is found to 63 %; white noise of the momentum, A times
        that of the velocities, becomes noise of r of K times its standard deviation.
    limit : float or (nv,) array, optional
        Of the size of each residual, N·m or N, inf for none.
    gravity_compensation : bool
        False for hardware that compensates gravity itself: ``torque`` is then without g.
    passive_forces : PassiveForces, optional
        What is known of the forces of passive joints; the URDF's friction if not given.
    nodes : (n,) array of NODE, optional
        Those of the model with payloads and the present status of joints, read at each update; see
        `OperationalSpaceController.momentum_observer`.

    """

    def __init__(self, model, rate, *, limit=np.inf, gravity_compensation=True,
                 passive_forces=None, nodes=None):
        self.model = model
        forces = PassiveForces.from_urdf(model) if passive_forces is None else passive_forces
        self._data = Observed(
            moment_nodes(model) if nodes is None else nodes,
            nan_filled(model.nodes.size, NODE_STATE), forces.dofs,
            np.array(GRAVITY) if gravity_compensation else np.zeros(3),
            np.empty((2, model.nv)), np.zeros(1, np.int64), np.zeros((ROWS, model.nv)))
        self._update = None
        # Those of the last update, which have been checked; at first none that a user could give.
        self._state = self._given = object()
        self.rate, self.limit = rate, limit

    @property
    def rate(self):
        """K of each joint, (nv,), 1/s; a copy. It may be set at any time, also to one number."""
        return self._data.gains[0].copy()

    @rate.setter
    def rate(self, rate):
        values = self._numbers('The rate', rate)
        if not ((values > 0.0) & (values < np.inf)).all():
            raise StateError(f'The rate of an observer is {rate!r}.', value=rate,
                             cure='Give a positive number of 1/s, or one for each joint.')
        self._data.gains[0] = values

    @property
    def limit(self):
        """Largest size of each residual, (nv,), N·m or N; a copy. It may be set as the rate."""
        return self._data.gains[1].copy()

    @limit.setter
    def limit(self, limit):
        values = self._numbers('The limit', limit)
        if not (values >= 0.0).all():
            raise StateError(f'The limit of an observer is {limit!r}.', value=limit,
                             cure='Give a number of N m or N, 0 or more, or one for each joint.')
        self._data.gains[1] = values

    @property
    def residual(self):
        """The r of the last update, estimated unknown joint forces, (nv,), N·m or N; a copy."""
        return self._data.memory[RESIDUAL_TORQUE].copy()

    def update(self, state, torque, dt):
        """
        Advance the residual to a state; the first state after a `restart` is where it begins.

        Raises a StateError if the state is another model's, the torque not (nv,), either not
        finite, or dt no time; then nothing has changed.

        Parameters
        ----------
        state : RobotState
            Of this model, measured.
        torque : (nv,) array
            Joint forces of the drives, N·m or N, since the last update: as applied, after any
            limit; those measured, if they are. Other known forces, too.
        dt : float
            Time since then, s; with 0 the residual stays.

        """
        if state is not self._state:
            check_state(self.model, state)
            self._state = state
        if torque is not self._given:
            torque = self._checked(torque)
        if not (type(dt) is float and 0.0 <= dt < math.inf):
            check_time(dt)
        if self._update is None:
            self.warm_up()
        self._q[:], self._v[:], self._torque[:] = state.q, state.v, torque
        if not self._update(float(dt)):
            joint_vector(self.model, torque, 'torque')
            raise StateError('The momentum of the robot is not finite.', value=state,
                             cure='Check the state that is measured.')

    def _checked(self, torque):
        """Return a torque as (nv,) floats, or raise a StateError."""
        if (isinstance(torque, np.ndarray) and torque.shape == (self.model.nv,)
                and torque.dtype == float and torque.flags.carray):
            self._given = torque
            return torque
        return joint_vector(self.model, torque, 'torque')

    def warm_up(self):
        """Load the update, or compile it without a library, so that no update waits for it."""
        self._q, self._v, self._torque = self.model.neutral(), *np.zeros((2, self.model.nv))
        self._update = observe.partial(self._data, 0.0, self._q, self._v, self._torque)

    def restart(self, residual=0.0):
        """
        Forget the last state, as after a gap in time; the residual begins at a value.

        ``residual``, a number or (nv,), N·m or N, is cut at the limit; a StateError refuses others.
        """
        values = self._numbers('The residual', residual)
        if not np.isfinite(values).all():
            raise StateError(f'The residual is {residual!r}.', value=residual,
                             cure='Give finite numbers.')
        gains, memory = self._data.gains, self._data.memory
        memory[RESIDUAL_TORQUE] = np.clip(values, -gains[1], gains[1])
        self._data.started[0] = 0

    def _numbers(self, what, values):
        """Return nv numbers, from one or from nv, or raise a StateError."""
        numbers = read_numbers(values)
        if numbers.shape not in {(), (self.model.nv,)}:
            raise StateError(f'{what} has shape {numbers.shape}.', value=values,
                             cure=f'Give one number or {self.model.nv}.')
        return np.broadcast_to(numbers, self.model.nv)

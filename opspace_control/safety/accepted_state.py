# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The last accepted state of a robot: which states are accepted, and how old it is."""

import math
from typing import NamedTuple

import numpy as np

from opspace_control.compiled import called, kernel, recorded
from opspace_control.errors import SafetyError, StateError
from opspace_control.model import RobotState
from opspace_control.safety.envelope import scaled
from opspace_control.safety.state_checks import (
    ACCEPTED,
    BASE_GUARD,
    JUMPED,
    NO_STATE,
    STATE_GUARD,
    TOO_FAST,
    TURNED,
    UNREADABLE,
    WENT_BACKWARDS,
    judge_position,
    judge_turn,
    normalise_state,
    trip_of,
)
from opspace_control.safety.state_clock import BACKWARDS, CLOCK, step_clock
from opspace_control.safety.supervisor import (
    NO_TRIP,
    NUMBER_OF,
    POSITION_JUMP,
    STATE_TIMEOUT,
    TIME_STOPPED,
    TRIPS,
)

# The input of states.
STATE_INPUT = np.dtype([
    ('stamp', np.int64),           # of the state that is to be accepted, ns, 0 for none
    ('clock', CLOCK),
    ('elapsed', np.float64),       # the robot's time since the last command, s
    ('unjudged', np.float64),      # and since the last judged state
    ('known', np.bool_),           # whether a state was accepted
    ('last_accepted', np.float64),  # steady time of the last one's arrival, s, repetitions apart
    ('last_arrival', np.float64),  # of the last state, accepted or not
    ('last_seen', np.float64),     # of what is known of the joints alone, s
    ('dof', np.int64),             # that a verdict is about
], align=True)

_STOPPED, _TIMEOUT = NUMBER_OF[TIME_STOPPED], NUMBER_OF[STATE_TIMEOUT]


class StateMemory(NamedTuple):
    """What the acceptance of states reads and writes."""

    inputs: np.ndarray       # STATE_INPUT, one
    guards: np.ndarray       # (nv,) of STATE_GUARD
    bases: np.ndarray        # BASE_GUARD, one of a floating base, else none
    quaternions: np.ndarray  # of int: where they begin in q
    q: np.ndarray            # (nq,), of the state that comes
    v: np.ndarray            # (nv,)
    last_q: np.ndarray       # (nq,), of the last accepted state
    last_v: np.ndarray       # (nv,)


@called
def accept(memory, now, readable):
    """
    Accept the state that arrived at the steady time ``now``, s, or return the verdict.

    A state that is `TOO_FAST` is accepted all the same. One that is not ``readable`` takes time
    only.
    """
    inputs, guards, bases, quaternions, q, v, last_q, last_v = memory
    state = inputs[0]
    state.last_arrival = now
    dt = step_clock(state.clock, state.stamp, now)
    if dt == BACKWARDS:
        return WENT_BACKWARDS
    state.elapsed += dt
    state.unjudged += dt
    if not readable:
        return UNREADABLE
    if not normalise_state(q, v, quaternions):
        return NO_STATE
    dt, state.unjudged = state.unjudged, 0.0
    state.dof = judge_position(guards, q, v, dt)
    turned = bases.size > 0 and judge_turn(bases[0], q, v, dt)
    if state.dof >= 0:
        return JUMPED
    if turned:
        return TURNED
    new = not state.clock.repeated
    for k in range(q.size):
        new = new or q[k] != last_q[k]
        last_q[k] = q[k]
    for k in range(v.size):
        new = new or v[k] != last_v[k]
        last_v[k] = v[k]
        if state.dof < 0 and abs(v[k]) > guards[k].velocity_limit:
            state.dof = k
    state.known = True
    if new:
        state.last_accepted = now
    return TOO_FAST if state.dof >= 0 else ACCEPTED


@kernel
def accept_state(memory, now, readable):
    """Return the verdict of `accept`; ``readable`` is 1 or 0."""
    return accept(memory, now, readable != 0.0)


@called
def compare_with_none(memory):
    """Compare the next state with none: the robot may have been moved."""
    inputs, guards, bases = memory.inputs, memory.guards, memory.bases
    for k in range(guards.size):
        guards[k].q = math.nan
    for k in range(bases.size):
        for r in range(7):
            bases[k].q[r] = math.nan
        for r in range(3):
            bases[k].w[r] = 0.0
    inputs[0].unjudged = 0.0


@called
def restart_state(memory, now):
    """Forget the state and its time: the next one, after the steady time ``now``, is the first."""
    state = memory.inputs[0]
    state.stamp = state.clock.stamp = 0
    state.clock.last_change = state.last_accepted = state.last_arrival = state.last_seen = now
    state.clock.first, state.clock.repeated, state.known, state.elapsed = True, False, False, 0.0
    compare_with_none(memory)


@called
def overdue(state, now, timeout, paused):
    """
    Return the trip, by number, of states whose stamps stop, or that do not come, or `NO_TRIP`.

    They may do so for the ``timeout``, s, 0 for any; no new state comes in a ``paused`` simulation.
    Stamps stop when states come for that long that have none of their own: before a pause, too, the
    last states may have the same stamp.
    """
    if not state.known or timeout == 0.0 or now - state.clock.last_change <= timeout:
        return NO_TRIP
    if now - state.last_accepted > timeout:
        return NO_TRIP if paused else _TIMEOUT
    return _STOPPED if state.last_accepted - state.clock.last_change > timeout else NO_TRIP


class AcceptedState:
    """
    The last accepted state of the robot of a ``model``, its time, and the check of the next one.

    ``state`` is the RobotState; the same object has the next one. Without a fault of its own it is
    as old as ``last_accepted``.
    """

    known = recorded('known', 'Whether a state was accepted.')
    stamp = recorded('stamp', 'Time stamp of the last state, ns, 0 if it had none.', of='_clock')
    last_change = recorded(
        'last_change', 'Steady time at which the stamp last changed, s.', of='_clock')
    last_accepted = recorded(
        'last_accepted', 'Steady time at which the last accepted state came, repetitions apart, s.')
    last_arrival = recorded('last_arrival', 'That of the last state, accepted or not, s.')
    velocity_limits = recorded(
        'velocity_limit', 'Velocities that trip, (nv,), rad/s or m/s.', of='_guards')

    def __init__(self, model):
        self._model = model
        self.state = RobotState(model, model.neutral(), np.zeros(model.nv))
        self._scratch = RobotState(model, model.neutral(), np.zeros(model.nv))
        self._q, self._v = model.neutral(), np.zeros(model.nv)
        self._inputs = np.zeros(1, STATE_INPUT)
        self._guards = np.zeros(model.nv, STATE_GUARD)
        self._guards['q_index'] = model.q_index
        self._guards['turns_freely'] = model.turns_freely
        self._bases = np.zeros(int(model.floating_base), BASE_GUARD)
        # Without a dimension: fields are read in a quarter of the time of those of a record.
        self._record = self._inputs.reshape(())
        self._clock = self._record['clock']
        self.memory = StateMemory(
            self._inputs, self._guards, self._bases, np.array(model.quaternions, np.int64),
            self._q, self._v, *self.state.memory)
        self._judge = accept_state.partial(self.memory, 0.0, 0.0)
        self._records = StateMemory._make(  # for calls of compiled functions as they are
            part.view(np.recarray) if part.dtype.names else part for part in self.memory)
        self.set_limits()
        self.restart(0.0)

    def set_limits(self, *, velocity_scale=math.inf, position_jump=math.inf, passive=None):
        """
        Set what is accepted, from the next state on.

        ``velocity_scale``, a number or (nv,), is the velocity that trips, in multiples of the
        robot's limits. ``position_jump``, rad or m, is the distance of a joint from its
        extrapolated position that trips. ``passive`` (nv,) are joints without a drive; those of
        the model if not given.
        """
        self._passive = self._model.passive if passive is None else passive
        self._guards['velocity_limit'] = scaled(velocity_scale, self._model.velocity_limits)
        self._guards['position_jump'] = self._bases['furthest'] = position_jump

    @property
    def time(self):
        """The robot's time at the last state, ns: its stamp, or steady time."""
        return self.stamp or round(1e9 * self.last_change)

    def restart(self, now):
        """Forget the state and its time: the next one, after ``now``, s, is the first."""
        restart_state(self._records, now)

    def elapsed(self):
        """Return the robot's time since the last call, s."""
        dt = self._inputs['elapsed'].item()
        self._inputs['elapsed'] = 0.0
        return dt

    def see_joints(self, positions, velocities, now):
        """Note positions and velocities of the joints of a floating base that is not known."""
        self.state.update(np.concatenate([self.state.q[:7], positions]),
                          np.concatenate([np.zeros(6), velocities]))
        self._inputs['last_seen'] = now

    def note(self, stamp, q, v):
        """Note a state to accept: q (nq,), v (nv,), None if unreadable; the stamp in ns or 0."""
        self._record['stamp'] = stamp
        if q is not None:
            self._q[:], self._v[:] = q, v

    def judge(self, now, fault=None):
        """
        Accept the state that was noted, at the steady time ``now``, s, or raise a SafetyError.

        That is the ``fault`` of reading it, or TIME_BACKWARDS, once: time goes on from this stamp.
        STATE_INVALID, POSITION_JUMP: the state is refused. VELOCITY_LIMIT, PASSIVE_VELOCITY: a
        joint is too fast, the state is known all the same.
        """
        verdict = self._judge(now, float(fault is None))
        if verdict:
            raise fault if verdict == UNREADABLE else self.refusal(verdict)

    def refusal(self, verdict):
        """Return the SafetyError of a verdict about the state that was noted."""
        k = self._inputs['dof'].item()
        trip = TRIPS[trip_of(verdict, self._passive[k], NO_TRIP)]
        if verdict == WENT_BACKWARDS:
            return SafetyError(trip, 'The time of the joint states went back by '
                               f'{1e-9 * (self._clock["before"].item() - self.stamp):.3f} s.',
                               value=self.stamp)
        if verdict == TURNED:
            return SafetyError(trip, "The orientation of 'base' jumped.", joint='base')
        if verdict == NO_STATE:
            return SafetyError(trip, self._complaint())
        return self._refusal_of_joint(trip, k)

    def _refusal_of_joint(self, trip, k):
        joint, guard = self._model.dof_names[k], self._guards[k]
        if trip == POSITION_JUMP:
            now = float(self._q[guard['q_index']])
            return SafetyError(
                trip, f"'{joint}' jumped to {now:.3f}; its velocity has led it to "
                f"{guard['q']:.3f}.", joint=joint, value=now)
        speed, limit = float(self._v[k]), guard['velocity_limit']
        return SafetyError(
            trip, f"Passive joint '{joint}' swings at {speed:.2f}, its limit is {limit:.2f}: "
            'nothing drives it.' if self._passive[k] else
            f"'{joint}' moves at {speed:.2f}, its limit is {limit:.2f}.", joint=joint, value=speed)

    def _complaint(self):
        """Return what is wrong with numbers that are no state."""
        try:
            self._scratch.update(self._q, self._v)
        except StateError as error:
            return str(error)
        raise AssertionError('The kernel refuses what a RobotState accepts.')

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a residual of a momentum observer is made of: friction, an error of a payload, contact."""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from opspace_control.checks import checked
from opspace_control.dynamics.estimated_wrench import estimated_wrench
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.errors import StateError
from opspace_control.identification.regressor import columns_of_joints, effort_units
from opspace_control.identification.samples import SLOW

PARTS = 'friction', 'payload', 'contact'  # of `ResidualSplitter`
# Rounds of iteratively reweighted least squares; a rest below this part of the mean counts as it.
_ROUNDS, _LEAST_REST = 25, 1e-4
# A combination of parameters with less than this part of the greatest influence is not told; a
# parameter of less resolution is NaN.
_LEAST_INFLUENCE, _TOLD = 1e-3, 0.98
# The direction of a friction behind the observer's filter counts as known, of -1 to 1, with this
# width of its bounds: 4 / rate after a joint is fast, as in `thresholds`.
_KNOWN = 0.04


@dataclass(frozen=True, eq=False)
class ResidualParts:
    """The parts of k residuals; NaN for what the motion does not tell."""

    coulomb: np.ndarray
    """(nv,) Coulomb friction that the residual has, N·m or N."""
    viscous: np.ndarray
    """(nv,) likewise, N·m·s/rad or N·s/m."""
    mass: float
    """kg, that the link carries beyond the model; negative if it carries less."""
    moment: np.ndarray
    """(3,) this mass times its centre of mass in the frame, kg·m."""
    contact: np.ndarray
    """(k, 6) the wrench at the frame that explains what is left, N and N·m, world axes."""
    remainder: np.ndarray
    """(k, nv) what none of them explains, N·m or N."""


def residual_parts(model, states, residuals, frame):
    """
    Return the `ResidualParts` of residuals (k, nv) of a `MomentumObserver` at k states.

    Friction and a payload have parameters that stay, contact comes and goes. So

        ``r = −F_c sign(v) − b v + Jᵀ [m g; (R s) × g] + Jᵀ F``

    is fitted with the Coulomb friction F_c and the viscous friction b of each
    joint, which are not negative, and the mass m at the frame with ``s = m c`` of its centre of
    mass c, all linear, efforts in parts of their limits. Joints slower than `SLOW` have no part
    in the fit: their dry friction is anything from −F_c to F_c, [ADC94], and as much of what is
    left counts as friction. The sum of the norms of what is left at the states is least, which
    forgives a lot at some of them: there is contact, and the wrench F at the frame explains what is
    left as in `estimated_wrench`. Slow motion: inertial forces of the payload are not looked at,
    and velocities have kept their sign for some time constants of the observer.

    Contact during more than half of the states is not told from a payload, nor a vertical force
    that stays; friction of a joint that does not move is NaN, and so is what postures that are all
    alike do not tell of the payload. A StateError refuses residuals of another shape.
    """
    r = checked(residuals, 'residuals', StateError, (max(len(states), 1), model.nv))
    n, driven = model.nv, _driven(model)
    v = np.array([state.v for state in states])
    moving = abs(v) > SLOW
    loads = np.array([_loads(model, state, [frame]) for state in states])
    columns = np.concatenate([
        -columns_of_joints(driven * np.sign(v)), -columns_of_joints(driven * v), loads], axis=2)
    counted = ((moving | ~driven) / effort_units(model))[..., None]
    A, b = columns * counted, r * counted[..., 0]
    x, weight = np.zeros(columns.shape[2]), np.ones(len(states))
    for _ in range(_ROUNDS):
        weighted = (weight[:, None, None] * A).reshape(-1, A.shape[2])
        x, resolution = _solve(weighted.T @ weighted,
                               weighted.T @ (weight[:, None] * b).ravel(), 0.0 * x, 2 * n)
        weight = _weights(b - A @ x)
    left = r - loads @ x[2 * n:]
    direction = np.where(moving, np.sign(v), [[[-1.0]], [[1.0]]])
    left -= _friction(left, driven * x[:n], driven * x[n:2 * n], direction, v)
    found = [estimated_wrench(model, state, frame, rest)
             for state, rest in zip(states, left, strict=True)]
    parameters = np.where(resolution > _TOLD, x, np.nan)
    return ResidualParts(
        coulomb=parameters[:n], viscous=parameters[n:2 * n], mass=float(parameters[2 * n]),
        moment=parameters[2 * n + 1:], contact=np.array([each.wrench for each in found]),
        remainder=np.array([each.remainder for each in found]))


class ResidualSplitter:
    """
    Split the residuals of a `MomentumObserver` into efforts of friction, payload and contact.

    As `residual_parts`, while the robot moves: in each ``interval`` one state counts in which a
    joint is fast, and brings one round of the reweighted least squares. So many count as there are
    intervals in the ``span``; what they do not tell stays as it was. The observer's residual is
    ``K / (s + K)`` of the unknown force, so velocities, payloads and the bounds of friction,
    anything from −F_c to F_c of slow joints, pass the same filter before they are compared with it.
    A joint has a part in the fit while the bounds behind the filter are narrow. ``frames`` are
    those of links that may carry what the model lacks. Contact that stays for more than half of the
    span becomes a payload.

    Parameters
    ----------
    model : RobotModel
    frames : sequence of str
    rate : float or (nv,) array
        That of the observer, 1/s; an attribute, which may be set at any time.
    span, interval : float
        s.

    """

    def __init__(self, model, frames, rate, *, span=20.0, interval=0.1):
        self.rate, self._model, self._frames = rate, model, list(frames)
        self._interval, self._samples = interval, deque(maxlen=max(1, round(span / interval)))
        self._x = np.zeros(2 * model.nv + 4 * len(self._frames))
        self._units, self._driven = effort_units(model), _driven(model)
        self._time = self._filtered = self._raw = None

    def split(self, time, state, residual, locked=None):
        """
        Return the parts of a residual (nv,), N·m or N, at a time, s: a dict of (nv,).

        ``friction`` and ``payload`` are those of the parameters that fit, ``contact`` is what they
        leave; their sum is the residual. Of a slow joint as much is friction as its Coulomb
        friction can be. ``locked`` (nv,) are joints of which the brakes are on. Time that goes back
        begins anew.
        """
        n, driven = self._model.nv, self._driven
        loads = _loads(self._model, state, self._frames)
        if locked is not None:
            loads[locked], driven = 0.0, driven & ~locked
        if self._time is not None and time < self._time:
            self._samples.clear()
            self._x[:] = 0.0
            self._time = None
        self._filter(time, state.v, loads)
        direction, v, loads = self._filtered
        known = direction[1] - direction[0] < _KNOWN
        if (known & driven).any() and (
                not self._samples or time >= self._samples[-1].time + self._interval):
            columns = np.column_stack([-np.diag(driven * direction.mean(axis=0)),
                                       -np.diag(driven * v), loads])
            counted = (known | ~self._driven) / self._units
            self._add(time, columns * counted[:, None], residual * counted)
        payload = loads @ self._x[2 * n:]
        friction = driven * _friction(residual - payload, self._x[:n], self._x[n:2 * n],
                                      direction, v)
        return dict(zip(PARTS, (friction, payload, residual - friction - payload), strict=True))

    def _filter(self, time, v, loads):
        """Let bounds of the direction (2, nv), v and loads pass the observer's filter until now."""
        moving = abs(v) > SLOW
        raw = np.where(moving, np.sign(v), [[-1.0], [1.0]]), v.copy(), loads
        if self._time is None:
            self._filtered = np.outer([-1.0, 1.0], np.ones(v.size)), v.copy(), loads
        else:
            steps = np.broadcast_to(self.rate * (time - self._time), v.size)
            # Directions between two states are any of both.
            (low, high), (last_low, last_high) = raw[0], self._raw[0]
            between = np.array([np.fmin(low, last_low), np.fmax(high, last_high)])
            self._filtered = (
                between + np.exp(-steps) * (self._filtered[0] - between),
                *(_behind_filter(*values) for values in zip(
                    self._filtered[1:], self._raw[1:], raw[1:], (steps, steps[:, None]),
                    strict=True)))
        self._time, self._raw = time, raw

    def _add(self, time, A, b):
        """Fit the parameters again, with another sample."""
        samples = self._samples
        samples.append(_Sample(time, A, b, A.T @ A, A.T @ b))
        left = np.array([sample.b - sample.A @ self._x for sample in samples])
        w = _weights(left) ** 2
        self._x = _solve(sum(k * sample.square for k, sample in zip(w, samples, strict=True)),
                         sum(k * sample.right for k, sample in zip(w, samples, strict=True)),
                         self._x, 2 * self._model.nv)[0]


class _Sample(NamedTuple):
    """A state of a `ResidualSplitter`: of ``A x = b``, and of its normal equations."""

    time: float
    A: np.ndarray
    b: np.ndarray
    square: np.ndarray
    right: np.ndarray


def _weights(left):
    """Return the weights (k,) of states of which (k, nv) is left: the sum of norms is least."""
    rest = np.linalg.norm(left, axis=1)
    return np.maximum(rest, _LEAST_REST * rest.mean() + 1e-12) ** -0.5


def _driven(model):
    """Return the mask (nv,) of joints with the friction of a drive."""
    driven = model.active.copy()
    driven[:6 * model.floating_base] = False
    return driven


def _loads(model, state, frames):
    """Return the columns (nv, 4 f) of mass and moment of each frame."""
    columns = [np.empty((model.nv, 0))]
    for frame, pose in model.forward_kinematics(state, frames).items():
        J = model.jacobian(state, frame)
        turned = np.cross(pose[:3, :3].T, GRAVITY).T  # (R e_i) × g
        columns += [J[:3].T @ GRAVITY[:, None], J[3:].T @ turned]
    return np.column_stack(columns)


def _behind_filter(filtered, last, new, steps):
    """Return what a filter of the first order makes of a straight line, ``steps`` of 1 / K long."""
    mean = np.divide(-np.expm1(-steps), steps, out=np.ones(steps.shape), where=steps > 0.0)
    return new - mean * (new - last) + np.exp(-steps) * (filtered - last)


def _friction(left, coulomb, viscous, direction, v):
    """Return what of efforts ``left`` is friction, by bounds of its direction, two of (..., nv)."""
    return np.clip(left, -coulomb * direction[1] - viscous * v,
                   -coulomb * direction[0] - viscous * v)


def _solve(square, right, x, positive):
    """
    Return the solution of normal equations that is nearest to x, and the resolution of each entry.

    The first so many entries are not negative: those that would be are zero.
    """
    scale = np.sqrt(square.diagonal())
    scale[scale == 0.0] = 1.0
    square, right = square / np.outer(scale, scale), right / scale
    found, resolution, free = x * scale, np.zeros(x.size), np.ones(x.size, bool)
    while True:
        S, V = np.linalg.eigh(square[np.ix_(free, free)])
        kept = S[-1] * _LEAST_INFLUENCE ** 2 < S
        V = V[:, kept]
        rest = (right - square @ found)[free]
        found[free] += V @ ((V.T @ rest) / S[kept])
        resolution[free] = (V ** 2).sum(axis=1)
        negative = found < 0.0
        negative[positive:] = False
        if not negative.any():
            return found / scale, resolution
        found[negative], free[negative] = 0.0, False

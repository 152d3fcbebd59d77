# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a residual of a momentum observer is made of: friction, an error of a payload, contact."""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from opspace_control.checks import checked
from opspace_control.dynamics.drive_friction import SLIP_VELOCITY
from opspace_control.dynamics.estimated_wrench import estimated_wrench
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.errors import StateError

PARTS = 'friction', 'payload', 'contact'  # of `ResidualSplitter`
# Rounds of iteratively reweighted least squares; a rest below this part of the mean counts as it.
_ROUNDS, _LEAST_REST = 25, 1e-4
# A combination of parameters with less than this part of the greatest influence is not told; a
# parameter of less resolution is NaN.
_LEAST_INFLUENCE, _TOLD = 1e-3, 0.98


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

        ``r = −F_c tanh(v / v_0) − b v + Jᵀ [m g; (R s) × g] + Jᵀ F``

    is fitted with the Coulomb friction F_c and the viscous friction b of each
    joint, and the mass m at the frame with ``s = m c`` of its centre of mass c, all linear, efforts
    in parts of their limits. The sum of the norms of what is left at the states is least, which
    forgives a lot at some of them: there is contact, and the wrench F at the frame explains what is
    left as in `estimated_wrench`. Slow motion: inertial forces of the payload are not looked at.

    Contact during more than half of the states is not told from a payload, nor a vertical force
    that stays; friction of a joint that does not move is NaN, and so is what postures that are all
    alike do not tell of the payload. A StateError refuses residuals of another shape.
    """
    r = checked(residuals, 'residuals', StateError, (max(len(states), 1), model.nv))
    limits = _limits(model)
    columns = np.array([_columns(model, state, [frame]) for state in states])
    A, b = columns / limits[:, None], r / limits
    weight = np.ones(len(states))
    for _ in range(_ROUNDS):
        weighted = (weight[:, None, None] * A).reshape(-1, A.shape[2])
        x, resolution = _solve(weighted.T @ weighted, weighted.T @ (weight[:, None] * b).ravel())
        weight = _weights(b - A @ x)
    left = r - columns @ x
    found = [estimated_wrench(model, state, frame, rest)
             for state, rest in zip(states, left, strict=True)]
    parameters = np.where(resolution > _TOLD, x, np.nan)
    n = model.nv
    return ResidualParts(
        coulomb=parameters[:n], viscous=parameters[n:2 * n], mass=float(parameters[2 * n]),
        moment=parameters[2 * n + 1:], contact=np.array([each.wrench for each in found]),
        remainder=np.array([each.remainder for each in found]))


class ResidualSplitter:
    """
    Split the residuals of a `MomentumObserver` into efforts of friction, payload and contact.

    As `residual_parts`, while the robot moves: of the last time ``span`` one state in each
    ``interval`` counts, and each brings one round of the reweighted least squares. ``frames`` are
    those of links that may carry what the model lacks. Contact that stays for more than half of the
    span becomes a payload.

    Parameters
    ----------
    model : RobotModel
    frames : sequence of str
    span, interval : float
        s.

    """

    def __init__(self, model, frames, *, span=20.0, interval=0.1):
        self._model, self._frames = model, list(frames)
        self._span, self._interval, self._samples = span, interval, deque()
        self._x, self._limits = np.zeros(2 * model.nv + 4 * len(self._frames)), _limits(model)

    def split(self, time, state, residual, locked=None):
        """
        Return the parts of a residual (nv,), N·m or N, at a time, s: a dict of (nv,).

        ``friction`` and ``payload`` are those of the parameters that fit, ``contact`` is what they
        leave; their sum is the residual. ``locked`` (nv,) are joints of which the brakes are on.
        Time that goes back begins anew.
        """
        columns = _columns(self._model, state, self._frames)
        if locked is not None:
            columns[locked] = 0.0
        if self._samples and time < self._samples[-1].time:
            self._samples.clear()
            self._x[:] = 0.0
        if not self._samples or time >= self._samples[-1].time + self._interval:
            self._add(time, columns / self._limits[:, None], residual / self._limits)
        split = 2 * self._model.nv
        friction = columns[:, :split] @ self._x[:split]
        payload = columns[:, split:] @ self._x[split:]
        return dict(zip(PARTS, (friction, payload, residual - friction - payload), strict=True))

    def _add(self, time, A, b):
        """Fit the parameters again, with another sample."""
        samples = self._samples
        samples.append(_Sample(time, A, b, A.T @ A, A.T @ b))
        while samples[0].time < time - self._span:
            samples.popleft()
        left = np.array([sample.b - sample.A @ self._x for sample in samples])
        w = _weights(left) ** 2
        self._x = _solve(sum(k * sample.square for k, sample in zip(w, samples, strict=True)),
                         sum(k * sample.right for k, sample in zip(w, samples, strict=True)))[0]


class _Sample(NamedTuple):
    """A state of a `ResidualSplitter`: of ``A x = b``, and of its normal equations."""

    time: float
    A: np.ndarray
    b: np.ndarray
    square: np.ndarray
    right: np.ndarray


def _limits(model):
    """Return the effort limits (nv,), 1 where there is none."""
    return np.where(np.isfinite(model.effort_limits) & (model.effort_limits > 0.0),
                    model.effort_limits, 1.0)


def _weights(left):
    """Return the weights (k,) of states of which (k, nv) is left: the sum of norms is least."""
    rest = np.linalg.norm(left, axis=1)
    return np.maximum(rest, _LEAST_REST * rest.mean() + 1e-12) ** -0.5


def _columns(model, state, frames):
    """Return the columns of Coulomb and viscous friction, and of mass and moment of each frame."""
    friction = np.where(model.locked | model.passive, 0.0, 1.0)
    friction[:6 * model.floating_base] = 0.0
    columns = [-np.diag(friction * np.tanh(state.v / SLIP_VELOCITY)), -np.diag(friction * state.v)]
    for frame, pose in model.forward_kinematics(state, frames).items():
        J = model.jacobian(state, frame)
        turned = np.cross(pose[:3, :3].T, GRAVITY).T  # (R e_i) × g
        columns += [J[:3].T @ GRAVITY[:, None], J[3:].T @ turned]
    return np.column_stack(columns)


def _solve(square, right):
    """Return the least-norm solution of normal equations, and the resolution of each entry."""
    scale = np.sqrt(square.diagonal())
    scale[scale == 0.0] = 1.0
    S, V = np.linalg.eigh(square / np.outer(scale, scale))
    kept = S[-1] * _LEAST_INFLUENCE ** 2 < S
    V = V[:, kept]
    x = V @ ((V.T @ (right / scale)) / S[kept])
    return x / scale, (V ** 2).sum(axis=1)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Least squares of a linear model, some of whose parameters are those of possible bodies.

    minimise  |R θ(x) − r|² + Σ (x_i / s_i)²

in coordinates x of bodies (`inertia`) with a priori standard deviations s, and in further
parameters that are not negative; R and r are the triangular factor of a weighted regressor and of
its right-hand side. By Levenberg and Marquardt's method; further parameters that would be negative
are zero.
"""

from typing import NamedTuple

import numpy as np

from opspace_control.identification.inertia import parameters_at, upper_factor

# Combinations of parameters with a smaller part of the largest singular value are not told: frames
# whose angles a URDF rounds, such as 1.5708, make some that are 4e-6 instead of zero.
_TOLD = 1e-5
# The damping grows or falls by this factor, from a part of the diagonal that is 1e-3.
_DAMPING, _FACTOR = 1e-3, 10.0
_ITERATIONS = 100
_CONVERGED = 1e-10  # of the cost, between two steps
# A coordinate changes by no more in a step: masses by a factor of e².
_LONGEST = 1.0


class Conditioning(NamedTuple):
    """How well a motion tells p parameters: the singular values of columns scaled to unit norm."""

    parameters: int
    """Parameters with any influence on the efforts."""
    rank: int
    """Combinations of them that the motion tells: the number of base parameters."""
    condition: float
    """The largest singular value over the least of these."""
    resolution: np.ndarray
    """(p,) diagonal of the resolution matrix: 1 for a parameter that the motion tells by itself,
    less for one in combination with others only, 0 for one that it does not tell."""


class BodyCoordinates(NamedTuple):
    """Coordinates of a body: of standard parameters (10,), with a priori deviations (10,)."""

    start: np.ndarray
    prior: np.ndarray
    U: np.ndarray

    @classmethod
    def around(cls, theta, prior):
        """Return the coordinates that are zero at θ (10,); its mass is positive."""
        return cls(theta, prior, upper_factor(theta))

    def at(self, x):
        """Return θ (10,) and its Jacobian (10, 10) at coordinates (10,)."""
        theta, jacobian = parameters_at(self.U, x)
        # What `upper_factor` adds to a body without extent is no finding.
        return theta + (self.start - parameters_at(self.U, np.zeros(10))[0]), jacobian


class Solution(NamedTuple):
    """The minimum: coordinates (b, 10), parameters p, their standard deviations."""

    x: np.ndarray
    covariances: np.ndarray
    """(b, 10, 10) of the coordinates of each body."""
    theta: np.ndarray
    """(p,) all parameters: ten of each body, then the further ones."""
    deviation: np.ndarray
    """Of the further parameters; infinite where a parameter has no influence."""


def triangle(A, b):
    """Return the triangular factor (p + 1, p + 1) of equations ``A θ = b``, with b at the end."""
    return np.linalg.qr(np.column_stack([A, b]), mode='r')


def unit_columns(A):
    """Return which columns (p,) of A are not zero, but for rounding; these of norm 1; norms."""
    norms = np.linalg.norm(A, axis=0)
    used = norms > 1e-12 * norms.max(initial=0.0)
    return used, A[:, used] / norms[used], norms[used]


def conditioning(R):
    """Return the `Conditioning` of a triangular factor (p + 1, p + 1)."""
    told, columns, _ = unit_columns(R[:, :-1])
    resolution = np.zeros(told.size)
    if not told.any():
        return Conditioning(0, 0, np.inf, resolution)
    _, values, rows = np.linalg.svd(columns, full_matrices=False)
    rank = int((values > _TOLD * values[0]).sum())
    resolution[told] = (rows[:rank] ** 2).sum(axis=0)
    return Conditioning(int(told.sum()), rank, float(values[0] / values[rank - 1]), resolution)


def minimise(R, bodies):
    """
    Return the `Solution` of a factor (p + 1, p + 1) and of b `BodyCoordinates`.

    The first 10 b parameters are those of the bodies; the further ones are not negative.
    """
    b, p = len(bodies), R.shape[1] - 1
    free = np.ones(p, bool)
    further = slice(10 * b, p)
    free[further] = unit_columns(R[:, :-1])[0][further]
    moved = free.copy()
    y = np.zeros(p)
    while True:
        y = _descend(R, bodies, y, free)
        negative = free & (y < 0.0)
        negative[:10 * b] = False
        if not negative.any():
            break
        free &= ~negative
        y[negative] = 0.0
    theta, jacobian = _parameters(bodies, y)
    J = R[:, :-1] @ jacobian
    information = J.T @ J + np.diag(_weights(bodies, p))
    information[~moved] = information[:, ~moved] = 0.0
    information[~moved, ~moved] = 1.0
    covariance = np.linalg.pinv(information, hermitian=True)
    deviation = np.where(moved, np.sqrt(np.maximum(covariance.diagonal(), 0.0)), np.inf)
    blocks = [covariance[i:i + 10, i:i + 10] for i in range(0, 10 * b, 10)]
    return Solution(y[:10 * b].reshape(b, 10), np.array(blocks).reshape(b, 10, 10), theta,
                    deviation[further])


def _descend(R, bodies, y, free):
    """Return the minimum in the free unknowns, from y (p,)."""
    weights, damping = _weights(bodies, len(y)), _DAMPING

    def at(y):
        theta, jacobian = _parameters(bodies, y)
        residual = R[:, -1] - R[:, :-1] @ theta
        return residual @ residual + weights @ y**2, residual, jacobian

    cost, residual, jacobian = at(y)
    for _ in range(_ITERATIONS):
        J = (R[:, :-1] @ jacobian)[:, free]
        H = J.T @ J + np.diag(weights[free])
        scale = np.maximum(H.diagonal(), 1e-12 * H.diagonal().max())
        gradient = J.T @ residual - (weights * y)[free]
        while damping < 1e12:
            step = np.zeros(len(y))
            step[free] = np.linalg.solve(H + damping * np.diag(scale), gradient)
            longest = abs(step[:10 * len(bodies)]).max(initial=0.0)
            after = y + step * min(1.0, _LONGEST / max(longest, 1e-300))
            now, residual, jacobian = at(after)
            if now <= cost:
                break
            damping *= _FACTOR
        else:
            return y
        y, gain, cost = after, cost - now, now
        damping /= _FACTOR
        if gain <= _CONVERGED * cost:
            break
    return y


def _parameters(bodies, y):
    """Return θ (p,) and its Jacobian (p, p) at all unknowns (p,)."""
    theta, jacobian = y.copy(), np.eye(len(y))
    for k, body in enumerate(bodies):
        part = slice(10 * k, 10 * k + 10)
        theta[part], jacobian[part, part] = body.at(y[part])
    return theta, jacobian


def _weights(bodies, p):
    """Return the inverse a priori variances of all unknowns, (p,)."""
    weights = np.zeros(p)
    for k, body in enumerate(bodies):
        weights[10 * k:10 * k + 10] = body.prior**-2.0
    return weights

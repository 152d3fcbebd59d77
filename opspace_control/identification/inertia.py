# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Inertial parameters of a body that a distribution of positive mass has, and only those.

The pseudo-inertia of ten standard parameters,

    P = [[Σ, h], [hᵀ, m]],   Σ = ½ tr(I) 1 − I,

is positive definite if and only if some distribution of mass has these parameters ([WKS18]): the
mass is positive, the moments of inertia obey the triangle rule. So ``P = (U X)(U X)ᵀ`` with the
Cholesky factor U of a reference and an upper triangular X of positive diagonal has no bounds to
keep: ten coordinates, the logarithms of the diagonal of X and the entries above it ([RW22]).
"""

import numpy as np

# The places of the standard parameters of an inertia: xx, xy, yy, xz, yz, zz.
_ROWS, _COLUMNS = np.array([0, 0, 1, 0, 1, 2]), np.array([0, 1, 1, 2, 2, 2])
_ABOVE = np.triu_indices(4, 1)
# Of the coordinates: four logarithms of a diagonal, then six entries above it.
SHAPE = np.array([True, True, True, False, True, True, False, True, False, False])
# A body without extent in a direction gets this radius of gyration in it, m: less than that is
# a joint's force of 1e-6 N·m for 1 kg at 1 rad/s², which no drive tells.
_GYRATION = 1e-3


def parameters_of_body(mass, center_of_mass, inertia):
    """Return the standard parameters (10,) of a body whose inertia is about its centre of mass."""
    c = np.asarray(center_of_mass, float)
    about_origin = inertia + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.concatenate([[mass], mass * c, about_origin[_ROWS, _COLUMNS]])


def body_of_parameters(theta):
    """Return mass, kg, centre of mass (3,), m, and inertia about it (3, 3), kg m², of θ (10,)."""
    mass = float(theta[0])
    c = theta[1:4] / mass if mass > 0.0 else np.zeros(3)
    return mass, c, _inertia(theta) - mass * (c @ c * np.eye(3) - np.outer(c, c))


def pseudo_inertia(theta):
    """Return the pseudo-inertia P (4, 4) of standard parameters (10,)."""
    inertia = _inertia(theta)
    P = np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    P[:3, 3] = P[3, :3] = theta[1:4]
    P[3, 3] = theta[0]
    return P


def parameters_of_pseudo_inertia(P):
    """Return the standard parameters (10,) of a pseudo-inertia (4, 4), a linear function of it."""
    inertia = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
    return np.concatenate([[P[3, 3]], P[:3, 3], inertia[_ROWS, _COLUMNS]])


def moved_parameters(rotation, position):
    """
    Return the matrix (10, 10) of a change of frame: ``θ' = T θ`` for ``P' = H P Hᵀ``.

    ``rotation`` (3, 3) and ``position`` (3,), m, place the frame of θ in that of θ'.
    """
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = rotation, position
    return np.column_stack([
        parameters_of_pseudo_inertia(H @ pseudo_inertia(unit) @ H.T) for unit in np.eye(10)])


def upper_factor(theta):
    """
    Return the upper triangular U (4, 4) with ``P = U Uᵀ`` of standard parameters (10,).

    Where P is not positive definite, as of a point mass or of a thin rod, moments are raised to
    those of a gyration of 1 mm; the mass, which has to be positive, and its centre stay.
    """
    mass, c, _ = body_of_parameters(theta)
    P = pseudo_inertia(theta)
    moments, axes = np.linalg.eigh(P[:3, :3] - mass * np.outer(c, c))
    moments = np.maximum(moments, mass * _GYRATION**2)
    U = np.zeros((4, 4))
    U[3, 3] = np.sqrt(mass)
    U[:3, 3] = U[3, 3] * c
    central = (axes * moments) @ axes.T
    U[:3, :3] = np.linalg.cholesky(central[::-1, ::-1])[::-1, ::-1]
    return U


def parameters_at(U, x):
    """
    Return θ (10,) at coordinates x (10,), and its Jacobian (10, 10), [RW22].

    At ``x = 0`` they are those of the reference, ``P = U Uᵀ``.
    """
    X = np.diag(np.exp(x[:4]))
    X[_ABOVE] = x[4:]
    B = U @ X
    rates = np.zeros((10, 4, 4))  # of X by each coordinate
    rates[np.diag_indices(4, 3)] = X.diagonal()
    rates[(np.arange(4, 10), *_ABOVE)] = 1.0
    half = U @ rates @ B.T
    return parameters_of_pseudo_inertia(B @ B.T), np.column_stack([
        parameters_of_pseudo_inertia(rate) for rate in half + half.transpose(0, 2, 1)])


def _inertia(theta):
    """Return the inertia (3, 3) about the origin of the body's frame."""
    inertia = np.empty((3, 3))
    inertia[_ROWS, _COLUMNS] = inertia[_COLUMNS, _ROWS] = theta[4:]
    return inertia

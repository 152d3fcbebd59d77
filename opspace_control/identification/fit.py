# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The fit of drive friction and of inertial parameters to a motion and its efforts.

    τ = Y(q, v, v̇) θ + F_c sign(v) + b v

is linear in all parameters ([AAH86]). Each joint's equations are divided by the standard deviation
of their residual, and reduced to a triangle by a QR decomposition. Inertial parameters are
functions of coordinates that only possible bodies have, which are a priori near those of the URDF:
so what the motion does not tell stays as it is (`least_squares`).
"""

from dataclasses import dataclass

import numpy as np

from opspace_control.errors import StateError
from opspace_control.identification.inertia import (
    SHAPE,
    body_of_parameters,
    moved_parameters,
    parameters_of_body,
)
from opspace_control.identification.least_squares import (
    BodyCoordinates,
    Conditioning,
    conditioning,
    minimise,
    triangle,
    unit_columns,
)
from opspace_control.identification.regressor import (
    columns_of_joints,
    inertial_parameters,
    inertial_regressor,
    inverse_dynamics,
    moving_bodies,
)
from opspace_control.model.nodes import WORLD

# A priori standard deviation of a link's coordinates: masses within a factor of two, centres of
# mass within a third of the radius of gyration.
PRIOR = 0.35
# A payload is first guessed to be this large, its radius of gyration in m, and as sure is that: a
# factor of e at one standard deviation. Its mass and centre of mass are free.
_GYRATION, _SHAPE, _FREE = 0.05, 1.0, 1e3


@dataclass(frozen=True, eq=False)
class FittedBody:
    """A link with all that is welded to it, or a payload, in the axes of its link."""

    link: str
    """Its link."""
    before: np.ndarray
    """(10,) standard parameters in the model, kg, kg m, kg m²; zeros of a payload."""
    after: np.ndarray
    """(10,) standard parameters by the fit."""
    deviation: np.ndarray
    """(4,) standard deviations of mass, kg, and centre of mass, m, after the fit."""
    prior: np.ndarray
    """(4,) the same before."""

    @property
    def identified(self):
        """Which of mass and centre of mass the motion tells, (4,) bool: to half of the prior."""
        return self.deviation < 0.5 * self.prior


@dataclass(frozen=True, eq=False)
class Identification:
    """What a fit found, and how well; joint vectors (nv,) are in dof order."""

    coulomb: np.ndarray
    """N·m or N; NaN where the joint did not move."""
    viscous: np.ndarray
    """N·m·s/rad or N·s/m; likewise."""
    coulomb_deviation: np.ndarray
    """Its standard deviation."""
    viscous_deviation: np.ndarray
    """Its standard deviation."""
    bodies: tuple
    """`FittedBody`."""
    conditioning: Conditioning
    """Of the linear problem: ten parameters of each body, Coulomb, then viscous friction."""
    before: np.ndarray
    """Root mean square of the effort's error in held-out samples before the fit, N·m or N."""
    after: np.ndarray
    """The same after it; NaN of joints without such samples."""
    counts: tuple
    """(fitted, held out): how many efforts of joints."""


def identify(model, samples, *, links=(), payload=None, nodes=None, friction=None):
    """
    Return the `Identification` of friction, and of links or of a payload, [AAH86].

    Parameters
    ----------
    model : RobotModel
        The robot as its URDF has it.
    samples : MotionSamples
        Of its motion, which nothing else touched.
    links : sequence of str
        Links whose bodies are fitted, each with all that is welded to it; None for every one.
    payload : str, optional
        A link with an unknown payload, instead of links.
    nodes : (n,) array of NODE, optional
        The model's, with known payloads.
    friction : (2, nv) array, optional
        Coulomb and viscous friction of the model before; none if not given.

    Raises
    ------
    StateError
        If no joint moves fast enough, or the link of a payload never moves.
    ModelError
        For an unknown link.

    """
    nodes = model.nodes if nodes is None else nodes
    friction = np.zeros((2, model.nv)) if friction is None else np.asarray(friction, float)
    validation = samples.validation[:, None]
    train, test = samples.usable & ~validation, samples.usable & validation
    if not train.any():
        raise StateError('No joint moves fast enough for its friction to be told.',
                         cure='Record a motion of `opspace identify --excite`.')
    motion = samples.q, samples.v, samples.acceleration
    known = inverse_dynamics(model, nodes, *motion)
    names, columns, rest = [], [], known
    if payload is not None:
        names, columns = [payload], [_payload_columns(model, motion, payload)]
    elif links is None or len(links):
        fitted = _fitted(model, links)
        names = [body_link(model, node) for node in fitted]
        theta = inertial_parameters(nodes, fitted)
        columns = [inertial_regressor(model, *motion, fitted)]
        rest = known - columns[0] @ theta
    columns += [columns_of_joints(samples.direction), columns_of_joints(samples.v)]
    A, b = np.concatenate(columns, axis=2), samples.effort - rest
    weights = _weights(A, b, train)
    R = triangle((A * weights[:, None])[train], (b * weights)[train])
    if payload is not None:
        bodies = [_guessed_payload(R)]
        if bodies[0] is None:  # nothing is there
            bodies, names, A, R = [], [], A[..., 10:], triangle(R[:, 10:-1], R[:, -1])
    else:
        bodies = [BodyCoordinates.around(part, np.full(10, PRIOR))
                  for part in (theta.reshape(-1, 10) if names else ())]
    found = minimise(R, bodies)
    before = known + friction[0] * samples.direction + friction[1] * samples.v
    dry, viscous = np.where(np.isfinite(found.deviation), found.theta[10 * len(bodies):],
                            np.nan).reshape(2, -1)
    return Identification(
        dry, viscous, *found.deviation.reshape(2, -1),
        bodies=tuple(_fitted_body(name, *parts, payload is not None) for name, *parts in zip(
            names, bodies, found.x, found.covariances, strict=True)),
        conditioning=conditioning(R),
        before=_rms(before - samples.effort, test), after=_rms(A @ found.theta - b, test),
        counts=(int(train.sum()), int(test.sum())))


def body_link(model, node):
    """Return the link whose frame is that of a node's body: the others are welded to it."""
    return model.frame_names[int(np.argmax(model.frames['node'] == node))]


def _fitted(model, links):
    """Return the nodes of links' bodies, each once."""
    moving = moving_bodies(model)
    if links is None:
        return [node for node in moving if model.nodes[node]['mass'] > 0.0]
    wanted = dict.fromkeys(int(model.frames[model.frame_index(link)]['node']) for link in links)
    for link, node in zip(links, wanted, strict=False):
        if node == WORLD or not model.nodes[node]['mass'] > 0.0:
            raise StateError(f"'{link}' has no mass that moves.", cure='Name a link that has.')
    return list(wanted)


def _payload_columns(model, motion, link):
    """Return the regressor (k, nv, 10) of a body in the axes of a link."""
    frame = model.frames[model.frame_index(link)]
    if frame['node'] == WORLD:
        raise StateError(f"'{link}' never moves: no motion tells its payload.",
                         cure='Name a link that moves.')
    return inertial_regressor(model, *motion, [int(frame['node'])]) @ moved_parameters(
        frame['rotation'], frame['position'])


def _guessed_payload(R):
    """Return the coordinates of a payload, the first ten parameters; None if there is none."""
    used, A, norms = unit_columns(R[:, np.r_[0:4, 10:R.shape[1] - 1]])
    covariance = np.linalg.pinv(A.T @ A)
    theta = np.zeros(used.size)
    theta[used] = covariance @ A.T @ R[:, -1] / norms
    mass, deviation = theta[0], np.sqrt(covariance[0, 0]) / norms[0]
    if not mass > 3.0 * deviation:
        return None
    start = parameters_of_body(mass, theta[1:4] / mass, mass * _GYRATION**2 * np.eye(3))
    return BodyCoordinates.around(start, np.where(SHAPE, _SHAPE, _FREE))


def _weights(A, b, train):
    """Return one over the standard deviation of each joint's residual, (nv,)."""
    _, A, _ = unit_columns(A[train])
    b, dofs = b[train], np.nonzero(train)[1]
    residual = b - A @ np.linalg.lstsq(A, b, rcond=1e-10)[0]
    counts = np.maximum(np.bincount(dofs, minlength=train.shape[1]), 1)
    variance, size = (np.bincount(dofs, x**2, train.shape[1]) / counts for x in (residual, b))
    # A simulated drive has a residual of rounding only: no joint may outweigh all others for that.
    least = 1e-3 * np.sqrt(size.max())
    return 1.0 / np.maximum(np.sqrt(variance), max(least, np.finfo(float).tiny))


def _fitted_body(link, body, x, covariance, payload):
    """Return the `FittedBody` of coordinates and their covariance."""
    before = _mass_and_center(*body.at(np.zeros(10)))
    theta, jacobian = body.at(x)
    after = _mass_and_center(theta, jacobian)
    return FittedBody(
        link, np.zeros(10) if payload else body.start, theta,
        np.sqrt(np.einsum('ik,kl,il->i', after, covariance, after)),
        np.sqrt((before**2) @ body.prior**2))


def _mass_and_center(theta, jacobian):
    """Return the Jacobian (4, 10) of mass and centre of mass by the coordinates."""
    mass, center, _ = body_of_parameters(theta)
    rates = jacobian[:4].copy()
    rates[1:] = (rates[1:] - np.outer(center, rates[0])) / mass
    return rates


def _rms(errors, mask):
    """Return the root mean square (nv,) of errors where a mask is true, NaN where it never is."""
    counts = mask.sum(axis=0)
    squares = np.where(mask, errors, 0.0) ** 2
    return np.sqrt(np.where(counts, squares.sum(axis=0) / np.maximum(counts, 1), np.nan))

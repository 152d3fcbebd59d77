# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The virtual linkage: resultant and internal forces of the grasps of one object.

Williams and Khatib 1993: actuated members of a linkage between the grasp points model the internal
forces, spherical joints at the points the internal moments; [RKR95] (23).
"""

import itertools

import numpy as np

from opspace_control.errors import ModelError

# Grasps closer than this fraction of the greatest distance count as coincident.
_COINCIDENT = 1e-6
# Principal moments of the points below this fraction of the greatest are those of a line.
_COLLINEAR = 1e-9


class VirtualLinkage:
    """
    The statics of N grasps of one object, all in the object's frame.

    The wrenches ``h_i = [f_i; m_i]`` that effectors exert on the object at their grasp points, N
    and N m, have a resultant F, about the object's origin, and 6 N − 6 internal components without
    resultant:

    - the tension of each member, negative for a compressed member: of the line between two grasps,
      the triangle of three, and three more members for each further grasp;
    - the moment at each grasp, balanced by forces of all grasps.

    The resultant is distributed with least forces. For collinear grasps forces have no moment about
    the line; that moment is distributed equally. For four or more grasps in one plane the members
    do not span all internal forces; the others are kept at zero.

    Parameters
    ----------
    points : (N, 3) array_like
        Grasp points in the object's frame, m. A ModelError refuses fewer than two, and two at one
        place.
    turning : (N,) array_like of bool, optional
        Which grasps can exert moments; all if not given. A fingertip cannot. If none can and all
        are collinear, the object has no moment about the line.

    Attributes
    ----------
    members : tuple of (i, j)
        Grasps that each member connects.

    """

    middle = property(lambda self: self._center.copy(), doc='Mean of the grasp points, (3,), m.')
    turn = property(lambda self: self._turn.copy(), doc="Pseudo-inverse of the points' leverage "
                    '``Σ |u|² − u uᵀ`` about their middle, (3, 3), 1/m².')

    def __init__(self, points, turning=True):
        points = np.array(points, float)
        if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2 \
                or not np.isfinite(points).all():
            raise ModelError(f'Grasp points of shape {points.shape} make no linkage.',
                             cure='Give two or more points (N, 3).', value=points)
        self.points = points
        self.turning = np.broadcast_to(np.array(turning, bool), len(points))
        self._turners = max(int(self.turning.sum()), 1)
        self.members = members(len(points))
        lines = np.array([points[j] - points[i] for i, j in self.members])
        lengths = np.linalg.norm(lines, axis=1)
        for (i, j), length in zip(self.members, lengths, strict=True):
            if not length > _COINCIDENT * lengths.max():
                raise ModelError(f'Grasps {i} and {j} are at one place.', value=points[i],
                                 cure='Give one effector for each place.')
        E = np.zeros((len(points), 3, len(self.members)))
        for k, (i, j) in enumerate(self.members):
            E[i, :, k], E[j, :, k] = -lines[k] / lengths[k], lines[k] / lengths[k]
        self._members = E.reshape(-1, len(self.members))
        self._strain = np.linalg.pinv(self._members, rcond=1e-9)
        self._center = points.mean(axis=0)
        self._arms = points - self._center
        square = (self._arms ** 2).sum()
        leverage = square * np.eye(3) - self._arms.T @ self._arms
        eigenvalues, vectors = np.linalg.eigh(leverage)
        turned = vectors[:, eigenvalues > _COLLINEAR * square]
        self._turn = np.linalg.pinv(leverage, rcond=_COLLINEAR, hermitian=True)
        self._about_line = np.zeros((3, 3)) if turned.shape[1] == 3 else (
            np.eye(3) - turned @ turned.T)  # the axis about which forces have no moment

    def resultant(self, wrenches):
        """Return the resultant (6,) of the grasps' wrenches (N, 6), about the object's origin."""
        wrenches = np.asarray(wrenches, float)
        moments = wrenches[:, 3:] + np.cross(self.points, wrenches[:, :3])
        return np.concatenate([wrenches[:, :3].sum(axis=0), moments.sum(axis=0)])

    def internal(self, wrenches):
        """Return the internal forces of wrenches (N, 6): tensions of members and moments (N, 3)."""
        wrenches = np.asarray(wrenches, float)
        moments = np.where(self.turning[:, None], wrenches[:, 3:], 0.0)
        common = self._about_line @ moments.sum(axis=0) / self._turners
        moments -= np.outer(self.turning, common)
        return self._strain @ wrenches[:, :3].ravel(), moments

    def wrenches(self, resultant=0.0, tensions=0.0, moments=0.0):
        """
        Return the wrenches (N, 6) of a resultant (6,), tensions of members and moments (N, 3).

        One number is for all. Moments along the line of two grasps count by their difference.
        """
        N = len(self.points)
        tensions = np.broadcast_to(np.asarray(tensions, float), len(self.members))
        moments = np.broadcast_to(np.asarray(moments, float), (N, 3)) * self.turning[:, None]
        force, moment = np.broadcast_to(np.asarray(resultant, float), 6).reshape(2, 3)
        about_center = moment - np.cross(self._center, force)
        missing = about_center - moments.sum(axis=0)
        result = np.empty((N, 6))
        result[:, :3] = force / N + np.cross(self._turn @ missing, self._arms)
        result[:, :3] += (self._members @ tensions).reshape(N, 3)
        result[:, 3:] = moments + np.outer(
            self.turning, self._about_line @ missing / self._turners)
        return result

    def internal_basis(self, tensions=True, moments=True):
        """
        Return an orthonormal basis of internal wrenches, (k, N, 6).

        Of ``tensions`` except the equal tension of all members, the grasp force, and of
        ``moments``, which are scaled by the distance of the grasps from their middle, so that all
        are in N.
        """
        N, k = len(self.points), len(self.members)
        parts = [np.zeros((0, N, 6))]
        if tensions:
            parts.append([self.wrenches(tensions=part) for part in np.eye(k) - 1.0 / k])
        if moments:
            parts.append([self.wrenches(moments=part.reshape(N, 3)) for part in np.eye(3 * N)])
        lengths = np.repeat([1.0, self.length], 3)
        _, sizes, basis = np.linalg.svd(
            (np.concatenate(parts) / lengths).reshape(-1, 6 * N), full_matrices=False)
        basis = basis[sizes > 1e-9 * sizes.max(initial=0.0)]
        return basis.reshape(-1, N, 6) * lengths

    @property
    def line(self):
        """Direction (3,) of the line about which the grasps have no moment; zeros if none."""
        if self.turning.any() or not self._about_line.any():
            return np.zeros(3)
        return np.linalg.eigh(self._about_line)[1][:, -1]

    @property
    def length(self):
        """Root mean square distance of the points from their middle, m."""
        return float(np.sqrt((self._arms ** 2).sum(axis=1).mean()))

    @property
    def inverse_leverage(self):
        """
        Inverse of ``Σ |u|² − u uᵀ + ℓ² n``, (3, 3), 1/m², n grasps exerting moments.

        ℓ is the `length`. The pseudo-inverse if no grasp exerts moments.
        """
        moments = self.length ** 2 * self.turning.sum() * np.eye(3)
        leverage = (self._arms ** 2).sum() * np.eye(3) - self._arms.T @ self._arms
        return np.linalg.pinv(leverage + moments, rcond=_COLLINEAR, hermitian=True)

    @property
    def grasp_matrix(self):
        """
        G of [RKR95] (23), (6 + members + 3 N, 6 N): wrenches to resultant, tensions and moments.

        Square where three or more grasps are not on one line and, from four on, not in one plane.
        """
        N = len(self.points)
        columns = []
        for unit in np.eye(6 * N):
            wrenches = unit.reshape(N, 6)
            tensions, moments = self.internal(wrenches)
            columns.append(np.concatenate([self.resultant(wrenches), tensions, moments.ravel()]))
        return np.array(columns).T

    @property
    def distribution(self):
        """G⁻¹, (6 N, 6 + members + 3 N): resultant, tensions and moments to wrenches."""
        N, k = len(self.points), len(self.members)
        return np.array([self.wrenches(unit[:6], unit[6:6 + k], unit[6 + k:].reshape(N, 3)).ravel()
                         for unit in np.eye(6 + k + 3 * N)]).T


def members(grasps):
    """Return the pairs of grasps that members connect: 3 (N − 2), or one for two grasps."""
    triangle = itertools.combinations(range(min(grasps, 3)), 2)
    return (*triangle, *((other, i) for i in range(3, grasps) for other in (0, i - 2, i - 1)))

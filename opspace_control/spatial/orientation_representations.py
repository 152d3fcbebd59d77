# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Descriptions x_r of an orientation, and their rates: E of [K87] (5.2), ``ẋ_r = E(x_r) ω``.

All angular vectors are in base axes. Tasks measure orientation by the rotation vector, [K87] V,
which needs none of these; they are for goals, gains and logs in other coordinates.
"""

import numpy as np

from opspace_control.errors import TaskError
from opspace_control.spatial.rotations import matrix_from_quaternion, quaternion_from_matrix

# Sine of the angle to a singularity of Euler angles at which half of the digits are lost.
_SINGULAR = 1e-8


class OrientationRepresentation:
    """
    A set of k parameters x_r of an orientation, [K87] (5.2).

    `EulerAngles`, `EulerParameters` and `DirectionCosines` are such; ``size`` is k. The Jacobian of
    the parameters is ``E(x_r) J_ω``, J_ω the angular rows of the basic one.

    To control in these parameters, let ``ẍ_r`` be the reference, such as ``kp (x_d − x_r) − kd
    ẋ_r``, and give `angular_acceleration` of it to an orientation task with ``kp = kd = 0`` as
    feed-forward, in every cycle. Differences of angles are to be taken the short way round, those
    of Euler parameters with the sign that makes them small.
    """

    size = 0
    """k, the number of parameters."""
    _inverse_scale = None  # s of E⁺ = s Eᵀ, for E linear in the parameters

    def parameters(self, rotation):
        """Return x_r (k,) of a rotation matrix (3, 3)."""
        raise NotImplementedError

    def rotation(self, parameters):
        """Return the rotation matrix (3, 3) of x_r (k,)."""
        raise NotImplementedError

    def matrix(self, parameters):
        """Return E (k, 3): ``ẋ_r = E ω``."""
        raise NotImplementedError

    def inverse(self, parameters):
        """Return E⁺ (3, k): ``ω = E⁺ ẋ_r``, and ``E⁺ E = 1``."""
        return self._inverse_scale * self.matrix(parameters).T

    def inverse_rate(self, parameters, rate):
        """Return the rate of E⁺, (3, k), for parameters that change at ``rate`` (k,), 1/s."""
        return self.inverse(rate)

    def rate(self, parameters, angular_velocity):
        """Return ẋ_r (k,) of ω (3,), rad/s."""
        return self.matrix(parameters) @ np.asarray(angular_velocity, dtype=float)

    def angular_velocity(self, parameters, rate):
        """Return ω (3,), rad/s, of parameters that change at ``rate`` (k,)."""
        return self.inverse(parameters) @ np.asarray(rate, dtype=float)

    def angular_acceleration(self, parameters, rate, second_rate):
        """Return ``ω̇ = E⁺ ẍ_r + dE⁺/dt ẋ_r`` (3,), rad/s², of rates (k,), 1/s and 1/s²."""
        return (self.inverse(parameters) @ np.asarray(second_rate, dtype=float)
                + self.inverse_rate(parameters, rate) @ np.asarray(rate, dtype=float))


class EulerAngles(OrientationRepresentation):
    """
    Three angles, rad, about axes in turn.

    ``axes`` are three of ``x y z``, no two alike next to each other, such as ``zyx`` or ``zyz``;
    else a TaskError is raised. With ``fixed`` False they are the axes as the angles before have
    turned them, ``R = R_1 R_2 R_3``; with True those of the base, ``R = R_3 R_2 R_1``:
    ``EulerAngles('xyz', fixed=True)`` is roll, pitch and yaw of URDF and ROS.

    Where the second angle makes the first and the third axis parallel, ``matrix`` and ``rate``
    raise a TaskError: at ±π/2 if all axes differ, at 0 and π otherwise. `parameters` gives the
    third angle as 0 there, of fixed axes the first one.
    """

    size = 3

    def __init__(self, axes, fixed=False):
        good = (isinstance(axes, str) and len(axes) == 3 and set(axes) <= set('xyz')
                and axes[0] != axes[1] != axes[2])
        if not good:
            raise TaskError(f'Euler angles about {axes!r} do not describe all orientations.',
                            cure="Name three axes, neighbours different, such as 'zyx' or 'zyz'.",
                            value=axes)
        self.axes, self.fixed = axes, bool(fixed)
        # Rotations about fixed axes are those about rotated ones in reverse order.
        self._order = slice(None, None, -1 if fixed else 1)
        self._axes = ['xyz'.index(axis) for axis in axes][self._order]

    def __repr__(self):
        return f'EulerAngles({self.axes!r}, fixed={self.fixed})'

    def parameters(self, rotation):
        """Return the angles (3,) of a rotation matrix (3, 3): in (−π, π], the second in half."""
        R = np.asarray(rotation, dtype=float)
        i, j, last = self._axes
        k = 3 - i - j
        sign = 1.0 if (j - i) % 3 == 1 else -1.0  # e_i × e_j = ± e_k
        if last == i:
            sine, cosine = np.hypot(R[i, j], R[i, k]), R[i, i]
            first, third = (R[j, i], -sign * R[k, i]), (R[i, j], sign * R[i, k])
            distance = sine
        else:
            sine, cosine = sign * R[i, k], np.hypot(R[i, i], R[i, j])
            first, third = (-sign * R[j, k], R[k, k]), (-sign * R[i, j], R[i, i])
            distance = cosine
        if distance < _SINGULAR:
            first, third = (sign * R[k, j], R[j, j]), (0.0, 1.0)
        angles = np.arctan2([first[0], sine, third[0]], [first[1], cosine, third[1]])
        return angles[self._order]

    def rotation(self, parameters):
        """Return the rotation matrix (3, 3) of the angles (3,)."""
        R_1, R_2, R_3 = self._turns(parameters)
        return R_1 @ R_2 @ R_3

    def matrix(self, parameters):
        """Return E (3, 3), which is the inverse of `inverse`; raises TaskError where it is not."""
        second = np.asarray(parameters, dtype=float)[1]
        alike = self._axes[0] == self._axes[2]
        if abs(np.sin(second) if alike else np.cos(second)) < _SINGULAR:
            raise TaskError(f'Euler angles {self.axes} are singular at {second:.6g} rad: their '
                            'first and third axis are parallel.', value=second,
                            cure='Use other axes, or EulerParameters, which have no singularity.')
        return np.linalg.inv(self.inverse(parameters))

    def inverse(self, parameters):
        """Return E⁻¹ (3, 3): its columns are the axes, in base axes."""
        return np.column_stack(self._carried(parameters)[self._order])

    def inverse_rate(self, parameters, rate):
        """Return the rate of E⁻¹, (3, 3), 1/s: each axis turns with the angles before it."""
        rate = np.asarray(rate, dtype=float)[self._order]
        turning, columns = np.zeros(3), []
        for axis, speed in zip(self._carried(parameters), rate, strict=True):
            columns.append(np.cross(turning, axis))
            turning = turning + speed * axis
        return np.column_stack(columns[self._order])

    def _turns(self, parameters):
        """Return the rotations about each axis, in the order in which they multiply."""
        turns = []
        for axis, angle in zip(self._axes, np.asarray(parameters, dtype=float)[self._order],
                               strict=True):
            j, k = (axis + 1) % 3, (axis + 2) % 3
            R = np.eye(3)
            R[j, j] = R[k, k] = np.cos(angle)
            R[k, j] = np.sin(angle)
            R[j, k] = -R[k, j]
            turns.append(R)
        return turns

    def _carried(self, parameters):
        """Return the axes in base axes, in the order in which the rotations multiply."""
        R_1, R_2, _ = self._turns(parameters)
        unit = np.eye(3)
        return [unit[self._axes[0]], R_1 @ unit[self._axes[1]], R_1 @ R_2 @ unit[self._axes[2]]]


class EulerParameters(OrientationRepresentation):
    """The four Euler parameters, the unit quaternion ``[x y z w]``; no singularity."""

    size, _inverse_scale = 4, 4.0

    def parameters(self, rotation):
        """Return the quaternion (4,), w ≥ 0, of a rotation matrix (3, 3)."""
        return quaternion_from_matrix(rotation)

    def rotation(self, parameters):
        """Return the rotation matrix (3, 3) of a unit quaternion (4,)."""
        return matrix_from_quaternion(parameters)

    def matrix(self, parameters):
        """Return E (4, 3), ``½ [w − [x]×; −xᵀ]``."""
        x, y, z, w = np.asarray(parameters, dtype=float)
        return 0.5 * np.array([[w, z, -y], [-z, w, x], [y, -x, w], [-x, -y, -z]])


class DirectionCosines(OrientationRepresentation):
    """The nine direction cosines: the columns of the rotation matrix, one below the other."""

    size, _inverse_scale = 9, 0.5

    def parameters(self, rotation):
        """Return the columns (9,) of a rotation matrix (3, 3)."""
        return np.array(rotation, dtype=float).T.reshape(9)

    def rotation(self, parameters):
        """Return the rotation matrix (3, 3) of its columns (9,)."""
        return np.array(parameters, dtype=float).reshape(3, 3).T

    def matrix(self, parameters):
        """Return E (9, 3): ``−[s]×`` of each column s."""
        columns = np.asarray(parameters, dtype=float).reshape(3, 3)
        return np.vstack([np.cross(np.eye(3), column).T for column in columns])

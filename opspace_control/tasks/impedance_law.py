# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The impedance of a task and its compiled law: a spring and a damper with the robot's own inertia.

``F = K e − D ẋ``, ``D = 2 ζ K^½ (K^½ Λ⁻¹ K^½)^−½ K^½`` with the present Λ: all modes of
``Λ ẍ + D ẋ + K x = 0`` have the damping ratio ζ, in every posture.
"""

import math

import numpy as np

from opspace_control.compiled import inlined, recorded
from opspace_control.spatial.eigen import diagonalise, reflect, reflect_back, tridiagonalise
from opspace_control.spatial.rotations import rotation_vector, turn_about
from opspace_control.spatial.vectors import multiply_transpose
from opspace_control.tasks.arguments import TaskPart, refuse_none, task_numbers
from opspace_control.tasks.specification_law import take_components

# The spring of one task, along its axes.
SPRING = np.dtype([
    ('stiffness', np.float64, (6,)),  # K, N/m and N m/rad
    ('damping_ratio', np.float64),    # ζ, without unit
    ('p', np.float64, (3,)),          # its far end, on the way to the goal, m; NaN: at the point
    ('R', np.float64, (3, 3)),
    ('stretch', np.float64, (6,)),    # from the point to the far end, m and rad
], align=True)

# Modes this much slower than the fastest are rounding of singular directions; (1/s²)/(1/s²).
_LOST = 1e-13

# Above it the fast half of every mode is faster than any control cycle.
_HIGHEST_RATIO = 10.0


@inlined
def speed_of(twist, first):
    """Return the length of three components of a twist."""
    x, y, z = twist[first], twist[first + 1], twist[first + 2]
    return math.sqrt(x * x + y * y + z * z)


@inlined
def stretch_spring(task, dt, R_error):
    """
    Move the far end of the spring towards the goal, and write the stretch of the spring.

    It moves at V_max of [K87] (4.5) plus the speed of the goal: the force of a far goal is that of
    a near one, and displacing the robot never slackens the spring.
    """
    spring = task.spring
    p, R, stretch = spring.p, spring.R, spring.stretch
    if math.isnan(p[0]):
        for r in range(3):
            p[r] = task.p[r]
            for c in range(3):
                R[r, c] = task.R[r, c]
    for r in range(3):
        stretch[r] = task.target_p[r] - p[r]
    multiply_transpose(task.target_R, R, R_error)
    rotation_vector(R_error, stretch, 3)
    far = speed_of(stretch, 0)
    step = (task.max_linear_velocity + speed_of(task.target_twist, 0)) * dt
    for r in range(3):
        p[r] = task.target_p[r] if not far > step else p[r] + step / far * stretch[r]
    far = speed_of(stretch, 3)
    step = (task.max_angular_velocity + speed_of(task.target_twist, 3)) * dt
    if far > step:
        x, y, z = stretch[3] / far, stretch[4] / far, stretch[5] / far
        for c in range(3):  # the axis, in the axes of what turns
            stretch[c] = R[0, c] * x + R[1, c] * y + R[2, c] * z
        turn_about(stretch, math.sin(step), math.cos(step), R)
    else:
        for r in range(3):
            for c in range(3):
                R[r, c] = task.target_R[r, c]
    for r in range(3):
        stretch[r] = p[r] - task.p[r]
    multiply_transpose(R, task.R, R_error)
    rotation_vector(R_error, stretch, 3)
    if task.turned:
        take_components(task, stretch)


@inlined
def damp_modes(spring, L, first, x, small):
    """
    Replace ``K^½ v`` in ``x`` (6,) by ``2 ζ M^−½ K^½ v``, ``M = K^½ Λ⁻¹ K^½``, by the modes of M.

    The ω² of the modes are the eigenvalues of M. A singular direction has neither motion nor
    damping. ``small[2, 3]`` is the diagonal of K^½.
    """
    matrix, vectors = small[0], small[1]
    squares, along, root = small[2, 0], small[2, 1], small[2, 3]
    for r in range(6):
        for c in range(r + 1):
            matrix[r, c] = root[r] * L[first + r, first + c] * root[c]
    tridiagonalise(matrix, squares, along)
    diagonalise(squares, along, vectors)
    for k in range(4):
        reflect(matrix, k, x)
    lost = 0.0
    for k in range(6):
        lost = max(lost, _LOST * squares[k])
    for k in range(6):
        gain = 0.0 if squares[k] <= lost else 2.0 * spring.damping_ratio / math.sqrt(squares[k])
        t = 0.0
        for r in range(6):
            t += vectors[k, r] * x[r]
        along[k] = gain * t
    for r in range(6):
        t = 0.0
        for k in range(6):
            t += vectors[k, r] * along[k]
        x[r] = t
    reflect_back(matrix, x)


@inlined
def impede(task, L, first, small):
    """
    Write the wrench of spring and damper, and the axes along which it may move the point.

    After `demand_pose` of the task. L (k, k) is Λ⁻¹ of all tasks, lower triangle, along their axes,
    ``first`` the task's first row; ``small`` (3, 6, 6) is scratch.
    """
    spring, wrench, motion = task.spring, task.spring_wrench, task.motion
    x, root = small[2, 2], small[2, 3]
    for r in range(6):
        root[r] = math.sqrt(motion[r] * spring.stiffness[r])
        x[r] = root[r] * task.rate[r]
    damp_modes(spring, L, first, x, small)
    for r in range(6):
        if motion[r] > 0.0:
            wrench[r] = task.activation * task.impedance * root[r] * (
                root[r] * spring.stretch[r] + x[r])
            task.compliant[r] = task.impedance * motion[r] / (motion[r] + task.force.axes[r])


class Impedance(TaskPart):
    """
    A spring between a task's frame and its goal, and a damper; the inertia is the robot's own.

    ``F = K e − D ẋ``: a force f along an axis displaces the frame by f / K. The damping ratio does
    not depend on the posture.

    Parameters
    ----------
    stiffness : float or (6,) array
        K, N/m for three linear axes, N·m/rad for three angular ones.
    damping_ratio : float
        ζ, without unit; 1 is critical.

    """

    stiffness = recorded('stiffness', 'K, (6,), N/m and N·m/rad.')
    damping_ratio = recorded('damping_ratio', 'ζ, without unit.')

    def __init__(self, stiffness=(500.0, 500.0, 500.0, 50.0, 50.0, 50.0), damping_ratio=1.0):
        super().__init__('impedance', SPRING)
        self._record['p'] = np.nan
        refuse_none(self._owner, stiffness=stiffness, damping_ratio=damping_ratio)
        self.set(stiffness, damping_ratio)

    def set(self, stiffness=None, damping_ratio=None):
        """Change stiffness or damping ratio; those not given stay."""
        K = (self.stiffness if stiffness is None
             else task_numbers(stiffness, 'stiffness', self._owner, (6,), lowest=0.0))
        zeta = self.damping_ratio if damping_ratio is None else task_numbers(
            damping_ratio, 'damping_ratio', self._owner, above=0.0, highest=_HIGHEST_RATIO)
        self._record['stiffness'], self._record['damping_ratio'] = K, zeta

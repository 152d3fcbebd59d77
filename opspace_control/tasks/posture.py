# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The posture task: what the joints do in the null space of everything else."""

import math

import numpy as np

from opspace_control.compiled import inlined
from opspace_control.errors import ModelError, TaskError
from opspace_control.model.nodes import PRISMATIC, QUATERNION, REVOLUTE
from opspace_control.spatial.rotations import rotation_vector, turn_by_quaternion
from opspace_control.spatial.vectors import multiply_transpose
from opspace_control.tasks.gains import damping_gain, stiffness_gain

POSTURE_GAIN = np.dtype([('kp', np.float64), ('kd', np.float64)])  # a dof: 1/s², 1/s


@inlined
def demand_posture(nodes, gains, target, q, v, R, a):
    """
    Write the joint accelerations the posture asks for, q̈_null of [CK00] (11).

    ``kp (q_d − q) − kd v``; the second term alone is the null-space damping of [K87] (7.6), exactly. A
    target coordinate that is NaN becomes the present one. Quaternions differ by the rotation vector
    between them, in the joint frame's axes. ``R`` (3, 3, 3) is scratch.
    """
    for i in range(nodes.size):
        node = nodes[i]
        k, j = node.v_index, node.q_index
        if k < 0:
            continue
        if node.kind == REVOLUTE or node.kind == PRISMATIC:
            if math.isnan(target[j]):
                target[j] = q[j]
            a[k] = gains[k].kp * (target[j] - q[j]) - gains[k].kd * v[k]
        elif node.kind == QUATERNION:
            if math.isnan(target[j]):
                for r in range(j, j + 4):
                    target[r] = q[r]
            for r in range(3):
                for c in range(3):
                    R[0, r, c] = R[1, r, c] = 1.0 if r == c else 0.0
            turn_by_quaternion(target, j, R[0])
            turn_by_quaternion(q, j, R[1])
            multiply_transpose(R[0], R[1], R[2])
            rotation_vector(R[2], a, k - 2)
            for r in range(k - 2, k + 1):
                a[r] = gains[r].kp * a[r] - gains[r].kd * v[r]


class PostureTask:
    """
    Advise the joints' motion where the other tasks leave it free, [CK00] 2.2, (11).

    The robot does the closest thing, in the metric of its kinetic energy, that disturbs no task.
    Without a goal, a joint holds the position first seen.

    Parameters
    ----------
    kp : float, or dict of str to float
        Stiffness of each joint's unit mass, 1/s². A dict names joints; ``default`` is for the rest.
    kd : float, or dict of str to float
        Damping, 1/s; negative is critical. ``kp=0`` with ``kd > 0`` is pure null-space damping,
        [K87] (7.6).
    target : (nq,) array, or dict of str to float, optional
        Goal, rad or m; see `set_target`.

    Raises
    ------
    TaskError
        When bound to a controller, for a gain or goal that does not fit the robot.

    """

    def __init__(self, kp=25.0, kd=-1.0, target=None):
        self._kp, self._kd, self._wanted = kp, kd, target
        self._model = None

    def bind(self, model):
        """Check everything against the robot; called once, by the controller."""
        self._model = model
        self.gains = np.zeros(model.nv, POSTURE_GAIN)
        self.goal = np.full(model.nq, np.nan)
        self.set_gains(self._kp, self._kd)
        if self._wanted is not None:
            self.set_target(self._wanted)

    def set_gains(self, kp=None, kd=None):
        """
        Change gains; what is not given stays, a critical ``kd`` follows ``kp``.

        Parameters
        ----------
        kp, kd : float, (nv,) array, or dict of str to float, optional
            1/s² and 1/s; a dict names dofs, ``default`` is for the rest (0 and -1 without it).

        Raises
        ------
        TaskError
            If a gain is refused; then none has changed.

        """
        kp = self._kp if kp is None else kp
        kd = self._kd if kd is None else kd
        if self._model is not None:
            shape = (self._model.nv,)
            new_kp = stiffness_gain(self._by_name(kp, 'kp', 0.0), shape, 'posture')
            new_kd = damping_gain(self._by_name(kd, 'kd', -1.0), new_kp, shape, 'posture')
            self.gains['kp'], self.gains['kd'] = new_kp, new_kd
        self._kp, self._kd = kp, kd

    def set_target(self, target):
        """
        Set the goal posture, copied.

        Parameters
        ----------
        target : (nq,) array, or dict of str to float
            rad or m. A dict names scalar dofs and may be a subset; the others keep their goals.

        Raises
        ------
        TaskError
            For an unknown joint, or a number that is not finite; then nothing has changed.

        """
        if self._model is None:
            self._wanted = target
            return
        model = self._model
        if isinstance(target, dict):
            new = self.goal.copy()
            for name, value in target.items():
                index = model.q_index[self._dof(name)]
                if index < 0:
                    raise TaskError(f"posture: '{name}' is part of an orientation.",
                                    cure='Give the whole q instead.', joint=name, value=value)
                new[index] = self._number(name, value)
        else:
            new = np.array(target, dtype=float)
            if new.shape != (model.nq,) or not np.isfinite(new).all():
                raise TaskError('posture: the target cannot be used.', value=target,
                                cure=f'Give {model.nq} finite numbers, laid out like q.')
        self.goal[:] = new

    def clear_target(self):
        """Make the posture seen at the next cycle the goal."""
        self._wanted = None
        if self._model is not None:
            self.goal[:] = np.nan

    @property
    def target(self):
        """Goal, (nq,), rad or m; NaN where the position of the next cycle will be taken."""
        return None if self._model is None else self.goal.copy()

    def _by_name(self, gain, parameter, rest):
        if not isinstance(gain, dict):
            return gain
        values = np.full(self._model.nv, float(gain.get('default', rest)))
        for name, value in gain.items():
            if name != 'default':
                values[self._dof(name)] = self._number(name, value, parameter)
        return values

    def _dof(self, name):
        try:
            return self._model.dof_index(name)
        except ModelError as error:
            raise TaskError(f'posture: {error}', joint=name) from None

    def _number(self, name, value, parameter='target'):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            raise TaskError(f"posture: {parameter} of joint '{name}' is {value!r}.",
                            cure='Give a finite number.', joint=name, value=value)
        return number

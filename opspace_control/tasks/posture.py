# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The posture task, joint motion in the null space of all other tasks, and its law."""

import math

import numpy as np

from opspace_control.checks import checked
from opspace_control.compiled import called, inlined
from opspace_control.errors import ModelError, StateError, TaskError
from opspace_control.model import RobotState
from opspace_control.model.nodes import ACTIVE, LOCKED, QUATERNION, QUATERNION_AXIS
from opspace_control.spatial.rotations import turn_between
from opspace_control.tasks.arguments import read_gains

# The posture law's data of one degree of freedom.
POSTURE_DOF = np.dtype([
    ('kp', np.float64),           # 1/s²
    ('kd', np.float64),           # 1/s
    ('velocity', np.float64),     # feed-forward, rad/s or m/s
    ('acceleration', np.float64),  # feed-forward, rad/s² or m/s²
    ('effort', np.float64),       # feed-forward of the drive on top of the law's, N m or N
    ('turns_freely', np.bool_),   # a rotation without position limits
], align=True)

# In a dict of gains: all joints that it does not name.
DEFAULT = 'default'


@called
def clear_posture_goal(dofs, target):
    """Make the posture of the next cycle the goal, (nq,)."""
    for j in range(target.size):
        target[j] = math.nan
    for k in range(dofs.size):
        dofs[k].velocity = dofs[k].acceleration = dofs[k].effort = 0.0


@inlined
def demand_posture(nodes, dofs, target, q, v, a):
    """
    Write the reference accelerations of the joints, q̈_null of [CK00] (11).

    ``a_d + kp (q_d − q) + kd (v_d − v)``; pure damping, kp = 0 and v_d = 0, is that of the null
    space, [K87] (7.6). The acceleration of a locked joint is zero. A target coordinate that is NaN
    becomes the present one. The error of a rotation without limits is modulo a whole turn. That of
    a quaternion is the rotation vector to the target, in the joint frame's axes.
    """
    for i in range(nodes.size):
        node = nodes[i]
        k, j = node.v_index, node.q_index
        if k < 0:
            continue
        if node.kind == QUATERNION:
            if math.isnan(target[j]):
                for r in range(j, j + 4):
                    target[r] = q[r]
            turn_between(target, q, j, a, k - 2)
            for r in range(3):
                d = k - 2 + r
                a[d] = (dofs[d].acceleration + dofs[d].kp * a[d]
                        + dofs[d].kd * (dofs[d].velocity - v[d]))
                if nodes[i - 2 + r].status == LOCKED:
                    a[d] = 0.0
        elif node.kind != QUATERNION_AXIS:
            if math.isnan(target[j]):
                target[j] = q[j]
            error = target[j] - q[j]
            if dofs[k].turns_freely:
                error -= 2.0 * math.pi * math.floor(error / (2.0 * math.pi) + 0.5)
            a[k] = 0.0
            if node.status != LOCKED:
                a[k] = (dofs[k].acceleration + dofs[k].kp * error
                        + dofs[k].kd * (dofs[k].velocity - v[k]))


@inlined
def feed_efforts(nodes, dofs, tau):
    """Add the feed-forward efforts to those of active joints, such as friction compensation."""
    for i in range(nodes.size):
        k = nodes[i].v_index
        if k >= 0 and nodes[i].status == ACTIVE:
            tau[k] += dofs[k].effort


def _known(read, doc):
    """Return a property that is None before the robot is known."""
    return property(lambda self: None if self._model is None else read(self), doc=doc)


class PostureTask:
    """
    The reference acceleration of the joints in the null space of the tasks, [CK00] 2.2, (11).

    The motion is the closest to it, in the metric A of kinetic energy, that disturbs no task.
    Without a goal, a joint keeps the position of the first cycle. A rotation without position
    limits goes the short way round.

    Under tasks, keep the stiffnesses of different joints within a factor of ten. Equal ones are
    stable near any goal; different ones are not conservative in the metric A: at a factor of thirty
    about one posture of a robot in ten is unstable.

    Names and sizes are checked when a controller is made; before that, properties are None.

    Parameters
    ----------
    kp : float, (nv,) array, or dict of str to float
        Stiffness of each joint's unit mass, 1/s². A dict names joints or dofs; ``'default'`` stands
        for all others, which have 25 without it.
    kd : float, (nv,) array, or dict of str to float
        Damping, 1/s; negative, and the default of a dict, is critical, ``2 sqrt(kp)``. ``kp=0``
        with ``kd > 0`` is pure null-space damping, [K87] (7.6).
    target : (nq,) array, or dict of str to float, optional
        Goal, rad or m; see `set_target`.

    """

    target = _known(lambda self: self._goal.copy(),
                    'Goal, (nq,), rad or m; NaN stands for the position of the next cycle.')
    kp = _known(lambda self: self._kp.copy(), 'Stiffness, (nv,), 1/s².')
    kd = _known(lambda self: read_gains(self._kp, self._kd, self._kp.shape, 'posture')[1],
                'Damping, (nv,), 1/s, critical values resolved.')
    feed_forward_effort = _known(lambda self: self._dofs['effort'].copy(),
                                 'Feed-forward of the drives, (nv,), N·m or N.')
    in_use = property(lambda self: self._model is not None,
                      doc='Whether the task belongs to a controller.')

    def __init__(self, kp=25.0, kd=-1.0, target=None):
        self._model = None
        self._waiting = []  # settings made before the robot was known
        self.set_gains(25.0, -1.0)
        self.set_gains(kp, kd)
        if target is not None:
            self.set_target(target)

    def set_gains(self, kp=None, kd=None):
        """
        Change gains, as of the constructor; those not given or not named stay.

        A critical ``kd`` follows ``kp``.
        """
        kp = None if kp is None else _copied(kp, 'kp', lowest=0.0)
        kd = None if kd is None else _copied(kd, 'kd')
        if self._model is None:
            self._waiting.append((self.set_gains, (kp, kd)))
            return
        new_kd = self._merged(kd, self._kd)
        new_kp, resolved = read_gains(
            self._merged(kp, self._kp), new_kd, self._kp.shape, 'posture')
        self._kp[:], self._kd[:] = new_kp, new_kd
        self._dofs['kp'], self._dofs['kd'] = new_kp, resolved

    def set_target(self, target, velocity=None, acceleration=None, effort=None):
        """
        Set the goal posture, and its feed-forward as in `set_feed_forward`.

        ``target`` is (nq,), rad or m, laid out like q, or a dict of scalar dofs, or of joints of
        several coordinates with all of them (a planar joint ``[x y θ]``; a floating one, or
        ``'base'``, ``[x y z qx qy qz qw]``). A dict may name some; the others keep their goals.
        """
        target = _copied(target, 'target')
        if self._model is None:
            self._waiting.append((self.set_target, (target, velocity, acceleration, effort)))
            return
        feed_forward = self._read_feed_forward(velocity, acceleration, effort)
        model, goal = self._model, target
        if isinstance(target, dict):
            goal = self._goal.copy()
            for name, value in target.items():
                goal[self._coordinates(name, value)] = value
        elif goal.shape != (model.nq,):
            raise TaskError(f'posture: the target has shape {goal.shape}.', value=target,
                            cure=f'Give {model.nq} numbers, laid out like q, or a dict of joints.')
        unset = np.isnan(goal)
        try:  # quaternions are what a state's must be
            state = RobotState(model, np.where(unset, model.neutral(), goal), np.zeros(model.nv))
        except StateError as error:
            raise TaskError(f'posture target: {error}', value=target,
                            joint=error.data.get('joint')) from None
        self._goal[:] = np.where(unset, np.nan, state.q)
        self._feed(feed_forward)

    def move_target(self, target, velocity, acceleration, effort):
        """Set a goal, (nq,), and its feed-forward, (nv,), without checks."""
        self._goal[:] = target
        self._feed((velocity, acceleration, effort))

    def set_feed_forward(self, velocity=None, acceleration=None, effort=None):
        """
        Change the velocity, acceleration and effort of the goal, (nv,) each, not its position.

        rad/s or m/s, rad/s² or m/s²; zero if not given. The effort is that of the drives in
        addition to the law's, such as friction compensation, N·m or N.
        """
        if self._model is None:
            self._waiting.append((self.set_feed_forward, (velocity, acceleration, effort)))
        else:
            self._feed(self._read_feed_forward(velocity, acceleration, effort))

    def clear_target(self):
        """Make the posture of the next cycle the goal."""
        if self._model is None:
            self._waiting.append((self.clear_target, ()))
        else:
            clear_posture_goal(self._dofs.view(np.recarray), self._goal)

    def _read_feed_forward(self, *parts):
        parts = [np.zeros(self._model.nv) if part is None else _copied(part, 'feed-forward')
                 for part in parts]
        for part in parts:
            if np.shape(part) != (self._model.nv,):
                raise TaskError(f'posture: feed-forward of shape {np.shape(part)}.', value=part,
                                cure=f'Give {self._model.nv} numbers, in the order of dof_names.')
        return parts

    def _feed(self, parts):
        self._dofs['velocity'], self._dofs['acceleration'], self._dofs['effort'] = parts

    def _coordinates(self, name, value):
        """Return the slice of q of the named joint or dof; check the size of its value."""
        dofs = self._dofs_of(name)
        first = self._model.q_index[dofs[0]]
        count = {1: 1, 3: 3, 6: 7}[len(dofs)]
        if first < 0:
            raise TaskError(f"posture: '{name}' is part of an orientation.",
                            cure='Give all coordinates of its joint.', joint=name, value=value)
        if value.size != count:
            raise TaskError(f"posture: target of '{name}' has {value.size} numbers.",
                            cure=f'It takes {count}.', joint=name, value=value)
        return slice(first, first + count)

    def _merged(self, gain, present):
        """Return the gains of all dofs; dofs that ``gain`` does not name keep theirs."""
        if gain is None:
            return present
        if not isinstance(gain, dict):
            return gain
        merged = present.copy()
        for name in sorted(gain, key=lambda name: name != DEFAULT):
            dofs = range(merged.size) if name == DEFAULT else self._dofs_of(name)
            if gain[name].shape not in {(), (len(dofs),)}:
                raise TaskError(f"posture: '{name}' has {gain[name].size} gains.",
                                cure=f'Give one, or {len(dofs)}.', joint=name, value=gain[name])
            merged[dofs] = gain[name]
        return merged

    def _dofs_of(self, name):
        """Return the indices of the dofs of a joint, or of one dof, by name."""
        try:
            return self._model.dofs_of(name)
        except ModelError as error:
            raise TaskError(f'posture: {error}', joint=name) from None


def register_posture(posture, model):
    """
    Register a posture task, which is not in use, with the robot of its controller.

    Returns the (nv,) array of POSTURE_DOF and the goal (nq,), input of `demand_posture`; the task
    uses both from now on. A TaskError refuses a gain or goal that does not fit the robot.
    """
    posture._model = model
    posture._kp, posture._kd = np.zeros(model.nv), np.zeros(model.nv)
    posture._goal = np.full(model.nq, np.nan)
    posture._dofs = np.zeros(model.nv, POSTURE_DOF)
    posture._dofs['turns_freely'] = model.turns_freely
    try:
        for setter, values in posture._waiting:
            setter(*values)
    except TaskError:
        posture._model = None
        raise
    posture._waiting.clear()
    return posture._dofs, posture._goal


def _copied(values, parameter, lowest=-np.inf):
    """Return a copy of a number, an array or a dict of them; a TaskError if one cannot be used."""
    if isinstance(values, dict):
        return {name: _copied(value, f"{parameter} of '{name}'", lowest)
                for name, value in values.items()}
    return checked(values, f'posture: {parameter}', TaskError, None, lowest=lowest,
                   parameter=parameter)

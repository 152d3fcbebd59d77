# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The joint task, a group of joints controlled exactly at a priority of its own, and its law."""

import math
from collections.abc import Mapping

import numpy as np

from opspace_control.checks import HUGE, read_numbers
from opspace_control.compiled import called, inlined
from opspace_control.dynamics.data import group_by_branch
from opspace_control.errors import TaskError
from opspace_control.tasks.arguments import VelocityLimit, read_gains, refuse_none
from opspace_control.tasks.ranked import RankedTask

# Up to six joints of a joint task; entries without one are not selected.
JOINT_TASK = np.dtype([
    ('dof', np.int64, (6,)),             # index into v, 0 where there is none
    ('q_index', np.int64, (6,)),         # index into q, likewise
    ('turns_freely', np.float64, (6,)),  # 1 for a rotation without position limits
    ('selected', np.float64, (6,)),      # 1 for a joint, 0 for none
    ('activation', np.float64),          # of the task, from 0 (off) to 1 (exact)
    ('kp', np.float64, (6,)),            # 1/s²
    ('kd', np.float64, (6,)),            # 1/s
    ('max_velocity', np.float64),        # rad/s or m/s, inf for none
    ('target', np.float64, (6,)),        # rad or m; NaN: the position of the next cycle
    ('target_velocity', np.float64, (6,)),      # feed-forward, rad/s or m/s
    ('target_acceleration', np.float64, (6,)),  # feed-forward, rad/s² or m/s²
    ('position', np.float64, (6,)),      # at the last cycle, rad or m
    ('error', np.float64, (6,)),         # target − position, rad or m
    ('acceleration', np.float64, (6,)),  # a*, the task acceleration, rad/s² or m/s²
    ('force', np.float64, (6,)),         # joint force on top of the posture's, N m or N
], align=True)


@called
def clear_joint_goal(task):
    """Make the positions of the next cycle the goal."""
    for r in range(6):
        task.target[r] = math.nan
        task.target_velocity[r] = task.target_acceleration[r] = 0.0


@inlined
def demand_joints(task, q, v):
    """
    Write the task accelerations of a joint task.

    ``a* = a_d + kd (v_d + ν kp/kd e − v)`` for each joint, ``ν = min(1, V_max / |kp/kd e|)`` as in
    [K87] (4.4)-(4.5) for a single axis.
    """
    for r in range(6):
        if task.selected[r] == 0.0:
            task.acceleration[r] = task.error[r] = 0.0
            continue
        x = q[task.q_index[r]]
        task.position[r] = x
        if math.isnan(task.target[r]):
            task.target[r] = x
        error = task.target[r] - x
        if task.turns_freely[r] > 0.0:
            error -= 2.0 * math.pi * math.floor(error / (2.0 * math.pi) + 0.5)
        task.error[r] = error
        kp, kd = task.kp[r], task.kd[r]
        approach = kp * error
        if abs(approach) > kd * task.max_velocity:
            approach = math.copysign(kd * task.max_velocity, error)
        task.acceleration[r] = (task.target_acceleration[r] + approach
                                + kd * (task.target_velocity[r] - v[task.dof[r]]))


def _entries(field, doc):
    return property(lambda task: task._read(field), doc=doc)


class JointTask(RankedTask):
    """
    Move some joints to a goal as a task with a priority; its rows of J are those of the identity.

    A posture is a compromise of all joints; a joint task is exact where the robot allows it, for
    passive joints, too: their rows are the disturbance Jacobian J_D of [JR94] (6.9). With ``kp=0``
    and a low priority it disturbs passive joints as little as the other tasks allow.

    Parameters
    ----------
    joints : sequence of str
        Joints of one degree of freedom, or single dofs with a coordinate of their own.
    name : str
        Key in ``controller.tasks``.
    kp, kd : float or (k,) array
        1/s² and 1/s, of each joint; negative kd is critical, ``2 sqrt(kp)``.
    max_velocity : float
        Velocity of the approach to a far goal, rad/s or m/s.
    priority : int
        0 is the highest; tasks of a larger number act in the null space of those of smaller ones.

    """

    target = _entries('target', 'Goal, (k,), rad or m; NaN: the position of the next cycle.')
    position = _entries('position', 'Positions at the last cycle, (k,), rad or m.')
    error = _entries('error', 'Goal minus position at the last cycle, (k,), rad or m.')
    force = _entries('force', "Joint forces of the task at the last cycle, (k,), N·m or N, on top "
                     "of the posture's.")
    kp = _entries('kp', 'Stiffness, (k,), 1/s².')
    kd = _entries('kd', 'Damping, (k,), 1/s, critical values resolved.')
    max_velocity = VelocityLimit(
        'max_velocity', 'Velocity of the approach to a far goal, rad/s or m/s.')

    def __init__(self, joints, *, name='joints', kp=100.0, kd=-1.0, max_velocity=np.inf,
                 priority=0):
        super().__init__(name, priority)
        self.joints = (joints,) if isinstance(joints, str) else tuple(joints)
        if not self.joints or len(set(self.joints)) < len(self.joints):
            raise TaskError(f'{self._owner}: joints {joints!r} cannot be used.', value=joints,
                            cure='Name one or more joints, each once.')
        # In the order of the joints; `register_joints` rearranges them by branch.
        self._record = np.zeros(-(-len(self.joints) // 6), JOINT_TASK)
        self._places = np.arange(len(self.joints))
        self._write('selected', 1.0)
        self._record['max_velocity'] = np.inf
        self.activation = 1.0
        refuse_none(self._owner, kp=kp, kd=kd)
        self.set_gains(kp, kd)
        self.max_velocity = max_velocity
        self.clear_target()

    def __repr__(self):
        return f'JointTask({list(self.joints)!r}, name={self.name!r})'

    def set_gains(self, kp=None, kd=None):
        """Change gains, (k,) or one number; a critical ``kd`` follows ``kp``."""
        wanted = self._wanted_kd if kd is None else kd
        kp, kd = read_gains(self.kp if kp is None else kp, wanted, (len(self.joints),), self._owner)
        self._check_limitable(kp, kd)
        self._wanted_kd = np.copy(wanted)
        self._write('kp', kp)
        self._write('kd', kd)

    def set_target(self, target, velocity=None, acceleration=None):
        """
        Set the goal, (k,), rad or m, or a mapping of some of the joints.

        ``velocity`` and ``acceleration`` (k,) are feed-forward, zero if not given.
        """
        if isinstance(target, Mapping):
            unknown = [name for name in target if name not in self.joints]
            if unknown:
                raise TaskError(f"{self._owner} has no joint '{unknown[0]}'.", joint=unknown[0],
                                cure=f'Name some of {", ".join(self.joints)}.')
            present = zip(self.joints, self._read('target').tolist(), strict=True)
            target = self._numbers(
                [target.get(name, goal) for name, goal in present], 'target',
                unset=np.array([name not in target for name in self.joints]))
        else:
            target = self._numbers(target, 'target')
        zeros = np.zeros(len(self.joints))
        velocity = zeros if velocity is None else self._numbers(velocity, 'velocity')
        acceleration = zeros if acceleration is None else self._numbers(
            acceleration, 'acceleration')
        self._write('target', target)
        self._write('target_velocity', velocity)
        self._write('target_acceleration', acceleration)

    def clear_target(self):
        """Make the positions of the next cycle the goal."""
        for record in self._record.view(np.recarray):
            clear_joint_goal(record)

    def joint_force(self, model, state):
        """Return the task's joint forces of the last cycle among those of all joints, (nv,)."""
        force = np.zeros(model.nv)
        force[joint_dofs(self, model)] = self.force
        return force

    @property
    def points(self):
        """Number of points of a task in use: one for up to six joints of one branch."""
        return self._record.size

    def _check_limitable(self, kp, kd):
        if np.isfinite(self.max_velocity) and ((kp > 0.0) & (kd == 0.0)).any():
            raise TaskError(f'{self._owner}: max_velocity needs damping, but kd is 0.',
                            cure='Give kd > 0, or -1 for critical damping.',
                            parameter='max_velocity')

    def _numbers(self, values, what, unset=False):
        numbers = read_numbers(values)
        if numbers.shape != (len(self.joints),) or not (
                (abs(numbers) < HUGE) | (unset & np.isnan(numbers))).all():
            raise TaskError(f'{self._owner}: {what} = {values!r} cannot be used.', value=values,
                            cure=f'Give {len(self.joints)} finite numbers, below {HUGE:g}.')
        return numbers

    def _move(self, records, groups):
        """Use these records from now on, joint ``groups[i][j]`` at entry j of record i."""
        values = {field: self._read(field) for field in JOINT_TASK.names
                  if JOINT_TASK[field].shape}
        for field in ('activation', 'max_velocity'):
            records[field] = self._record[field][0]
        self._record = records
        self._places = np.empty(len(self.joints), int)
        for i, group in enumerate(groups):
            self._places[group] = 6 * i + np.arange(len(group))
        for field, value in values.items():
            self._write(field, value)

    def _read(self, field):
        return self._record[field].reshape(-1)[self._places]

    def _write(self, field, values):
        columns = self._record[field].reshape(-1).copy()
        columns[self._places] = values
        self._record[field] = columns.reshape(-1, 6)


def register_joints(tasks, model):
    """
    Move the data of a controller's joint tasks, none of them in use, into one array.

    Returns (s,) of JOINT_TASK, input and output of `demand_joints`, task after task; each uses its
    own from now on. A TaskError refuses a joint that has no coordinate of its own.
    """
    dofs = [joint_dofs(task, model) for task in tasks]
    branches = [group_by_branch(model.nodes, own) for own in dofs]
    records = np.zeros(sum(map(len, branches)), JOINT_TASK)
    first = 0
    for task, own, groups in zip(tasks, dofs, branches, strict=True):
        part = records[first:first + len(groups)]
        task._move(part, groups)
        task._model = model
        task._write('dof', own)
        task._write('q_index', model.q_index[own])
        task._write('turns_freely', model.turns_freely[own])
        first += part.size
    return records


def joint_dofs(task, model):
    """Return the indices into v of a joint task's joints; errors are those of `register_joints`."""
    dofs = []
    for name in task.joints:
        own = model.joint_dofs.get(name)
        dof = own[0] if own is not None and len(own) == 1 else model.dof_index(name)
        if model.q_index[dof] < 0:
            raise TaskError(f"task '{task.name}': '{name}' is part of an orientation.", joint=name,
                            cure='Control it by the pose of its link.')
        dofs.append(dof)
    return dofs

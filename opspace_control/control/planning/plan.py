# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A planned motion: what every joint does and what the drives have to give, and its file."""

import csv
import json
from dataclasses import dataclass

import numpy as np

from opspace_control.errors import ControlError
from opspace_control.tasks.arguments import AXES, LINEAR
from opspace_control.tasks.trajectory import JointTrajectory

_FORMAT = 'opspace plan 1'
_POSE = (*LINEAR, 'qx', 'qy', 'qz', 'qw')
_TOLERANCE = 1e-5  # rad or m, of a trajectory


@dataclass(frozen=True, eq=False)
class Plan:
    """
    The time profile of a motion, k samples, [JR94] FIG. 6.

    The efforts of a sample apply until the next one. Joint vectors are in the order of
    ``dof_names``, positions in that of ``coordinate_names``.
    """

    robot: str
    """Name of the robot."""
    dof_names: tuple
    """The nv degrees of freedom."""
    coordinate_names: tuple
    """The nq numbers that make up a position."""
    passive: tuple
    """Degrees of freedom without a drive."""
    locked: tuple
    """Degrees of freedom under a brake."""
    tasks: tuple
    """Names of the m tasks."""
    frames: tuple
    """The link of each task."""
    gravity: np.ndarray
    """(3,) m/s², world axes."""
    time: np.ndarray
    """(k,) s, evenly spaced from zero."""
    q: np.ndarray
    """(k, nq) rad, m and quaternions [x y z w]."""
    v: np.ndarray
    """(k, nv) rad/s or m/s."""
    acceleration: np.ndarray
    """(k, nv) rad/s² or m/s², at the sample; of passive joints as induced."""
    effort: np.ndarray
    """(k, nv) N m or N, of the drives; zero at passive and locked joints."""
    poses: np.ndarray
    """(k, m, 7) of the tasks' frames, [x y z qx qy qz qw], m."""
    errors: np.ndarray
    """(k, m, 6) goal minus pose, m, and the rotation vector, rad; zero on axes that are free,
    and of tasks that are off."""
    limited: np.ndarray
    """(k,) how many efforts were cut at their limits."""
    outside: np.ndarray
    """(k,) how many joints are beyond their position limits: a plan knows no end stops."""
    slipping: np.ndarray
    """(k,) how many contacts and grasps would need more than pressure and friction."""
    truncated: np.ndarray
    """(k,) bool: directions of the tasks were truncated, or lost by limits of joints."""

    @property
    def timestep(self):
        """Time between samples, s."""
        return float(self.time[1])

    @property
    def feasible(self):
        """Whether all tasks are met at every sample, within all limits, and nothing slips."""
        return not (self.limited.any() or self.outside.any() or self.slipping.any()
                    or self.truncated.any())

    def joint_trajectory(self):
        """
        Return the plan as a trajectory of its joints, with as few points as will do.

        The polynomials between its points are within 1e-5 rad or m of the samples. Raises a
        ControlError if the base floats: it is no joint of a robot's drivers.

        Returns
        -------
        JointTrajectory
            Of the joints of one coordinate that are under no brake, with velocities, accelerations
            and efforts.

        """
        if any(name.startswith('base/') for name in self.dof_names):
            raise ControlError(f"The plan of '{self.robot}' has a floating base, which no "
                               'trajectory of joints contains.',
                               cure='Move its tasks along trajectories of their own.')
        joints = [name for name in self.dof_names
                  if name in self.coordinate_names and name not in self.locked]
        q = self.q[:, [self.coordinate_names.index(name) for name in joints]]
        dofs = [self.dof_names.index(name) for name in joints]
        last, stride = len(self.time) - 1, 1 << max(0, (len(self.time) - 2).bit_length() - 1)
        while True:
            few = np.unique(np.r_[0:last:stride, last])
            trajectory = JointTrajectory(joints, self.time[few], q[few], *(
                part[np.ix_(few, dofs)] for part in (self.v, self.acceleration, self.effort)))
            if stride == 1 or abs(trajectory.sample(self.time)[0] - q).max() <= _TOLERANCE:
                return trajectory
            stride //= 2

    def save(self, path):
        """
        Write the plan as a table, CSV, with every digit.

        The first line is ``#`` and a JSON object: ``format``, ``robot``, ``passive``, ``locked``,
        ``frames`` (by task), ``gravity``. The second line names the columns: ``time``;
        ``position:NAME`` for each coordinate; ``velocity:NAME``, ``acceleration:NAME`` and
        ``effort:NAME`` for each degree of freedom; ``pose:TASK:x`` ... ``qw`` and ``error:TASK:x``
        ... ``rz`` for each task; ``limited``; ``outside``; ``slipping``; ``truncated``. Every
        further line is a sample; units are those of the fields.

        Parameters
        ----------
        path : path
            File to write.

        """
        facts = {'format': _FORMAT, 'robot': self.robot, 'passive': self.passive,
                 'locked': self.locked, 'frames': dict(zip(self.tasks, self.frames, strict=True)),
                 'gravity': self.gravity.tolist()}
        table = np.column_stack([self.time, *(part.reshape(len(self.time), -1)
                                              for part in self._parts().values())])
        with open(path, 'w', newline='', encoding='utf-8') as file:
            file.write(f'# {json.dumps(facts)}\n')
            csv.writer(file, lineterminator='\n').writerow(self._columns())
            np.savetxt(file, table, fmt='%.17g', delimiter=',')

    @classmethod
    def load(cls, path):
        """
        Return the plan that `save` wrote.

        Raises a ControlError if the file cannot be read, or is no such table.
        """
        try:
            with open(path, newline='', encoding='utf-8') as file:
                facts = json.loads(file.readline().removeprefix('#'))
                columns = next(csv.reader([file.readline()]))
                table = np.loadtxt(file, delimiter=',', ndmin=2)
            if facts['format'] != _FORMAT:
                raise ValueError(f'the format is {facts["format"]!r}')
            return cls._from_table(facts, columns, table)
        except (OSError, ValueError, KeyError, IndexError, TypeError, StopIteration) as error:
            raise ControlError(f"'{path}' is no plan: {error}.", path=str(path),
                               cure='Write one with `opspace plan`, or Plan.save.') from None

    @classmethod
    def _from_table(cls, facts, columns, table):
        """Return the plan of a table and the names of its columns."""
        kinds = np.array([column.partition(':')[0] for column in columns])

        def names(kind):
            return tuple(column.partition(':')[2] for column in columns
                         if column.startswith(f'{kind}:'))

        def part(kind, *shape):
            return table[:, kinds == kind].reshape(len(table), *shape)

        tasks = tuple(dict.fromkeys(name.rpartition(':')[0] for name in names('pose')))
        dof_names, coordinate_names = names('velocity'), names('position')
        nv, m = len(dof_names), len(tasks)
        plan = cls(
            robot=facts['robot'], dof_names=dof_names, coordinate_names=coordinate_names,
            passive=tuple(facts['passive']), locked=tuple(facts['locked']), tasks=tasks,
            frames=tuple(facts['frames'][task] for task in tasks),
            gravity=np.array(facts['gravity'], float), time=part('time'),
            q=part('position', len(coordinate_names)), v=part('velocity', nv),
            acceleration=part('acceleration', nv), effort=part('effort', nv),
            poses=part('pose', m, 7), errors=part('error', m, 6),
            limited=part('limited').astype(int),
            outside=part('outside').astype(int),
            slipping=part('slipping').astype(int),
            truncated=part('truncated').astype(bool))
        if columns != plan._columns():
            raise ValueError('the columns are not those of a plan')
        return plan

    def _parts(self):
        """Return the fields of the table, the time excepted, by the kind of their columns."""
        return {'position': self.q, 'velocity': self.v, 'acceleration': self.acceleration,
                'effort': self.effort, 'pose': self.poses, 'error': self.errors,
                'limited': self.limited, 'outside': self.outside, 'slipping': self.slipping,
                'truncated': self.truncated}

    def _columns(self):
        """Return the names of the table's columns."""
        of_dofs = [f'{kind}:{name}' for kind in ('velocity', 'acceleration', 'effort')
                   for name in self.dof_names]
        of_tasks = [f'{kind}:{task}:{axis}' for kind, axes in (('pose', _POSE), ('error', AXES))
                    for task in self.tasks for axis in axes]
        return ['time', *(f'position:{name}' for name in self.coordinate_names), *of_dofs,
                *of_tasks, 'limited', 'outside', 'slipping', 'truncated']

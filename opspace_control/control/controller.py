# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The operational-space controller of a branching robot."""

import numpy as np

from opspace_control.compiled import entry_point
from opspace_control.control.cycle import CYCLE, control_cycle
from opspace_control.dynamics import GRAVITY, RobotModel
from opspace_control.dynamics.workspace import (
    NODE_STATE,
    make_points,
    moment_nodes,
    poisoned,
)
from opspace_control.errors import ControlError
from opspace_control.model import RobotState
from opspace_control.model.nodes import WORLD
from opspace_control.tasks import PoseTask, PostureTask
from opspace_control.tasks.pose_law import POSE_TASK


class OperationalSpaceController:
    """
    Joint forces that make operational points obey their tasks and the joints, in the null space
    of all of them, the posture: ``τ = Jᵀ f' + τ_null``, [CK00] (11)-(13).

    Where the tasks cannot all be met (a singular posture, too many axes), the directions that are
    lost are handed smoothly to the posture, and every force stays bounded. Effort limits are
    applied last.

    Parameters
    ----------
    model : RobotModel
    tasks : sequence of PoseTask
        With different names; a task belongs to one controller.
    posture : PostureTask, optional
        ``PostureTask()`` if not given.
    effort_limits : (nv,) array, optional
        N·m or N; the URDF's if not given.
    gravity_compensation : bool
        False for hardware that compensates gravity itself.
    singularity_threshold : float
        Scaled eigenvalue of Λ⁻¹ below which a direction is released, without unit.

    Attributes
    ----------
    model : RobotModel
    tasks : dict of str to PoseTask
    posture : PostureTask

    Raises
    ------
    ControlError
        For tasks of the same name or already in use, an argument of the wrong kind or size, or a
        robot with passive joints.
    ModelError
        For a task's unknown frame.
    TaskError
        For a posture gain or target that does not fit the robot.

    """

    def __init__(self, model, tasks=(), posture=None, *, effort_limits=None,
                 gravity_compensation=True, singularity_threshold=5e-3):
        posture = PostureTask() if posture is None else posture
        _check_arguments(model, tasks, posture, singularity_threshold)
        self.model = model
        self.posture = posture
        self.tasks = {}
        m, n, nv = len(tasks), model.nodes.size, model.nv
        points, supports = make_points(model, [task.frame for task in tasks])
        posture.bind(model)
        records = poisoned(m, POSE_TASK)
        for task, record in zip(tasks, records, strict=True):
            task.bind(record)
            self.tasks[task.name] = task
        self._cycle = np.zeros(1, CYCLE)
        self._cycle['floating_base'] = model.floating_base
        self._cycle['singularity_threshold'] = singularity_threshold
        self.gravity_compensation = gravity_compensation
        nodes = moment_nodes(model)
        self._cycle['least_mobility'] = 1.0 / nodes['mass'].sum()
        rows = 6 * m
        self._effort_limits = _effort_limits(model, effort_limits)
        self._arguments = (
            self._cycle, nodes, poisoned(n, NODE_STATE), points, supports,
            _felt(nodes, supports), records, posture.gains, posture.goal,
            poisoned(nv), poisoned(rows), poisoned(rows), poisoned((rows, rows)), poisoned(rows),
            poisoned((rows, rows)), poisoned(rows), self._effort_limits)
        self._compute = None

    def compute_torque(self, state, out=None):
        """
        Return the joint forces of this cycle.

        Parameters
        ----------
        state : RobotState
            Of this controller's model.
        out : (nv,) float array, optional
            Receives the result; without it a new array is made.

        Returns
        -------
        (nv,) array
            N·m or N, in the order of ``model.dof_names``; exactly 0.0 at locked joints.

        Raises
        ------
        ControlError
            If the state is another model's, or ``out`` not a contiguous (nv,) float array.

        """
        if state.model is not self.model:
            raise ControlError('The state does not belong to the controller\'s model.',
                               cure='Make it with RobotState(controller.model, q, v).')
        if out is None:
            out = np.empty(self.model.nv)
        elif out.shape != (self.model.nv,) or out.dtype != float or not out.flags.carray:
            raise ControlError('out cannot take the torques.',
                               cure=f'Give a contiguous float array of {self.model.nv}.', value=out)
        if self._compute is None:
            self.warm_up()
        self._compute(*self._arguments, state.q, state.v, out)
        return out

    def warm_up(self):
        """Compile the cycle, or load it from the cache, so that no cycle waits for that."""
        state = RobotState(self.model, self.model.neutral(), np.zeros(self.model.nv))
        self._compute = entry_point(
            control_cycle, *self._arguments, state.q, state.v, np.empty(self.model.nv))

    def damping_torque(self, state, out=None):
        """
        Return pure damping, ``τ = −kd A v``, [K87] (7.6): what to do when nothing else is safe.

        Neither gravity nor any goal takes part.

        Parameters
        ----------
        state : RobotState
        out : (nv,) float array, optional

        Returns
        -------
        (nv,) array
            N·m or N, within the effort limits; 0.0 at locked joints.

        """
        resting = RobotState(self.model, state.q, np.zeros(self.model.nv))
        tau = self.model.inverse_dynamics(resting, -self.posture.gains['kd'] * state.v)
        tau -= self.model.gravity(resting)
        np.clip(tau, -self._effort_limits, self._effort_limits, out=tau)
        tau[self.model.locked] = 0.0
        if out is None:
            return tau
        out[:] = tau
        return out

    def hold(self):
        """Make the poses and the posture of the next cycle the goals of all tasks."""
        for task in self.tasks.values():
            task.clear_target()
        self.posture.clear_target()

    @property
    def gravity_compensation(self):
        """Whether the torques hold the robot against gravity."""
        return bool(self._cycle['gravity'].any())

    @gravity_compensation.setter
    def gravity_compensation(self, value):
        self._cycle['gravity'] = GRAVITY if value else 0.0

    @property
    def effort_limits(self):
        """Limits of the joint forces, (nv,), N·m or N, inf for none."""
        return self._effort_limits.copy()

    @property
    def least_eigenvalue(self):
        """
        Lower bound, within a factor of the rows, of the smallest eigenvalue of the scaled Λ⁻¹.

        Without unit, at the last cycle; 0.0 while directions are being released.
        """
        return float(self._cycle['least_eigenvalue'][0])

    @property
    def limited_joints(self):
        """How many joint forces the limits cut at the last cycle."""
        return int(self._cycle['limited'][0])


def _check_arguments(model, tasks, posture, singularity_threshold):
    if not isinstance(model, RobotModel):
        raise ControlError(f'model is a {type(model).__name__}.',
                           cure='Give a RobotModel, from RobotModel.from_urdf_file(path).')
    not_ours = [name for name, passive in zip(model.dof_names, model.passive, strict=True) if passive]
    if not_ours:
        raise ControlError(f'Passive joints cannot be controlled yet: {", ".join(not_ours)}.',
                           cure='Lock them (locked_joints=...) or drive them.', joint=not_ours[0])
    for task in tasks:
        if not isinstance(task, PoseTask):
            raise ControlError(f'{task!r} is not a task.', cure='Give PoseTask objects.')
        if task.bound:
            raise ControlError(f"Task '{task.name}' already belongs to a controller.",
                               cure='Make a task for each controller.', task=task.name)
    names = [task.name for task in tasks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ControlError(f"Two tasks are called '{twice[0]}'.",
                           cure='Give each its own name=...', task=twice[0])
    if not isinstance(posture, PostureTask):
        raise ControlError(f'{posture!r} is not a posture.', cure='Give a PostureTask.')
    if not 0.0 < singularity_threshold < 1.0:
        raise ControlError(f'singularity_threshold = {singularity_threshold!r} is not allowed.',
                           cure='Give a number between 0 and 1; 5e-3 is usual.')


def _effort_limits(model, limits):
    try:
        limits = np.array(model.effort_limits if limits is None else limits, dtype=float)
        limits = np.broadcast_to(limits, (model.nv,)).copy()
    except (TypeError, ValueError):
        limits = np.full(1, np.nan)
    if not (limits >= 0.0).all():
        raise ControlError('effort_limits cannot be used.', value=limits,
                           cure=f'Give {model.nv} numbers, zero or more, inf for no limit.')
    return limits


def _felt(nodes, supports):
    """Return which nodes' inertias are felt at a point: those on its path, and all they carry."""
    felt = supports.any(axis=1)
    for i, parent in enumerate(nodes['parent']):
        if parent != WORLD and felt[parent]:
            felt[i] = True
    return felt

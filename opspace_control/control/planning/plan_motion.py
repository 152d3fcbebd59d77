# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Planning: from trajectories of the tasks to drive efforts and the passive motion, [JR94]."""

import math

import numpy as np

from opspace_control.control.planning.plan import Plan
from opspace_control.control.planning.planned_robot import PlannedRobot
from opspace_control.dynamics.preparation import check_state
from opspace_control.errors import ControlError, StateError
from opspace_control.tasks.arguments import AXES
from opspace_control.tasks.task import OperationalTask


def plan_motion(controller, state, goals, duration, *, timestep=1e-3, gravity=None,
                joint_forces=None):
    """
    Return the motion in which the tasks of a controller follow trajectories, [JR94] 6.2.2, FIG. 8a.

    At every step the controller's law gives the accelerations of the active joints, hybrid dynamics
    the efforts of these and the induced accelerations of the passive ones; both are integrated. The
    drives' efforts are constant over a step; within it the motion is integrated by the midpoint
    rule. Closed chains move by `closed_chain_dynamics`, [RKR95] 3.2. Raises a ControlError for an
    unknown task, an engaged grasp of fingertips, times that cannot be used, or a motion that blows
    up, with its time; a StateError if the state is another model's.

    Parameters
    ----------
    controller : OperationalSpaceController
        Its tasks, gains, posture, limits, payloads and status of joints are those of the plan; its
        goals are changed by it. Constraints that are closed, those of grasps and contacts among
        them, stay closed.
    state : RobotState
        Where the motion begins; locked joints rest, whatever it says, and so does the motion
        along closed constraints.
    goals : dict of str to PoseTrajectory
        Trajectories of tasks, by name; the others keep their goals.
    duration : float
        s, rounded to steps.
    timestep : float
        Time between samples, s.
    gravity : (3,) array, optional
        m/s², world axes. If not given, 9.81 along -z if the controller compensates gravity, else
        none.
    joint_forces : PassiveForces, optional
        The friction and the springs of all joints; those of active joints are overcome by their
        drives. If not given, ``controller.passive_forces``.

    Returns
    -------
    Plan

    """
    _check(controller, state, goals, duration, timestep)
    world = PlannedRobot(controller, state, gravity, joint_forces)
    steps = max(1, round(duration / timestep))
    tasks = [task for task in controller.tasks.values() if isinstance(task, OperationalTask)]
    record = _Record(controller.model, len(tasks), steps + 1)
    moving = world.state
    for k in range(steps + 1):
        for name, trajectory in goals.items():
            controller.tasks[name].set_target(*trajectory.sample(k * timestep))
        effort, limited = world.drive(timestep)
        record.q[k], record.v[k] = moving.q, moving.v
        record.effort[k] = effort
        record.acceleration[k] = world.acceleration(effort)
        record.limited[k], record.truncated[k] = limited, not controller.attained
        record.outside[k], record.slipping[k] = world.outside(), world.slipping()
        for e, task in enumerate(tasks):
            record.poses[k, e] = task.pose
            record.errors[k, e] = _controlled_error(task)
        if k < steps:
            try:
                world.step(effort, record.acceleration[k], timestep)
            except StateError:
                raise ControlError(
                    f'The motion blows up at {k * timestep:.3f} s.', time=k * timestep,
                    cure='Lower gains, or take a smaller timestep.') from None
    model = controller.model
    return Plan(
        robot=model.name, dof_names=model.dof_names, coordinate_names=model.coordinate_names,
        passive=model.names_of(controller.passive), locked=model.names_of(controller.locked),
        tasks=tuple(task.name for task in tasks), frames=tuple(task.frame for task in tasks),
        gravity=world.gravity, time=timestep * np.arange(steps + 1), **vars(record))


class _Record:
    """The arrays of a plan, k samples, to be filled."""

    def __init__(self, model, tasks, k):
        self.q, self.v = np.empty((k, model.nq)), np.empty((k, model.nv))
        self.acceleration, self.effort = np.empty((k, model.nv)), np.empty((k, model.nv))
        self.poses, self.errors = np.empty((k, tasks, 7)), np.empty((k, tasks, 6))
        self.limited, self.outside = np.empty(k, int), np.empty(k, int)
        self.slipping = np.empty(k, int)
        self.truncated = np.empty(k, bool)


def _check(controller, state, goals, duration, timestep):
    check_state(controller.model, state)
    for grasp in controller.grasps.values():
        if grasp.engaged and grasp.task.unattached:
            raise ControlError(
                f"The object of '{grasp.name}' cannot be planned: no link carries it, only "
                'fingertips do.', name=grasp.name, cure='Disengage the grasp.')
    for name in goals:
        if name not in controller.tasks:
            raise ControlError(f"There is no task '{name}' to plan.", name=name,
                               cure=f'There are: {", ".join(controller.tasks) or "none"}.')
    if not (math.isfinite(duration) and 0.0 < timestep <= duration):
        raise ControlError(f'A plan of {duration} s in steps of {timestep} s cannot be made.',
                           cure='Give positive times, a step no longer than the plan.',
                           value=(duration, timestep))


def _controlled_error(task):
    """Return goal minus pose (6,), base axes, zero along axes that are free."""
    error = getattr(task, 'error', None)
    if error is None or not task.enabled:
        return np.zeros(6)
    controlled = np.isin(AXES, task.axes).reshape(2, 3)
    return np.concatenate([axes @ (mask * (axes.T @ part)) for axes, mask, part in zip(
        task.axes_in_base, controlled, error.reshape(2, 3), strict=True)])

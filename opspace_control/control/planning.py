# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Planning: from trajectories of the tasks to drive efforts and the passive motion, [JR94]."""

import math

import numpy as np

from opspace_control.control.plan import Plan
from opspace_control.dynamics import GRAVITY
from opspace_control.dynamics.hybrid_dynamics import hybrid_motion
from opspace_control.dynamics.passive_forces import passive_torque
from opspace_control.errors import ControlError, StateError
from opspace_control.model import RobotState
from opspace_control.model.nodes import ACTIVE, PASSIVE
from opspace_control.tasks.targets import AXES
from opspace_control.tasks.task import OperationalTask


def plan_motion(controller, state, goals, duration, *, timestep=1e-3, gravity=None,
                joint_forces=None):
    """
    Return the motion in which the tasks of a controller follow trajectories, [JR94] 6.2.2, FIG. 8a.

    At every step the controller's law says what the active joints do; hybrid dynamics says what
    that takes and what the passive ones are induced to do; both are integrated. The drives' efforts
    are held over a step; within it the motion is integrated by the midpoint rule.

    Parameters
    ----------
    controller : OperationalSpaceController
        Its tasks, gains, posture, limits, payloads and status of joints are those of the plan; its
        goals are changed by it. Constraints are open.
    state : RobotState
        Where the motion begins; locked joints rest, whatever it says.
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

    Raises
    ------
    ControlError
        For an unknown task, a constraint that is closed, times that cannot be used, or a motion
        that blows up; says when.
    StateError
        If the state is another model's.

    """
    _check(controller, state, goals, duration, timestep)
    world = _World(controller, gravity, joint_forces)
    steps = max(1, round(duration / timestep))
    tasks = [task for task in controller.tasks.values() if isinstance(task, OperationalTask)]
    record = _Record(controller.model, len(tasks), steps + 1)
    moving = RobotState(controller.model, state.q, np.where(controller.locked, 0.0, state.v))
    for k in range(steps + 1):
        for name, trajectory in goals.items():
            controller.tasks[name].set_target(*trajectory.sample(k * timestep))
        effort, limited = world.drive(controller, moving, timestep)
        record.q[k], record.v[k] = moving.q, moving.v
        record.effort[k] = effort
        record.acceleration[k] = world.acceleration(moving, effort)
        record.limited[k], record.released[k] = limited, controller.least_eigenvalue == 0.0
        record.outside[k] = world.outside(moving)
        for e, task in enumerate(tasks):
            record.poses[k, e] = task.pose
            record.errors[k, e] = _controlled_error(task)
        if k < steps:
            try:
                world.step(moving, effort, record.acceleration[k], timestep)
            except StateError:
                raise ControlError(
                    f'The motion blows up at {k * timestep:.3f} s.', time=k * timestep,
                    cure='Lower gains, or take a smaller timestep.') from None
    model = controller.model
    return Plan(
        robot=model.name, dof_names=model.dof_names, coordinate_names=model.coordinate_names,
        passive=_names(model, controller.passive), locked=_names(model, controller.locked),
        tasks=tuple(task.name for task in tasks), frames=tuple(task.frame for task in tasks),
        gravity=world.gravity, time=timestep * np.arange(steps + 1), **vars(record))


class _Record:
    """The arrays of a plan, k samples, to be filled."""

    def __init__(self, model, tasks, k):
        self.q, self.v = np.empty((k, model.nq)), np.empty((k, model.nv))
        self.acceleration, self.effort = np.empty((k, model.nv)), np.empty((k, model.nv))
        self.poses, self.errors = np.empty((k, tasks, 7)), np.empty((k, tasks, 6))
        self.limited, self.outside = np.empty(k, int), np.empty(k, int)
        self.released = np.empty(k, bool)


class _World:
    """The robot as it moves under its drives' efforts, gravity, and friction and springs."""

    def __init__(self, controller, gravity, joint_forces):
        self.model = controller.model
        if gravity is None:
            gravity = GRAVITY if controller.gravity_compensation else np.zeros(3)
        self.gravity = np.array(gravity, dtype=float)
        self._forces = controller.passive_forces if joint_forces is None else joint_forces
        self._active = ~(controller.passive | controller.locked)
        self._limits = controller.effort_limits
        self._nodes = controller.nodes  # payloads on links included
        self._nodes['status'][self._nodes['status'] == ACTIVE] = PASSIVE

    def drive(self, controller, state, h):
        """Return the drives' efforts (nv,), friction overcome, and how many the limits cut."""
        effort = controller.compute_torque(state, dt=h)
        limited = controller.limited_joints
        asked = effort - np.where(self._active, self._natural(state), 0.0)
        effort = np.clip(asked, -self._limits, self._limits)
        return effort, max(limited, int((effort != asked).sum()))

    def acceleration(self, state, effort):
        """Return what all joints do, (nv,): zero where a brake holds."""
        return hybrid_motion(self.model, self._nodes, state, np.zeros(self.model.nv),
                             effort + self._natural(state), gravity=self.gravity).acceleration

    def outside(self, state):
        """Return how many joints are beyond their position limits."""
        scalar = self.model.q_index >= 0
        q = state.q[self.model.q_index[scalar]]
        return int(((q < self.model.lower_position_limits[scalar])
                    | (q > self.model.upper_position_limits[scalar])).sum())

    def step(self, state, effort, acceleration, h):
        """Advance the state by h, s; the acceleration is that at its beginning."""
        q, v = state.q.copy(), state.v.copy()
        state.update(self.model.integrate(q, v, 0.5 * h), v + 0.5 * h * acceleration)
        after = v + h * self.acceleration(state, effort)
        state.update(self.model.integrate(q, 0.5 * (v + after), h), after)

    def _natural(self, state):
        """Return the forces that come by themselves, (nv,): friction, springs, given ones."""
        forces = np.empty(self.model.nv)
        passive_torque(self._nodes, self._forces.dofs, state.q, state.v, forces)
        return forces


def _check(controller, state, goals, duration, timestep):
    if state.model is not controller.model:
        raise StateError("The state does not belong to the controller's model.",
                         cure='Make it with RobotState(controller.model, q, v).', value=state)
    for constraint in controller.constraints.values():
        if constraint.closed:
            raise ControlError('A plan knows no constraints, and there are closed ones.',
                               cure='Open the constraints, disengage the grasps.')
    for name in goals:
        if name not in controller.tasks:
            raise ControlError(f"There is no task '{name}' to plan.", name=name,
                               cure=f'There are: {", ".join(controller.tasks) or "none"}.')
    if not (math.isfinite(duration) and 0.0 < timestep <= duration):
        raise ControlError(f'A plan of {duration} s in steps of {timestep} s cannot be made.',
                           cure='Give positive times, a step no longer than the plan.',
                           value=(duration, timestep))


def _controlled_error(task):
    """Return goal minus pose (6,), base axes, without what is along axes that are free."""
    error = getattr(task, 'error', None)
    if error is None:
        return np.zeros(6)
    controlled = np.isin(AXES, task.axes).reshape(2, 3)
    return np.concatenate([axes @ (mask * (axes.T @ part)) for axes, mask, part in zip(
        task.axes_in_base, controlled, error.reshape(2, 3), strict=True)])


def _names(model, mask):
    return tuple(name for name, yes in zip(model.dof_names, mask, strict=True) if yes)

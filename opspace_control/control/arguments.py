# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a controller is made of, checked before anything is made of it."""

from numbers import Real

import numpy as np

from opspace_control.control.constraints.constraint import Constraint
from opspace_control.control.constraints.contact import Contact
from opspace_control.control.data import Robot
from opspace_control.control.grasping.grasp import Grasp
from opspace_control.dynamics.data import (
    NODE_STATE,
    find_supports,
    make_center_point,
    make_joint_points,
    nan_filled,
    nodes_in_inertia,
    points_on,
)
from opspace_control.dynamics.robot_model import RobotModel
from opspace_control.dynamics.trunks import plan_propagation
from opspace_control.errors import ControlError
from opspace_control.model.nodes import WORLD
from opspace_control.spatial.eigen import SINGULARITY_THRESHOLD
from opspace_control.tasks.joint import JointTask, joint_dofs
from opspace_control.tasks.pose_kinds import CenterOfMassTask
from opspace_control.tasks.posture import PostureTask
from opspace_control.tasks.ranked import RankedTask


def check_arguments(model, tasks, posture, constraints, singularity_threshold):
    """Raise a ControlError for arguments of the wrong kind, in use, or of the same name."""
    if not isinstance(model, RobotModel):
        raise ControlError(f'model is a {type(model).__name__}.',
                           cure='Give a RobotModel, from RobotModel.from_urdf_file(path).')
    _check_parts('task', tasks, RankedTask,
                 'a PoseTask, PositionTask, ForceTask, JointTask ...')
    centers = [task.name for task in tasks if isinstance(task, CenterOfMassTask)]
    if len(centers) > 1:
        raise ControlError(f"'{centers[0]}' and '{centers[1]}' are tasks of centres of mass.",
                           cure='Give one at most.', task=centers[1])
    _check_parts('constraint', constraints, Constraint, 'Constraint objects')
    if not isinstance(posture, PostureTask):
        raise ControlError(f'{posture!r} is not a posture.', cure='Give a PostureTask.')
    if posture.in_use:
        raise ControlError('The posture already belongs to a controller.',
                           cure='Make a PostureTask for each controller.')
    if not (isinstance(singularity_threshold, Real) and 0.0 < singularity_threshold < 1.0):
        raise ControlError(f'singularity_threshold = {singularity_threshold!r} is not allowed.',
                           cure=f'Give a number between 0 and 1; {SINGULARITY_THRESHOLD} is usual.')


def split_contacts(contact_model, constraints, grasps, limits):
    """
    Return the constraints that are eliminated, and those that are large inertias.

    Raises a ControlError for a model that is unknown, or that does not go with the others.
    """
    if contact_model == 'exact':
        return constraints, ()
    not_contacts = [one.name for one in constraints if not isinstance(one, Contact)]
    for refused, what, cure in (
            (contact_model != 'large_inertia', 'is unknown', 'Take exact or large_inertia.'),
            (limits is not None, 'does not keep limits: it bounds no contact force',
             "Take contact_model='exact', or no limits (limits.keep: false)."),
            (not_contacts or grasps,
             f'does not fit {not_contacts}: it is of contacts with the ground alone',
             "Take contact_model='exact'.")):
        if refused:
            raise ControlError(f'contact_model {contact_model!r} {what}.', cure=cure,
                               value=contact_model)
    return (), constraints


def gather_parts(tasks, constraints, grasps):
    """
    Return tuples of tasks, constraints and grasps, one of a kind alone or a sequence being given.

    The tasks and constraints of the grasps are among them; raises a ControlError for what is no
    grasp, in use, or of the same name as another.
    """
    grasps = (grasps,) if isinstance(grasps, Grasp) else tuple(grasps)
    _check_parts('grasp', grasps, Grasp, 'Grasp objects')
    tasks = (tasks,) if isinstance(tasks, RankedTask) else tuple(tasks)
    return ((*tasks, *(grasp.task for grasp in grasps)),
            (*constraints, *(member for grasp in grasps for member in grasp.constraints)), grasps)


def _check_parts(kind, parts, cls, wanted):
    """Check tasks or constraints: what they are, whose they are, what they are called."""
    for part in parts:
        if not isinstance(part, cls):
            raise ControlError(f'{part!r} is not a {kind}.', cure=f'Give {wanted}.')
        if part.in_use:
            raise ControlError(
                f"{kind.capitalize()} '{part.name}' already belongs to a controller.",
                cure=f'Make a {kind} for each controller.', **{kind: part.name})
    names = [part.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise ControlError(f"Two {kind}s are called '{name}'.",
                               cure='Give each its own name=...', **{kind: name})


def make_stack(model, constraints, tasks):
    """
    Return the POINT records of the stack: those of constraints, then those of tasks by priority.

    Raises a ModelError for an unknown frame or joint, and a TaskError for a joint without a
    coordinate of its own.
    """
    parts = [points_on(model, [item.frame for item in constraints],
                       [item.other for item in constraints])]
    parts[0]['record'] = np.arange(len(constraints))
    for frame, constraint in zip(parts[0]['frame'], constraints, strict=True):
        frame['position'] += frame['rotation'] @ constraint.place
    counts = {True: 0, False: 0}
    for task in tasks:
        in_group = isinstance(task, JointTask)
        points = (make_joint_points(model.nodes, joint_dofs(task, model)) if in_group
                  else make_center_point(model, task.frame or None)
                  if isinstance(task, CenterOfMassTask)
                  else points_on(model, [task.frame], [task.reference]))
        if not in_group and task.unattached:
            points['frame']['node'] = WORLD
        points['record'] = counts[in_group] + np.arange(points.size)
        counts[in_group] += points.size
        parts.append(points)
    return np.concatenate(parts)


def make_robot(status, points, limited):
    """
    Return the `Robot` of a cycle without `LargeInertia` and shapes.

    The nodes of the JointStatus ``status`` are those of the robot; ``points`` (k,) are those of
    `make_stack`, and a copy is in use. ``limited`` is whether any joint may need its inertia, not
    only those that move a point.
    """
    nodes, supports = status.nodes, find_supports(status.nodes, points)
    carried, crossing, coupling = plan_propagation(nodes, points, supports)
    return Robot(nodes, nan_filled(nodes.size, NODE_STATE),
                 nodes_in_inertia(nodes, supports) | limited, status.responds,
                 carried[:points.size], supports, carried, crossing, coupling, None, None)


def operational_frames(points, constraints):
    """Return the live FRAME of each task's point, which come after those of so many constraints."""
    return [points['frame'][e] for e in range(constraints, points.size)
            if points['joints'][e, 0] == WORLD]


def level_rows(tasks, first):
    """
    Return the rows of the stack at which levels of tasks begin, and where the last one ends.

    The ``tasks`` are sorted by priority; ``first`` is the row of the first one.
    """
    rows, priority = [], None
    for task in tasks:
        if task.priority != priority:
            rows.append(first)
        priority = task.priority
        first += 6 * task.points
    return np.array([*rows, first], np.int64)


def result_for(model, out):
    """Return where torques go, (nv,), or raise a ControlError: there is no room."""
    if out is None:
        return np.empty(model.nv)
    if not (isinstance(out, np.ndarray) and out.shape == (model.nv,)
            and out.dtype == float and out.flags.carray):
        raise ControlError('out cannot take the torques.',
                           cure=f'Give a contiguous float array of {model.nv}.', value=out)
    return out

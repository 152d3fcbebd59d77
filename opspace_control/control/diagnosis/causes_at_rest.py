# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Why a robot at rest is not at its goals: active bounds, lost directions, unmodelled forces."""

import numpy as np

from opspace_control.control.diagnosis.conflicts import truncated_directions
from opspace_control.control.split import split_efforts
from opspace_control.tasks.joint import JointTask, joint_dofs

# Unmodelled joint forces are measured in parts of their effort limits, or of 1 N·m or N where there
# is none. Those below this part of the largest one do not decide where the robot rests; those below
# the other are smaller than any gear's friction.
_SMALL = 0.2
_NOTHING = 1e-3


def distance_to_goal(task):
    """
    Return how far a task is from its goal along the axes whose motion it controls.

    Parameters
    ----------
    task : OperationalTask or JointTask
        Of a controller, after a cycle.

    Returns
    -------
    (float, float) or None
        Distance, m, and angle, rad; of a JointTask 0.0 and the largest error, rad or m. None for a
        task without a goal, and for a spring, which leaves its goal under load.

    """
    if isinstance(task, JointTask):
        error = abs(task.error).max()
        return (0.0, float(error)) if np.isfinite(error) else None
    error = getattr(task, 'axis_error', None)
    if error is None or getattr(task, 'mode', '') == 'impedance':
        return None
    return float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))


def causes_at_rest(controller, task, state, commanded):
    """
    Return what keeps a robot at rest away from the goal of a task.

    At rest the equation of motion is ``τ − g(q) + τ_ext = 0``. What the joint forces exceed the
    gravity torque and the constraint forces by, ``τ − g − J_cᵀ w``, is balanced by forces that the
    model does not have: friction, contact with something, the error of the masses.

    Parameters
    ----------
    controller : OperationalSpaceController
        After a cycle.
    task : OperationalTask or JointTask
        Of this controller.
    state : RobotState
        Of that cycle.
    commanded : (nv,) array
        The joint forces sent, N·m or N.

    Returns
    -------
    tuple of str
        A sentence for each cause; names joints, directions and the cure.

    """
    moving = _dofs_that_move(controller, task, state)
    return (*_active_bounds(controller, moving, state, commanded),
            *_lost_directions(controller, task),
            *_unmodelled_forces(controller, moving, state, commanded))


def _dofs_that_move(controller, task, state):
    """Return which dofs move the task's point or are the task's joints, (nv,) of bool."""
    model = controller.model
    if isinstance(task, JointTask):
        moving = np.zeros(model.nv, bool)
        moving[joint_dofs(task, model)] = True
        return moving
    return abs(task.jacobian(model, state)).max(axis=0) > 0.0


def _active_bounds(controller, moving, state, commanded):
    """Yield a sentence for each kind of bound that is active at joints that move the task."""
    model = controller.model
    active = {}
    for bound in controller.active_limits:
        value, concerned = '', bound.name in controller.constraints
        if bound.limit == 'distance':
            concerned = (moving & _dofs_that_move_pair(controller, bound.name, state)).any()
        elif not concerned:
            k = model.dof_index(bound.name)
            concerned = moving[k]
            if bound.limit == 'acceleration':
                value = f' ({controller.limits.acceleration[k]:.3g})'
        if concerned:
            active.setdefault(bound.limit, []).append(f'{bound.name}{value}')
    efforts = controller.effort_limits
    cut = model.names_of(moving & (efforts > 0.0) & (abs(commanded) >= efforts))
    if cut and 'effort' not in active:
        active['effort'] = cut
    for limit, joints in active.items():
        where = _BOUNDS.get(limit, f'At a limit of {limit}')
        yield f'{where}: {", ".join(joints)}.{_CURES.get(limit, "")}'


def _dofs_that_move_pair(controller, name, state):
    """Return which dofs move a shape of the pair that an ActiveLimit names, (nv,) of bool."""
    model, collision = controller.model, controller.distances.collision
    pair = next(pair for pair in collision.pairs if ' and '.join(pair) == name)
    moving = np.zeros(model.nv, bool)
    for shape in collision.shapes:
        if shape.name in pair and shape.link is not None:
            moving |= abs(model.jacobian(state, shape.link)).max(axis=0) > 0.0
    return moving


_BOUNDS = {
    'position': 'At a position limit', 'velocity': 'At a velocity limit',
    'acceleration': 'At the acceleration with which the drive can brake, rad/s² or m/s²',
    'effort': 'At an effort limit',
    'gravity torque': 'At the greatest gravity torque for the effort limit',
    'normal force': 'At a bound of the normal force of a contact',
    'friction': 'At the friction of a contact',
    'centre of pressure': 'With the centre of pressure of a contact at the edge of its sole',
    'friction torque': 'At the friction torque of a contact',
    'distance': 'At the least distance'}
_CURES = {
    'distance': ' Choose a goal that can be reached without them, or take away what is in the way.',
    'acceleration': ' Friction, or a load that the model does not have, takes all of it: raise '
                    'limits.effort_scale, or set limits.keep to false, which ends distances, too.'}


def _lost_directions(controller, task):
    """Yield a sentence for each direction of the task that does not get its acceleration."""
    directions = [direction for direction in truncated_directions(controller)
                  if any(name == task.name for name, _ in direction.wrench)]
    for direction in directions:
        yield f'A direction of the task is lost: {direction}.'
    if not directions and controller.active_limits and not controller.attained:
        yield 'With these limits active the task cannot move in every direction.'


def _unmodelled_forces(controller, moving, state, commanded):
    """Yield a sentence that names the joints whose force something unknown balances."""
    model = controller.model
    parts = split_efforts(controller, state, commanded)
    active = moving & ~controller.passive & ~controller.locked
    force = np.where(active, commanded - parts['gravity'] - parts['grasp'], 0.0)
    limits = controller.effort_limits
    effort_share = abs(force) / np.where(np.isfinite(limits) & (limits > 0.0), limits, 1.0)
    chosen = [k for k in np.argsort(-effort_share)
              if effort_share[k] > max(_SMALL * effort_share.max(), _NOTHING)]
    if chosen:
        yield ('The drives push against friction, a contact or a weight that the model does not '
               'have, N·m or N: ' + ', '.join(
                   f'{model.dof_names[k]} {force[k]:+.3g}{_friction_of(model, k)}' for k in chosen)
               + '. Raise kp, compensate the friction, or correct the masses.')


def _friction_of(model, k):
    """Return the Coulomb friction that the URDF gives a dof, as text."""
    return f" (the URDF's friction: {model.friction[k]:.3g})" if model.friction[k] > 0.0 else ''

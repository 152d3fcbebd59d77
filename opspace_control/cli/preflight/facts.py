# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Facts about tasks, passive joints, brakes and trajectory controllers, with their findings."""

import numpy as np

from opspace_control.cli.preflight.stiffness import sag
from opspace_control.cli.preflight.verdict import failure, ok, warning
from opspace_control.control.diagnosis.freedom import independent_axes, nearly_lost, task_freedom
from opspace_control.control.limits.joint_limits import JointLimits
from opspace_control.control.planning.postures import random_postures
from opspace_control.dynamics.passive_forces import PassiveForces
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.errors import OpspaceError
from opspace_control.model import RobotState
from opspace_control.ros.parameters.joints import passive_forces
from opspace_control.ros.parameters.parameter_file import ParameterFile
from opspace_control.ros.parameters.robot import make_limits

_TYPE = 'joint_trajectory_controller/JointTrajectoryController'
_OPTION = 'set_last_command_interface_value_as_state_on_activation'
_FEW_POSTURES = 20  # random ones, for what a task reaches away from home
_LEVER = 1e-6  # m; the weight of the robot at a shorter one is rounding


def add_tasks(report, model, state, tasks, values):
    """Add the tasks' freedom at home and at best, alone and together, and what a load does."""
    elsewhere = [RobotState(model, q, state.v)
                 for q in random_postures(model, state.q, _FEW_POSTURES)]
    below = nearly_lost(sum(len(task.axes) for task in tasks))

    def freedom(tasks):
        home = task_freedom(model, state, tasks, below)
        others = [home, *(task_freedom(model, other, tasks) for other in elsewhere)]
        wanted, best = home.eigenvalues.size, max(other.rank for other in others)
        return {
            'wanted': wanted, 'rank': home.rank, 'best_rank': best,
            'independent_axes': independent_axes(model, [state, *elsewhere], *tasks, best)
            if len(tasks) == 1 and 0 < best < wanted else (),
            'least_eigenvalue': home.least_eigenvalue, 'condition': home.condition,
            'immovable': [list(row) for row in home.immovable],
            'never_movable': [list(row) for row in home.immovable
                              if all(row in other.immovable for other in others)],
            'weak': [{'eigenvalue': direction.eigenvalue, 'wrench': [
                {'task': task, 'axis': axis, 'component': value}
                for (task, axis), value in direction.wrench.items() if value]}
                for direction in home.weak]}

    active = ~(model.locked | model.passive)
    report['tasks'] = [{
        'name': task.name, 'frame': task.frame or 'robot', 'axes': list(task.controlled_axes),
        'joints': int(task.jacobian(model, state)[:, active].any(axis=0).sum()),
        **freedom([task]), 'sag': sag(model, state, task, values)} for task in tasks]
    report['together'] = None
    if tasks:
        report['together'] = together = freedom(tasks)
        together['redundancy'] = int(active.sum()) - together['rank']


def look_at_passive_joints(report, model, values, state, tasks, findings):
    """
    Add a finding for each passive joint that gravity turns at home, and that carries a task's link.

    Nothing balances its torque: the law holds the link by accelerating the rest of the robot. A
    floating base falls with its joints, and the load of contacts and grasps is not known here.
    """
    report['unbalanced'] = []
    if model.floating_base or values['contacts'] or values['grasps']:
        return
    torque = PassiveForces(model, **passive_forces(model, values)).torque(state) - model.gravity(
        state)
    rounding = _LEVER * model.nodes['mass'].sum() * np.linalg.norm(GRAVITY)
    links = {body['joint']: report['tree'][body['parent']]['links'][0]
             for body in report['tree'][1:]}
    for task in tasks:
        moved = abs(task.jacobian(model, state)).max(axis=0) > 0.0
        for joint, dofs in model.joint_dofs.items():
            turned = [float(torque[k]) for k in dofs
                      if model.passive[k] and moved[k] and abs(torque[k]) > rounding]
            if turned:
                report['unbalanced'].append({'task': task.name, 'joint': joint, 'torque': turned})
                findings.append(warning(
                    f"Task '{task.name}' moves what the passive joint '{joint}' carries, and "
                    f'gravity turns that joint at home, with {max(map(abs, turned)):.2g} N·m or N: '
                    'no drive balances it, and the robot may move ever faster.',
                    f"Let the task move '{links[joint]}', lock the joint, or try it in simulation "
                    'first.'))


def look_at_braking(model, values, joints, findings):
    """
    Return whether limits of motion are kept, each joint's deceleration, and which are weak.

    ``values`` are the controller's parameters, ``joints`` those that are commanded. ``findings``
    gets a finding if the parameters cannot be used.
    """
    effort_limits = values['limits.effort_scale'] * model.effort_limits
    try:
        limits = make_limits(model, effort_limits, values)
    except OpspaceError as error:
        findings.append(failure(error, 'limits'))
        limits = JointLimits(model, effort_limits=effort_limits)
    return {'kept': values['limits.keep'],
            'weak': [name for name in limits.weak if name in joints],
            'accelerations': dict(zip(model.dof_names, limits.acceleration.tolist(), strict=True))}


def look_at_trajectory_controllers(path, joints, findings):
    """
    Return the joint trajectory controllers for any of the joints; add findings about them.

    A controller that commands positions begins at the last position commanded, not at the one that
    is measured, unless the option says otherwise. The joints have moved in between. ``path`` is
    that of the parameter file, or None. The result is a list of dicts.
    """
    found = []
    file = ParameterFile(path) if path else None
    for key, value in file.of_node('controller_manager').items() if file else ():
        if value != _TYPE or not key.endswith('.type'):
            continue
        name = key.removesuffix('.type')
        values = file.of_node(name)
        if not set(joints) & {*values.get('joints', ()), *values.get('command_joints', ())}:
            continue
        begins_here = ('position' not in values.get('command_interfaces', ())
                       or values.get(_OPTION, True) is False)
        found.append({'name': name, 'begins_where_the_joints_are': begins_here})
        findings.append(ok(f'{name} begins where the joints are when it gets them back.')
                        if begins_here else warning(
            f'{name} returns to the position that it commanded last when it gets the joints back.',
            f'Give it {_OPTION}: false.'))
    return found

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Facts about tasks, passive joints, brakes, controllers beside ours and the loop, and findings."""

import numpy as np

from opspace_control.cli.preflight.verdict import USUAL_RATE, failure, ok, warning
from opspace_control.control.diagnosis.freedom import independent_axes, nearly_lost, task_freedom
from opspace_control.control.diagnosis.margins import LEAST_FACTOR, LoopMargin, loop_time, too_slow
from opspace_control.control.limits.joint_limits import JointLimits
from opspace_control.control.planning.postures import random_postures
from opspace_control.dynamics.passive_forces import PassiveForces
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.errors import OpspaceError
from opspace_control.model import RobotState
from opspace_control.ros.parameters.joints import passive_forces
from opspace_control.ros.parameters.robot import make_limits
from opspace_control.tasks.arguments import AXES
from opspace_control.tasks.pose_kinds import CenterOfMassTask, RelativeTask

_TYPE = 'joint_trajectory_controller/JointTrajectoryController'
_OPTION = 'set_last_command_interface_value_as_state_on_activation'
_FEW_POSTURES = 20  # random ones, for what a task reaches away from home
_LEVER = 1e-6  # m; the weight of the robot at a shorter one is rounding
LOAD = 1.0  # kg, that `sag` tells of


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

    report['tasks'] = [{
        'name': task.name, 'frame': task.frame or 'robot', 'axes': list(task.controlled_axes),
        'joints': int(task.jacobian(model, state)[:, model.active].any(axis=0).sum()),
        **freedom([task]), 'sag': sag(model, state, task, values)} for task in tasks]
    report['together'] = None
    if tasks:
        report['together'] = together = freedom(tasks)
        together['redundancy'] = int(model.active.sum()) - together['rank']


def sag(model, state, task, values):
    """
    Return how far a load of `LOAD` at a task's frame moves it for good: a dict, or None.

    The law holds against a force F with ``Λ kp e``, so that ``e = (J A⁻¹ Jᵀ F) / kp``, to first
    order. What `DisturbanceObserver` compensates within its limits is no more in F. ``bare`` and
    ``compensated`` are pairs of m and rad, ``values`` parameters of the controller. None for a
    robot with a floating base or passive joints, and for tasks that are springs, control force,
    have axes other than the base's, or move no frame of a link in all of their axes.
    """
    if model.floating_base or model.passive.any() or isinstance(
            task, (CenterOfMassTask, RelativeTask)) or task.mode != 'decoupled' or (
            task.force_axes or not task.frame or task.axes_frame != (None, None)):
        return None
    rows, free = [AXES.index(axis) for axis in task.axes], ~model.locked
    J = task.jacobian(model, state)[:, free]
    response = np.linalg.solve(model.mass_matrix(state)[np.ix_(free, free)], J.T)
    load = np.concatenate([LOAD * GRAVITY, np.zeros(3)])
    acceleration = J[rows] @ response @ load
    mobility = J[rows] @ response[:, rows]
    if np.linalg.matrix_rank(mobility) < len(rows):
        return None
    error, force = np.zeros((2, 6))
    error[rows] = acceleration / task.kp[rows]
    force[rows] = np.linalg.solve(mobility, acceleration)
    share = min([1.0, *(values[f'disturbance.{limit}'] / size for limit, size in (
        ('max_force', np.linalg.norm(force[:3])), ('max_moment', np.linalg.norm(force[3:])))
        if size > values[f'disturbance.{limit}'])])
    size = np.linalg.norm(error.reshape(2, 3), axis=1)
    return {'bare': size.tolist(), 'compensated': ((1.0 - share) * size).tolist()}


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


def look_at_trajectory_controllers(file, joints, findings):
    """
    Return the joint trajectory controllers for any of the joints; add findings about them.

    A controller that commands positions begins at the last position commanded, not at the one that
    is measured, unless the option says otherwise. The joints have moved in between. ``file`` is
    the ParameterFile, or None. The result is a list of dicts.
    """
    found = []
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


def look_at_loop(path, cycle, findings):
    """
    Return period and delay of the loop, s, and how long it takes, a dict; add a finding.

    They are medians of the run of a path; if that is None, the cycle of the report, a dict, is
    assumed to have its rate, and a delay of one period.
    """
    hold, source = 1.0 / (cycle['update_rate'] or USUAL_RATE), 'assumed'
    delay = hold
    if path:
        try:
            hold, delay = _measured(path)
            source = 'measured'
        except OpspaceError as error:
            findings.append(failure(error, str(path)))
    time = loop_time(hold, delay)
    margins = [LoopMargin(**margin) for margin in cycle['margins']]
    if margins:
        least = min(margins, key=lambda margin: margin.delay)
        what = (f'With {source} periods of {1e3 * hold:.3g} ms and a delay of {1e3 * delay:.2g} ms '
                f'efforts are late by {1e3 * time:.3g} ms; the loop of {least.name} is unstable '
                f'above {1e3 * least.delay:.3g} ms')
        findings.append(ok(f'{what}.') if too_slow(margins, time) is None else warning(
            f'{what}: less than {LEAST_FACTOR:g} times as much.',
            'Lower its gains or rates, or send joint states more often.'))
    return {'hold': hold, 'delay': delay, 'time': time, 'source': source}


def _measured(path):
    """
    Return the medians of periods and of delays from stamps of states to commands, s.

    A RunError tells that the run of the path has no two cycles, or no command after a state.
    """
    from opspace_control.runs.run import Run, RunError
    from opspace_control.runs.summary import Summary

    summary = Summary(Run(path))
    if not (len(summary.period) and (summary.run.by_plugin or len(summary.latency))):
        raise RunError(f'{path} has too few cycles to measure their period and delay: it has '
                       f'{len(summary.efforts)} messages of efforts.', path=str(path),
                       cure='Record for some seconds while the controller is active.')
    period = float(np.median(summary.period))
    if summary.run.by_plugin:
        return period, 0.0
    ages = [age for age in summary.ages if 0.0 <= age < 1.0]  # else the clocks differ
    return period, float(np.median(summary.latency)) + (float(np.median(ages)) if ages else 0.0)

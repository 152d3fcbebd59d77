# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The facts of the report: a robot, its parameters and its tasks."""

import time
from dataclasses import asdict

import numpy as np

from opspace_control import library
from opspace_control.cli.preflight import facts, verdict
from opspace_control.cli.preflight.collision import look_at_collision
from opspace_control.cli.preflight.tree import moving_bodies, tool_frames
from opspace_control.control.diagnosis.margins import loop_margins
from opspace_control.control.planning import postures
from opspace_control.errors import OpspaceError
from opspace_control.model import RobotState
from opspace_control.model.assembly import BASE
from opspace_control.model.urdf import read_urdf, urdf_text
from opspace_control.ros.parameters.controller_parameters import table_of
from opspace_control.ros.parameters.joints import unknown_joints
from opspace_control.ros.parameters.parameter_file import ParameterFile, refusals
from opspace_control.ros.parameters.parameter_table import names_in
from opspace_control.ros.parameters.robot import make_controller, make_model
from opspace_control.ros.parameters.simulator_parameters import simulator_table
from opspace_control.ros.parameters.task_blocks import make_contact, make_grasp, make_task
from opspace_control.tasks.joint import JointTask, joint_dofs

# Control cycles timed; random postures, for the largest gravity forces. Fewer for robots of more
# than a hundred joints.
_CALLS, _POSTURES = 3000, 1000


def examine(urdf, parameters=None, *, frames=(), home=None, floating_base=False, collision=None,
            run=None, progress=lambda message: None):
    """
    Return the report, a dict, on a URDF or xacro file and a ROS 2 parameter file, if any.

    ``findings`` is a list of dicts ``level`` (OK, WARN, FAIL), ``what``, ``cure``; ``verdict`` the
    worst level. The facts are ``robot``, ``tree``, ``home``, ``joints``,
    ``trajectory_controllers``, ``braking``, ``tasks``, ``unbalanced``, ``joint_tasks``,
    ``together``, ``collision``, ``cycle`` and ``loop``, as far as the robot can be read. No content
    of a file raises an error.

    ``frames`` are links, each examined like a task of all six axes; ``home`` are positions by
    joint, rad or m, which replace those of the file. With ``floating_base`` the root link moves
    freely, and without a drive, whatever the file says. ``collision`` is the path of a file of
    collision shapes, that beside the robot's file if not given. ``run`` is the path of a recorded
    run, whose periods and delays are those of the loop. ``progress`` is called with a sentence
    before a long step.
    """
    report = {'file': str(urdf), 'parameter_file': parameters and str(parameters), 'findings': []}
    findings = report['findings']
    try:
        file = ParameterFile(parameters) if parameters else None
        values, start = _read_parameters(file, frames, findings)
        floating_base = floating_base or values['floating_base']
        text = urdf_text(urdf)
        description = read_urdf(text)
        model, joints, values = _build_model(text, values, floating_base, findings)
        wrong = list(unknown_joints(model, values))
        findings += map(verdict.failure, wrong)
        values = {name: value for name, value in values.items()
                  if not name.startswith(tuple(f'{error.parameter}.' for error in wrong))}
    except OpspaceError as error:
        findings.append(verdict.failure(error))
        return verdict.judge(report)
    if not library.is_there():
        progress('Compiling, unless an earlier start has done it; this takes a while.')
    state = RobotState(model, _home(model, start, home or {}, report), np.zeros(model.nv))
    report['robot'] = _robot(model, description, joints, bool(values['command_joints']))
    report['tree'] = moving_bodies(description)
    report['tool_frames'] = tool_frames(report['tree'])
    report['joints'] = _joints(model, joints, state.q)
    report['trajectory_controllers'] = facts.look_at_trajectory_controllers(
        file, joints, findings)
    report['braking'] = facts.look_at_braking(model, values, joints, findings)
    report['collision'] = look_at_collision(
        urdf, collision or values['collision.file'], model, state, findings)
    usable = {kind: _usable(kind, make, model, values, findings) for kind, make in (
        ('tasks', make_task), ('grasps', make_grasp), ('contacts', make_contact))}
    tasks = [task for task in usable['tasks'].values() if not isinstance(task, JointTask)]
    facts.add_tasks(report, model, state, tasks, values)
    facts.look_at_passive_joints(report, model, values, state, tasks, findings)
    report['joint_tasks'] = [{'name': name, 'joints': list(task.joints)}
                             for name, task in usable['tasks'].items() if task not in tasks]
    values = {**values, **{kind: list(found) for kind, found in usable.items()}}
    report['cycle'] = _cycle(text, values, floating_base, state, findings)
    report['loop'] = report['cycle'] and facts.look_at_loop(run, report['cycle'], findings)
    return verdict.judge(report)


def _read_parameters(file, frames, findings):
    """Return the controller's parameters, defaults where not given, and the start posture."""
    given = file.of_node('opspace_controller') if file else {}
    tasks = list(dict.fromkeys((*names_in(given, 'tasks'), *frames)))
    table = table_of({**given, 'tasks': tasks})
    refused = list(refusals(given, table))
    # A wildcard holds for all nodes; only a block of its own is meant for the simulator.
    simulated = file.of_node('opspace_simulator') if file and any(
        name.endswith('opspace_simulator') for name in file.nodes) else {}
    start = file.start() if simulated else {}
    refused += refusals(simulated, simulator_table(simulated))
    findings += map(verdict.failure, refused)
    if file:
        findings += verdict.of_file(file, given, refused)
    bad = {error.parameter for error in refused}
    values = {parameter.name: given.get(parameter.name, parameter.default)
              if parameter.name not in bad else parameter.default for parameter in table}
    return {**values, 'tasks': tasks}, start


def _build_model(text, values, floating_base, findings):
    """
    Return model, commanded joints and parameters, without the joints' names that do not fit.

    An OpspaceError tells that the robot itself cannot be used.
    """
    lists = {name: list(values[name])
             for name in ('passive_joints', 'locked_joints', 'command_joints')}
    if floating_base and BASE not in (*lists['passive_joints'], *lists['locked_joints']):
        lists['passive_joints'].append(BASE)
    while True:
        values = {**values, **lists}
        try:
            return *make_model(text, values, floating_base=floating_base), values
        except OpspaceError as error:
            culprit = error.data.get('joint', error.data.get('element'))
            if not any(culprit in names for names in lists.values()):
                raise
            findings.append(verdict.failure(error))
            lists = {key: [name for name in names if name != culprit]
                     for key, names in lists.items()}


def _home(model, start, wanted, report):
    """Return the home posture (nq,), and add it to the report, with its source."""
    known = {}
    for name, position in {**start, **wanted}.items():
        try:
            if model.q_index[model.dof_index(name)] >= 0:
                known[name] = float(position)
        except (OpspaceError, TypeError, ValueError) as error:
            report['findings'].append(verdict.failure(error, 'home posture'))
    source = 'given' if wanted else 'initial_positions of the parameter file'
    q = postures.named_posture(model, known)
    if not known:
        source, q = 'middle of the joint ranges', postures.middle_posture(model)
    report['home'] = {'source': source, 'given': bool(known), 'positions': {
        name: float(q[i]) for name, i in zip(model.dof_names, model.q_index, strict=True)
        if i >= 0}}
    return q


def _robot(model, description, joints, command_given):
    return {
        'name': model.name, 'root_link': model.root_link, 'floating_base': model.floating_base,
        'degrees_of_freedom': model.nv, 'links': len(description.links),
        'mass': float(sum(link.mass for link in description.links.values())),
        'commanded': list(joints), 'command_given': command_given,
        'passive': list(model.names_of(model.passive)),
        'locked': list(model.names_of(model.locked)),
        'mimics': {name: list(values) for name, values in model.mimics.items()},
        'effort_joints': list(model.effort_joints),
        'hardware': [{'name': block.name, 'type': block.type, 'command_interfaces': {
            joint.name: list(joint.command) for joint in block.joints}}
            for block in model.ros2_control],
        'warnings': list(model.warnings),
    }


def _joints(model, joints, home):
    """Return a dict for each degree of freedom with a coordinate of its own: limits and loads."""
    at_home = postures.gravity_forces(model, home)
    largest = np.maximum(abs(at_home), postures.largest_gravity_forces(
        model, postures.random_postures(model, home, _fewer(_POSTURES, model))))
    margins = postures.limit_margins(model, home)
    status = np.where(model.locked, 'locked', np.where(model.passive, 'passive', 'active'))
    return [{
        'name': name, 'status': str(status[k]), 'commanded': name in joints,
        'unit': 'N' if model.slides[k] else 'N·m',
        'home': float(home[model.q_index[k]]),
        'lower': float(model.lower_position_limits[k]),
        'upper': float(model.upper_position_limits[k]), 'margin': float(margins[k]),
        'velocity': float(model.velocity_limits[k]), 'effort': float(model.effort_limits[k]),
        'gravity': float(at_home[k]), 'gravity_share': _share(at_home[k], model.effort_limits[k]),
        'largest_gravity': float(largest[k]),
        'largest_gravity_share': _share(largest[k], model.effort_limits[k]),
    } for k, name in enumerate(model.dof_names) if model.q_index[k] >= 0]


def _share(force, limit):
    """Return the part of an effort limit that a force takes; inf for any force on a zero limit."""
    if limit > 0.0:
        return float(abs(force) / limit)
    return float('inf') if abs(force) > 1e-6 else 0.0


def _usable(kind, make, model, values, findings):
    """Return what can be made of the names of a kind, by name; other errors become findings."""
    found = {}
    for name in values[kind]:
        try:
            made = make(name, values)
            if isinstance(made, JointTask):
                joint_dofs(made, model)
            else:
                links = getattr(made, 'effectors', None) or (
                    made.frame, getattr(made, 'reference', None))
                for link in filter(None, links):
                    model.frame_index(link)
            found[name] = made
        except OpspaceError as error:
            findings.append(verdict.failure(error, f"{kind[:-1]} '{name}'"))
    return found


def _cycle(text, values, floating_base, state, findings):
    """Return how long a cycle lasts at home, or None if the controller cannot be made."""
    try:
        controller, _ = make_controller(text, values, floating_base=floating_base)
    except OpspaceError as error:
        findings.append(verdict.failure(error))
        return None
    state = RobotState(controller.model, state.q, state.v)
    calls = _fewer(_CALLS, controller.model)
    return {'median': cycle_time(controller, state, calls), 'calls': calls,
            'update_rate': values['update_rate'],
            'margins': [asdict(margin) for margin in loop_margins(controller)]}


def cycle_time(controller, state, calls):
    """Return the median time of one ``compute_torque``, s, measured now after a warm-up."""
    out, durations = np.empty(controller.model.nv), []
    for _ in range(calls // 10):
        controller.compute_torque(state, out=out)
    for _ in range(calls):
        start = time.perf_counter_ns()
        controller.compute_torque(state, out=out)
        durations.append(time.perf_counter_ns() - start)
    return float(np.median(durations)) * 1e-9


def _fewer(count, model):
    return max(10, count * 100 // max(100, model.nv))

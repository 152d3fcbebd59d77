# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The verdict of the report: findings OK, WARN or FAIL, each with its cure."""

import math
import re

from opspace_control.control.diagnosis.freedom import nearly_lost
from opspace_control.model.topology import enumerate_names, nearest

LEVELS = ('OK', 'WARN', 'FAIL')

# Shares of the effort limit that gravity alone may take.
_HEAVY, _TOO_HEAVY = 0.8, 1.0
# Limits above these are placeholders: no drive of a robot arm is as strong or fast.
_NO_EFFORT_LIMIT, _NO_VELOCITY_LIMIT = 1e4, 1e3
# A joint is close to a limit within this part of its range, and no more than this, rad or m.
_CLOSE_PART, _CLOSE = 0.05, 0.1
# At half of the eigenvalue where its truncation begins, a quarter of that at which it is nearly
# lost, half of a direction is left to the posture.
_LOST = 0.25
# Part of the time between two joint states that a cycle may take, and their usual rate, Hz.
_BUSY, USUAL_RATE = 0.5, 1000.0


def ok(what):
    """Return a finding that all is well."""
    return {'level': 'OK', 'what': what, 'cure': ''}


def warning(what, cure):
    """Return a finding that the robot can be controlled with."""
    return {'level': 'WARN', 'what': what, 'cure': cure}


def failure(error, where=''):
    """Return the finding of an error, with ``where`` in front."""
    cure = getattr(error, 'cure', '')
    what = str(error).removesuffix(cure).strip()
    return fail(f'{where}: {what}' if where and not what.startswith(where) else what, cure)


def fail(what, cure):
    """Return a finding that the robot cannot be controlled with."""
    return {'level': 'FAIL', 'what': what, 'cure': cure}


def judge(report):
    """Add the findings of all facts and the verdict, the worst of them, to a report; return it."""
    findings = report['findings']
    if 'robot' in report:
        for look in (_at_description, _at_interfaces, _at_limits, _at_home, _at_tasks, _at_gravity,
                     _at_cycle):
            findings += look(report)
    report['verdict'] = max((finding['level'] for finding in findings), key=LEVELS.index)
    return report


def of_file(file, given, refused):
    """Yield findings about a parameter file as a whole."""
    if not given:
        yield fail(f'{file.path} has no parameters for opspace_controller.',
                   nearest('opspace_controller', file.nodes))
    elif not refused:
        yield ok(f'The {len(given)} parameters of the controller are known and in range.')


def _at_description(report):
    alike = {}  # warnings by their text without names and numbers
    for text in report['robot']['warnings']:
        alike.setdefault(re.sub(r"'.*?'|[-\d.e]+", '', text), []).append(text)
    for first, *others in alike.values():
        more = f', and {len(others)} more like this (--json has them all)' if others else ''
        yield warning(f'{_sentence(first)}{more}.', 'Correct the robot description.')
    if not alike:
        yield ok('The robot description is sound.')


def _at_interfaces(report):
    robot = report['robot']
    without = [name for name in robot['commanded'] if name not in robot['effort_joints']]
    if not without:
        yield ok(f'All {len(robot["commanded"])} commanded joints have an effort interface.')
    elif not robot['hardware'] and robot['command_given']:
        yield ok('The command has the order of command_joints.')
    elif not robot['hardware']:
        yield warning('The robot description has no ros2_control block.',
                      'On hardware, say the order of the command: command_joints.')
    else:
        yield warning(f'No effort command interface: {_list(without)}.',
                      'Give them one in the ros2_control block, or leave them out of '
                      'command_joints.')


def _at_limits(report):
    warned = ' '.join(report['robot']['warnings'])
    joints = [joint for joint in report['joints'] if joint['commanded']]
    if joints and not any(joint['effort'] for joint in joints):
        yield fail('The effort limit of every commanded joint is 0: no effort would be commanded.',
                   'Give <limit effort="..."/> in the robot description what the drives can do.')
    sound = True
    for key, largest, unit, cure in (
            ('effort', _NO_EFFORT_LIMIT, 'N·m', 'no torque would be cut'),
            ('velocity', _NO_VELOCITY_LIMIT, 'rad/s', 'nothing tells how fast it may move')):
        # Not those that the description's own warnings name.
        lacking = [joint['name'] for joint in joints
                   if joint[key] > largest and f"'{joint['name']}'" not in warned]
        if lacking:
            sound = False
            yield warning(f'No {key} limit, or one above {largest:g} {unit}: {_list(lacking)}.',
                          f'Give <limit {key}="..."/> in the robot description: {cure}.')
        sound = sound and all(0.0 < joint[key] < math.inf for joint in joints)
    if sound:
        yield ok('Every commanded joint has an effort and a velocity limit.')
    if report['braking']['kept']:
        weak = _list(report['braking']['weak'])
        yield ok(f'Limits of motion are kept, but for postures in which their drives leave {weak} '
                 'too little beside gravity to brake as the law counts on.' if weak else
                 'Every commanded joint can brake in every posture: limits of motion are kept.')


def _at_home(report):
    cure = 'Choose another start: --home, or initial_positions in the parameter file.'
    joints = [joint for joint in report['joints'] if joint['commanded']]
    beyond = [joint for joint in joints if joint['margin'] < -1e-9]
    close = [joint['name'] for joint in joints if joint not in beyond
             and joint['margin'] < min(_CLOSE, _CLOSE_PART * (joint['upper'] - joint['lower']))]
    for joint in beyond:
        yield fail(f"At home, joint '{joint['name']}' is at {joint['home']:.3g}, outside of "
                   f'{joint["lower"]:.3g} to {joint["upper"]:.3g}.', cure)
    if close:
        yield warning(f'At home, close to a position limit: {_list(close)}.', cure)
    if not beyond and not close:
        yield ok('The home posture is well inside the position limits.')


def _at_tasks(report):
    for task in report['tasks']:
        yield from _at_task(task, axes_of(report))
    together = report['together']
    if together is None and not report['joint_tasks']:
        yield warning('There is no task to examine.',
                      'Name the frames of its tools with --frames, such as --frames '
                      f'{",".join(report["tool_frames"])}, or tasks in a parameter file.')
    elif together and len(report['tasks']) > 1:
        apart = sum(task['rank'] for task in report['tasks'])
        if together['rank'] < apart:
            lost = '; '.join(in_words(weak['wrench'], names=True) for weak in together['weak']
                             if not weak['eigenvalue'])
            yield warning(
                f'Together the tasks reach {together["rank"]} of the {apart} directions that each '
                f'reaches alone{f"; in conflict: {lost}" if lost else ""}.',
                'Choose another home posture, or give up some axes.')
        else:
            yield ok(f'The tasks do not hinder each other: {together["rank"]} directions, '
                     f'{together["redundancy"]} left to the posture.')


def axes_of(report):
    """Return the number of controlled axes of all tasks, which share the controller's threshold."""
    return report['together']['wanted'] if report['together'] else 1


def _at_task(task, all_axes):
    name, axes = f"Task '{task['name']}'", 'axes' if task['wanted'] > 1 else 'axis'
    if not task['best_rank']:
        yield fail(f"{name}: no commanded joint moves the frame '{task['frame']}'.",
                   'Choose a link further out, or command more joints.')
        return
    never = [axis for _, axis in task['never_movable']]
    if task['best_rank'] < task['wanted']:
        fixed = f', never {" ".join(never)}' if never else ''
        yield warning(f'{name}: its joints reach {task["best_rank"]} of {task["wanted"]} {axes} at '
                      f'best{fixed}.',
                      f"Control fewer: axes: '{' '.join(task['independent_axes'])}'.")
    here = [axis for _, axis in task['immovable'] if axis not in never]
    singular = [*here, *(in_words(weak['wrench']) for weak in task['weak']
                         if weak['eigenvalue'] < _LOST * nearly_lost(all_axes))]
    if singular and task['rank'] < task['best_rank']:
        yield warning(f'{name}: singular at home, it cannot accelerate {" nor ".join(singular)}.',
                      'Start from another posture.')
    near = [weak for weak in task['weak'] if 0.0 < weak['eigenvalue'] < nearly_lost(all_axes)]
    for weak in near:
        yield warning(f'{name}: near a singularity at home (eigenvalue {weak["eigenvalue"]:.1g}), '
                      f'{in_words(weak["wrench"])} hardly accelerates.',
                      'Start from a more bent posture.')
    if task['rank'] == task['wanted'] and not near:
        yield ok(f'{name}: {task["rank"]} of {task["wanted"]} {axes} at home, condition number '
                 f'{condition_number(task["condition"])}.')


def state_of_task(task, all_axes):
    """Return the level of a task's freedom at home and two words for it."""
    least = min((weak['eigenvalue'] for weak in task['weak']), default=1.0)
    if not task['best_rank']:
        return 'FAIL', 'fixed'
    if task['rank'] < task['best_rank']:
        return 'WARN', 'singular'
    if task['rank'] < task['wanted']:
        return 'WARN', 'too many axes'
    if least < nearly_lost(all_axes):
        return 'WARN', 'nearly singular'
    return 'OK', 'well conditioned'


def condition_number(condition):
    """Return a condition number as text, a dash for one that is infinite."""
    if not math.isfinite(condition):
        return '–'
    return f'{condition:.0f}' if condition < 1e5 else f'{condition:.0e}'


def level_of_share(joint):
    """Return the level of what gravity takes of a joint's effort, None if all is well."""
    if joint['gravity_share'] > _TOO_HEAVY:
        return 'FAIL'
    return 'WARN' if max(joint['gravity_share'] / _HEAVY, _worst_share(joint)) > 1.0 else None


def in_words(wrench, names=False):
    """Return the main axes of a direction, such as ``y with -rz``, the strongest first."""
    parts = sorted((part for part in wrench if abs(part['component']) > 0.3),
                   key=lambda part: -abs(part['component']))
    sign = math.copysign(1.0, parts[0]['component'])
    words = [('-' if sign * part['component'] < 0.0 else '')
             + (f'{part["task"]} ' if names else '') + part['axis'] for part in parts[:4]]
    return words[0] + (f' with {", ".join(words[1:])}' if words[1:] else '')


def _at_gravity(report):
    joints = [joint for joint in report['joints'] if joint['status'] == 'active']
    heavy = False
    for joint in joints:
        share = joint['gravity_share']
        if share > _HEAVY:
            heavy = True
            what = (f"gravity takes {share:.0%} of the effort of joint '{joint['name']}' at home: "
                    f'{abs(joint["gravity"]):.3g} of {joint["effort"]:.3g} {joint["unit"]}.')
            if math.isinf(share):
                what = (f"joint '{joint['name']}' needs {abs(joint['gravity']):.3g} "
                        f'{joint["unit"]} against gravity at home, its effort limit is 0.')
            cure = 'Start from another posture, or correct the effort limit.'
            # A default posture is no reason for a FAIL.
            sinks = share > _TOO_HEAVY and report['home']['given']
            yield (fail if sinks else warning)(_sentence(what), cure)
    worst = max((joint for joint in joints if math.isfinite(joint['effort'])),
                key=_worst_share, default=None)
    if worst is None:
        return
    over = [joint['name'] for joint in joints if _TOO_HEAVY < _worst_share(joint) < math.inf]
    if over:
        yield warning(f'In some postures gravity alone takes more than the whole effort: '
                      f'{_list(over)}; at most {_worst_share(worst):.0%}, of {worst["name"]}.',
                      'Keep away from such postures: the robot would sink.')
    elif not heavy:
        home = max(joints, key=lambda joint: joint['gravity_share'])
        yield ok(f'Gravity takes at most {home["gravity_share"]:.0%} of an effort limit at home '
                 f'({home["name"]}), {_worst_share(worst):.0%} anywhere ({worst["name"]}).')


def _worst_share(joint):
    return joint['largest_gravity_share'] if joint['effort'] > 0.0 else 0.0


def _at_cycle(report):
    cycle = report['cycle']
    if cycle is None:
        return
    rate = cycle['update_rate'] or USUAL_RATE
    part = cycle['median'] * rate
    what = (f'A cycle takes {cycle["median"] * 1e6:.3g} µs on this machine, '
            f'{part:.1%} of the time at {rate:g} Hz.')
    yield warning(what, 'Lower update_rate, or use a faster machine.') if part > _BUSY else ok(what)


def _list(names):
    return enumerate_names(list(names)).replace("'", '')


def _sentence(text):
    return text[0].upper() + text[1:]

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace parameters`: the parameters of all nodes, and the parameter file of a robot."""

import re
import textwrap
from functools import partial

import yaml

from opspace_control.arguments import make_parser
from opspace_control.cli.robots import LEGGED, ROBOTS, demo_robot
from opspace_control.ros.parameters import controller_parameters as controller
from opspace_control.ros.parameters import simulator_parameters as simulator
from opspace_control.ros.parameters.joints import JOINT_BLOCKS, STANDING, joint_table

# Given by the launch file or the demo, which know where the robot's file is.
_GIVEN_ELSEWHERE = {'robot_description': None}
_WIDTH, _PAGE = 96, 116
# Words that YAML does not read as text.
_NOT_WORDS = ('yes', 'no', 'on', 'off', 'true', 'false', 'null')
# Friction of the floor under robots on legs, and that which the controller counts on.
_FRICTION, _COUNTED_ON = 0.8, 0.7
# Part of the sole in which the controller keeps the centre of pressure; least normal force, N.
_SOLE, _LEAST = 0.9, 20.0


def main(arguments):
    """Print all parameters as Markdown, or a robot's complete YAML file."""
    parser = make_parser('parameters', __doc__)
    parser.add_argument('--robot', choices=[robot.name for robot in (*ROBOTS, *LEGGED)],
                        help='print the YAML file of this robot instead')
    options = parser.parse_args(arguments)
    print(parameter_file(demo_robot(options.robot)) if options.robot else tables(), end='')
    return 0


def tables():
    """Return the parameters of all nodes as Markdown."""
    def named(blocks):
        return [parameter.named(f'<{kind[:-1]}>.{parameter.name}')
                for kind, table in blocks.items() for parameter in table]
    joints = [row for block in JOINT_BLOCKS for row in joint_table(block, ['<joint>'])]
    return '\n'.join(f'## `{node}`\n\n{markdown(table)}' for node, table in {
        'opspace_controller': [*controller.NODE, *joints, *named(controller.BLOCKS)],
        'opspace_command_watchdog': controller.WATCHDOG,
        'opspace_simulator': [*simulator.NODE, *simulator.OF_JOINTS, *named(simulator.BLOCKS)],
        }.items())


def task_names(robot):
    """Return the tasks' names, one for each hand."""
    if robot.tasks or len(robot.hands) < 2:
        return list(robot.tasks) or ['hand'] * len(robot.hands)
    return ['left_hand', 'right_hand'] if len(robot.hands) == 2 else list(robot.hands)


def controller_values(robot):
    """Return the parameters of the controller that depend on the robot."""
    tasks = task_names(robot)
    values = {'tasks': tasks, 'command_joints': list(robot.driven), **_status(robot),
              'gravity_compensation': not robot.weightless,
              'collision.file': robot.collision_file if robot.distances else ''}
    for task, hand in zip(tasks, robot.hands, strict=True):
        values |= {f'{task}.frame': hand, f'{task}.axes': robot.axes}
    if robot.feet:
        values |= _on_points(robot)
    elif robot.soles:
        values |= _on_soles(robot)
    return values


def _on_soles(robot):
    """Return parameters of a humanoid: balance before trunk and height, these before the hands."""
    values = {
        'tasks': ['balance', 'trunk', 'height', 'left_hand', 'right_hand'],
        'contacts': list(robot.soles), 'limits.effort_rate': 200.0, 'limits.velocity_scale': 1.3,
        'safety.release_time': 1.0,
        'balance.type': 'center_of_mass', 'balance.axes': 'x y', 'balance.kp': 20.0,
        'trunk.frame': 'base_link', 'trunk.axes': 'rx ry rz', 'trunk.kp': 50.0, 'trunk.priority': 1,
        'height.frame': 'torso_2_link', 'height.axes': 'z', 'height.kp': 30.0,
        'height.priority': 2}
    for hand in ('left_hand', 'right_hand'):
        values |= {f'{hand}.kp': 40.0, f'{hand}.priority': 3}
    for link in robot.soles:
        x, y, z = (0.5 * length for length in robot.shapes[link])
        values |= {f'{link}.engaged': True, f'{link}.friction': 0.5,
                   f'{link}.min_normal_force': _LEAST,
                   f'{link}.sole': [-_SOLE * x, -_SOLE * y, -z, _SOLE * x, _SOLE * y, -z]}
    return values


def _on_points(robot):
    """Return parameters of a robot that walks."""
    values = {
        'contacts': list(robot.feet), 'legs.feet': list(robot.feet), 'legs.gait': 'trot',
        'legs.max_velocity': list(robot.fastest),
        # Without its node a robot that trots falls within half a second.
        'safety.node_timeout': 0.1,
        # The load of a leg changes within a few milliseconds, and it stops within one.
        'limits.effort_rate': 500.0, 'limits.acceleration': 1000.0, 'limits.approach_rate': 50.0,
        'limits.velocity_kept': 1.0, 'limits.velocity_scale': 1.3,
        # As long as it takes to lie down.
        'safety.release_time': 1.0}
    for foot in robot.feet:
        values |= {f'{foot}.kind': 'point', f'{foot}.engaged': True,
                   f'{foot}.friction': _COUNTED_ON}
    return values | {f'stance.{joint}.position': value for joint, value in robot.start.items()}


def simulator_values(robot):
    """Return the parameters of the simulator that differ from their defaults."""
    values = {'command_joints': list(robot.driven), 'joint_friction': robot.joint_friction,
              **_status(robot)}
    if robot.weightless:
        values['gravity'] = [0.0, 0.0, 0.0]
    if robot.floating_base:
        values['initial_base_twist'] = list(robot.drift)
    if robot.feet or robot.soles:
        values |= {
            'pace': 'patient', 'floor': True, 'friction': _FRICTION,
            'initial_base_pose': [0.0, 0.0, robot.height, 0.0, 0.0, 0.0, 1.0],
            'odom_noise': [0.002, 0.003, 0.03, 0.02], 'odom_delay': 0.002,
            'shapes': list(robot.shapes),
            **{f'{link}.size': list(size) for link, size in robot.shapes.items()}}
    return values | {f'initial_positions.{joint}': value for joint, value in robot.start.items()}


def _status(robot):
    """Return what both nodes have to know of a robot's base, its drives and its brakes."""
    return {'floating_base': robot.floating_base, 'passive_joints': list(robot.passive),
            'locked_joints': list(robot.locked)}


def parameter_file(robot, given=(), command=''):
    """Return the text of config/<robot>.yaml, or that with other values, made by a command."""
    values = controller_values(robot) | dict(given)
    return '\n'.join([
        f'# {robot.name}: {robot.summary}.',
        '#',
        '# Every parameter of both nodes, with its meaning and unit. Copy it for your own robot.',
        '# The robot itself, robot_description, is given by the launch file, or comes by topic.',
        f'# Made by: {command or f"opspace parameters --robot {robot.name}"}',
        '',
        *node_block('controller', (*controller.controller_table(
            values['tasks'], contacts=values.get('contacts', ())), *joint_table(
                STANDING, robot.start if robot.feet else ())), values),
        *node_block('simulator', simulator_rows(robot), simulator_values(robot)),
        ])


def node_block(node, table, values):
    """Return the lines of a node's parameters, and an empty one."""
    return [f'/**/opspace_{node}:', '  ros__parameters:',
            *yaml_block(table, {**values, **_GIVEN_ELSEWHERE}), '']


def simulator_rows(robot):
    """Return the parameters of the simulator of a robot."""
    return [*simulator.simulator_table({'shapes': list(robot.shapes)}),
            *(simulator.INITIAL_POSITION.named(f'initial_positions.{joint}')
              for joint in robot.start)]


def markdown(table):
    """Return these parameters as Markdown: a list for each block of parameters."""
    blocks = {}
    for parameter in table:
        block, dot, _ = parameter.name.partition('.')
        blocks.setdefault(f'`{block}`' if dot else 'Of the node', []).append(_entry(parameter))
    return '\n'.join(f'### {block}\n\n{"".join(entries)}' for block, entries in blocks.items())


def _entry(parameter):
    kind = 'double or double[6]' if parameter.type == 'gain' else parameter.type.replace(
        '_array', '[]')
    default = '' if parameter.default is None else f'default `{yaml_value(parameter.default)}`'
    choices = ', '.join(f'`{choice}`' for choice in parameter.choices)
    facts = (f'`{parameter.name}`: {kind}', f'{default} {parameter.unit}'.strip(), parameter.range,
             f'one of {choices}' * (len(parameter.choices) > 1), 'read-only' * parameter.read_only)
    wrap = partial(textwrap.wrap, width=_PAGE, subsequent_indent='  ', break_long_words=False,
                   break_on_hyphens=False)
    return '\n'.join([*wrap(f'- {", ".join(filter(None, facts))}.'), *wrap(
        parameter.description.replace('<', r'\<'), initial_indent='  '), ''])


def yaml_block(table, values):
    """
    Return the parameters of a table as lines of YAML, in its order, each under its description.

    A dot in a name opens a nested block. ``values`` by name replace defaults; None leaves a
    parameter out. Four spaces are in front of each line.
    """
    lines, opened, said = [], (), set()
    for parameter in table:
        value = values.get(parameter.name, parameter.default)
        if value is None:
            continue
        *blocks, leaf = parameter.name.split('.')
        for depth, block in enumerate(blocks):
            if opened[:depth + 1] != tuple(blocks[:depth + 1]):
                lines.append(' ' * (4 + 2 * depth) + f'{block}:')
        opened = tuple(blocks)
        margin = ' ' * (4 + 2 * len(blocks))
        comment = _comment(parameter)
        if comment not in said:  # once for all tasks and joints
            lines += textwrap.wrap(comment, _WIDTH, initial_indent=f'{margin}# ',
                                   subsequent_indent=f'{margin}# ')
            said.add(comment)
        lines += textwrap.wrap(f'{leaf}: {yaml_value(value)}', _WIDTH, initial_indent=margin,
                               subsequent_indent=f'{margin}  ', break_on_hyphens=False,
                               break_long_words=False)
    return lines


def _comment(parameter):
    unit = f' [{parameter.unit}]' if parameter.unit else ''
    allowed = f' {parameter.range.capitalize()}.' if parameter.range else ''
    choices = f' One of: {", ".join(parameter.choices)}.' if len(parameter.choices) > 1 else ''
    return f'{parameter.description}{unit}{choices}{allowed}'


def yaml_value(value):
    """Return a parameter's value as ROS 2 writes it: floats keep their point, infinity is .inf."""
    if isinstance(value, (list, tuple)):
        return f'[{", ".join(map(yaml_value, value))}]'
    if isinstance(value, str):
        plain = re.fullmatch('[A-Za-z_][A-Za-z0-9_]+', value) and value.lower() not in _NOT_WORDS
        return value if plain else f"'{value}'"
    return yaml.safe_dump(value or type(value)()).split('\n')[0]  # 0.0 for -0.0

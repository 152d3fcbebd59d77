# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace parameters`: the parameters of all nodes, and the parameter file of a robot."""

import re
import textwrap
from functools import partial

from opspace_control.arguments import make_parser
from opspace_control.cli import legged_parameters
from opspace_control.cli.robots import LEGGED, ROBOTS, demo_robot
from opspace_control.model import KinematicTree
from opspace_control.ros.parameters import controller_parameters as controller
from opspace_control.ros.parameters import simulator_parameters as simulator
from opspace_control.ros.parameters.joints import PASSIVE, POSTURE, STANDING, joint_table
from opspace_control.ros.parameters.parameter_table import Parameter

# Given by the launch file or the demo, which know where the robot's file is.
_GIVEN_ELSEWHERE = {'robot_description': None}
_WIDTH, _PAGE = 96, 116
# Words that YAML does not read as text.
_NOT_WORDS = ('yes', 'no', 'on', 'off', 'true', 'false', 'null')


def main(arguments):
    """Print all parameters as Markdown, or a robot's complete YAML file."""
    parser = make_parser('parameters', __doc__)
    parser.add_argument('--robot', choices=[robot.name for robot in (*ROBOTS, *LEGGED)],
                        help='print the YAML file of this robot instead')
    parser.add_argument('--ros2-control', action='store_true',
                        help='print the YAML file of dual_arm under ros2_control')
    parser.add_argument('--gazebo', action='store_true',
                        help='print the YAML file of dual_arm in Gazebo')
    options = parser.parse_args(arguments)
    if options.ros2_control:
        print(ros2_control_file(demo_robot('dual_arm')), end='')
    elif options.gazebo:
        print(gazebo_file(demo_robot('dual_arm')), end='')
    else:
        print(parameter_file(demo_robot(options.robot)) if options.robot else tables(), end='')
    return 0


def tables():
    """Return the parameters of all nodes as Markdown."""
    blocks = [parameter.named(f'<{kind[:-1]}>.{parameter.name}')
              for kind, table in controller.BLOCKS.items() for parameter in table]
    joints = [row for block in (POSTURE, STANDING, PASSIVE)
              for row in joint_table(block, ['<joint>'])]
    simulated = [parameter.named(f'<{kind[:-1]}>.{parameter.name}')
                 for kind, table in simulator.BLOCKS.items() for parameter in table]
    return '\n'.join(f'## `{node}`\n\n{markdown(table)}' for node, table in {
        'opspace_controller': [*controller.NODE, *joints, *blocks],
        'opspace_command_watchdog': controller.WATCHDOG,
        'opspace_simulator': [*simulator.NODE, *simulator.OF_JOINTS, *simulated]}.items())


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
    on_legs = robot.feet or robot.soles
    return values | (legged_parameters.controller_values(robot) if on_legs else {})


def simulator_values(robot):
    """Return the parameters of the simulator that differ from their defaults."""
    values = {'command_joints': list(robot.driven), 'joint_friction': robot.joint_friction,
              **_status(robot)}
    if robot.weightless:
        values['gravity'] = [0.0, 0.0, 0.0]
    if robot.floating_base:
        values['initial_base_twist'] = list(robot.drift)
    if robot.feet or robot.soles:
        values |= legged_parameters.simulator_values(robot)
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
        *_block('controller', (*controller.controller_table(
            values['tasks'], contacts=values.get('contacts', ())), *joint_table(
                STANDING, robot.start if robot.feet else ())), values),
        *_block('simulator', _simulator_table(robot), simulator_values(robot)),
        ])


def ros2_control_file(robot):
    """Return the text of config/ros2_control.yaml, for one of our robots."""
    return '\n'.join([
        _managed(robot, 'under ros2_control', 'ros2_control', *_POSITION_CONTROLLER),
        *_block('controller', controller.controller_table(task_names(robot)),
                controller_values(robot) | {'controller_manager': 'controller_manager'}),
        *_watchdog_block(),
        '# Only with hardware:=topic.',
        *_block('simulator', _simulator_table(robot), simulator_values(robot) | {
            'command_topic': 'robot_joint_commands', 'command_type': 'JointState',
            'publish_clock': False}),
        ])


def gazebo_file(robot):
    """Return the text of config/gazebo.yaml, for one of our robots."""
    values = {'controller_manager': 'controller_manager', 'safety.state_timeout': _GAZEBO_PAUSES}
    return '\n'.join([
        _managed(robot, 'in Gazebo, by gz_ros2_control', 'gazebo', _NO_POSITIONS, time=_SIM_TIME),
        '# Gazebo runs by itself: states come late, and stop, when the machine is busy.',
        *_block('controller', controller.controller_table(task_names(robot)),
                controller_values(robot) | values),
        *_watchdog_block(deadline=_GAZEBO_PAUSES),
        ])


def _watchdog_block(**values):
    return ['# Only with watchdog:=true.', *_block(
        'command_watchdog', controller.WATCHDOG,
        {'controller_manager': 'controller_manager', **values})]


def _managed(robot, where, file, others, their_parameters='', time=''):
    """Return the head of a file, and the parameters of the controller manager's own."""
    driven = KinematicTree.from_urdf_file(robot.path()).effort_joints
    joints = yaml_block([Parameter('joints', 'string_array', [], '')], {'joints': driven})
    return _MANAGED.format(
        name=robot.name, where=where, file=file, time=time, option=file.replace('_', '-'),
        joints='\n'.join(joints), others=others,
        their_parameters=their_parameters.format(joints='\n'.join(joints)))


# s, of the wall's clock, that are no reason to damp the robot.
_GAZEBO_PAUSES = 0.2

_SIM_TIME = """
    # There is one time, Gazebo's; gazebo.launch.py tells our nodes.
    use_sim_time: true\
"""

_MANAGED = """\
# {name} {where}: for the controller manager, its controllers and our nodes.
#
# {file}.launch.py gives it to all of them. Copy it for your own robot.
# Made by: opspace parameters --{option}

/**/controller_manager:
  ros__parameters:{time}
    # Joint states come at this rate, and with each of them a control cycle. [Hz]
    update_rate: 1000
    joint_state_broadcaster:
      type: joint_state_broadcaster/JointStateBroadcaster
{others}
    # Takes our commands. Loaded inactive, since our controller switches it on and off.
    # effort_controllers/JointGroupEffortController, which needs no interface_name, serves as well.
    effort_controller:
      type: forward_command_controller/ForwardCommandController
    # Takes the place of the effort controller with route: plugin. Our controller loads it.
    opspace_plugin:
      type: opspace_controller/OperationalSpaceController

/**/effort_controller:
  ros__parameters:{time}
    # The order of the commands; our nodes ask for it.
{joints}
    interface_name: effort
{their_parameters}"""

# A controller that has the joints while ours is inactive, and its parameters.
_POSITION_CONTROLLER = ("""\
    # Has the joints by default: off while our controller is active, and on again when it leaves.
    position_controller:
      type: joint_trajectory_controller/JointTrajectoryController\
""", """
/**/position_controller:
  ros__parameters:
{joints}
    command_interfaces: [position]
    state_interfaces: [position, velocity]
    # It begins where the joints are. By default it would return to the position that it commanded
    # last, which the joints have left since.
    set_last_command_interface_value_as_state_on_activation: false
""")
_NO_POSITIONS = """\
    # No position controller: once a joint has obeyed an effort, gz_ros2_control neither obeys
    # positions nor holds the joint (ros-controls/gz_ros2_control #770). Gazebo holds the joints
    # until our controller is active; when it leaves, the command watchdog carries the robot.\
"""


def _block(node, table, values):
    """Return the lines of a node's parameters, and an empty one."""
    return [f'/**/opspace_{node}:', '  ros__parameters:',
            *yaml_block(table, {**values, **_GIVEN_ELSEWHERE}), '']


def _simulator_table(robot):
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
    facts = (f'`{parameter.name}`: {kind}', f'{default} {parameter.unit}'.strip(), parameter.bounds,
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
    bounds = f' {parameter.bounds.capitalize()}.' if parameter.bounds else ''
    choices = f' One of: {", ".join(parameter.choices)}.' if len(parameter.choices) > 1 else ''
    return f'{parameter.description}{unit}{choices}{bounds}'


def yaml_value(value):
    """Return a parameter's value as ROS 2 writes it: floats keep their point, infinity is .inf."""
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, float):
        digits, _, exponent = repr(value + 0.0).replace('inf', '.inf').partition('e')  # no -0.0
        return digits if not exponent else f'{digits}{"" if "." in digits else ".0"}e{exponent}'
    if isinstance(value, (list, tuple)):
        return f'[{", ".join(map(yaml_value, value))}]'
    if isinstance(value, str):
        plain = re.fullmatch('[A-Za-z_][A-Za-z0-9_]+', value) and value.lower() not in _NOT_WORDS
        return value if plain else f"'{value}'"
    return repr(value)

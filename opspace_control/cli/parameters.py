# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace parameters`: the tables of the README, and the parameter file of a robot."""

import argparse

from opspace_control.cli.robots import ROBOTS, demo_robot
from opspace_control.ros import controller_parameters as controller
from opspace_control.ros import simulator_parameters as simulator
from opspace_control.ros import watchdog_parameters as watchdog
from opspace_control.ros.documentation import markdown, yaml_block

# Given by the launch file or the demo, which know where the robot's file is.
_GIVEN_ELSEWHERE = {'robot_description': None}


def main(arguments):
    """Print the Markdown tables, or a robot's complete YAML file."""
    parser = argparse.ArgumentParser(prog='opspace parameters', description=__doc__)
    parser.add_argument('--robot', choices=[robot.name for robot in ROBOTS],
                        help='print the YAML file of this robot instead of the tables')
    options = parser.parse_args(arguments)
    print(parameter_file(demo_robot(options.robot)) if options.robot else tables(), end='')
    return 0


def tables():
    """Return the parameters of all nodes as Markdown."""
    task = [parameter.named(f'<task>.{parameter.name}') for parameter in controller.TASK]
    return (f'**`opspace_controller`**\n\n{markdown([*controller.NODE, *task])}\n'
            f'**`opspace_command_watchdog`**\n\n{markdown(watchdog.NODE)}\n'
            f'**`opspace_simulator`**\n\n{markdown([*simulator.NODE, simulator.INITIAL_POSITION])}')


def task_names(robot):
    """Return the tasks' names, one for each hand."""
    return ['left_hand', 'right_hand'] if len(robot.hands) == 2 else list(
        robot.hands if len(robot.hands) > 1 else ['hand'])


def controller_values(robot):
    """Return the parameters of the controller that differ from their defaults."""
    tasks = task_names(robot)
    values = {'tasks': tasks, 'command_joints': list(robot.driven)}
    for task, hand in zip(tasks, robot.hands, strict=True):
        values |= {f'{task}.frame': hand, f'{task}.axes': robot.axes}
    return values


def simulator_values(robot):
    """Return the parameters of the simulator that differ from their defaults."""
    return {'command_joints': list(robot.driven), 'joint_friction': robot.joint_friction,
            **{f'initial_positions.{joint}': value for joint, value in robot.start.items()}}


def parameter_file(robot):
    """Return the text of config/<robot>.yaml."""
    start = [simulator.INITIAL_POSITION.named(f'initial_positions.{joint}')
             for joint in robot.start]
    return '\n'.join([
        f'# {robot.name}: {robot.summary}.',
        '#',
        '# Every parameter of both nodes, with its meaning and unit. Copy it for your own robot.',
        '# The robot itself, robot_description, is given by the launch file, or comes by topic.',
        f'# Made by: opspace parameters --robot {robot.name}',
        '',
        '/**/opspace_controller:',
        '  ros__parameters:',
        *yaml_block(controller.controller_table(task_names(robot)),
                    {**controller_values(robot), **_GIVEN_ELSEWHERE}, 4),
        '',
        '/**/opspace_simulator:',
        '  ros__parameters:',
        *yaml_block([*simulator.NODE, *start], {**simulator_values(robot), **_GIVEN_ELSEWHERE}, 4),
        ''])

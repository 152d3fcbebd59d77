# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
`opspace demo`: a simulated robot follows goals sent over ROS 2.

The controller and the simulated robot run as processes of their own on a private ROS 2 domain. Both
hands are sent to goals while the posture rocks a joint of the trunk in their null space; or an
experiment of the papers is repeated and judged.
"""

import contextlib
import dataclasses
import math
import os
import sys
import tempfile
import time
from pathlib import Path

from opspace_control.cli.arguments import make_parser
from opspace_control.cli.parameters import controller_values, simulator_values, task_names
from opspace_control.cli.processes import own_domain, process_age
from opspace_control.cli.robots import ROBOTS, DemoRobot, demo_robot
from opspace_control.cli.showcase.nodes import Nodes, Status
from opspace_control.errors import OpspaceError
from opspace_control.model.urdf import urdf_text
from opspace_control.ros.parameters.controller_parameters import COMMAND_TOPIC

_LOOK_PERIOD = 0.02  # s
_POSTURE_PERIOD = 0.05  # s
_SPEEDS = {'max_linear_velocity': 0.25, 'max_angular_velocity': 0.7}  # m/s, rad/s
# Without a command after this, something is wrong that no node says.
_TIMEOUT = 60.0  # s


def main(arguments):
    """Run the demo; return 0 if every hand reached every goal, or all of an experiment was met."""
    options = _parse(arguments)
    if options.list:
        return _list()
    try:
        chosen = _experiment(options.experiment, not options.untold)
        robot = _custom_robot(options) if options.urdf else demo_robot(options.robot)
        output = options.output or Path(f'opspace_demo_{chosen.name if chosen else robot.name}.png')
        if chosen and chosen.compare:
            if options.view or options.record:
                raise OpspaceError(f'{chosen.name} does not go over ROS 2.',
                                   cure='Leave out --view and --record.')
            return 0 if chosen.run(output) else 1
        return 0 if _demo(chosen.robot if chosen else robot, options, output, chosen) else 1
    except KeyboardInterrupt:
        print('\nStopped.')
        return 130


def _parse(arguments):
    parser = make_parser('demo', __doc__)
    parser.add_argument('--robot', default=ROBOTS[0].name, help='one of --list')
    parser.add_argument('--list', action='store_true', help='list the robots and leave')
    parser.add_argument('--urdf', type=Path, metavar='FILE', help='a robot of your own')
    parser.add_argument('--frames', metavar='A,B', help='the links of its hands')
    parser.add_argument('--experiment', metavar='NAME',
                        help='an experiment of the papers, with its robot: torso, floor, step, '
                             'carry, augmented, lift, plate, slew, coasting, space, hinge, motor '
                             'or stuck; or a comparison, without ROS: fold, damping, passive, '
                             'impact, square, slide or insert')
    parser.add_argument('--untold', action='store_true',
                        help='do not tell the controller of a drive that fails')
    parser.add_argument('--seconds', type=float, default=20.0, help='how long the goals take')
    parser.add_argument('--view', action='store_true',
                        help='show it in a browser; when the goals are done, the robot is yours')
    parser.add_argument('--record', type=Path, metavar='FILE',
                        help='keep the run in an MCAP file, for opspace report and replay')
    parser.add_argument('--output', type=Path, metavar='PNG', help='where the picture goes')
    options = parser.parse_args(arguments)
    if bool(options.urdf) != bool(options.frames):
        parser.error('--urdf FILE and --frames A,B belong together')
    if not 5.0 <= options.seconds <= 3600.0:
        parser.error('--seconds must be from 5 to 3600')
    return options


def _list():
    for robot in ROBOTS:
        try:
            robot.path()
            note = ''
        except OpspaceError as error:
            note = f'  ({error.cure})'
        print(f'{robot.name:14}{robot.summary}{note}')
    return 0


def _experiment(name, told):
    """Return the experiment of this name, its controller told of what fails or not; or None."""
    if name is None:
        return None
    from opspace_control.cli.showcase.experiments import experiment
    chosen = experiment(name)
    return chosen if told else dataclasses.replace(chosen, told=False)


def _custom_robot(options):
    """Return the user's robot, in a posture in which its hands can move."""
    from opspace_control.cli.showcase.kinematics import Reach
    from opspace_control.simulation import SimulatedRobot

    hands = tuple(options.frames.split(','))
    model = SimulatedRobot(urdf_text(options.urdf))
    reach = Reach(model, hands, DemoRobot.axes)
    posture = reach.bent_posture()
    return DemoRobot(options.urdf.name.split('.')[0], 'a robot of your own',
                     str(options.urdf.resolve()), hands,
                     dict(zip(model.joint_names, posture.tolist(), strict=True)),
                     reach.carriers(posture), joint_friction=False, speed=0.5)


def _demo(robot, options, output, chosen):
    """Run the demo of a robot, or the chosen experiment; return whether it succeeded."""
    began = time.monotonic() - process_age()
    description = urdf_text(robot.path())
    with contextlib.ExitStack() as stack:
        domain = stack.enter_context(own_domain())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='opspace_demo_')))
        nodes = Nodes(description, folder, domain)
        stack.callback(nodes.end)
        # Before this process has any thread, and before it takes the time to import ROS 2.
        for node, values in node_parameters(robot, chosen).items():
            nodes.start(node, values)
        if options.view:
            nodes.accompany('view')
        if options.record:
            nodes.accompany('record', '--output', str(options.record))
        status = stack.enter_context(Status(sys.stdout))
        summary = chosen.summary if chosen else robot.summary
        print(f'{robot.name}: {summary}\n'
              f'ROS_DOMAIN_ID={domain} ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST (to look on)')
        record = _run(robot, options.seconds, description, nodes, status, began, chosen)
        for line in nodes.complaints():
            print(line)
        succeeded = _report(record, f'opspace demo: {robot.name}, {summary}', output, chosen)
        if options.view:
            _hand_over(nodes)
    return succeeded


def _report(record, title, output, chosen):
    """Print and draw what was seen; return whether it is a success."""
    from opspace_control.cli.showcase.picture import draw

    print(record.table())
    draw(record, title, record.skeletons(2 if chosen else 1), output)
    print(f'\nPicture: {output}')
    if chosen:
        findings = chosen.findings(record.course())
        print('', *findings, sep='\n  ')
        return all(finding.met for finding in findings)
    if not record.reached():
        print('Not every goal was reached.')
    return record.reached()


def _hand_over(nodes):
    """Leave the robot to the users of the page, until Ctrl-C."""
    print(f'\nThe robot is yours: {nodes.page()} (Ctrl-C ends it)', flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            nodes.check()
            time.sleep(_LOOK_PERIOD)


def node_parameters(robot, chosen=None):
    """Return the parameters of the nodes, by verb and name, of a robot or a chosen experiment."""
    tasks = task_names(robot)
    speeds = {f'{task}.{limit}': robot.speed * speed
              for task in tasks for limit, speed in _SPEEDS.items()}
    return {'controller': {**controller_values(robot), **speeds,
                           **(chosen.parameters(tasks) if chosen else {})},
            'simulator': simulator_values(robot) | (
                chosen.simulator_parameters() if chosen else {})}


def _run(robot, seconds, description, nodes, status, began, chosen):
    """Send the goals and look on; return the record."""
    os.environ.update(nodes.environment)  # DDS reads it
    from opspace_control.cli.showcase.client import Client

    tasks = task_names(robot)
    client = (chosen.client(tasks, COMMAND_TOPIC.default) if chosen else
              Client(tasks, COMMAND_TOPIC.default, robot.floating_base))
    try:
        compiled = began
        while not client.controlled():
            waited = time.monotonic() - began
            nodes.check()
            if nodes.compiling():
                compiled = time.monotonic()
            elif time.monotonic() - compiled > _TIMEOUT:
                raise OpspaceError(f'No effort command for {waited:.0f} s.',
                                   cure='Does a firewall keep this machine from itself?')
            what = 'compiling for this machine, once' if nodes.compiling() else 'starting'
            status.show(f'{what} ... {waited:.1f} s')
            time.sleep(_LOOK_PERIOD)
        status.line(f'first effort command after {time.monotonic() - began:.1f} s')
        if page := nodes.page():
            status.line(f'Look: {page}')
        record = make_record(robot, description, seconds, chosen)
        _follow(record.plan, client, nodes, record, status, chosen)
        return record
    finally:
        client.close()


def make_record(robot, description, seconds, chosen=None):
    """Return an empty Record of a robot that starts where it does, with the plan for it."""
    from opspace_control.cli.showcase.kinematics import Reach
    from opspace_control.cli.showcase.record import Record
    from opspace_control.cli.showcase.schedule import make_schedule
    from opspace_control.simulation import SimulatedRobot

    model = SimulatedRobot(description, floating_base=robot.floating_base)
    model.reset(robot.start)
    start = model.positions
    reach = Reach(model, robot.hands, chosen.axes if chosen else robot.axes, robot.driven)
    plan = chosen.plan(reach.poses(start)) if chosen else make_schedule(reach, start, seconds)
    limits = dict(zip(model.joint_names, model.effort_limits.tolist(), strict=True))
    return Record(plan, reach, task_names(robot), limits, robot.body)


def _follow(plan, client, nodes, record, status, chosen):
    """Send each goal when it is due, and write down what is seen, by the time of the robot."""
    sent, zero, posture_due = -1, None, 0.0
    failing = plan.starts[0] + chosen.failing_at if chosen and chosen.fails else math.inf
    while True:
        nodes.check()
        time.sleep(_LOOK_PERIOD)
        sight = client.look()
        zero = sight.time if zero is None else zero
        nodes.check_progress(sight.time)
        now = sight.time - zero
        if now > plan.length:
            return
        if plan.goal_at(now) > sent:
            sent = plan.goal_at(now)
            client.send_goals(plan.goals[sent])
        if now >= posture_due:
            posture_due = now + _POSTURE_PERIOD
            client.send_posture(plan.posture_at(now))
        if now >= failing:
            failing = math.inf
            client.fail((*chosen.robot.passive, *chosen.dead), chosen.braked, chosen.told)
        record.add(now, sight)
        status.show(record.now())

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

from opspace_control.arguments import make_parser, names
from opspace_control.cli.new import guess_parameters
from opspace_control.cli.parameters import controller_values, simulator_values, task_names
from opspace_control.cli.processes import own_domain, process_age
from opspace_control.cli.robots import ROBOTS, demo_robot
from opspace_control.cli.showcase.experiment import Experiment
from opspace_control.cli.showcase.nodes import Nodes, Status
from opspace_control.cli.showcase.record import Record
from opspace_control.cli.showcase.schedule import Reach, make_schedule
from opspace_control.errors import OpspaceError
from opspace_control.model.urdf import urdf_text
from opspace_control.ros.parameters.controller_parameters import COMMAND_TOPIC

_LOOK_PERIOD = 0.02  # s
_POSTURE_PERIOD = 0.05  # s
_MAX_LINEAR_VELOCITY, _MAX_ANGULAR_VELOCITY = 0.25, 0.7  # m/s, rad/s, of fast robots
_TIMEOUT = 60.0  # s, for the first command


def main(arguments):
    """Run the demo; return 0 if every hand reached every goal, or all of an experiment was met."""
    options = _parse(arguments)
    if options.list:
        return _list()
    try:
        experiment = _experiment(options)
        output = options.output or Path(f'opspace_demo_{experiment.name}.png')
        if not experiment.compare:
            return 0 if _demo(experiment, options, output) else 1
        if options.view or options.record:
            raise OpspaceError(f'{experiment.name} does not go over ROS 2.',
                               cure='Leave out --view and --record.')
        return 0 if experiment.run(output) else 1
    except KeyboardInterrupt:
        print('\nStopped.')
        return 130


def _parse(arguments):
    parser = make_parser('demo', __doc__)
    parser.add_argument('--robot', default=ROBOTS[0].name, help='one of --list')
    parser.add_argument('--list', action='store_true', help='list the robots and leave')
    parser.add_argument('--urdf', type=Path, metavar='FILE', help='a robot of your own')
    parser.add_argument('--frames', metavar='A,B', type=names, help='the links of its hands')
    parser.add_argument('--experiment', metavar='NAME',
                        help='an experiment of the papers, with its robot: torso, floor, step, '
                             'carry, augmented, lift, plate, slew, coasting, space, hinge, motor '
                             'or stuck; or without ROS: fold, damping, passive, impact, '
                             'square, slide, insert, trot, swing, friction, reality, swap, '
                             'talos_swap or obstacles')
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


def _experiment(options):
    """Return the chosen experiment, or the tour of a robot: goals all around, nothing to judge."""
    robot = _custom_robot(options) if options.urdf else demo_robot(options.robot)
    if options.experiment:
        from opspace_control.cli.showcase.experiments import experiment
        return dataclasses.replace(experiment(options.experiment), told=not options.untold)
    return Experiment(
        robot.name, robot.summary, None, robot, (robot.axes,) * len(robot.hands),
        seconds=options.seconds, max_linear_velocity=robot.speed * _MAX_LINEAR_VELOCITY)


def _custom_robot(options):
    """Return the user's robot as `opspace new` guesses it; joints that move no hand are braked."""
    robot, _ = guess_parameters(options.urdf, options.frames)
    return dataclasses.replace(
        robot, name=options.urdf.name.split('.')[0], summary='a robot of your own',
        urdf=str(options.urdf.resolve()), driven=tuple(robot.start), tasks=(), speed=0.5)


def _demo(experiment, options, output):
    """Run an experiment or a tour; return whether it succeeded."""
    began = time.monotonic() - process_age()
    robot = experiment.robot
    description = urdf_text(robot.path())
    with contextlib.ExitStack() as stack:
        domain = stack.enter_context(own_domain())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='opspace_demo_')))
        nodes = Nodes(description, folder, domain)
        stack.callback(nodes.end)
        # Before this process has any thread, and before it takes the time to import ROS 2.
        for node, values in node_parameters(experiment).items():
            nodes.start(node, values)
        if options.view:
            nodes.accompany('view')
        if options.record:
            nodes.accompany('record', '--output', str(options.record))
        status = stack.enter_context(Status(sys.stdout))
        print(f'{robot.name}: {experiment.summary}\n'
              f'ROS_DOMAIN_ID={domain} ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST (to look on)')
        record = _run(experiment, description, nodes, status, began)
        for line in nodes.complaints():
            print(line)
        succeeded = _report(record, experiment, output)
        if options.view:
            print(f'\nThe robot is yours: {nodes.page()} (Ctrl-C ends it)', flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    nodes.check()
                    time.sleep(_LOOK_PERIOD)
    return succeeded


def node_parameters(experiment):
    """Return the parameters of the nodes of an experiment, by verb and name."""
    robot = experiment.robot
    tasks = task_names(robot)
    speeds = {f'{task}.max_angular_velocity': robot.speed * _MAX_ANGULAR_VELOCITY for task in tasks}
    return {'controller': {**controller_values(robot), **speeds, **experiment.parameters(tasks)},
            'simulator': simulator_values(robot) | experiment.simulator_parameters()}


def _run(experiment, description, nodes, status, began):
    """Send the goals when the controller commands; return the record."""
    os.environ.update(nodes.environment)  # DDS reads it
    client = experiment.client(task_names(experiment.robot), COMMAND_TOPIC.default)
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
        record = make_record(experiment, description)
        _follow(experiment, client, nodes, record, status)
        return record
    finally:
        client.close()


def make_record(experiment, description):
    """Return an empty Record of the robot of an experiment, with the schedule of the goals."""
    from opspace_control.simulation import SimulatedRobot

    robot = experiment.robot
    model = SimulatedRobot(description, floating_base=robot.floating_base)
    model.reset(robot.start)
    start = model.positions
    reach = Reach(model, robot.hands, experiment.axes, robot.driven)
    plan = (experiment.plan(reach.poses(start)) if experiment.judge else
            make_schedule(reach, start, experiment.seconds))
    limits = dict(zip(model.joint_names, model.effort_limits.tolist(), strict=True))
    return Record(plan, reach, task_names(robot), limits, robot.body)


def _follow(experiment, client, nodes, record, status):
    """Send each goal when it is due, and record the robot, by its own time."""
    plan, sent, zero, posture_due = record.plan, -1, None, 0.0
    failing = (plan.starts[0] + experiment.failing_at if experiment.dead or experiment.braked
               else math.inf)
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
            client.fail((*experiment.robot.passive, *experiment.dead), experiment.braked,
                        experiment.told)
        record.add(now, sight)
        status.show(record.now())


def _report(record, experiment, output):
    """Print and draw the record; return whether it is a success."""
    from opspace_control.cli.showcase.picture import draw

    print(record.table())
    draw(record, f'opspace demo: {experiment.robot.name}, {experiment.summary}',
         record.skeletons(2 if experiment.judge else 1), output)
    print(f'\nPicture: {output}')
    if experiment.judge:
        findings = experiment.findings(record.course())
        print('', *findings, sep='\n  ')
        return all(finding.met for finding in findings)
    if not record.reached():
        print('Not every goal was reached.')
    return record.reached()

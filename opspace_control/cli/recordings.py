# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace record`, `opspace report` and `opspace replay`: recorded runs."""

import os
import re
import sys
import tempfile
import time
from pathlib import Path

from opspace_control.arguments import add_controller, make_parser, names, writing
from opspace_control.cli.processes import Process, own_domain, private_environment
from opspace_control.errors import OpspaceError

_RECORD = """\
Record the topics of a controller and its robot in an MCAP file.

All topics that the controller and the simulator of this ROS_DOMAIN_ID publish or subscribe are
recorded, with the robot, the parameters and the machine, until Ctrl-C. Foxglove and `ros2 bag` open
the file, `opspace report` makes a page of it, `opspace replay` shows it again."""

_REPORT = """\
Make one page about a recorded run.

It shows robot and machine, paths, errors, efforts against limits, timing and log messages, in one
HTML file that needs no other file, no network and no ROS."""

_REPLAY = """\
Show a recorded run again, in the view.

A node of the recorded controller's name plays the run on a private ROS 2 domain, where there is no
robot. The page of `opspace view` shows it; under All, replay.rate is the pace and replay.position
the time in the run. Foxglove and RViz can look on, too."""

_LOOK = 0.1  # s


def record(arguments):
    """Record until SIGINT or SIGTERM; return 0 if there was a controller to be recorded."""
    from rclpy.executors import SingleThreadedExecutor

    from opspace_control.ros.clients.recorder import RecorderNode
    from opspace_control.ros.middleware.executor import parse, run
    from opspace_control.runs.writer import RunWriter

    parser = make_parser('record', _RECORD)
    parser.add_argument('--output', type=Path, metavar='RUN',
                        help='the file, which must not exist (default: by the time of day)')
    add_controller(parser)
    parser.add_argument('--topics', metavar='A,B', type=names, default=(),
                        help='record these topics as well')
    parser.add_argument('--all', action='store_true', help='record every topic there is')
    parser.add_argument('--seconds', type=float, metavar='S', help='end after this time')
    options = parse(parser, arguments)
    path = options.output or Path(time.strftime('opspace_run_%Y%m%d_%H%M%S.mcap'))
    with writing(path):
        writer = RunWriter(path)
    nodes = []

    def make(stop):
        node = RecorderNode(writer, options.controller, options.topics, options.all)
        if options.seconds:
            node.create_timer(options.seconds, stop.now)
        print(f'Recording to {path} (Ctrl-C ends it)', flush=True)
        nodes.append(node)
        return node
    run(make, arguments, SingleThreadedExecutor)
    node, = nodes
    print(f'{writer.messages} messages of {len(writer.topics)} topics: {writer.path}')
    for topic, count in node.lost.items():
        print(f'{count} messages of {topic} were lost.')
    if not node.described:
        print(f'There was no controller {node.controller}: is it on this ROS_DOMAIN_ID, and '
              'called so (--controller NAME)?', file=sys.stderr)
    return 0 if node.described else 1


def report(arguments):
    """Write the page; return 0."""
    from opspace_control.ros.parameters.controller_parameters import table_of
    from opspace_control.runs.page import page
    from opspace_control.runs.run import Run
    from opspace_control.runs.summary import Summary

    parser = make_parser('report', _REPORT)
    parser.add_argument('run', type=Path, metavar='RUN', help='a file of opspace record')
    parser.add_argument('--output', type=Path, metavar='HTML',
                        help='where the page goes (default: beside the run)')
    options = parser.parse_args(arguments)
    path = options.output or options.run.with_suffix('.html')
    run = Run(options.run)
    text = page(Summary(run), {row.name: row.default for row in table_of(run.parameters)})
    with writing(path):
        path.write_text(text)
    print(f'Report: {path}')
    return 0


def replay(arguments):
    """Replay until SIGINT or SIGTERM; return the exit code."""
    from opspace_control.runs.run import Run

    parser = make_parser('replay', _REPLAY)
    parser.add_argument('run', type=Path, metavar='RUN', help='a file of opspace record')
    parser.add_argument('--rate', type=float, default=1.0, help='pace, from 0 to 10 (default: 1)')
    parser.add_argument('--loop', action='store_true', help='begin anew at the end')
    parser.add_argument('--no-view', action='store_true',
                        help='open no page: for Foxglove, RViz or ros2 topic')
    parser.add_argument('--host', default='127.0.0.1', help='as of opspace view')
    parser.add_argument('--port', type=int, default=8080, help='as of opspace view')
    options = parser.parse_args(arguments)
    if not 0.0 <= options.rate <= 10.0:
        parser.error('--rate must be from 0 to 10')
    run = Run(options.run)
    with own_domain() as domain, tempfile.TemporaryDirectory(prefix='opspace_replay_') as folder:
        os.environ.update(private_environment(domain))  # DDS reads it
        print(f'{options.run}: {run.controller}, {run.duration:.1f} s\n'
              f'ROS_DOMAIN_ID={domain} ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST (to look on)',
              flush=True)
        view = None
        if not options.no_view:
            view = Process('view', ['--controller', run.controller, '--host', options.host,
                                    '--port', str(options.port)],
                           dict(os.environ), Path(folder, 'view.log'))
        from rclpy.executors import SingleThreadedExecutor

        from opspace_control.ros.clients.player import PlayerNode
        from opspace_control.ros.middleware.executor import run as spin

        def make(_stop):
            node = PlayerNode(run, options.rate, options.loop)
            if view:
                timer = node.create_timer(_LOOK, lambda: _print_address(view, timer))
            return node
        try:
            return spin(make, [], SingleThreadedExecutor)
        finally:
            if view:
                view.end()


def _print_address(view, timer):
    """Print the address of the page, once it is open; raise an OpspaceError if there is none."""
    if found := re.search(r'http://\S+', view.said()):
        print(f'Look: {found.group()} (Ctrl-C ends it)', flush=True)
        timer.cancel()
    elif view.exit_code() is not None:
        raise OpspaceError(f'There is no page: {view.said().strip()}',
                           cure='Or, to look on otherwise: --no-view.')

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
`opspace replay`: show a recorded run again, in the view in which it was, or could have been, seen.

The run is played on a private ROS 2 domain, where there is no robot, by a node of the recorded
controller's name. The page of `opspace view` shows it; under All, replay.rate is the pace and
replay.position the moment. Foxglove and RViz can look on, too.
"""

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

from opspace_control.cli.environment import own_domain, private_environment
from opspace_control.cli.processes import Process
from opspace_control.errors import OpspaceError

_LOOK = 0.1  # s


def main(arguments):
    """Replay until SIGINT or SIGTERM; return the exit code."""
    from opspace_control.runs.run import Run

    options = _parse(arguments)
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
        try:
            return _play(run, options, view)
        finally:
            if view:
                view.end()


def _play(run, options, view):
    from rclpy.executors import SingleThreadedExecutor

    from opspace_control.ros.clients.player import PlayerNode
    from opspace_control.ros.middleware.executor import run as spin

    def make(_stop):
        node = PlayerNode(run, options.rate, options.loop)
        if view:
            timer = node.create_timer(_LOOK, lambda: _look_at(view, timer))
        return node
    return spin(make, [], SingleThreadedExecutor)


def _look_at(view, timer):
    """Tell where the page is, once it is open; raise an OpspaceError if there is none."""
    if found := re.search(r'http://\S+', view.said()):
        print(f'Look: {found.group()} (Ctrl-C ends it)', flush=True)
        timer.cancel()
    elif view.exit_code() is not None:
        raise OpspaceError(f'There is no page: {view.said().strip()}',
                           cure='Or, to look on otherwise: --no-view.')


def _parse(arguments):
    parser = argparse.ArgumentParser(prog='opspace replay', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('run', type=Path, metavar='RUN', help='a file of opspace record')
    parser.add_argument('--rate', type=float, default=1.0, help='pace, from 0 to 10 (default: 1)')
    parser.add_argument('--loop', action='store_true', help='begin anew at the end')
    parser.add_argument('--no-view', action='store_true',
                        help='open no page: for Foxglove, RViz or ros2 topic')
    parser.add_argument('--host', default='127.0.0.1', help='as of opspace view')
    parser.add_argument('--port', type=int, default=8080, help='as of opspace view')
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    if not 0.0 <= options.rate <= 10.0:
        parser.error('--rate must be from 0 to 10')
    return options

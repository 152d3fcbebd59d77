# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
`opspace record`: keep what a controller and its robot say, as an MCAP file.

Whatever the controller and the simulator of this ROS_DOMAIN_ID say and hear is written, with the
robot, the parameters and the machine, until Ctrl-C. Foxglove and `ros2 bag` open the file,
`opspace report` makes a page of it, `opspace replay` shows it again.
"""

import argparse
import sys
import time
from pathlib import Path

from opspace_control.cli.arguments import names
from opspace_control.errors import OpspaceError


def main(arguments=None):
    """Record until SIGINT or SIGTERM; return 0 if there was a controller to be recorded."""
    from rclpy.executors import SingleThreadedExecutor

    from opspace_control.ros.clients.recorder import RecorderNode
    from opspace_control.ros.middleware.executor import run
    from opspace_control.runs.writer import RunWriter

    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parse(arguments)
    path = options.output or Path(time.strftime('opspace_run_%Y%m%d_%H%M%S.mcap'))
    try:
        writer = RunWriter(path)
    except OSError as error:
        raise OpspaceError(f'{path} cannot be written: {error.strerror}.',
                           cure='Give another --output.') from error
    nodes = []

    def make(stop):
        node = RecorderNode(writer, options.controller, options.topics, options.all)
        if options.seconds:
            node.create_timer(options.seconds, stop.now)
        print(f'Recording to {path} (Ctrl-C ends it)', flush=True)
        nodes.append(node)
        return node
    run(make, arguments, SingleThreadedExecutor)
    return _tell(writer, *nodes)


def _tell(writer, node):
    """Say what was recorded; return the exit code."""
    print(f'{writer.messages} messages of {len(writer.topics)} topics: {writer.path}')
    for topic, count in node.lost.items():
        print(f'{count} messages of {topic} were lost.')
    if not node.described:
        print(f'There was no controller {node.controller}: is it on this ROS_DOMAIN_ID, and '
              'called so (--controller NAME)?', file=sys.stderr)
    return 0 if node.described else 1


def _parse(arguments):
    from opspace_control.ros.middleware.executor import parse

    parser = argparse.ArgumentParser(prog='opspace record', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--output', type=Path, metavar='RUN',
                        help='the file, which must not be there (default: by the time of day)')
    parser.add_argument('--controller', metavar='NAME', default='opspace_controller',
                        help='the controller node, if it is not called opspace_controller')
    parser.add_argument('--topics', metavar='A,B', type=names, default=(),
                        help='record these topics as well')
    parser.add_argument('--all', action='store_true', help='record every topic there is')
    parser.add_argument('--seconds', type=float, metavar='S', help='end after this time')
    return parse(parser, arguments)

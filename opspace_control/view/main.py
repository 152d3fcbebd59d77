# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
`opspace view`: a running controller in a browser.

Shows the robot, its tasks and diagnostics; goals are handles to be dragged, and gains, switches and
the posture can be set. It attaches over topics, services and parameters to the controller of this
ROS_DOMAIN_ID, and takes no part in control.
"""

import contextlib
import io
import socket

from rclpy.executors import SingleThreadedExecutor

from opspace_control.arguments import add_controller, make_parser
from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.executor import parse, run

_ANYWHERE = ('0.0.0.0', '::')


def main(arguments):
    """Run the node until SIGINT or SIGTERM; return the exit code."""
    options = _parse(arguments)
    server = open_page(options.host, options.port)
    from opspace_control.view.node import ViewNode
    return run(lambda stop: ViewNode(server, options.controller), arguments, SingleThreadedExecutor)


def open_page(host, port):
    """
    Return a viser.ViserServer at a port, or at the next free one, and print its address.

    A RosInterfaceError says why there is none.
    """
    import viser

    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints addresses of web sockets
            server = viser.ViserServer(host=host, port=port, label='opspace', verbose=False)
    except OSError as error:
        raise RosInterfaceError(f'No page can be opened at {host}:{port}: {error}.',
                                cure='Give another --host or --port.') from error
    where = socket.gethostname() if host in _ANYWHERE else host
    print(f'opspace view: http://{where}:{server.get_port()}', flush=True)
    return server


def _parse(arguments):
    parser = make_parser('view', __doc__)
    add_controller(parser)
    parser.add_argument('--host', default='127.0.0.1',
                        help='address to listen at; 0.0.0.0 lets the whole network see and '
                             'move the robot (default: this computer alone)')
    parser.add_argument('--port', type=int, default=8080,
                        help='port of the page; if it is taken, the next free one')
    return parse(parser, arguments)

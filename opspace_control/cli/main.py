# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The `opspace` command: find the verb, import its module, call it with the arguments."""

import importlib
import runpy
import sys

from opspace_control.errors import OpspaceError
from opspace_control.share import share_directory

# verb: (module, its function that takes the arguments and returns the exit code, line of help)
VERBS = {
    'demo': ('cli.demo', 'main', 'simulate a robot and let its hands follow goals sent over ROS 2'),
    'check': ('cli.check', 'main', 'look at a robot and its parameters before anything moves'),
    'new': ('cli.new', 'main', 'write the parameter file of a robot, guessed from its URDF'),
    'collision': ('cli.collision', 'main', 'fit collision shapes to the links of a robot'),
    'plan': ('cli.plan', 'main', 'plan a motion, passive joints and all, and replay it'),
    'execute': ('cli.plan', 'execute', 'send a plan to a running controller'),
    'identify': ('cli.identify', 'main',
                 'fit friction and masses to a recorded run, or write a motion for that'),
    'export': ('cli.export', 'main', 'write a controller for C++ programs without Python and ROS'),
    'controller': ('ros.controller', 'main', 'run the controller node'),
    'simulator': ('ros.simulator', 'main', 'run the simulated robot node'),
    'command_watchdog': ('ros.command_watchdog', 'main',
                         'run the node that damps when commands stop'),
    'goal_markers': ('ros.goal_markers', 'main', 'run the node that lets RViz drag goals'),
    'view': ('view.main', 'main', 'show a running controller in a browser, with goals to drag'),
    'record': ('cli.recordings', 'record', 'record a robot and its controller in an MCAP file'),
    'report': ('cli.recordings', 'report', 'make one page of a recorded run'),
    'replay': ('cli.recordings', 'replay', 'show a recorded run again, in the view'),
    'bench': ('cli.main', 'bench', 'measure the mathematics and the nodes beside their peers'),
    'parameters': ('cli.parameters', 'main', 'print the parameters of nodes, as Markdown or YAML'),
}

# Optional dependencies of verbs, and the extras that they come with.
_OPTIONAL = {'rclpy': 'ros', 'mujoco': 'sim', 'matplotlib': 'sim', 'mcap': 'record',
             'mcap_ros2': 'record', 'viser': 'view'}
_INTERRUPTED = 130  # as shells report a process that Ctrl-C ended

_USAGE = '\n'.join([
    'usage: opspace VERB [ARGUMENTS]    (opspace VERB --help says more)',
    '',
    *(f'  {verb:18}{summary}' for verb, (*_, summary) in VERBS.items()),
])


def main(arguments=None):
    """Run one verb with the arguments after it; return the exit code of the process."""
    verb, *rest = (sys.argv[1:] if arguments is None else arguments) or ['']
    if verb not in VERBS:
        wanted = verb in ('-h', '--help')
        print(_USAGE, file=sys.stdout if wanted else sys.stderr)
        return 0 if wanted else 2
    try:
        module, function, _ = VERBS[verb]
        return getattr(importlib.import_module(f'opspace_control.{module}'), function)(rest)
    except OpspaceError as error:
        return _refuse(verb, error)
    except ModuleNotFoundError as error:
        package = (error.name or '').split('.')[0]
        if package not in _OPTIONAL:
            raise
        source = 'Source ROS 2, or ' * (package == 'rclpy')
        return _refuse(verb, f'{package} is not installed. {source}'
                             f"pip install 'opspace_control[{_OPTIONAL[package]}]'.")
    except KeyboardInterrupt:
        return _INTERRUPTED


def bench(arguments):
    """Run what is in benchmark/, of the checkout or installed in share/; exit with its code."""
    directory = share_directory() / 'benchmark'
    if not directory.is_dir():
        raise OpspaceError(f'There is no {directory}.', cure='Install the package again.')
    sys.argv[1:] = arguments
    runpy.run_path(str(directory), run_name='__main__')


def _refuse(verb, reason):
    print(f'opspace {verb}: {reason}', file=sys.stderr)
    return 1


if __name__ == '__main__':
    sys.exit(main())

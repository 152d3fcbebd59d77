# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The `opspace` command: find the verb, import its module, hand over the arguments."""

import importlib
import sys

from opspace_control.errors import OpspaceError

# verb: (module whose main(arguments) returns the exit code, one line of help)
_VERBS = {
    'demo': ('cli.demo', 'simulate a robot and let its hands follow goals sent over ROS 2'),
    'check': ('cli.check', 'look at a robot and its parameters before anything moves'),
    'controller': ('ros.controller', 'run the controller node'),
    'simulator': ('ros.simulator', 'run the simulated robot node'),
    'bench': ('cli.bench', 'measure the mathematics and the nodes beside their peers'),
    'parameters': ('cli.parameters', 'print the parameters of the nodes, as a table or as YAML'),
}

_USAGE = '\n'.join([
    'usage: opspace VERB [ARGUMENTS]    (opspace VERB --help says more)',
    '',
    *(f'  {verb:12}{summary}' for verb, (_, summary) in _VERBS.items()),
])


def main(arguments=None):
    """Run one verb with the arguments after it; return the exit code of the process."""
    verb, *rest = (sys.argv[1:] if arguments is None else arguments) or ['']
    if verb not in _VERBS:
        asked = verb in ('-h', '--help')
        print(_USAGE, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    module = importlib.import_module(f'opspace_control.{_VERBS[verb][0]}')
    try:
        return module.main(rest)
    except OpspaceError as error:
        print(f'opspace {verb}: {error}', file=sys.stderr)
        return 1


if __name__ == '__main__':
    sys.exit(main())

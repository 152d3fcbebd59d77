# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What `opspace view` costs the controller that it shows: its processor time with and without."""

import contextlib
import importlib.util
import json
import os
import tempfile
import time
from pathlib import Path

from figures import Figure, Spread
from timing import wait_until

from opspace_control.cli.parameters import controller_values, simulator_values
from opspace_control.cli.processes import Process, own_domain, private_environment
from opspace_control.cli.robots import demo_robot
from opspace_control.errors import OpspaceError

_ROUNDS = 5
_SECONDS = 5.0
_SETTLING = 2.0   # s, for connections to be made and undone
_PATIENCE = 120.0  # s, compiling included
_LIMIT = 5.0      # % of a core


def measure():
    """Return the figure of Talos at 1 kHz, two tasks; rounds with and without take turns."""
    for package in ('rclpy', 'mujoco', 'viser'):
        if importlib.util.find_spec(package) is None:
            raise ModuleNotFoundError(name=package)
    with contextlib.ExitStack() as stack:
        environment = private_environment(stack.enter_context(own_domain()))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        robot = demo_robot('talos')
        description = {'robot_description': robot.path().read_text()}

        def start(verb, *arguments):
            process = Process(verb, arguments, environment, folder / f'{verb}.log')
            stack.callback(process.end)
            return process

        def start_node(verb, values):
            file = folder / f'{verb}.yaml'  # JSON is YAML
            file.write_text(json.dumps({'/**': {'ros__parameters': description | values}}))
            return start(verb, '--ros-args', '--params-file', str(file))
        controller = start_node('controller', controller_values(robot))
        start_node('simulator', simulator_values(robot))
        _wait_for(controller, 'Active')
        costs = []
        for _ in range(_ROUNDS):
            alone = _load(controller)
            view = start('view')
            _wait_for(view, 'http://')
            costs.append(_load(controller) - alone)
            view.end()
    return [Figure('view.cost', 'What `opspace view` costs the controller of Talos at 1 kHz, '
                   '% of a core', Spread.of(costs), _LIMIT, '%')]


def _wait_for(process, word):
    if not wait_until(lambda: word in process.said(), _PATIENCE):
        raise OpspaceError(f'The {process.verb} does not start.', cure=process.said())


def _load(process):
    """Return the processor time that a process takes, in % of a core."""
    time.sleep(_SETTLING)
    before, began = processor_time(process.pid), time.perf_counter()
    time.sleep(_SECONDS)
    return 100.0 * (processor_time(process.pid) - before) / (time.perf_counter() - began)


def processor_time(pid):
    """Return the seconds of user and system time of a process so far, <man 5 proc>."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

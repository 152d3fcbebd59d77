# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The processes of a demo, controller, simulated robot and view, and its status line."""

import json
import math
import re
import shutil
import time

from opspace_control.cli.processes import Process, private_environment
from opspace_control.errors import OpspaceError

# Unlike a robot, a demo publishes many points, for its picture, and waits for a computer that is
# busy.
_PARAMETERS = {
    'controller': {'publish_rate': 100.0, 'safety.state_timeout': 0.0},
    'simulator': {'pace': 'patient'},
}
_STANDSTILL = 20.0  # s, after which the time of the robot is not expected to go on
_LOOK_PERIOD = 0.05  # s
_TERMINAL_PERIOD, _LOG_PERIOD = 0.1, 1.0  # s


class Nodes:
    """The nodes of the robot of a URDF text; a folder has their parameter files and logs."""

    def __init__(self, description, folder, domain):
        self._description = description
        self._folder = folder
        self.environment = private_environment(domain)
        self._processes = []
        self._robot_time, self._moved = None, 0.0

    def start(self, verb, parameters):
        """Start the node of a verb with these parameters, besides the robot description."""
        values = {'robot_description': self._description, **parameters, **_PARAMETERS[verb]}
        file = self._folder / f'{verb}.yaml'
        # JSON is YAML, except for infinity.
        file.write_text(json.dumps({'/**': {'ros__parameters': {
            name: value for name, value in values.items() if value != math.inf}}}))
        self.accompany(verb, '--ros-args', '--params-file', str(file))

    def accompany(self, verb, *arguments):
        """Start a verb: view or record, beside the nodes."""
        self._processes.append(
            Process(verb, arguments, self.environment, self._folder / f'{verb}.log'))

    def page(self):
        """Return the address of the view, once it is open; None if there is no view."""
        view = next((process for process in self._processes if process.verb == 'view'), None)
        while view:
            self.check()
            if found := re.search(r'http://\S+', view.said()):
                return found.group()
            time.sleep(_LOOK_PERIOD)
        return None

    def check(self):
        """Raise an OpspaceError with what it said last if a node has ended."""
        for process in self._processes:
            if process.exit_code() is not None:
                raise OpspaceError(
                    f'The {process.verb} ended: {_last_words(process.said())}',
                    cure='Its parameters and the robot description are to be looked at.',
                    node=process.verb)

    def check_progress(self, robot_time):
        """Raise an OpspaceError if the robot's time, s, has stood still for too long."""
        now = time.monotonic()
        if robot_time != self._robot_time:
            self._robot_time, self._moved = robot_time, now
        elif now - self._moved > _STANDSTILL:
            raise OpspaceError(f'The robot has stood still for {_STANDSTILL:.0f} s.',
                               cure='One of the nodes hangs; is the machine overloaded?')

    def compiling(self):
        """Return whether the controller is busy compiling."""
        said = ''.join(process.said() for process in self._processes)
        return 'Compiling' in said and 'Compiled' not in said

    def complaints(self):
        """Return the warnings and errors of the nodes, a line each."""
        return [line for process in self._processes for line in process.said().splitlines()
                if line.startswith(('[WARN]', '[ERROR]', '[FATAL]'))]

    def end(self):
        """End the controller, which releases the robot, and then the robot."""
        for process in sorted(self._processes, key=lambda process: process.verb):
            process.end()


def _last_words(said):
    """Return the last error of a log, or else its last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()] or ['it said nothing.']
    errors = [line for line in lines if line.startswith(('[ERROR]', '[FATAL]'))]
    return (errors or lines)[-1]


class Status:
    """A line that is written anew on a terminal, and once a second to any other text stream."""

    def __init__(self, stream):
        self._stream = stream
        self._terminal = stream.isatty()
        self._next = 0.0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._write('')

    def show(self, text):
        """Show a line, if it is time for one."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + (_TERMINAL_PERIOD if self._terminal else _LOG_PERIOD)
            self._write(text[:shutil.get_terminal_size().columns - 1] if self._terminal else
                        f'{text}\n')

    def line(self, text):
        """Write a line that stays."""
        self._write(f'{text}\n')

    def _write(self, text):
        """Write a text, on a terminal in the place of the last line that does not stay."""
        self._stream.write('\r\x1b[K' * self._terminal + text)
        self._stream.flush()

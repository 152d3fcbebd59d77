# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
`opspace replay`: a recorded run in the browser, as `opspace view` shows a running one.

It has a network of its own, on which no robot can hear it. Time, rate and pause are in the panel.
"""

import argparse
import contextlib
import tempfile
import time
from pathlib import Path

from opspace_control.cli.environment import own_domain, private_environment
from opspace_control.cli.processes import Process
from opspace_control.errors import OpspaceError
from opspace_control.runs.recording import Recording

_LOOK_PERIOD = 0.1  # s


def main(arguments):
    """Show a run until Ctrl-C; return the exit code."""
    options = _parse(arguments)
    recording = Recording(options.run)  # says here what is wrong with it
    with contextlib.ExitStack() as stack:
        environment = private_environment(stack.enter_context(own_domain()))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='opspace_replay_')))

        def start(verb, *words):
            process = Process(verb, words, environment, folder / f'{verb}.log')
            stack.callback(process.end)
            return process
        player = start('play', str(options.run.resolve()))
        view = start('view', '--host', options.host, '--port', str(options.port),
                     '--controller', recording.controller)
        told = False
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                for process in (player, view):
                    if process.exit_code() is not None:
                        raise OpspaceError(f'{process.verb} ended: {process.said()}')
                if not told and 'http://' in view.said():
                    told = True
                    print(view.said().strip(), '(Ctrl-C ends it)', flush=True)
                time.sleep(_LOOK_PERIOD)
    return 0


def _parse(arguments):
    parser = argparse.ArgumentParser(prog='opspace replay', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('run', type=Path, metavar='RUN', help='a file of opspace record')
    parser.add_argument('--host', default='127.0.0.1', help='address to listen at')
    parser.add_argument('--port', type=int, default=8080,
                        help='port of the page; if it is taken, the next free one')
    return parser.parse_args(arguments)

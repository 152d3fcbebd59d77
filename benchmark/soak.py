# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The controller for ten minutes at 1 kHz: random goals, changes of gains, tasks switched on and off.

It must not grow, miss no more cycles than a bare echo of the same visitors does, stay within every
limit and never trip.
Leave the machine alone meanwhile: it has three processes to run each millisecond.
"""

import argparse
import contextlib
import json
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from figures import Figure, Spread, markdown
from ros_latency import real_time, script
from soak_user import User

from opspace_control.cli.processes import Process, own_domain, private_environment
from opspace_control.cli.robots import demo_robot
from opspace_control.dynamics.robot_model import RobotModel
from opspace_control.errors import OpspaceError
from opspace_control.ros.parameters.joints import command_joints
from opspace_control.safety.envelope import LONGEST_STEP

_EFFORT_RATE = 20.0  # 1/s
_PATIENCE = 120.0    # s, for a controller that has to compile on a busy machine
_TELL_EVERY = 10.0   # s
_SETTLE = 60.0       # s, by which memory has settled; a quarter of a shorter run
_GROWTH = 1.0        # MiB that memory may grow after that
_MARGIN = 1.2        # of the echo's missed cycles: the two meet different moods of the machine
_FEW = 10            # cycles that anybody may miss, in any time


def main():
    """Soak, print, and return the exit code: 1 if anything was not as it must be."""
    parser = argparse.ArgumentParser(
        prog='make soak', description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--seconds', type=float, default=600.0, help='how long (600)')
    parser.add_argument('--seed', type=int, default=0, help='of the random goals (0)')
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        domain = stack.enter_context(own_domain())
        soak = Soak(stack, directory, private_environment(domain))
        user = User(stack, domain, soak.model, soak.robot, arguments.seed)
        figures = soak.run(user, arguments.seconds)
    print(markdown(figures))
    return 0 if all(figure.met for figure in figures) else 1


class Soak:
    """A controller, an echo and a robot in processes of their own, and what is seen of them."""

    def __init__(self, stack, directory, environment):
        self.robot = demo_robot('dual_arm')
        text = self.robot.path().read_text()
        self.model = RobotModel.from_urdf(text)
        parameters, request = directory / 'parameters.yaml', directory / 'request.json'
        parameters.write_text(json.dumps({'/**/opspace_controller': {'ros__parameters': {
            'robot_description': text, 'tasks': list(self.robot.hands),
            'limits.effort_rate': _EFFORT_RATE, 'safety.state_timeout': 1.0}}}))  # JSON is YAML
        request.write_text(json.dumps({'urdf': text, 'start': self.robot.start,
                                       'order': command_joints(self.model)}))
        self._answers = directory / 'answers.json'
        with real_time():
            self._controller = Process(
                'controller',
                ['--ros-args', '-r', '__ns:=/controller', '--params-file', str(parameters)],
                environment, directory / 'controller.log')
            stack.callback(self._controller.end)
            stack.enter_context(script(
                'soak_echo', '--ros-args', '-r', '__ns:=/echo', '-p',
                f'tasks:=[{", ".join(self.robot.hands)}]', environment=environment))
            stack.enter_context(script('soak_robot', str(request), str(self._answers),
                                       environment=environment))

    def run(self, user, seconds):
        """Return the figures of so many seconds."""
        begin = time.monotonic()
        while not self._found().get('counting'):
            user.spin(0.2)
            if time.monotonic() - begin > _PATIENCE or self._controller.exit_code() is not None:
                raise OpspaceError('The controller does not answer.', cure='See what it says:\n'
                                   + self._controller.said())
        user.get_ready()
        begin = tell = time.monotonic()
        memory = []
        while (elapsed := time.monotonic() - begin) < seconds:
            user.act()
            memory.append((elapsed, self._memory()))
            if time.monotonic() >= tell:
                tell += _TELL_EVERY
                self._tell(*memory[-1])
        times, sizes = np.array(memory).T
        settled = sizes[times >= min(_SETTLE, 0.25 * seconds)]
        return self._figures(seconds, settled.max() - settled[0], user.actions)

    def _figures(self, seconds, growth, actions):
        found, said = self._found(), self._controller.said()
        ours, echo = found['controller'], found['echo']
        trips = len(re.findall(r'The robot is damped', said))
        if trips:
            print(said, file=sys.stderr)
        return [
            Figure('soak.cycles', f'cycles in {seconds:g} s with {actions} goals, changes of gains '
                   'and switches of tasks', Spread.of(ours['answers'])),
            Figure('soak.missed', f'cycles missed (bare echo, asked as often: {echo["missed"]})',
                   Spread.of(ours['missed']), _MARGIN * echo['missed'] + _FEW),
            Figure('soak.memory', 'growth of the resident memory once it has settled',
                   Spread.of(growth), _GROWTH, 'MiB'),
            Figure('soak.effort', 'largest effort, of its limit', Spread.of(found['effort']),
                   1.0 + 1e-9),
            Figure('soak.step', 'largest step of an effort, of what the rate limit allows',
                   Spread.of(found['step'] / (_EFFORT_RATE * LONGEST_STEP)), 1.0 + 1e-9),
            Figure('soak.trips', 'trips, and efforts that are not finite',
                   Spread.of(trips + found['not_finite']), 0.0)]

    def _tell(self, elapsed, memory):
        found = self._found()
        print(f'{elapsed:5.0f} s  {memory:6.1f} MiB  {found["controller"]["answers"]} cycles, '
              f'{found["controller"]["missed"]} missed (echo: {found["echo"]["missed"]})',
              file=sys.stderr)

    def _found(self):
        """Return what the robot has found so far."""
        try:
            return json.loads(self._answers.read_text())
        except FileNotFoundError:
            return {}

    def _memory(self):
        """Return the resident memory of the controller, MiB."""
        status = Path(f'/proc/{self._controller.pid}/status').read_text()
        return int(re.search(r'VmRSS:\s+(\d+)', status)[1]) / 1024.0


if __name__ == '__main__':
    sys.exit(main())

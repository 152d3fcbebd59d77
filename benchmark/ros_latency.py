# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""From joint state to effort command through ROS 2 at 1 kHz, beside a node that only echoes."""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from figures import Figure, Spread
from timing import wait_until

from opspace_control.cli.processes import Process, own_domain, private_environment
from opspace_control.cli.robots import demo_robot
from opspace_control.errors import OpspaceError
from opspace_control.model import KinematicTree

_HERE = Path(__file__).parent
_SECONDS = 10
_BLOCK = 500  # cycles whose percentiles are compared with each other
_PERCENTILES = {'p50': (50.0, 1.1), 'p99': (99.0, 1.2)}  # and the greatest ratio
_PRIORITY = 50  # of the real-time scheduler, as usual for a robot's control loop


def measure():
    """Return the figures of Talos with two pose tasks, 32 joints."""
    if importlib.util.find_spec('rclpy') is None:
        raise ModuleNotFoundError(name='rclpy')
    robot = demo_robot('talos')
    text = robot.path().read_text()
    # By name, as a robot's hardware may have it, and not as our model has it.
    joints = sorted(KinematicTree.from_urdf(text).dof_names)
    request = {'namespaces': ['controller', 'echo'], 'joints': joints, 'seconds': _SECONDS,
               'positions': [robot.start.get(name, 0.0) for name in joints]}
    tasks = {f'hand_{i}': {'frame': hand} for i, hand in enumerate(robot.hands)}
    parameters = {'robot_description': text, 'tasks': list(tasks), **tasks}
    with tempfile.TemporaryDirectory() as directory, own_domain() as domain:
        found, realtime = _run(request, parameters, Path(directory), private_environment(domain))
    ours, echo = found['controller'], found['echo']
    count = min(len(ours['latencies']), len(echo['latencies'])) // _BLOCK * _BLOCK
    blocks = [1e6 * np.reshape(item['latencies'][:count], (-1, _BLOCK)) for item in (ours, echo)]
    words = f'ROS 2 at 1 kHz{", real-time priority" if realtime else ""}'
    return [*(Figure.ratio(f'ros.{name}', f'{words}: {name} of joint state to command, '
                           'beside a bare echo',
                           *(np.percentile(times, percentile, axis=1) for times in blocks), limit)
              for name, (percentile, limit) in _PERCENTILES.items()),
            Figure('ros.lost', f'{words}: joint states left without a command in '
                   f'{_SECONDS} s (bare echo: {echo["lost"]})', Spread.of(ours['lost']), 0.0)]


def _run(request, parameters, directory, environment):
    """Return what the probe found, and whether the processes had real-time priority."""
    file = directory / 'parameters.yaml'  # JSON is YAML
    file.write_text(json.dumps({'/**/opspace_controller': {'ros__parameters': parameters}}))
    with contextlib.ExitStack() as stack:
        realtime = stack.enter_context(real_time())
        controller = Process(
            'controller', ['--ros-args', '-r', '__ns:=/controller', '--params-file', str(file)],
            environment, directory / 'controller.log')
        stack.callback(controller.end)
        answers = directory / 'answers.json'
        stack.enter_context(script('ros_echo', '--ros-args', '-r', '__ns:=/echo',
                                    environment=environment))
        probe = stack.enter_context(script('ros_probe', json.dumps(request), str(answers),
                                            environment=environment))
        wait_until(lambda: probe.poll() is not None or controller.exit_code() is not None,
                   timeout=np.inf, poll=0.1)
        if probe.poll() != 0:
            raise OpspaceError('The controller does not answer.', cure='See what it says:\n'
                               + controller.said())
        return json.loads(answers.read_text()), realtime


@contextlib.contextmanager
def script(name, *arguments, environment):
    """Run a script of this directory as long as the context lasts."""
    with subprocess.Popen([sys.executable, _HERE / f'{name}.py', *arguments],
                          env=environment) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextlib.contextmanager
def real_time():
    """Give what is started meanwhile real-time priority if that is allowed; say whether it was."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    except PermissionError:
        yield False
        return
    try:
        yield True
    finally:
        os.sched_setscheduler(0, *before)

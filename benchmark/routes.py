# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The two routes of efforts side by side, in a real controller manager at 1 kHz.

Hardware that stands still marks the position of a joint in each cycle by a small random number, and
notes what it read and wrote, and when. By the correlation of efforts with marks one sees which
state an effort is of. ``python benchmark/routes.py`` prints a table; ``--write`` puts it in
doc/how_to/plugin.md. It needs ros2_control, and built and sourced: native/ros2_control and
benchmark/marked_hardware
(``colcon build --base-paths native/ros2_control benchmark/marked_hardware``).
"""

import argparse
import contextlib
import datetime
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import rclpy
import yaml
from figures import processor_name, put_into
from ros_latency import real_time
from std_msgs.msg import String
from timing import wait_until
from view_cost import processor_time

from opspace_control.cli.processes import Process, own_domain, private_environment
from opspace_control.errors import OpspaceError
from opspace_control.model import KinematicTree
from opspace_control.model.urdf import urdf_text
from opspace_control.ros.middleware.endpoints import LATCHED
from opspace_control.ros.parameters.parameter_file import ParameterFile
from opspace_control.share import prefixes, share_directory

_RATE = 1000  # Hz
_SECONDS, _SETTLING = 20.0, 3.0
_LONGEST = 30  # cycles of delay that are looked for
_EXACT = 1e-3  # of the range of efforts: an effort is that of a mark
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'how_to' / 'plugin.md'
_HARDWARE = 'opspace_marked_hardware/MarkedHardware'
_ROUNDS = 2


def main():
    """Measure both routes in turns, print a table, and write it where it belongs if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--write', action='store_true', help=f'put the table in {_PAGE.name}')
    arguments = parser.parse_args()
    text = urdf_text(share_directory() / 'urdf' / 'dual_arm.urdf.xacro',
                     {'hardware': _HARDWARE, 'interfaces': 'effort'})
    found = {'topic': [], 'plugin': []}
    for _ in range(_ROUNDS):
        for route, results in found.items():
            results.append(_measure(route, text))
    text = _table(found)
    print(text)
    if arguments.write:
        put_into(_PAGE, 'routes', text)
    return 0


def _table(found):
    """Return the worse of the rounds of each route as text, with what the figures depend on."""
    rows = [f'{datetime.date.today()}, {processor_name()}, {os.cpu_count()} cores: the worse of '
            f'{_ROUNDS} rounds of {_SECONDS:g} s each, dual_arm, {_RATE} Hz.', '',
            '| | ' + ' | '.join(f'`route: {route}`' for route in found) + ' |',
            '|---|' + '---|' * len(found)]
    for name in found['topic'][0]:
        rows.append(f'| {name} | ' + ' | '.join(
            f'{max(result[name] for result in results):.3g}' for results in found.values()) + ' |')
    return '\n'.join(rows)


def _measure(route, text):
    """Return the figures of a route, by name."""
    node = next((Path(prefix) / 'lib/controller_manager/ros2_control_node'
                 for prefix in prefixes()
                 if (Path(prefix) / 'lib/controller_manager/ros2_control_node').is_file()), None)
    if node is None:
        raise OpspaceError('There is no ros2_control_node.', cure='Source ros2_control.')
    with tempfile.TemporaryDirectory() as directory, own_domain() as domain:
        folder = Path(directory)
        environment = private_environment(domain) | {'OPSPACE_MARKS': str(folder / 'marks')}
        (folder / 'manager.yaml').write_text(yaml.safe_dump(_manager_parameters(text)))
        given = ParameterFile(share_directory() / 'config' / 'dual_arm.yaml').of_node(
            'opspace_controller')
        (folder / 'node.yaml').write_text(yaml.safe_dump({'opspace_controller': {
            'ros__parameters': given | {
                # Efforts are those of one state each, without a memory.
                'disturbance.max_force': 0.0, 'disturbance.max_moment': 0.0,
                'collision.file': '',
                'route': route, 'controller_manager': 'controller_manager',
                'robot_description': text}}}))
        with (real_time() as priority, open(folder / 'manager.log', 'wb') as log,
              contextlib.ExitStack() as stack):
            manager = subprocess.Popen(
                [node, '--ros-args', '--params-file', folder / 'manager.yaml'],
                env=environment, stdout=log, stderr=log)
            controller = None
            try:
                stack.enter_context(_description(text, domain))
                _spawn(environment, 'joint_state_broadcaster')
                if route == 'topic':
                    _spawn(environment, 'effort_controller', '--inactive')
                controller = Process(
                    'controller', ['--ros-args', '--params-file', str(folder / 'node.yaml')],
                    environment, folder / 'node.log')
                wait_until(lambda: 'Active: a cycle' in controller.said(), timeout=60.0)
                time.sleep(_SETTLING)
                processes = manager.pid, controller.pid
                begin, used = time.monotonic_ns(), [*map(processor_time, processes)]
                time.sleep(_SECONDS)
                end, after = time.monotonic_ns(), [*map(processor_time, processes)]
            finally:
                said = (folder / 'manager.log').read_text() + (controller.said() if controller
                                                               else '')
                if controller:
                    controller.end()
                manager.send_signal(signal.SIGINT)
                manager.wait(20)
            if not (folder / 'marks').exists():
                raise OpspaceError(f'The hardware has noted nothing.\n{said}')
        cycles = np.loadtxt(folder / 'marks')
    cycles = cycles[(cycles[:, 0] > begin) & (cycles[:, 0] < end)]
    used = 100.0 * (np.array(after) - used) / _SECONDS
    return {'priority of real time': float(priority), **_figures(cycles),
            'CPU of the manager, %': used[0], 'CPU of the node, %': used[1]}


def _figures(cycles):
    """Return delays, in cycles and in ms, of efforts from the states that they are of."""
    read, written, mark, effort = cycles.T
    count = len(mark) - _LONGEST
    lagged = np.array([mark[_LONGEST - lag:_LONGEST - lag + count] for lag in range(_LONGEST)])
    effort = effort[_LONGEST:]
    # Marks are so small that efforts are linear in them: in that of the state that they are of.
    usual = max(lagged, key=lambda marks: abs(np.corrcoef(marks, effort)[0, 1]))
    slope = np.median(np.diff(effort) / np.diff(usual))
    offset = np.median(effort - slope * usual)
    errors = abs(effort - offset - slope * lagged)
    explained = errors < _EXACT * abs(slope) * np.ptp(mark)
    known = explained.any(axis=0)
    lags, at = explained.argmax(axis=0)[known], np.flatnonzero(known) + _LONGEST
    age = 1e-6 * (written[at] - read[at - lags])
    period = 1e-6 * np.diff(read)
    work = 1e-6 * (written - read)
    return {
        'delay, cycles: median': np.median(lags), '99 %': np.percentile(lags, 99),
        'from read to write of its effort, ms: median': np.median(age),
        '99 % of it': np.percentile(age, 99), 'worst of it': age.max(),
        "the manager's read to write, ms: median": np.median(work),
        'worst of that': work.max(),
        'efforts of an unknown state, %': 100.0 * (1.0 - known.mean()),
        "jitter of the manager's period, ms: 99 %": np.percentile(abs(period - 1e3 / _RATE), 99)}


def _manager_parameters(text):
    return {
        'controller_manager': {'ros__parameters': {
            'update_rate': _RATE,
            'joint_state_broadcaster': {'type': 'joint_state_broadcaster/JointStateBroadcaster'},
            'effort_controller': {'type': 'forward_command_controller/ForwardCommandController'},
            'opspace_plugin': {'type': 'opspace_controller/OperationalSpaceController'}}},
        'effort_controller': {'ros__parameters': {
            'joints': list(KinematicTree.from_urdf(text).effort_joints),
            'interface_name': 'effort'}}}


@contextlib.contextmanager
def _description(text, domain):
    """Publish the robot, latched, as long as the context lasts."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    node = rclpy.create_node('description', context=context)
    node.create_publisher(String, 'robot_description', LATCHED).publish(String(data=text))
    try:
        yield
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


def _spawn(environment, *arguments):
    subprocess.run(['ros2', 'run', 'controller_manager', 'spawner', *arguments,
                    '--controller-manager-timeout', '60'], env=environment, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == '__main__':
    sys.exit(main())

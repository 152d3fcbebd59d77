# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
`opspace record`: write what a robot and its controller say into an MCAP file.

Foxglove and `ros2 bag` open it; `opspace report` makes a page of it, and `opspace replay` shows it.
Recorded are the topics of the controller, joint states and commands, odometry, TF, the clock,
diagnostics and logs, with the parameters of the controller and what the run was made on.
"""

import argparse
import contextlib
import datetime
import json
import platform
import time
from importlib import metadata
from pathlib import Path

from mcap.writer import Writer
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.utilities import remove_ros_args

import opspace_control
from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.ros.executor import run
from opspace_control.ros.message_definitions import message_class, message_definition
from opspace_control.ros.offer import look_for_offer
from opspace_control.ros.remote_parameters import RemoteParameters

# Besides the controller's own. Relative names are those of its namespace.
_TOPICS = ('joint_states', 'robot_description', 'odom', 'effort_controller/commands', '/clock',
           '/tf', '/tf_static', '/diagnostics', '/rosout', '/parameter_events')
_LOOK = 0.5    # s, between two looks at the graph
_DEPTH = 1000  # messages, while the disk is busy
_PACKAGES = ('numpy', 'numba', 'mujoco', 'ros-jazzy-rclpy')


class RecorderNode(Node):
    """
    The node ``opspace_recorder``.

    Messages go into the file as they come over the network; they are never taken apart.

    Parameters
    ----------
    controller : str
        Name of the controller's node.
    stream : binary file
        Of the recording.
    topics : sequence of str
        Recorded too.
    **options
        Of a Node.

    """

    def __init__(self, controller, stream, topics=(), **options):
        super().__init__('opspace_recorder', **options)
        self._controller = self._whole(controller)
        self._topics = {self._whole(topic) for topic in (*_TOPICS, *topics)}
        self._writer = Writer(stream)
        self._writer.start(profile='ros2', library=f'opspace_control {opspace_control.__version__}')
        self._writer.add_metadata('machine', machine())
        self._counts = {}
        self._schemas = {}
        self._run = None
        self._remote_parameters = RemoteParameters(self, self._controller, lambda name: None)
        self.create_timer(_LOOK, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._look()

    def leave(self):
        """Complete the file."""
        self._writer.finish()
        total = sum(self._counts.values())
        self.get_logger().info(f'{total} messages of {len(self._counts)} topics.')

    def _whole(self, name):
        return expand_topic_name(name, self.get_name(), self.get_namespace())

    def _look(self):
        """Begin to record topics that have appeared, and the parameters of a new controller."""
        for topic, kinds in self.get_topic_names_and_types():
            wanted = topic in self._topics or topic.startswith(f'{self._controller}/')
            if wanted and topic not in self._counts and self.get_publishers_info_by_topic(topic):
                self._counts[topic] = 0
                try:
                    self._record(topic, kinds[0])
                except OpspaceError as error:
                    self.get_logger().warning(f'{topic} is not recorded: {error}')
        offer = look_for_offer(self, self._controller)
        if offer and offer.identity != self._run and self._remote_parameters.ready():
            self._run = offer.identity
            self._remote_parameters.load(self._keep_parameters)

    def _keep_parameters(self):
        self._writer.add_metadata('controller', {
            'name': self._controller, 'parameters': json.dumps(self._remote_parameters.values)})

    def _record(self, topic, kind):
        channel = self._writer.register_channel(topic, 'cdr', self._schema(kind), {
            'offered_qos_profiles': ''})

        def write(data):
            now = time.time_ns()
            self._writer.add_message(channel, now, data, now, self._counts[topic])
            self._counts[topic] += 1
        self.create_subscription(message_class(kind), topic, write, self._quality(topic), raw=True)

    def _schema(self, kind):
        if kind not in self._schemas:
            self._schemas[kind] = self._writer.register_schema(
                kind, 'ros2msg', message_definition(kind).encode())
        return self._schemas[kind]

    def _quality(self, topic):
        """Return the best quality of service that all publishers of a topic offer."""
        offered = [info.qos_profile for info in self.get_publishers_info_by_topic(topic)]
        return QoSProfile(
            depth=_DEPTH,
            reliability=ReliabilityPolicy.RELIABLE if all(
                each.reliability == ReliabilityPolicy.RELIABLE for each in offered)
            else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if all(
                each.durability == DurabilityPolicy.TRANSIENT_LOCAL for each in offered)
            else DurabilityPolicy.VOLATILE)


def machine():
    """Return what a run is made on, as text by name."""
    versions = {}
    for package in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {'began': datetime.datetime.now().astimezone().isoformat(timespec='seconds'),
            'opspace_control': opspace_control.__version__, 'system': platform.platform(),
            'python': platform.python_version(), **versions}


def main(arguments):
    """Record until SIGINT or SIGTERM; return the exit code."""
    options = _parse(remove_ros_args(arguments))
    path = options.output or Path(f'run_{datetime.datetime.now():%Y%m%d_%H%M%S}.mcap')
    try:
        stream = path.open('xb')
    except OSError as error:
        raise RosInterfaceError(f'{path} cannot be written: {error.strerror}.',
                                cure='Give another --output.') from error
    with stream:
        print(f'opspace record: {path} (Ctrl-C ends it)', flush=True)
        return run(lambda stop: RecorderNode(options.controller, stream, options.topics),
                   arguments, SingleThreadedExecutor)


def _parse(arguments):
    parser = argparse.ArgumentParser(prog='opspace record', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--output', type=Path, metavar='FILE',
                        help='an MCAP file that does not exist yet; run_<time>.mcap if not said')
    parser.add_argument('--controller', metavar='NAME', default='opspace_controller',
                        help='the controller node, if it is not called opspace_controller')
    parser.add_argument('--topics', nargs='*', default=[], metavar='TOPIC',
                        help='further topics')
    return parser.parse_args(arguments)

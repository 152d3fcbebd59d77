# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
`opspace play`: say again, on the same topics, what a recorded run has said.

The node has the name and the parameters of the controller that ran, so that whoever shows a
controller shows it. Never play where a robot listens: commands are left out, goals are not heard,
but joint states of two robots are one too many. `opspace replay` has a network of its own.
"""

import argparse
import contextlib
import time
from pathlib import Path

from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.utilities import remove_ros_args

from opspace_control.ros.executor import run
from opspace_control.ros.message_definitions import message_class
from opspace_control.ros.qos import LATCHED, RELIABLE
from opspace_control.runs.recording import Recording

_PERIOD = 0.005    # s, between two looks at the clock
_TELL = 0.2        # s, between two tellings of the time
_FASTEST = 10.0
_KEPT = ('robot_description', 'tf_static')  # for who joins late
_SILENT = ('/commands', '/parameter_events')


class PlayerNode(Node):
    """
    A node with the name of the controller that was recorded.

    Its parameters ``replay.time`` (s), ``replay.rate`` (times as fast) and ``replay.paused`` may be
    set at any time; those of the controller are read-only. At its end the run begins again.

    Parameters
    ----------
    recording : Recording

    """

    def __init__(self, recording, **options):
        namespace, _, name = recording.controller.rpartition('/')
        super().__init__(name, namespace=namespace, **options)
        self._recording = recording
        self._outlets = {topic: self._outlet(topic, schema.name) for topic, schema
                         in recording.types().items() if not topic.endswith(_SILENT)}
        for task in recording.tasks:  # what has a goal listens to goals
            self.create_subscription(PoseStamped, f'~/{task}/target_pose', lambda _: None, 1)
        self._declare()
        self._seek(0.0)
        self._told = 0.0
        self.add_on_set_parameters_callback(self._on_set)
        self.create_timer(_PERIOD, self._on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def leave(self):
        """Nothing is left behind."""

    def _outlet(self, topic, kind):
        return self.create_publisher(
            message_class(kind), topic, LATCHED if topic.endswith(_KEPT) else RELIABLE)

    def _declare(self):
        only_read = ParameterDescriptor(read_only=True, dynamic_typing=True)
        for name, value in self._recording.parameters.items():
            if not self.has_parameter(name):
                with contextlib.suppress(ParameterException):  # an empty list has no type
                    self.declare_parameter(name, value, only_read)
        for name, value, highest, words in (
                ('time', 0.0, self._recording.length, 'Since the begin of the run. [s]'),
                ('rate', 1.0, _FASTEST, 'How many times as fast as it was.')):
            self.declare_parameter(f'replay.{name}', value, ParameterDescriptor(
                description=words,
                floating_point_range=[FloatingPointRange(from_value=0.0, to_value=highest)]))
        self.declare_parameter('replay.paused', False,
                               ParameterDescriptor(description='Stand still.'))
        self._rate, self._paused = 1.0, False

    def _seek(self, position):
        """Go on from a time of the run, s."""
        self._time, self._seen = position, time.perf_counter()
        self._messages = self._recording.raw(list(self._outlets), position)
        self._next = next(self._messages, None)

    def _on_timer(self):
        now = time.perf_counter()
        self._time += 0.0 if self._paused else self._rate * (now - self._seen)
        self._seen = now
        while self._next is not None and self._recording.time_of(self._next[2]) <= self._time:
            _, channel, message = self._next
            self._outlets[channel.topic].publish(message.data)
            self._next = next(self._messages, None)
        if self._time > self._recording.length:
            self._seek(0.0)
        if now - self._told > _TELL and not self._paused:
            self._told = now
            self._telling = True
            self.set_parameters([Parameter('replay.time', value=min(
                self._time, self._recording.length))])
            self._telling = False

    _telling = False

    def _on_set(self, changes):
        for change in changes:
            if change.name == 'replay.rate':
                self._rate = change.value
            elif change.name == 'replay.paused':
                self._paused = change.value
            elif change.name == 'replay.time' and not self._telling:
                self._seek(change.value)
        return SetParametersResult(successful=True)


def main(arguments):
    """Play until SIGINT or SIGTERM; return the exit code."""
    parser = argparse.ArgumentParser(prog='opspace play', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('run', type=Path, metavar='RUN', help='a file of opspace record')
    options = parser.parse_args(remove_ros_args(arguments))
    recording = Recording(options.run)
    return run(lambda stop: PlayerNode(recording), arguments)

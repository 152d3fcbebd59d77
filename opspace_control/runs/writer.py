# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A run as an MCAP file, as Foxglove and ros2 bag read it."""

import json
import time

from mcap.writer import Writer

import opspace_control
from opspace_control.runs.layout import LAYOUT, RUN
from opspace_control.runs.machine import machine
from opspace_control.runs.schema import definition


class RunWriter:
    """
    An MCAP file that messages are written to as they come, in CDR as they are.

    What is written is compressed in pieces of a megabyte. A file whose writer was killed lacks its
    end; ``opspace report`` reads it nevertheless.

    Parameters
    ----------
    path : path
        Of the file, which is not there yet.

    """

    def __init__(self, path):
        self.path = path
        self.messages = 0
        self._schemas, self._channels = {}, {}
        self._file = open(path, 'xb')  # noqa: SIM115
        self._mcap = Writer(self._file)
        self._mcap.start(profile='ros2', library=f'opspace_control {opspace_control.__version__}')

    @property
    def topics(self):
        """Topics of which there is a message."""
        return tuple(self._channels)

    def channel(self, topic, kind, qos):
        """
        Return the number of a topic's channel, which is made if need be.

        Parameters
        ----------
        topic, kind : str
            Full name, and type as ``sensor_msgs/msg/JointState``.
        qos : rclpy.qos.QoSProfile
            Quality of service of the publisher, for a replay.

        Raises
        ------
        RosInterfaceError
            The definition of the type is not installed here.

        """
        if topic not in self._channels:
            if kind not in self._schemas:
                self._schemas[kind] = self._mcap.register_schema(
                    kind, 'ros2msg', definition(kind).encode())
            self._channels[topic] = self._mcap.register_channel(
                topic, 'cdr', self._schemas[kind], {'offered_qos_profiles': _qos_text(qos)})
        return self._channels[topic]

    def write(self, channel, data, received, sent):
        """Write a serialized message, and when it was received and sent, ns of the system clock."""
        self._mcap.add_message(channel, received, data, sent, self.messages & 0xffffffff)
        self.messages += 1

    def describe(self, **facts):
        """Write down what runs, and on what machine; what was written before is out of date."""
        self._mcap.add_metadata(RUN, {'layout': LAYOUT, 'machine': json.dumps(machine()), **{
            name: json.dumps(fact) for name, fact in facts.items()}})

    def attach(self, name, text):
        """Add a further file, of text."""
        now = time.time_ns()
        self._mcap.add_attachment(now, now, name, 'text/plain', text.encode())

    def close(self, lost):
        """Write the end of the file; ``lost`` says how many messages of which topic were lost."""
        self._mcap.add_metadata(f'{RUN}_end', {'lost': json.dumps(lost)})
        self._mcap.finish()
        self._file.close()


def _qos_text(qos):
    """Return a quality of service as rosbag2 keeps it; numbers are read by all its versions."""
    for_ever = '{sec: 9223372036, nsec: 854775807}'
    return '\n'.join([
        f'- history: {int(qos.history)}', f'  depth: {qos.depth}',
        f'  reliability: {int(qos.reliability)}', f'  durability: {int(qos.durability)}',
        f'  deadline: {for_ever}', f'  lifespan: {for_ever}', '  liveliness: 1',
        f'  liveliness_lease_duration: {for_ever}', '  avoid_ros_namespace_conventions: false'])

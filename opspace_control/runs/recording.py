# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A recorded run, read back: who said what, and when."""

import json
import struct
from functools import cached_property

import numpy as np
from mcap.exceptions import McapError
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from opspace_control.errors import OpspaceError

# Between two messages of a topic that are taken apart, s: plots need no more.
_FINENESS = 0.01


class RecordingError(OpspaceError):
    """A file is no recording of a run, or not a complete one."""


class Recording:
    """
    What `opspace record` has written.

    Parameters
    ----------
    path : path
        MCAP file.

    Attributes
    ----------
    begin, end : int
        ns, of the recorder's clock.
    counts : dict of str to int
        Messages by topic.

    Raises
    ------
    RecordingError
        The file cannot be read.

    """

    def __init__(self, path):
        self.path = path
        try:
            with path.open('rb') as stream:
                reader = make_reader(stream)
                summary = reader.get_summary()
                self._metadata = {item.name: item.metadata for item in reader.iter_metadata()}
        except OSError as error:
            raise RecordingError(f'{path} cannot be read: {error.strerror}.') from error
        except (McapError, struct.error) as error:
            raise RecordingError(f'{path} is no MCAP file: {error}.',
                                 cure='A recording that was cut off: mcap recover.') from error
        if summary is None or not summary.statistics.message_count:
            raise RecordingError(f'{path} has no messages.',
                                 cure='A recording that was cut off: mcap recover.')
        statistics = summary.statistics
        self.begin, self.end = statistics.message_start_time, statistics.message_end_time
        self._types = {channel.topic: summary.schemas[channel.schema_id]
                       for channel in summary.channels.values()}
        self.counts = {channel.topic: statistics.channel_message_counts.get(number, 0)
                       for number, channel in summary.channels.items()}

    @property
    def length(self):
        """Time from the first message to the last one, s."""
        return 1e-9 * (self.end - self.begin)

    @property
    def machine(self):
        """What the run was made on, as text by name."""
        return self._metadata.get('machine', {})

    @property
    def controller(self):
        """Full name of the controller's node."""
        return self._metadata.get('controller', {}).get('name', '/opspace_controller')

    @cached_property
    def parameters(self):
        """Parameters of the controller by name; of its last run, if there were several."""
        return json.loads(self._metadata.get('controller', {}).get('parameters', '{}'))

    @property
    def tasks(self):
        """Names of the tasks whose errors were recorded."""
        prefix = f'{self.controller}/'
        return [topic[len(prefix):-len('/error')] for topic in sorted(self.counts)
                if topic.startswith(prefix) and topic.endswith('/error')]

    @property
    def command_topic(self):
        """The topic of the joint efforts."""
        return next((topic for topic in self.counts if topic.endswith('/commands')), None)

    def types(self):
        """Return the schemas of the MCAP file by topic."""
        return dict(self._types)

    def time_of(self, message):
        """Return when a record of the MCAP file was received, s from the begin."""
        return 1e-9 * (message.log_time - self.begin)

    def raw(self, topics=None, start=0.0):
        """Yield (schema, channel, message) of the MCAP file from a time on, s, in order of time."""
        with self.path.open('rb') as stream:
            yield from make_reader(stream).iter_messages(
                topics, starting_at=self.begin + round(1e9 * start))

    def messages(self, topic, fineness=0.0):
        """Yield (time, message) of a topic, s from the begin; a message only every so often, s."""
        if topic not in self.counts:
            return
        decoders, due = DecoderFactory(), -np.inf
        for schema, channel, record in self.raw([topic]):
            time = self.time_of(record)
            if time >= due:
                due = time + fineness
                decode = decoders.decoder_for(channel.message_encoding, schema)
                yield time, decode(record.data)

    def times(self, topic):
        """Return when the messages of a topic came, (k,), s from the begin."""
        if topic not in self.counts:
            return np.zeros(0)
        return np.array([self.time_of(record) for *_, record in self.raw([topic])])

    def series(self, topic, read):
        """Return times (k,), s, and what ``read`` makes of each message, stacked."""
        rows = [(time, read(message)) for time, message in self.messages(topic, _FINENESS)]
        if not rows:
            return np.zeros(0), np.zeros((0, 0))
        times, values = zip(*rows, strict=True)
        return np.array(times), np.array(values)

    def description(self):
        """Return the URDF text of the robot, '' if it was not recorded."""
        for topic in self.counts:
            if topic.endswith('robot_description'):
                for _, message in self.messages(topic):
                    return message.data
        return self.parameters.get('robot_description') or ''

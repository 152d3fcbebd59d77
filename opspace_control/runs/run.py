# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A recorded run, read from its file; needs no ROS."""

import io
import json
import struct
from array import array
from functools import lru_cache
from pathlib import Path

import numpy as np
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Chunk, Message, Metadata, Schema
from mcap.stream_reader import StreamReader, get_chunk_data_stream
from mcap_ros2.decoder import DecoderFactory

from opspace_control.errors import OpspaceError
from opspace_control.runs.writer import LAYOUT, ROBOT, RUN

FLOAT_ARRAY, JOINT_STATE, ODOMETRY = (
    'std_msgs/msg/Float64MultiArray', 'sensor_msgs/msg/JointState', 'nav_msgs/msg/Odometry')
_RECORD = struct.Struct('<BQ')      # opcode, length
_MESSAGE = struct.Struct('<HIQQ')   # channel, sequence, log time, publish time; then the data
_OPENED = 8  # pieces, a megabyte each


class RunError(OpspaceError):
    """A file is not the recorded run of a controller."""


class Run:
    """A file of `opspace record`, or a RunError if it is none, or has no controller."""

    def __init__(self, path):
        self.path = path = Path(path)
        self.controller = ''  # full name of the controller's node
        self.parameters = {}  # of the controller, when it was found
        self.says, self.hears, self.services = {}, {}, {}  # of the controller: full name -> type
        self.machine = {}  # description of the machine
        self.lost = {}  # topic -> number of messages that the recorder lost
        self.robot = ''  # URDF text, if known
        self._archive = archive = _open(path)
        self.complete = archive.complete  # whether the file has its end
        for note in archive.notes:
            self._take(note)
        if not (self.controller and len(archive.received)):
            raise RunError(f'{path} has no controller in it.', path=str(path),
                           cure='It was not made by opspace record, or there was none.')
        # Whether cycles ran in the plug-in: it sends no efforts, its node publishes some of them.
        self.by_plugin = self.parameters.get('route') == 'plugin'
        # Topics of the efforts, the joint states, and the floating base; '' if there is none.
        self.commands = self.own('controller_state') if self.by_plugin else (
            _first(self.says, FLOAT_ARRAY)
            or _first(self.says, JOINT_STATE, self.own('controller_state')))
        self.states = self.beside('joint_states') if self.by_plugin else (
            _first(self.hears, JOINT_STATE, self.own('target_joint')))
        self.odom = _first(self.hears, ODOMETRY)
        # In the order of time, which the messages of each topic have already.
        self.order = np.argsort(archive.received, kind='stable')
        self.times_of_all = archive.received[self.order]  # of the messages, (k,), ns
        self.start, self.end = (int(self.times_of_all[i]) for i in (0, -1))
        self.duration = 1e-9 * (self.end - self.start)  # s
        self.topics, self._rows = {}, {}  # topic -> type, or messages
        self.latched = set()  # topics whose last message a late subscriber gets
        for number, channel in archive.channels.items():
            self.topics[channel.topic] = archive.schemas[channel.schema_id].name
            self._rows[channel.topic] = self.order[archive.channel[self.order] == number]
            if 'durability: 1' in channel.metadata.get('offered_qos_profiles', ''):
                self.latched.add(channel.topic)
        # Topic -> (k,) int64, ns of the system clock.
        self.received = {topic: archive.received[rows] for topic, rows in self._rows.items()}
        self.sent = {topic: archive.sent[rows] for topic, rows in self._rows.items()}
        self._find_robot()

    def own(self, topic):
        """Return the full name of a topic of the controller, ``~/topic``."""
        return f'{self.controller}/{topic}'

    def beside(self, topic):
        """Return the full name of a topic in the namespace of the controller."""
        return topic if topic.startswith('/') else f'{self.controller.rpartition("/")[0]}/{topic}'

    def times(self, topic):
        """Return when the messages of a topic came, (k,), s from the start."""
        return 1e-9 * (self.received.get(topic, np.empty(0, np.int64)) - self.start)

    def messages(self, topics):
        """Yield (topic, time, message) of each message of some topics, s from the start."""
        factory, archive = DecoderFactory(), self._archive
        decoders = {number: factory.decoder_for(channel.message_encoding,
                                                archive.schemas[channel.schema_id])
                    for number, channel in archive.channels.items() if channel.topic in topics}
        for row in self.order[np.isin(archive.channel[self.order], list(decoders))]:
            number = int(archive.channel[row])
            yield (archive.channels[number].topic, 1e-9 * int(archive.received[row] - self.start),
                   decoders[number](archive.data(row)))

    def at(self, number):
        """Return topic, time in ns, and bytes of a message; numbers are those of ``order``."""
        archive = self._archive
        return (archive.channels[int(archive.channel[number])].topic,
                int(archive.received[number]), archive.data(number))

    def newest(self, topic, time):
        """Return the bytes of the last message of a topic up to a time, ns, or None."""
        row = np.searchsorted(self.received[topic], time, side='right') - 1
        if topic in self.latched:
            row = max(row, 0)  # as a late subscriber gets it
        return self._archive.data(self._rows[topic][row]) if row >= 0 else None

    def _find_robot(self):
        """Take the robot from the file's attachment, or else from its topic."""
        for file in self._archive.files:
            if file.name == ROBOT:
                self.robot = file.data.decode()
        if not self.robot:
            for _, _, message in self.messages({self.beside('robot_description')}):
                self.robot = message.data

    def _take(self, record):
        if record.name == RUN and record.metadata['layout'] == LAYOUT:
            for name in ('machine', 'controller', 'parameters', 'says', 'hears', 'services'):
                setattr(self, name, json.loads(record.metadata[name]))
        elif record.name == f'{RUN}_end':
            self.lost = json.loads(record.metadata['lost'])


def _first(topics, kind, without=None):
    """Return the first of some topics that is of a type, and not below another one; or ''."""
    return next((topic for topic, its in sorted(topics.items()) if its == kind
                 and not (without and topic.startswith(without))), '')


def _open(path):
    """Return the archive at a path, or raise a RunError."""
    cure = 'opspace record makes such files.'
    try:
        return _Archive(path)
    except OSError as error:
        raise RunError(f'{path} cannot be read: {error.strerror}.', path=str(path),
                       cure=cure) from error
    except (McapError, struct.error) as error:
        raise RunError(f'{path} is no MCAP file.', path=str(path), cure=cure) from error


class _Archive:
    """
    The messages of a file, numbered as they come in it.

    A file that was cut off, since its writer was killed, is read as far as it goes. An OSError
    tells that a file cannot be read, a McapError that it has not even the beginning of an MCAP.
    """

    def __init__(self, path):
        self.schemas, self.channels = {}, {}  # mcap records by number
        self.notes, self.files = [], []  # mcap records: Metadata and Attachment
        self.complete = False  # whether the file has its end
        self._pieces = []
        self._rows = array('Q')  # channel, received, sent, piece, place of the data, length
        with open(path, 'rb') as file:
            try:
                for record in StreamReader(file, emit_chunks=True).records:
                    self._take(record)
                self.complete = True
            except (McapError, struct.error):  # the latter within a record
                if not self.channels:
                    raise
        rows = np.array(self._rows, np.int64).reshape(-1, 6)
        # Of each message, (k,): number of its channel, and times, ns.
        self.channel, self.received, self.sent = rows[:, 0], rows[:, 1], rows[:, 2]
        self._places = rows[:, 3:]
        self._opened = lru_cache(_OPENED)(lambda piece: _contents(self._pieces[piece]))

    def data(self, number):
        """Return the bytes of a message."""
        piece, place, length = self._places[number].tolist()
        return self._opened(piece)[place:place + length]

    def _take(self, record):
        if isinstance(record, Schema):
            self.schemas[record.id] = record
        elif isinstance(record, Channel):
            self.channels[record.id] = record
        elif isinstance(record, Metadata):
            self.notes.append(record)
        elif isinstance(record, Attachment):
            self.files.append(record)
        elif isinstance(record, Chunk):
            self._take_chunk(record)
        elif isinstance(record, Message):  # of a writer that makes no chunks
            self._rows.extend((record.channel_id, record.log_time, record.publish_time,
                               len(self._pieces), 0, len(record.data)))
            self._pieces.append(record.data)

    def _take_chunk(self, chunk):
        """Index the messages in a chunk."""
        data, at, piece = _contents(chunk), 0, len(self._pieces)
        self._pieces.append(chunk)
        while at < len(data):
            opcode, length = _RECORD.unpack_from(data, at)
            at += _RECORD.size
            if opcode == Opcode.MESSAGE:
                channel, _, received, sent = _MESSAGE.unpack_from(data, at)
                self._rows.extend((channel, received, sent, piece, at + _MESSAGE.size,
                                   length - _MESSAGE.size))
            elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                # Like one outside of chunks.
                record = io.BytesIO(data[at - _RECORD.size:at + length])
                self._take(next(StreamReader(record, skip_magic=True).records))
            at += length


def _contents(piece):
    """Return the bytes of a piece, which may be compressed."""
    if isinstance(piece, bytes):
        return piece
    stream, length = get_chunk_data_stream(piece)
    return stream.read(length)

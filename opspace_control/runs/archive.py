# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""An MCAP file in memory, compressed as on disk, with random access to messages."""

import io
import struct
from array import array
from functools import lru_cache

import numpy as np
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Chunk, Message, Metadata, Schema
from mcap.stream_reader import StreamReader, get_chunk_data_stream

_RECORD = struct.Struct('<BQ')      # opcode, length
_MESSAGE = struct.Struct('<HIQQ')   # channel, sequence, log time, publish time; then the data
_OPENED = 8  # pieces, a megabyte each


class Archive:
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

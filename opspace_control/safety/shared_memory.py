# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The memory that a servo in another process shares by a file: its block, and messages to it.

native/ros2_control/include/opspace_controller/node_link.hpp has the same records. The servo takes
messages between two cycles, each as a whole; its block is read between cycles.
"""

import fcntl
import mmap
import os
import struct
import threading
import time
from enum import IntEnum
from pathlib import Path

import numpy as np

from opspace_control.errors import ControlError

_MAGIC = b'OPSHARE1'
# Numbers of the memory's beginning, by the offset of each in bytes.
FRAME = np.dtype({
    'names': ['magic', 'block', 'block_size', 'ring', 'ring_size', 'entries', 'entry_count',
              'process', 'sequence', 'cycles', 'bytes_read', 'refused', 'mode', 'active',
              'bytes_written', 'beat', 'timeout'],
    'formats': ['S8', *[np.int64] * 16],
    'offsets': [*range(0, 64, 8), *range(64, 112, 8), *range(128, 152, 8)],
    'itemsize': 192})
# What a cycle did: times in ns; a fault to report, else -1; the effort that was not finite.
ENTRY = np.dtype([
    ('time', np.int64), ('stamp', np.int64), ('result', np.int64), ('trip', np.int64),
    ('fault', np.int64), ('dof', np.int64), ('effort', np.float64),
    ('limited', np.int64), ('unsolved', np.int64), ('levels_skipped', np.int64),
    ('attained', np.int64), ('least_eigenvalue', np.float64)])
_HEAD = struct.Struct('3q')  # of a message: its kind, its size in bytes, and a number
_CHANGE = struct.Struct('2q')  # before changed bytes: their offset and number
_TRIES = 20  # to read the block between cycles


class Request(IntEnum):
    """What a message asks for."""

    NUMBERS = 0  # changes of numbers
    HOLD = 1     # every goal is the present pose; a trip is acknowledged
    TRIP = 2     # trip, by the number
    MODE = 3     # change the `Mode`


class Mode(IntEnum):
    """What a servo does."""

    RUN = 0           # cycles
    GRAVITY_HOLD = 1  # hold the robot in position
    RELEASE = 2       # damp it, ever less
    RELEASED = 3      # no effort


class SharedMemory:
    """
    The memory of a servo, attached by its ``path``; `close` leaves it.

    A ControlError is raised if there is none, or if another process is attached.
    """

    def __init__(self, path):
        self._path = Path(path)
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise ControlError(
                f'{path} is no memory of a servo: {error.strerror}.',
                cure='Configure the plug-in with this path as memory.') from error
        try:
            self._map()
        except BaseException:
            os.close(self._file)
            raise
        self._lock = threading.Lock()
        self._told = self._seen = self.frame['cycles'].item()  # cycles before those of `entries`

    def _map(self):
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ControlError(f'Another process is attached to {self._path}.',
                               cure='End the other node.') from error
        size = os.fstat(self._file).st_size
        read_only = (mmap.mmap(self._file, size, prot=mmap.PROT_READ)
                     if size >= FRAME.itemsize else bytes(FRAME.itemsize))
        frame = np.frombuffer(read_only, FRAME, 1)[0]
        if frame['magic'] != _MAGIC or frame['block'] + frame['block_size'] > size:
            raise ControlError(f'{self._path} is no memory of a servo, or one of another version.',
                               cure='Build the plug-in and this package from the same sources.')
        first, self._ring_size = frame['entries'].item(), frame['ring_size'].item()
        # What this process may write.
        self._writable = mmap.mmap(self._file, first)
        self.frame = {name: np.frombuffer(
            self._writable, np.int64, 1, FRAME.fields[name][1]) for name in FRAME.names[1:]}
        self._ring = memoryview(self._writable)[frame['ring'].item():][:self._ring_size]
        self._entries = np.frombuffer(read_only, ENTRY, frame['entry_count'].item(), first)
        self.block = np.frombuffer(
            read_only, np.uint8, frame['block_size'].item(), frame['block'].item())

    def close(self):
        """Leave the memory to another process."""
        fcntl.flock(self._file, fcntl.LOCK_UN)  # a map has a descriptor of its own
        os.close(self._file)

    def is_there(self):
        """Return whether the process of the servo lives, and its memory is that of the path."""
        try:
            os.kill(self.frame['process'].item(), 0)
            return os.path.samestat(os.stat(self._path), os.fstat(self._file))
        except PermissionError:
            return True
        except OSError:
            return False

    @property
    def active(self):
        """Whether the servo has cycles."""
        return bool(self.frame['active'].item())

    @property
    def mode(self):
        """The `Mode` of the servo."""
        return Mode(self.frame['mode'].item())

    def read(self, copy):
        """
        Call ``copy()`` between two cycles; return whether all messages were taken before.

        It may be called several times: only the last call counts. None if no time between cycles
        was long enough.
        """
        sequence, read, written = (
            self.frame[name] for name in ('sequence', 'bytes_read', 'bytes_written'))
        for _ in range(_TRIES):
            before = sequence.item()
            if before % 2:
                time.sleep(2e-5)
                continue
            self._order()
            copy()
            done, cycles = read.item() == written.item(), self.frame['cycles'].item()
            self._order()
            if sequence.item() == before:
                self._seen = cycles
                return done
        return None

    def send(self, kind, number=0, changes=()):
        """
        Send a message of a `Request`; return False if there is no room for it.

        ``changes`` are pairs of an offset in the block and bytes.
        """
        parts = [part for offset, content in changes for part in (
            _CHANGE.pack(offset, len(content)), content, bytes(-len(content) % 8))]
        size = _HEAD.size + sum(map(len, parts))
        written = self.frame['bytes_written'].item()
        if size > self._ring_size - (written - self.frame['bytes_read'].item()):
            return False
        content, at = b''.join([_HEAD.pack(kind, size, number), *parts]), written % self._ring_size
        first = min(size, self._ring_size - at)
        self._ring[at:at + first], self._ring[:size - first] = content[:first], content[first:]
        self._order()
        self.frame['bytes_written'][0] = written + size
        return True

    def beat(self, now):
        """Give a sign of life at the steady time ``now``, s."""
        self.frame['beat'][0] = round(1e9 * now)

    def entries(self):
        """
        Return the ENTRY of each cycle from the last call to the last `read`.

        The block that was read has the state of the last of them. Of very many the first are lost.
        """
        count, most = self._seen, len(self._entries)
        first = max(self._told, count - most // 2)
        self._told = count
        return self._entries[np.arange(first, count) % most]

    def last_cycle(self):
        """Return the steady time of the last cycle, s, 0 before the first."""
        count = self.frame['cycles'].item()
        return 1e-9 * self._entries['time'][(count - 1) % len(self._entries)].item()

    def _order(self):
        """Let what precedes in the program precede in memory: two locks are two barriers."""
        for _ in range(2):
            with self._lock:
                pass

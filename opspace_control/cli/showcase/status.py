# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A status line, on a terminal or in a log."""

import shutil
import time

_TERMINAL_PERIOD = 0.1  # s
_LOG_PERIOD = 1.0  # s


class Status:
    """
    A line that is written anew on a terminal, and once a second anywhere else.

    Parameters
    ----------
    stream : text file

    """

    def __init__(self, stream):
        self._stream = stream
        self._terminal = stream.isatty()
        self._next = 0.0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._clear()

    def show(self, text):
        """Show a line, if it is time for one."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (_TERMINAL_PERIOD if self._terminal else _LOG_PERIOD)
        if self._terminal:
            self._clear()
            self._stream.write(text[:shutil.get_terminal_size().columns - 1])
        else:
            self._stream.write(f'{text}\n')
        self._stream.flush()

    def line(self, text):
        """Write a line that stays."""
        self._clear()
        self._stream.write(f'{text}\n')
        self._stream.flush()

    def _clear(self):
        if self._terminal:
            self._stream.write('\r\x1b[K')
            self._stream.flush()

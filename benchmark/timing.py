# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Times side by side, in turns, so that a machine's moods meet all alike; and waiting in time."""

import gc
import time

import numpy as np

# CPU time a turn takes, s, if the inputs are fewer: no one's caches are colder than another's.
_TURN = 2e-3


def interleave(contenders, rounds):
    """
    Time functions in turn and return what one call of each takes, in µs, round by round.

    It is the CPU time of this thread, so that other programs on the machine do not count. Every
    turn goes through all inputs of a contender; who begins changes from round to round.

    Parameters
    ----------
    contenders : dict of str to (callable, list of tuple)
        Each function, and the arguments of its calls.
    rounds : int
        How many turns each has.

    Returns
    -------
    dict of str to (rounds,) array

    """
    turns = {}
    for name, (function, inputs) in contenders.items():
        _take_turn(function, inputs)
        turns[name] = function, inputs * max(1, round(_TURN / _take_turn(function, inputs)))
    names = list(turns)
    times = {name: np.empty(rounds) for name in names}
    gc.collect()
    gc.disable()
    try:
        for i in range(rounds):
            first = i % len(names)
            for name in (*names[first:], *names[:first]):
                times[name][i] = _take_turn(*turns[name]) / len(turns[name][1]) * 1e6
    finally:
        gc.enable()
    return times


def _take_turn(function, inputs):
    start = time.thread_time()
    for arguments in inputs:
        function(*arguments)
    return time.thread_time() - start


def wait_until(condition, timeout, poll=0.01):
    """Return whether ``condition()`` came true within ``timeout`` s."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(poll)
    return True

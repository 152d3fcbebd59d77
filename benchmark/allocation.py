# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a cycle takes from the heap, and how often it goes from Python to compiled code."""

import sys

from contest import Contest
from figures import Figure, Spread
from numba.core.runtime import _nrt_python, rtsys

from opspace_control.cli.robots import demo_robot


def measure():
    """Return the figures of the dual-arm robot."""
    robot = demo_robot('dual_arm')
    function, inputs = Contest.set_up(robot.path().read_text(), robot.hands, robot.start).ours()
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats().alloc
    for arguments in inputs:
        function(*arguments)
    blocks = rtsys.get_allocation_stats().alloc - before
    return [Figure('allocation.blocks', 'Heap blocks that compiled code takes in a cycle',
                   Spread.of(blocks / len(inputs)), 0.0),
            Figure('allocation.entries', 'Times that a cycle goes from Python to compiled code',
                   Spread.of(_entries(function, inputs[0])), 1.0)]


def _entries(function, arguments):
    """Return how many functions of machine code Python calls."""
    count = 0

    def watch(_frame, event, callee):
        nonlocal count
        if event == 'c_call' and type(getattr(callee, '__self__', None)).__name__ == '_Closure':
            count += 1

    sys.setprofile(watch)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return count

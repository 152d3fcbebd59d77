# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How often a cycle goes from Python to compiled code."""

from unittest import mock

from contest import Contest
from figures import Figure, Spread

from opspace_control.cli.robots import demo_robot
from opspace_control.compiled import Kernel


def measure():
    """Return the figures of the dual-arm robot."""
    return [Figure('allocation.entries', 'Times that a cycle goes from Python to compiled code',
                   Spread.of(_entries(demo_robot('dual_arm'))), 1.0)]


def _entries(robot):
    """Return how many functions of the library Python calls in a cycle after the first."""
    count, find = 0, Kernel.find

    def counting(kernel, arguments):
        entry, table, places = find(kernel, arguments)

        def enter(address):
            nonlocal count
            count += 1
            return entry(address)

        return enter, table, places

    with mock.patch.object(Kernel, 'find', counting):
        function, inputs = Contest.set_up(
            robot.path().read_text(), robot.hands, robot.start).ours()
        function(*inputs[0])
    count = 0
    function(*inputs[0])
    return count

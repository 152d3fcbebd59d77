# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How often a cycle goes from Python to compiled code."""

import sys

from contest import Contest
from figures import Figure, Spread

from opspace_control import library
from opspace_control.cli.robots import demo_robot


def measure():
    """Return the figures of the dual-arm robot."""
    robot = demo_robot('dual_arm')
    function, inputs = Contest.set_up(robot.path().read_text(), robot.hands, robot.start).ours()
    return [Figure('allocation.entries', 'Times that a cycle goes from Python to compiled code',
                   Spread.of(_entries(function, inputs[0])), 1.0)]


def _entries(function, arguments):
    """Return how many functions of the library Python calls."""
    count = 0

    def watch(frame, event, _argument):
        nonlocal count
        count += event == 'call' and frame.f_code.co_filename == library.__file__

    sys.setprofile(watch)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return count

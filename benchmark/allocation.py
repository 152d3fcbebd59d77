# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""How often a cycle goes from Python to compiled code."""

from contextlib import contextmanager
from unittest import mock

from contest import Contest
from figures import Figure, Spread

from opspace_control.cli.robots import demo_robot
from opspace_control.compiled import Kernel


def measure():
    """Return the figures of the dual-arm robot."""
    robot = demo_robot('dual_arm')
    with entries() as entered:
        function, inputs = Contest.set_up(
            robot.path().read_text(), robot.hands, robot.start).ours()
        function(*inputs[0])  # makes its partial
        entered.clear()
        function(*inputs[0])
    return [Figure('allocation.entries', 'Times that a cycle goes from Python to compiled code',
                   Spread.of(len(entered)), 1.0)]


@contextmanager
def entries():
    """Yield a list of the names of kernels that Python enters, by their partials or by calls."""
    entered, partial, call = [], Kernel.partial, Kernel.__call__

    def noted(kernel, function):
        def enter(*arguments):
            entered.append(kernel.name.rpartition('.')[2])
            return function(*arguments)
        return enter

    def counted_partial(kernel, *arguments):
        function = partial(kernel, *arguments)
        enter = noted(kernel, function)
        enter.take, enter.connect = function.take, function.connect
        enter.repeat = noted(kernel, function.repeat)
        return enter

    with mock.patch.object(Kernel, 'partial', counted_partial), mock.patch.object(
            Kernel, '__call__', lambda kernel, *arguments: noted(
                kernel, lambda *each: call(kernel, *each))(*arguments)):
        yield entered

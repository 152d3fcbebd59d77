# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The process of a node: its arguments, its executor until a signal, its lifecycle."""

import contextlib
import json
import re
import signal

import rclpy
from lifecycle_msgs.msg import State
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rclpy.utilities import remove_ros_args

from opspace_control.errors import RosInterfaceError

# In `-p robot_description:=...`, for one node or for all.
_DESCRIPTION = re.compile(r'((?:[^:=]*:)?robot_description:=)(\s*<.*)', re.DOTALL)


def parse(parser, arguments):
    """
    Return what an ArgumentParser makes of the arguments that are not for ROS 2.

    Arguments after --ros-args that cannot be used are a RosInterfaceError. Wrong ones before, or a
    request for help, before or after --ros-args, are a SystemExit.
    """
    if not {'-h', '--help'}.isdisjoint(arguments):
        arguments = ['--help']
    try:
        plain = remove_ros_args(_quoted(arguments))
    except RuntimeError as error:  # of any class that rclpy has for that
        raise _refusal(error) from None
    return parser.parse_args(plain)


def initialize(arguments):
    """Initialize rclpy with arguments, signals excepted; a RosInterfaceError if it refuses."""
    try:
        rclpy.init(args=_quoted(arguments), signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:
        raise _refusal(error) from None


def _quoted(arguments):
    """Return the arguments with a URDF text in quotes: rcl reads the value of -p as YAML."""
    return [f'{found[1]}{json.dumps(found[2], ensure_ascii=False)}'
            if (found := _DESCRIPTION.fullmatch(argument)) else argument
            for argument in arguments]


def _refusal(error):
    reason = str(error).removeprefix('failed to initialize rcl: ')
    reason = re.sub(r', at (/|\S+:\d+).*', '', reason, flags=re.DOTALL)
    return RosInterfaceError(
        f'ROS 2 cannot use the arguments after --ros-args: {reason}.',
        cure='Write -p NAME:=VALUE with a VALUE in YAML, --params-file FILE, or -r FROM:=TO.')


# How long the executor may sit in compiled code, where Python cannot notice a signal.
_NOTICE_SIGNALS = 0.2  # s


def make_executor(context=None):
    """
    Return the executor with the lowest latency here.

    The events executor (rclpy 7.1.4 and later) takes half the time of the single-threaded one.
    Several threads would only lose messages to each other's locks.
    """
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)


class Stop:
    """A future that SIGINT and SIGTERM complete, instead of rclpy's immediate shutdown."""

    def __init__(self):
        self.future = Future()
        self.failure = None  # the error that `run` raises at the end
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self.now())

    def now(self):
        """Stop at the next chance."""
        if not self.future.done():
            self.future.set_result(None)

    def fail(self, error):
        """Stop, and let `run` raise an error, which an executor would log with a traceback."""
        self.failure = error
        self.now()

    @property
    def wanted(self):
        """Whether to stop."""
        return self.future.done()

    def check(self):
        """Raise a RosInterfaceError if it is time to stop: to be called by what waits."""
        if self.wanted:
            raise RosInterfaceError('The node was told to stop.')


def run(make_node, arguments, make_executor=make_executor):
    """
    Make a node, spin it until SIGINT or SIGTERM, let it leave, and return the exit code.

    rclpy's own handlers would shut the context down at once: the node could not command rest.
    ``make_node`` takes the `Stop` and returns the node; its ``leave()``, if it has one, is called
    while it can still publish, also when a callback has raised. ROS arguments are among the
    ``arguments``.
    """
    initialize(arguments)
    try:
        stop = Stop()
        executor = make_executor()
        node = make_node(stop)
        try:
            executor.add_node(node)
            with contextlib.suppress(ExternalShutdownException):
                while not stop.wanted:  # in slices, as the events executor of the wheels needs it
                    executor.spin_until_future_complete(stop.future, timeout_sec=_NOTICE_SIGNALS)
        finally:
            getattr(node, 'leave', lambda: None)()
            node.destroy_node()
            executor.shutdown()
    finally:
        rclpy.try_shutdown()
    if stop.failure:
        raise stop.failure
    return 0


def is_unconfigured(node):
    """Return whether a LifecycleNode is unconfigured."""
    return node._state_machine.current_state[0] == State.PRIMARY_STATE_UNCONFIGURED


def refuse_impossible_transitions(node):
    """
    Let a LifecycleNode answer False to requests for transitions that its state does not have.

    Until after Jazzy rclpy raises an exception for such a request, which ends the process: a late
    activate of another client would stop a robot's controller.
    """
    service = node._service_change_state
    change_state = service.callback

    def answer(request, response):
        wanted = request.transition
        possible = [number for number, *_ in node._state_machine.available_transitions]
        if not wanted.label and wanted.id not in possible:
            node.get_logger().warning(f'Transition {wanted.id} is refused: the node is '
                                      f'{node._state_machine.current_state[1]}.')
            response.success = False
            return response
        return change_state(request, response)
    service.callback = answer

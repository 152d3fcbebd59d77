# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Run one node until a signal; the node can still publish while it stops."""

import signal

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.task import Future

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.arguments import initialize

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
    """A future that SIGINT and SIGTERM complete, instead of rclpy's shutdown in mid-sentence."""

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
        """
        Stop at the next chance, and let `run` raise an error.

        The events executor logs what a callback raises as fatal, with a traceback.
        """
        self.failure = error
        self.now()

    @property
    def wanted(self):
        """Whether to stop."""
        return self.future.done()

    def heed(self):
        """Raise a RosInterfaceError if it is time to stop: to be called by what waits."""
        if self.wanted:
            raise RosInterfaceError('The node was told to stop.')


def run(make_node, arguments, make_executor=make_executor):
    """
    Make a node, spin it until SIGINT or SIGTERM, let it leave, and return the exit code.

    rclpy's own handlers would shut the context down at once: the node could not command rest.

    Parameters
    ----------
    make_node : callable
        Takes the `Stop` and returns the node; its ``leave()`` is called while it can still
        publish, also when a callback has raised.
    arguments : list of str
        ROS arguments among them.
    make_executor : callable
        Returns the executor.

    """
    initialize(arguments)
    try:
        stop = Stop()
        executor = make_executor()
        node = make_node(stop)
        try:
            executor.add_node(node)
            spin(executor, stop)
        finally:
            node.leave()
            node.destroy_node()
            executor.shutdown()
    finally:
        rclpy.try_shutdown()
    if stop.failure:
        raise stop.failure
    return 0


def spin(executor, stop):
    """Spin until ``stop``; in slices, as the events executor of the ROS 2 wheels needs it."""
    while not stop.wanted:
        try:
            executor.spin_until_future_complete(stop.future, timeout_sec=_NOTICE_SIGNALS)
        except ExternalShutdownException:
            return

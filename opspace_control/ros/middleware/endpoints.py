# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Timers, subscriptions and services of a part of a node, with its lifetime."""

import contextlib
import functools

from rclpy.clock import Clock, ClockType
from std_msgs.msg import String

from opspace_control.ros.middleware.qos import LATCHED


class Endpoints:
    """
    Timers, subscriptions and services that are withdrawn together.

    rclpy's executors still call what was due when it was destroyed: the callback of a part that
    is gone, which may need what was destroyed with it. Here nothing is called after `withdraw`.

    Parameters
    ----------
    node : rclpy.node.Node

    """

    def __init__(self, node):
        self._node = node
        self._undo = contextlib.ExitStack()
        self._withdrawn = False

    def repeat(self, period, callback):
        """Call back every so many seconds of a steady clock; a simulation's clock may stop."""
        timer = self._node.create_timer(
            period, self._while_there(callback), clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._undo.callback(self._node.destroy_timer, timer)

    def listen(self, kind, topic, callback, qos, **options):
        """Return a subscription, which calls back with each message."""
        subscription = self._node.create_subscription(
            kind, topic, self._while_there(callback), qos, **options)
        self._undo.callback(self._node.destroy_subscription, subscription)
        return subscription

    def serve(self, kind, name, callback):
        """Call back with each request, and the response to fill and return."""
        service = self._node.create_service(kind, name, self._while_there(callback))
        self._undo.callback(self._end, service)

    def withdraw(self):
        """Destroy all of them; whatever is still due is not called any more."""
        self._withdrawn = True
        self._undo.close()

    def _while_there(self, callback):
        @functools.wraps(callback)
        def call(*arguments):
            if not self._withdrawn:
                return callback(*arguments)
            return arguments[-1] if arguments else None  # of a service, its response
        return call

    def _end(self, service):
        # A request that is still due has been taken for nothing: there is no way back any more.
        service.send_response = lambda response, header: None
        self._node.destroy_service(service)


class RobotDescription:
    """
    The URDF text of the robot, once it is known.

    Parameters
    ----------
    node : rclpy.node.Node
    text : str
        Value of the parameter; if empty, the topic ``robot_description`` is waited for.
    received : callable
        Called without arguments when the topic has delivered the first description.

    """

    def __init__(self, node, text, received):
        self.text = text
        self._received = received
        self._subscription = None
        if not text:
            self._subscription = node.create_subscription(
                String, 'robot_description', self._on_description, LATCHED)
            node.get_logger().info(
                f'Waiting for the robot on {self._subscription.topic_name} '
                '(or give its URDF file on the command line).')

    def _on_description(self, message):
        # A description that changes later would be another robot; this one stays.
        if not self.text:
            self.text = message.data
            self._received()

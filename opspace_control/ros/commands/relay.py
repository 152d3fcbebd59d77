# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The relay of commands between the controller and a forward controller, as seen by topics."""

import rclpy
from std_msgs.msg import Bool

from opspace_control.ros.commands.command_path import ready_topic
from opspace_control.ros.middleware.qos import LATCHED, NEWEST


class Relay:
    """
    A node that relays commands, such as the command watchdog, as the controller sees it.

    Topics are polled: a callback for each message would delay the cycle.

    Parameters
    ----------
    node : rclpy.node.Node
        Provides the context; the subscriptions have a node of their own, which no executor spins.
    kind : type
        Of the commands.
    topic : str
        Command topic of the relay.
    end : str
        Command topic of the forward controller.

    """

    def __init__(self, node, kind, topic, end):
        self._kind = kind
        self._node = rclpy.create_node(
            f'{node.get_name()}_arrivals', context=node.context, namespace=node.get_namespace(),
            use_global_arguments=False, enable_rosout=False, start_parameter_services=False)
        self._arrivals = self._node.create_subscription(kind, end, lambda _: None, NEWEST)
        self._readiness = self._node.create_subscription(
            Bool, ready_topic(topic), lambda _: None, LATCHED)
        self._told = None  # its last message of readiness

    def passes_on(self):
        """Return whether a command has arrived at the forward controller since the last call."""
        return _take(self._arrivals, self._kind, raw=True) is not None

    @property
    def starts(self):
        """Whether a relay publishes that it is not ready."""
        return self._tells() is False

    @property
    def is_watchdog(self):
        """Whether it publishes that it is ready, as the command watchdog does."""
        return self._tells() is True

    def _tells(self):
        """Return its published readiness, None without one or without its publisher."""
        told = _take(self._readiness, Bool)
        if told:
            self._told = told[0].data
        return self._told if self._readiness.get_publisher_count() else None

    def destroy(self):
        """Withdraw the subscriptions."""
        self._node.destroy_node()


def _take(subscription, kind, raw=False):
    with subscription.handle:
        return subscription.handle.take_message(kind, raw)

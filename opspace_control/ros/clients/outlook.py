# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Polled topics of any rate."""

from rclpy.callback_groups import CallbackGroup

from opspace_control.ros.middleware.qos import NEWEST


class _NeverCalled(CallbackGroup):
    """A group whose members no executor waits for."""

    def can_execute(self, entity):
        return False

    def beginning_execution(self, entity):
        return False

    def ending_execution(self, entity):
        pass


class Outlook:
    """
    The newest message of a topic, taken when it is looked for.

    Nothing is called back: who looks some thirty times a second at what is said a thousand times
    leaves the processor to others. A SingleThreadedExecutor does not touch it.

    Parameters
    ----------
    node : rclpy.node.Node
    kind : type
        Of the messages.
    topic : str
    qos : rclpy.qos.QoSProfile

    """

    def __init__(self, node, kind, topic, qos=NEWEST):
        self._node = node
        self._kind = kind
        self._subscription = node.create_subscription(
            kind, topic, lambda message: None, qos, callback_group=_NeverCalled())
        self.newest = None

    def look(self):
        """Return the newest message so far, or None."""
        return self.take() or self.newest

    def take(self):
        """Return the newest message if it has come since the last time, else None."""
        newest = None
        handle = self._subscription.handle
        with handle:
            while (taken := handle.take_message(self._kind, False)) is not None:
                newest = taken[0]
        self.newest = newest or self.newest
        return newest

    def destroy(self):
        """Stop listening."""
        self._node.destroy_subscription(self._subscription)

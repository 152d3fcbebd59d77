# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Whether commands get to where they are obeyed, and another way for them if they do not."""

import math

import rclpy
from rclpy.duration import Duration

from opspace_control.ros.middleware.qos import NEWEST, RELIABLE

# Nobody may listen for so long, once somebody has: a listener that restarts may come back.
_PATIENCE = 1.0  # s
# Commands further apart than this do not go on: the robot is released, or was never known.
_PAUSE = 0.2  # s
_FLUSH = Duration(seconds=0.1)


class CommandRoute:
    """
    The way of the commands to the forward controller, directly or through a command watchdog.

    Parameters
    ----------
    node : rclpy.node.Node
    kind : type
        Of the messages.
    topic : str
        Where the commands go.
    end : str
        Where a forward controller takes them. If that is another topic, commands are expected to
        arrive there from the first one on that does.

    Attributes
    ----------
    heard : bool
        Whether somebody listens, or has done so.
    timeout : float
        Longest time without an arrival, s, 0 for any.
    direct : bool
        Whether commands go to the end directly too: what stands in front of it may be dead.

    """

    def __init__(self, node, kind, topic, end):
        self._node = node
        self.topic, self._end = map(node.resolve_topic_name, (topic, end))
        self._publisher = node.create_publisher(kind, topic, RELIABLE)
        self._shortcut = self._arrivals = None
        if self._end != self.topic:
            # Discovery takes time, which there will not be when it is needed.
            self._shortcut = node.create_publisher(kind, end, RELIABLE)
            self._arrivals = Arrivals(node, kind, self._end)
        self.timeout = 0.0
        self.restart()

    def restart(self):
        """Begin anew: nothing has been sent or heard."""
        self.direct = self.heard = False
        self._sent = False
        self._last_sent = -math.inf
        self._unheard_since = math.inf  # when the first command was sent that nobody heard
        self._comes_through = False     # whether anything ever has
        self._awaited_since = math.inf  # when the first command was sent that has not arrived
        if self._arrivals:
            self._arrivals.newest()

    def publish(self, message):
        """Send a command."""
        self._sent = True
        self._publisher.publish(message)
        if self.direct and self._shortcut:
            self._shortcut.publish(message)

    @property
    def listeners(self):
        """How many take the commands, as far as is known."""
        return self._publisher.get_subscription_count()

    def fault(self, now):
        """
        Return why commands are lost at the steady time ``now``, s; '' if they are not.

        To be asked often, every few of the robot's cycles.
        """
        if self._sent:
            self._sent, self._last_sent = False, now
        return self._unheard(now) or (self._astray(now) if self._arrivals else '')

    def _unheard(self, now):
        if self.listeners:
            self.heard = True
        if self.listeners or now - self._last_sent > _PAUSE:
            self._unheard_since = math.inf
        elif self._last_sent == now:
            self._unheard_since = min(self._unheard_since, now)
        lost = self.heard and now - self._unheard_since > _PATIENCE
        return f'Nobody listens to {self.topic} any more.' if lost else ''

    def _astray(self, now):
        if self._arrivals.newest():
            self._comes_through = True
            self._awaited_since = math.inf
        elif self._last_sent == now:
            self._awaited_since = min(self._awaited_since, now)
        lost = self._comes_through and self.timeout and now - self._awaited_since > self.timeout
        return f'Commands to {self.topic} do not arrive at {self._end} any more.' if lost else ''

    def flush(self):
        """Wait a moment for who has to acknowledge the last command."""
        self._publisher.wait_for_all_acked(_FLUSH)

    def destroy(self):
        """Withdraw the topics."""
        if self._arrivals:
            self._node.destroy_publisher(self._shortcut)
            self._arrivals.destroy()
        self._node.destroy_publisher(self._publisher)


class Arrivals:
    """
    Hears what arrives at a topic only when asked: a callback for each would delay the cycle.

    Parameters
    ----------
    node : rclpy.node.Node
        Whose context is used; the subscription has a node of its own, which no executor spins.
    kind : type
    topic : str

    """

    def __init__(self, node, kind, topic):
        self._kind = kind
        self._node = rclpy.create_node(
            f'{node.get_name()}_arrivals', context=node.context, namespace=node.get_namespace(),
            use_global_arguments=False, enable_rosout=False, start_parameter_services=False)
        self._subscription = self._node.create_subscription(kind, topic, lambda _: None, NEWEST)

    def newest(self):
        """Return whether something has come since this was asked last."""
        with self._subscription.handle:
            return self._subscription.handle.take_message(self._kind, True) is not None

    def destroy(self):
        """Stop listening."""
        self._node.destroy_node()

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The route of commands to the forward controller: topics, supervision, bypass of a dead relay."""

import math
import time

from rclpy.duration import Duration
from std_msgs.msg import Bool

from opspace_control.ros.middleware.endpoints import LATCHED, NEWEST, Endpoints, companion, take


def command_topic(parameters):
    """Return the topic of the effort commands."""
    return parameters['command_topic'] or command_end(parameters)


def command_end(parameters):
    """Return the topic of the forward controller, in the namespace of its manager."""
    namespace, slash, _ = parameters['controller_manager'].rpartition('/')
    return f'{namespace}{slash}{parameters["effort_controller"]}/commands'


def ready_topic(commands):
    """Return the topic on which the receiver of commands publishes whether it relays them."""
    return f'{commands.rpartition("/")[0]}/ready'


class Relay:
    """
    A node that relays commands, such as the command watchdog, as the controller sees it by topics.

    Topics are polled by a node that no executor spins: a callback for each message would delay the
    cycle. Commands of a type ``kind`` go to its ``topic`` and from there to that of the forward
    controller, ``end``.
    """

    def __init__(self, node, kind, topic, end):
        self._node = companion(node, 'arrivals')
        self._arrivals = self._node.create_subscription(kind, end, lambda _: None, NEWEST, raw=True)
        self._readiness = self._node.create_subscription(
            Bool, ready_topic(topic), lambda _: None, LATCHED)
        self._told = None  # its last message of readiness

    def has_arrival(self):
        """Return whether a command has arrived at the forward controller since the last call."""
        return take(self._arrivals) is not None

    @property
    def ready(self):
        """Whether it relays commands, as the command watchdog publishes it; None if it does not."""
        if told := take(self._readiness):
            self._told = told.data
        return bool(self._told) if self._readiness.get_publisher_count() else None

    def destroy(self):
        """Withdraw the subscriptions."""
        self._node.destroy_node()


_GRACE_TIME = 1.0  # s, time without a subscriber, after there was one: a subscriber may restart
# Commands further apart than this are not a stream: the robot is released, or its state unknown.
_PAUSE = 0.2  # s
_FLUSH = Duration(seconds=0.1)
_LOOK = 0.002  # s, between two looks for the first command that arrives


class CommandRoute:
    """
    The route of the commands to the forward controller, directly or through a command watchdog.

    It has publishers from `open` to `close` only: other nodes take a publisher for a rival.
    Messages of a type ``kind`` are published on ``topic``. If that of the forward controller,
    ``end``, is another one, commands are expected to arrive there after the first arrival, within
    ``timeout``, s, if it is not 0. ``had_subscriber`` is whether there is or was a subscriber. With
    ``direct`` commands also go to the end directly, as the relay may be dead.
    """

    def __init__(self, node, kind, topic, end):
        self._node = node
        self.topic, self._end = map(node.resolve_topic_name, (topic, end))
        self._kind = kind
        self._publisher = self._shortcut = self._relay = None
        if self._end != self.topic:
            self._relay = Relay(node, kind, self.topic, self._end)
        self.timeout = 0.0

    def open(self):
        """Create the publishers; reset the supervision."""
        self._endpoints = Endpoints(self._node)
        self._publisher = self._endpoints.publisher(self._kind, self.topic)
        # Created early: discovery takes time.
        self._shortcut = self._relay and self._endpoints.publisher(self._kind, self._end)
        self.direct = self.had_subscriber = False
        self._sent = False
        self._found = None  # time at which a relay was found that publishes no readiness
        self._last_sent = -math.inf
        self._unsubscribed_since = math.inf  # time of the first command without a subscriber
        self._arrives = False                # whether a command has arrived
        self._lost = ''                      # why commands are lost, at the last `fault`
        self._awaited_since = math.inf       # time of the first command that has not arrived
        if self._relay:
            self._relay.has_arrival()

    def publish(self, message):
        """Send a command."""
        self._sent = True
        self._publisher.publish(message)
        if self.direct and self._shortcut:
            self._shortcut.publish(message)

    @property
    def has_subscriber(self):
        """Whether a node subscribes to the commands, on this route or at its end."""
        return any(publisher.get_subscription_count()
                   for publisher in (self._publisher, self._shortcut) if publisher)

    @property
    def relay_starts(self):
        """Whether a relay publishes that it does not pass commands on yet."""
        return self._relay is not None and self._relay.ready is False

    def is_watched(self, meanwhile):
        """
        Return whether commands pass a command watchdog, which holds a robot without them.

        Waits for a first arrival as long as a command may be on its way; ``meanwhile()`` sends one.
        """
        if not self._relay or self._lost or self.direct:
            return False
        end = time.monotonic() + (self.timeout or _PAUSE)
        while self._relay.ready and not self._arrives:
            self._arrives = self._relay.has_arrival()
            if time.monotonic() > end:
                break
            meanwhile()
            time.sleep(_LOOK)
        return self._relay.ready and self._arrives

    @property
    def listeners(self):
        """
        Number of known subscribers; 0 while the relay starts.

        The subscription of a relay may be discovered before what it publishes.
        """
        count = self._publisher.get_subscription_count()
        ready = self._relay is None or self._relay.ready
        if ready is not None or not count:
            self._found = None
            return count if ready else 0
        now = time.monotonic()
        self._found = now if self._found is None else self._found
        return count if now - self._found > _GRACE_TIME else 0

    def fault(self, now):
        """Return why commands are lost at the steady time ``now``, s, or ''; to be called often."""
        if self._sent:
            self._sent, self._last_sent = False, now
        self._lost = self._without_subscriber(now) or self._without_arrival(now)
        return self._lost

    def _without_subscriber(self, now):
        listeners = self.listeners
        if listeners:
            self.had_subscriber = True
        if listeners or now - self._last_sent > _PAUSE:
            self._unsubscribed_since = math.inf
        elif self._last_sent == now:
            self._unsubscribed_since = min(self._unsubscribed_since, now)
        lost = self.had_subscriber and now - self._unsubscribed_since > _GRACE_TIME
        return f'The topic {self.topic} has lost its subscriber.' if lost else ''

    def _without_arrival(self, now):
        if self._relay is None:
            return ''
        if self._relay.has_arrival():
            self._arrives = True
            self._awaited_since = math.inf
        elif self._last_sent == now:
            self._awaited_since = min(self._awaited_since, now)
        lost = self._arrives and self.timeout and now - self._awaited_since > self.timeout
        return f'Commands to {self.topic} no longer arrive at {self._end}.' if lost else ''

    def close(self):
        """Withdraw the publishers; wait a moment for the acknowledgement of the last command."""
        if self._publisher:
            self._publisher.wait_for_all_acked(_FLUSH)
            self._endpoints.withdraw()
        self._publisher = self._shortcut = None

    def destroy(self):
        """Withdraw the topics."""
        self.close()
        if self._relay:
            self._relay.destroy()

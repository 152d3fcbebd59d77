# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The route of commands to the forward controller: topics, supervision, bypass of a dead relay."""

import math
import time

import rclpy
from rclpy.duration import Duration
from std_msgs.msg import Bool

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.endpoints import Endpoints
from opspace_control.ros.middleware.qos import LATCHED, NEWEST, RELIABLE

_LOOK_PERIOD = 0.2  # s


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


def command_order(parameters, manager, heed):
    """
    Return the joints in the order of the receiver of the command; [] if it is not given.

    Parameters
    ----------
    parameters : mapping
        Values of the node's parameters.
    manager : ControllerManager or None
        Gives the order of the effort controller.
    heed : callable
        Raises a RosInterfaceError if the node is to stop, which ends the wait.

    Raises
    ------
    RosInterfaceError
        The manager does not answer, or the order of its controller is not that of the parameter.

    """
    wanted = parameters['command_joints']
    if manager is None:
        return wanted
    joints = manager.joints(heed)
    if wanted and wanted != joints:
        raise RosInterfaceError(
            f'command_joints is {", ".join(wanted)}, but {manager.controller} takes '
            f'{", ".join(joints)}.', cure='Leave command_joints empty, or give that order.')
    return joints


def when_there(node, manager, then):
    """Call ``then`` as soon as the controller manager is discovered, or at once without one."""
    if manager is None or manager.is_there:
        then()
        return

    def look():
        if manager.is_there:
            endpoints.withdraw()
            then()
    endpoints = Endpoints(node)
    endpoints.repeat(_LOOK_PERIOD, look)
    node.get_logger().info(f'Waiting for the controller manager {manager.name}.')


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


# Time without a subscriber, after there was one: a subscriber may restart.
_GRACE_TIME = 1.0  # s
# Commands further apart than this are not a stream: the robot is released, or its state unknown.
_PAUSE = 0.2  # s
_FLUSH = Duration(seconds=0.1)
_LOOK = 0.002  # s, between two looks for the first command that arrives


class CommandRoute:
    """
    The route of the commands to the forward controller, directly or through a command watchdog.

    It has publishers from `open` to `close` only: other nodes take a publisher for a rival.

    Parameters
    ----------
    node : rclpy.node.Node
    kind : type
        Of the messages.
    topic : str
        Of the published commands.
    end : str
        Topic of the forward controller. If it is another one, commands are expected to arrive there
        after the first arrival.

    Attributes
    ----------
    heard : bool
        Whether there is or was a subscriber.
    timeout : float
        Longest time without an arrival, s, 0 for any.
    direct : bool
        Whether commands also go to the end directly, as the relay may be dead.

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
        self._publisher = self._node.create_publisher(self._kind, self.topic, RELIABLE)
        if self._end != self.topic:
            # Created early: discovery takes time.
            self._shortcut = self._node.create_publisher(self._kind, self._end, RELIABLE)
        self.direct = self.heard = False
        self._sent = False
        self._last_sent = -math.inf
        self._unheard_since = math.inf  # time of the first command without a subscriber
        self._comes_through = False     # whether a command has arrived
        self._lost = ''                 # why commands are lost, at the last `fault`
        self._awaited_since = math.inf  # time of the first command that has not arrived
        if self._relay:
            self._relay.passes_on()

    def publish(self, message):
        """Send a command."""
        self._sent = True
        self._publisher.publish(message)
        if self.direct and self._shortcut:
            self._shortcut.publish(message)

    @property
    def relay_starts(self):
        """Whether a relay publishes that it does not pass commands on yet."""
        return self._relay is not None and self._relay.starts

    def is_watched(self, meanwhile):
        """
        Return whether commands pass a command watchdog, which holds a robot without them.

        Waits for a first arrival as long as a command may be on its way.

        Parameters
        ----------
        meanwhile : callable
            Sends a command; called during the wait.

        """
        if not self._relay or self._lost or self.direct:
            return False
        end = time.monotonic() + (self.timeout or _PAUSE)
        while self._relay.is_watchdog and not self._comes_through:
            self._comes_through = self._relay.passes_on()
            if time.monotonic() > end:
                break
            meanwhile()
            time.sleep(_LOOK)
        return self._relay.is_watchdog and self._comes_through

    @property
    def listeners(self):
        """Number of known subscribers; 0 while the relay starts."""
        return 0 if self.relay_starts else self._publisher.get_subscription_count()

    def fault(self, now):
        """
        Return why commands are lost at the steady time ``now``, s; '' if they are not.

        To be called often, every few cycles of the robot.
        """
        if self._sent:
            self._sent, self._last_sent = False, now
        self._lost = self._unheard(now) or (self._astray(now) if self._relay else '')
        return self._lost

    def _unheard(self, now):
        listeners = self.listeners
        if listeners:
            self.heard = True
        if listeners or now - self._last_sent > _PAUSE:
            self._unheard_since = math.inf
        elif self._last_sent == now:
            self._unheard_since = min(self._unheard_since, now)
        lost = self.heard and now - self._unheard_since > _GRACE_TIME
        return f'The topic {self.topic} has lost its subscriber.' if lost else ''

    def _astray(self, now):
        if self._relay.passes_on():
            self._comes_through = True
            self._awaited_since = math.inf
        elif self._last_sent == now:
            self._awaited_since = min(self._awaited_since, now)
        lost = self._comes_through and self.timeout and now - self._awaited_since > self.timeout
        return f'Commands to {self.topic} no longer arrive at {self._end}.' if lost else ''

    def close(self):
        """Withdraw the publishers; wait a moment for the acknowledgement of the last command."""
        if self._publisher:
            self._publisher.wait_for_all_acked(_FLUSH)
        for publisher in filter(None, (self._publisher, self._shortcut)):
            self._node.destroy_publisher(publisher)
        self._publisher = self._shortcut = None

    def destroy(self):
        """Withdraw the topics."""
        self.close()
        if self._relay:
            self._relay.destroy()

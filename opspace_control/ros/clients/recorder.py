# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The node that records the topics of a controller and of its simulator."""

import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import yaml
from rclpy.event_handler import QoSSubscriptionEventType, SubscriptionEventCallbacks
from rclpy.expand_topic_name import expand_topic_name
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from std_msgs.msg import String

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.clients.remote_parameters import RemoteParameters
from opspace_control.ros.middleware.endpoints import LATCHED, Endpoints, NeverCalled, take_with_info
from opspace_control.ros.middleware.graph import endpoints_of, message_type
from opspace_control.runs.writer import PARAMETERS, ROBOT, definition

_LOOK = 0.2  # s, between two looks at the graph
_TAKE = 0.1  # s, between two looks at the messages; woken up for each it took four times as long
_DEPTH = 2000  # messages that may wait: two seconds of a robot at 1 kHz
_TIMEOUT = 5.0  # s, for the answer with the parameters
# Recorded from any publisher.
_ALWAYS = ('joint_states', 'odom', 'robot_description', '/tf', '/tf_static', '/clock',
           '/diagnostics')


@dataclass(frozen=True)
class Graph:
    """
    The topics and services of a controller, and the topics ``around``: those of the simulator.

    Each is a dict of names to types, as the ROS graph shows them.
    """

    says: dict = field(default_factory=dict)
    hears: dict = field(default_factory=dict)
    services: dict = field(default_factory=dict)
    around: dict = field(default_factory=dict)

    def has(self, topic):
        """Return whether it is a topic of either node."""
        return topic in self.says or topic in self.hears or topic in self.around


class RecorderNode(Node):
    """
    The node ``opspace_recorder``.

    It subscribes to all topics that the controller of this name and the simulator publish or
    subscribe to, as soon as they exist, with the quality of service that publishers offer; to
    further ``topics``, or to ``everything`` there is. Messages are written by a RunWriter, which is
    closed when the node leaves, as they come over the network; none is opened. A
    SingleThreadedExecutor spins it.
    """

    def __init__(self, writer, controller, topics=(), everything=False):
        super().__init__('opspace_recorder')
        self._writer = writer
        self._everything = everything

        def whole(name):
            return expand_topic_name(name, self.get_name(), self.get_namespace())
        self.controller = whole(controller)
        self._nodes = self.controller, whole('opspace_simulator')
        self._wanted = {whole(topic) for topic in (*_ALWAYS, *topics)}
        self._description = whole('robot_description')
        self._followed = {}  # topic -> (quality, subscription)
        self._tracks = {}
        self._left_out = set()
        self.lost = Counter()
        self._remote = RemoteParameters(self, self.controller, lambda name: None)
        self._run, self._requested = None, -np.inf
        self._graph, self._values = Graph(), None
        endpoints = Endpoints(self)
        endpoints.repeat(_LOOK, self._look)
        endpoints.repeat(_TAKE, self._take_messages)

    def leave(self):
        """Finish the file."""
        self._take_messages()
        for topic, (_, subscription) in self._followed.items():
            self._count_lost(topic, subscription)
        self._writer.close(dict(self.lost))

    def _take_messages(self):
        """Write all messages that have come, in the order in which they did."""
        new = []
        for topic, (_, subscription) in self._followed.items():
            while (arrived := take_with_info(subscription)) is not None:
                new.append((arrived[1]['received_timestamp'], self._tracks[topic], *arrived))
        for _, track, data, info in sorted(new, key=lambda each: each[0]):
            track.take(data, info)

    def _count_lost(self, topic, subscription):
        """Add what the middleware has lost; an executor that waits for this wakes up for more."""
        with subscription.handle:
            lost = rclpy_implementation.EventHandle(
                subscription.handle, QoSSubscriptionEventType.RCL_SUBSCRIPTION_MESSAGE_LOST
                ).take_event().total_count
        self.lost.update({topic: lost} if lost else {})

    def _look(self):
        """Follow new topics; ask a new controller for its parameters."""
        for topic, kinds in self.get_topic_names_and_types():
            if topic in self._left_out or not (self._everything or topic in self._wanted
                                               or self._graph.has(topic)):
                continue
            if len(kinds) == 1:
                self._follow(topic, *kinds)
            else:
                self._leave_out(topic, f'its publishers do not agree whether it is {kinds}')
        graph = self._look_at_nodes()
        if graph != self._graph:
            self._graph = graph
            self._describe()
        publishers = self.get_publishers_info_by_topic(f'{self.controller}/controller_state')
        # Another publisher is another run of the controller, or the same one configured anew.
        run = bytes(publishers[0].endpoint_gid) if publishers else None
        if run not in (None, self._run) and self._remote.ready() and (
                time.monotonic() - self._requested > _TIMEOUT):
            self._requested = time.monotonic()
            self._remote.load(lambda: self._take_parameters(run))

    def _look_at_nodes(self):
        """Return what controller and simulator have, or had: they may leave before us."""
        found = [{topic: kinds[0] for topic, kinds in names.items()} for node in self._nodes
                 for names in endpoints_of(self, node) or ({}, {}, {})]
        known = self._graph
        return Graph(known.says | found[0], known.hears | found[1], known.services | found[2],
                     known.around | found[3] | found[4])

    def _follow(self, topic, kind):
        """Subscribe, or subscribe anew where publishers ask for another quality of service."""
        quality = self._quality(topic)
        known, subscription = self._followed.get(topic, (None, None))
        if quality == known:
            return
        if subscription:
            self._take_messages()
            self._count_lost(topic, subscription)
            self.destroy_subscription(subscription)
        try:
            self._tracks.setdefault(topic, _Track(
                self._writer, topic, kind, lambda: _profile(self._quality(topic))))
            self._followed[topic] = quality, self.create_subscription(
                message_type(kind), topic, lambda data: None, _profile(quality), raw=True,
                callback_group=NeverCalled(),
                event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False))
        except RosInterfaceError as error:
            self._leave_out(topic, str(error))

    def _quality(self, topic):
        """Return the reliability and durability that every publisher of a topic can serve."""
        offers = [publisher.qos_profile for publisher in self.get_publishers_info_by_topic(topic)]
        # Before there is one: it may say something once, and leave.
        reliable = all(offer.reliability == ReliabilityPolicy.RELIABLE for offer in offers)
        latched = offers and all(
            offer.durability == DurabilityPolicy.TRANSIENT_LOCAL for offer in offers)
        return (ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
                DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE)

    def _leave_out(self, topic, why):
        self._left_out.add(topic)
        self.get_logger().warning(f'{topic} is left out: {why}')

    @property
    def described(self):
        """Whether there has been a controller."""
        return self._values is not None

    def _take_parameters(self, run):
        """Take the parameters of a run of the controller; write its robot if they have it."""
        self._run, self._values = run, dict(self._remote.values)
        robot = self._values.pop('robot_description', '')
        if robot:
            # As a message of the topic, for a replay.
            now = time.time_ns()
            self._writer.attach(ROBOT, robot)
            self._writer.write(
                self._writer.channel(self._description, 'std_msgs/msg/String', LATCHED),
                serialize_message(String(data=robot)), now, now)
        self._writer.attach(PARAMETERS, yaml.safe_dump(
            {self.controller: {'ros__parameters': self._values}}, allow_unicode=True, width=96))
        self._describe()
        self.get_logger().info(f'Recording {self.controller}.')

    def _describe(self):
        """Write down the controller, as far as it is known by now."""
        if self.described:
            self._writer.describe(
                controller=self.controller, parameters=self._values, says=self._graph.says,
                hears=self._graph.hears, services=self._graph.services)


class _Track:
    """A topic on its way into the file."""

    def __init__(self, writer, topic, kind, offered):
        definition(kind)  # or it is left out
        self._writer, self._topic, self._kind, self._offered = writer, topic, kind, offered
        self._channel = self._last = None

    def take(self, data, info):
        """Write a message; one that a new subscription brings again, being latched, is known."""
        sent = info['source_timestamp']
        if (sent, data) == self._last:
            return
        self._last = sent, data
        if self._channel is None:
            self._channel = self._writer.channel(self._topic, self._kind, self._offered())
        self._writer.write(self._channel, data, info['received_timestamp'], sent)


def _profile(quality):
    return QoSProfile(depth=_DEPTH, reliability=quality[0], durability=quality[1])

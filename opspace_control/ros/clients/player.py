# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The node that replays a run with the names of the recorded controller."""

import contextlib
import time
from collections import deque

import numpy as np
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import SetBool, Trigger

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.endpoints import Endpoints
from opspace_control.ros.middleware.graph import message_type

RATE, POSITION = 'replay.rate', 'replay.position'
_FASTEST = 10.0
_PERIOD = 0.005   # s, of the wall, between two looks for due messages
_SHOW = 0.5       # s, between two changes of the parameter replay.position
_REFUSAL = 'This is a recording.'
_SERVICES = {'std_srvs/srv/SetBool': SetBool, 'std_srvs/srv/Trigger': Trigger}
_EVENTS = ('/rosout', '/parameter_events')  # events are not repeated when the position is set


class PlayerNode(Node):
    """
    A node of the recorded controller's name, with its topics, services and parameters.

    It publishes the recorded messages at their pace times ``rate``, the parameter ``replay.rate``:
    1 as recorded, 0 stops. With ``loop`` it begins anew at the end. When ``replay.position`` is set
    it goes there, and publishes the newest messages before that moment. Goals and services are
    refused with a reason. To be run where no robot is: commands are replayed, too. The options are
    those of a Node.
    """

    def __init__(self, run, rate=1.0, loop=False, **options):
        namespace, _, name = run.controller.rpartition('/')
        super().__init__(name, namespace=namespace, **options)
        self._run, self._loop = run, loop
        self._position, self._rate = 0.0, rate
        self._times = run.times_of_all
        self._outlets = {topic: self._publisher(topic, kind) for topic, kind in run.topics.items()}
        self._just_published = deque(maxlen=1000)
        self._declare(run.parameters)
        self._refuse_goals()
        self._setting = False
        self.add_post_set_parameters_callback(self._on_set)
        self._seek(0.0)
        self._looked = time.monotonic()
        endpoints = Endpoints(self)
        endpoints.repeat(_PERIOD, self._play)
        endpoints.repeat(_SHOW, self._show_position)

    @property
    def at_the_end(self):
        """Whether all messages are published."""
        return self._next == len(self._times)

    def _play(self):
        """Publish the messages that have become due since the last call."""
        now = time.monotonic()
        elapsed, self._looked = now - self._looked, now
        self._position = min(self._position + self._rate * elapsed, self._run.duration)
        until = self._now()
        while not self.at_the_end and self._times[self._next] <= until:
            topic, _, data = self._run.at(self._run.order[self._next])
            self._publish(topic, data)
            self._next += 1
        if self.at_the_end and self._loop and self._rate > 0.0:
            self._seek(0.0)

    def _seek(self, position):
        """Go to a time of the run, s, and publish the newest messages before it."""
        self._position = position
        self._publish_newest([topic for topic in self._run.topics if topic not in _EVENTS])
        self._next = int(np.searchsorted(self._times, self._now(), side='right'))

    def _now(self):
        return self._run.start + round(1e9 * self._position)

    def _publish_newest(self, topics):
        """Publish the newest message of each topic."""
        for topic in topics:
            data = self._run.newest(topic, self._now())
            if data is not None:
                self._publish(topic, data)

    def _publish(self, topic, data):
        publisher = self._outlets.get(topic)
        if publisher:
            if topic in self._run.hears:
                self._just_published.append(data)
            publisher.publish(data)

    def _publisher(self, topic, kind):
        """Return a publisher of a recorded topic, None where its type is not installed."""
        try:
            message = message_type(kind)
        except RosInterfaceError as error:
            self.get_logger().warning(f'{topic} is left out: {error}')
            return None
        latched = topic in self._run.latched
        return self.create_publisher(message, topic, QoSProfile(depth=100, durability=(
            DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE)))

    def _declare(self, parameters):
        """Declare the recorded parameters, read-only, and the two of the replay."""
        for name, value in parameters.items():
            if value not in (None, []) and not self.has_parameter(name):
                self.declare_parameter(name, value, ParameterDescriptor(
                    description='As it was recorded.', read_only=True))
        for name, value, most, what in (
                (RATE, self._rate, _FASTEST, 'Pace of the replay: 1 as recorded, 0 stops.'),
                (POSITION, 0.0, self._run.duration, 'Where the replay is. [s]')):
            self.declare_parameter(name, value, ParameterDescriptor(
                description=what,
                floating_point_range=[FloatingPointRange(from_value=0.0, to_value=most)]))

    def _refuse_goals(self):
        own = f'{self._run.controller}/'
        for topic, kind in self._run.hears.items():
            if topic.startswith(own):
                with contextlib.suppress(RosInterfaceError):  # no other node can publish it
                    self.create_subscription(message_type(kind), topic, self._on_goal,
                                             QoSProfile(depth=10), raw=True)
        for service, kind in self._run.services.items():
            if kind in _SERVICES and service.startswith(own):
                self.create_service(_SERVICES[kind], service, _refuse)

    def _on_goal(self, data):
        if data in self._just_published:
            self._just_published.remove(data)
        else:
            self.get_logger().warning(_REFUSAL, throttle_duration_sec=1.0)

    def _show_position(self):
        self._setting = True
        try:
            self.set_parameters([Parameter(POSITION, value=self._position)])
        finally:
            self._setting = False
        if self._rate == 0.0 or self.at_the_end:
            # Late subscribers get the present values; goals are events.
            self._publish_newest([
                topic for topic in self._run.topics if topic not in _EVENTS
                and (topic in self._run.says or not topic.startswith(self._run.controller))])

    def _on_set(self, parameters):
        for parameter in parameters:
            if parameter.name == RATE:
                self._rate = parameter.value
            elif parameter.name == POSITION and not self._setting:
                self._seek(parameter.value)


def _refuse(_request, response):
    response.success, response.message = False, _REFUSAL
    return response

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Timers, topics and services of a part of a node, with its lifetime; qualities of service."""

import contextlib
import functools
import math
import time

import numpy as np
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String
from std_srvs.srv import SetBool

from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.ros.middleware.conversions import fill_message
from opspace_control.ros.middleware.joint_messages import joint_state

# Received joint states and commands: only the newest one matters. Serves every publisher.
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)

# Goals, commands sent, feedback: compatible with every subscriber.
RELIABLE = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)

# The robot description, and joint states as the real broadcaster sends them: a late subscriber
# gets the last one.
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                     durability=DurabilityPolicy.TRANSIENT_LOCAL)

# As tf2 listens and broadcasts.
TF = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
TF_STATIC = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE,
                       durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Endpoints:
    """
    Timers, topics and services of a node that are withdrawn together.

    rclpy's executors still call what was due when it was destroyed: the callback of a part that
    is gone, which may need what was destroyed with it. Here nothing is called after `withdraw`.
    """

    def __init__(self, node):
        self.node = node
        self._undo = contextlib.ExitStack()
        self._withdrawn = False

    def repeat(self, period, callback):
        """Call back every so many seconds of a steady clock; a simulation's clock may stop."""
        timer = self.node.create_timer(
            period, self._while_there(callback), clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._undo.callback(self.node.destroy_timer, timer)

    def listen(self, kind, topic, callback, qos, **options):
        """Return a subscription, which calls back with each message."""
        subscription = self.node.create_subscription(
            kind, topic, self._while_there(callback), qos, **options)
        self._undo.callback(self.node.destroy_subscription, subscription)
        return subscription

    def publisher(self, kind, topic, qos=RELIABLE):
        """Return a publisher."""
        publisher = self.node.create_publisher(kind, topic, qos)
        self._undo.callback(self.node.destroy_publisher, publisher)
        return publisher

    def serve(self, kind, name, act):
        """Serve a Trigger by ``act()``, a SetBool by ``act(on)``: text, None or an OpspaceError."""
        def answer(request, response):
            try:
                response.message = act(*([request.data] if kind is SetBool else [])) or ''
                response.success = True
            except OpspaceError as error:
                response.success, response.message = False, str(error)
            return response
        service = self.node.create_service(kind, name, self._while_there(answer))
        self._undo.callback(self._end, service)

    def withdraw(self):
        """Destroy all of them; a callback that is due is not called any more."""
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
        # A request that is due was taken from the middleware; its answer cannot be sent any more.
        service.send_response = lambda response, header: None
        self.node.destroy_service(service)


def companion(node, suffix):
    """Return a node without services, named after another one, for an executor of its own."""
    # Without the global arguments, which rename every node of the process.
    return Node(f'{node.get_name()}_{suffix}', context=node.context, namespace=node.get_namespace(),
                use_global_arguments=False, enable_rosout=False, start_parameter_services=False)


class NeverCalled(ReentrantCallbackGroup):
    """A group whose members no SingleThreadedExecutor waits for: their messages are taken."""

    def can_execute(self, entity):
        """Return that an executor is not to call it."""
        return False


def take_with_info(subscription):
    """Return a new message (serialized if raw) and what the middleware knows of it, or None."""
    with subscription.handle:
        return subscription.handle.take_message(subscription.msg_type, subscription.raw)


def take(subscription):
    """Return a new message (serialized if raw) or None, while no executor waits for it."""
    message = take_with_info(subscription)
    return message[0] if message else None


class Feedback:
    """Publishers whose messages are filled only for subscribers."""

    def __init__(self, endpoints):
        self._endpoints = endpoints
        self._outlets = []
        self._results = {}  # of `once`

    def add(self, topic, message, fill, qos=RELIABLE):
        """Add a topic: ``fill(stamp)`` writes its message, or returns False for no message."""
        publisher = self._endpoints.publisher(type(message), topic, qos)
        self._outlets.append((publisher, message, fill))

    def add_numbers(self, topic, kind, frame, numbers):
        """
        Add a topic of a stamped message in a frame, such as a PoseStamped.

        ``numbers()`` returns those of `fill_message`, or None for no message.
        """
        message = kind()
        message.header.frame_id = frame
        part = getattr(message, list(message.get_fields_and_field_types())[-1])

        def fill(stamp):
            present = numbers()
            if present is None:
                return False
            message.header.stamp = stamp
            return fill_message(part, present)
        self.add(topic, message, fill)

    def add_joints(self, topic, joints, **quantities):
        """
        Add a topic of a JointState of these joints.

        Each of its ``quantities``, a function, returns (n,) numbers, or None for no message.
        """
        message = joint_state(joints, *quantities)

        def fill(stamp):
            message.header.stamp = stamp
            for name, numbers in quantities.items():
                present = numbers()
                if present is None:
                    return False
                np.frombuffer(getattr(message, name))[:] = present
            return True
        self.add(topic, message, fill)

    def once(self, compute):
        """Return a function with the result of ``compute()``, called once for a publication."""
        def result():
            if compute not in self._results:
                self._results[compute] = compute()
            return self._results[compute]
        return result

    def publish(self, stamp):
        """Publish the present values, for a joint state of this time stamp."""
        self._results.clear()
        for publisher, message, fill in self._outlets:
            if publisher.get_subscription_count() and fill(stamp) is not False:
                publisher.publish(message)


class RobotDescription:
    """
    The URDF ``text`` of the robot, once it is known: a parameter, or else a latched topic.

    If the parameter is empty, the first message of ``robot_description`` is waited for, and then
    ``received()`` is called.
    """

    def __init__(self, node, text, received):
        self.text = text
        self._received = received
        if not text:
            subscription = node.create_subscription(
                String, 'robot_description', self._on_description, LATCHED)
            node.get_logger().info(f'Waiting for the robot on {subscription.topic_name} '
                                   '(or give its URDF file on the command line).')

    def _on_description(self, message):
        # A later description would be another robot.
        if not self.text:
            self.text = message.data
            self._received()


class Part:
    """
    The topics and services of one subject; `Endpoints` withdraw them with the interface.

    The ControlCycle has state, time, fault and ramps of the robot, and its last command;
    ``is_active()`` returns whether the OperationalSpaceController is commanding.
    """

    def __init__(self, endpoints, controller, cycle, is_active):
        self._endpoints, self._node = endpoints, endpoints.node
        self._logger = endpoints.node.get_logger()
        self._controller, self._cycle, self._is_active = controller, cycle, is_active
        self._quiet_until = {}  # steady time by subject, s

    def _warn(self, text, subject, pause=1.0):
        """Log a warning, about one subject once in a pause, s."""
        now = time.monotonic()
        if now >= self._quiet_until.get(subject, -math.inf):
            self._quiet_until[subject] = now + pause
            self._logger.warning(text)

    @contextlib.contextmanager
    def _refusing(self, subject):
        """Log an OpspaceError as the refusal of a subject, such as 'A goal', once a second."""
        try:
            yield
        except OpspaceError as error:
            self._warn(f'{subject} is refused: {error}', subject)

    def _need_control(self):
        """Raise a RosInterfaceError if the robot is not controlled."""
        if not (self._is_active() and self._cycle.known) or self._cycle.fault:
            raise RosInterfaceError(f'The robot is not controlled. {self._cycle.fault}'.strip(),
                                    cure='Activate the controller, and send it again.')

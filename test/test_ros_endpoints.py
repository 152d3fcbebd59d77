# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What is withdrawn is silent at once, whatever the executor still has to call."""

import time

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import rclpy
from rcl_interfaces.msg import Log
from rclpy.executors import SingleThreadedExecutor
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import Trigger

from opspace_control.cli.processes import own_domain
from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware import endpoints
from opspace_control.ros.middleware.endpoints import RELIABLE, Endpoints
from opspace_control.ros.middleware.executor import make_executor


class Part:
    """Something that hears and serves, and needs a publisher for it."""

    def __init__(self, node):
        self.calls = []
        self.endpoints = Endpoints(node)
        self.publisher = self.endpoints.publisher(String, 'said', RELIABLE)
        self.endpoints.repeat(0.001, self.on_timer)
        self.endpoints.listen(String, 'heard', self.on_message, RELIABLE)
        self.endpoints.serve(Trigger, 'asked', self.on_request)

    def say(self, what):
        self.calls.append(what)
        self.publisher.publish(String(data=what))

    def on_timer(self):
        self.say('timer')

    def on_message(self, _message):
        self.say('message')

    def on_request(self):
        self.say('request')
        return ''

    def destroy(self):
        self.endpoints.withdraw()


@pytest.fixture(params=[make_executor, SingleThreadedExecutor], ids=['ours', 'single-threaded'])
def spin(request):
    """Return a node, another that talks to it, and what spins the first for some seconds."""
    with own_domain() as domain:
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=domain)
        executor = request.param(context=context)
        nodes = [rclpy.create_node(name, context=context) for name in ('part', 'other')]
        for node in nodes:
            executor.add_node(node)

        def until(condition, seconds=30.0):
            end = time.monotonic() + seconds
            while not condition() and time.monotonic() < end:
                executor.spin_until_future_complete(Future(), 0.01)
            return condition()
        yield *nodes, until
        for node in nodes:
            executor.remove_node(node)
            node.destroy_node()
        executor.shutdown()
        context.try_shutdown()


def test_nothing_is_called_that_was_due(spin):
    node, other, until = spin
    part = Part(node)
    publisher = other.create_publisher(String, 'heard', RELIABLE)
    client = other.create_client(Trigger, 'asked')
    assert until(lambda: publisher.get_subscription_count() and client.service_is_ready())
    client.call_async(Trigger.Request())
    publisher.publish(String())
    assert until(lambda: {'timer', 'message', 'request'} <= set(part.calls))

    def withdraw():
        once.cancel()
        if part.endpoints is None:
            return
        for _ in range(3):
            publisher.publish(String())
            client.call_async(Trigger.Request())
        time.sleep(0.1)  # all of it arrives, and the timer is due
        part.destroy()
        part.endpoints = None
        del part.calls[:]
    once = node.create_timer(0.01, withdraw)
    assert until(lambda: part.endpoints is None)
    until(lambda: False, 0.3)
    assert part.calls == []


def test_a_part_may_come_and_go(spin):
    node, _, until = spin
    for _ in range(20):
        part = Part(node)
        assert until(lambda: 'timer' in part.calls)  # noqa: B023
        part.destroy()
    assert not {'said', 'heard', 'asked'} & {
        endpoint.topic_name.strip('/') for endpoint in node.publishers}
    assert list(node.timers) == []


def test_each_subject_is_refused_aloud_once_in_a_while(spin):
    """A second silent sensor, or a second topic that is too fast, is named beside the first."""
    node, other, until = spin
    heard = []
    subscription = other.create_subscription(Log, '/rosout', lambda log: heard.append(log.msg), 10)
    assert until(subscription.get_publisher_count)
    part = endpoints.Part(Endpoints(node), None, None, lambda: True)
    assert until(lambda: heard or part._warn('ready', 'ready', 0.1))
    for subject in ('A goal', 'A goal', 'A wrench'):
        with part._refusing(subject):
            raise RosInterfaceError('It is not finite.', cure='Give numbers.')
    part._warn('over', 'over')
    assert until(lambda: 'over' in heard)
    assert [text for text in heard if 'refused' in text] == [
        f'{subject} is refused: It is not finite. Give numbers.'
        for subject in ('A goal', 'A wrench')]

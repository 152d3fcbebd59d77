# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Commands that nobody hears, or that do not come out at the other end; time is the test's."""

import time

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import ros_nodes
from ros_nodes import LATCHED, NEWEST, RELIABLE
from std_msgs.msg import Bool, Float64MultiArray

from opspace_control.ros.commands.command_route import CommandRoute

COMMAND = Float64MultiArray(data=[1.0, 2.0])


@pytest.fixture
def network():
    with ros_nodes.network() as network:
        yield network


class Route:
    """A route whose commands are sent and looked after every 10 ms of the test's own time."""

    def __init__(self, network, topic='commands'):
        self.network = network
        self.route = CommandRoute(network.node, Float64MultiArray, topic, 'commands')
        self.route.timeout = 0.2
        self.route.open()
        self.now = 5.0
        self.arrived = []
        self.guarded = False  # whether commands arrive, as a busy machine does it: some time

    def go_on(self, seconds, send=1):
        """Send a command every so many times; return the first fault, and when it is told."""
        begin = self.now
        for k in range(1, round(100 * seconds) + 1):
            self.now = begin + 0.01 * k
            if send and k % send == 0:
                before = len(self.arrived)
                self.route.publish(COMMAND)
                self.network.until(lambda before=before: len(self.arrived) > before,
                                   ros_nodes.PATIENCE if self.guarded else 0.002)
            fault = self.route.fault(self.now)
            if fault:
                return fault, self.now - begin
        return '', seconds


@pytest.fixture
def direct(network):
    return Route(network)


@pytest.fixture
def guarded(network):
    return Route(network, 'guard/commands')


def listen(network, topic, callback=lambda _: None):
    """Return a subscription that is known to the publishers of this process."""
    subscription = network.node.create_subscription(Float64MultiArray, topic, callback, NEWEST)
    network.spin(0.2)
    return subscription


def test_nobody_who_has_never_listened_is_missed(direct):
    assert direct.go_on(3.0)[0] == ''
    assert not direct.route.had_subscriber


@pytest.mark.parametrize('every', [1, 10])
def test_somebody_who_stops_listening_is(direct, every):
    listener = listen(direct.network, 'commands')
    assert direct.go_on(3.0)[0] == ''
    assert direct.route.had_subscriber
    direct.network.node.destroy_subscription(listener)
    direct.network.expect(lambda: not direct.route.listeners)
    assert direct.go_on(3.0, send=0)[0] == ''
    fault, after = direct.go_on(3.0, every)
    assert fault == 'The topic /commands has lost its subscriber.'
    assert after == pytest.approx(1.0, abs=0.11)
    direct.route.close()
    direct.route.open()
    assert direct.go_on(3.0)[0] == ''


def test_a_way_on_which_nothing_has_come_through_is_not_watched(guarded):
    listen(guarded.network, 'guard/commands')
    assert guarded.go_on(2.0)[0] == ''


@pytest.fixture
def guard(guarded):
    """What passes commands on, as a subscription; somebody else listens to them all the time."""
    network = guarded.network
    onward = network.node.create_publisher(Float64MultiArray, 'commands', RELIABLE)
    network.node.create_subscription(
        Float64MultiArray, 'guard/commands', lambda _: None, NEWEST)
    guarded.arrived = network.listen(Float64MultiArray, 'commands')
    guard = listen(network, 'guard/commands', onward.publish)
    network.send(guarded.route, COMMAND, lambda: guarded.arrived)
    guarded.guarded = True
    assert guarded.go_on(1.0)[0] == ''
    guarded.guarded = False
    return guard


def test_a_relay_that_tells_that_it_starts_is_no_listener_yet(guarded):
    network, route = guarded.network, guarded.route
    listen(network, 'guard/commands')
    assert route.listeners == 0  # it may yet tell
    assert guarded.go_on(0.1)[0] == ''
    assert not route.had_subscriber
    tell = network.node.create_publisher(Bool, 'guard/ready', LATCHED)
    tell.publish(Bool(data=False))
    network.expect(lambda: route.relay_starts)
    assert guarded.go_on(3.0)[0] == ''
    assert route.listeners == 0
    assert not route.had_subscriber
    tell.publish(Bool(data=True))
    network.expect(lambda: route.listeners == 1)
    guarded.go_on(0.1)
    assert route.had_subscriber
    tell.publish(Bool(data=False))  # it has been restarted
    network.expect(lambda: route.relay_starts)
    assert guarded.go_on(3.0)[0] == 'The topic /guard/commands has lost its subscriber.'


def test_a_relay_that_does_not_tell_counts_when_it_could_have_told(guarded):
    begin = time.monotonic()
    listen(guarded.network, 'guard/commands')
    guarded.network.expect(lambda: guarded.route.listeners == 1)
    assert 1.0 < time.monotonic() - begin < 10.0


def test_a_relay_that_ends_while_it_starts_does_not_start_any_more(guarded):
    tell = guarded.network.node.create_publisher(Bool, 'guard/ready', LATCHED)
    tell.publish(Bool(data=False))
    guarded.network.expect(lambda: guarded.route.relay_starts)
    guarded.network.node.destroy_publisher(tell)
    guarded.network.expect(lambda: not guarded.route.relay_starts)


class TestWatchdog:
    """Whether what passes commands on is one, asked before any has arrived."""

    @pytest.fixture
    def ready(self, guarded):
        tell = guarded.network.node.create_publisher(Bool, 'guard/ready', LATCHED)
        tell.publish(Bool(data=True))
        listen(guarded.network, 'guard/commands')
        return guarded

    @staticmethod
    def is_watched(guarded):
        def send():
            guarded.route.publish(COMMAND)
            guarded.network.spin(0.005)
        return guarded.route.is_watched(send)

    def test_that_is_slow(self, ready):
        node, network = ready.network.node, ready.network
        onward = node.create_publisher(Float64MultiArray, 'commands', RELIABLE)
        begin = time.monotonic()

        def pass_on(message):
            if time.monotonic() - begin > 0.3:
                onward.publish(message)
        listen(network, 'guard/commands', pass_on)
        ready.route.timeout = 10.0
        begin = time.monotonic()
        assert self.is_watched(ready)
        assert time.monotonic() - begin > 0.3
        assert ready.route.is_watched(network.fail)  # it is known

    def test_that_passes_nothing_on(self, ready):
        begin = time.monotonic()
        assert not self.is_watched(ready)
        assert ready.route.timeout < time.monotonic() - begin < ready.route.timeout + 2.0

    def test_that_does_not_tell(self, guarded):
        listen(guarded.network, 'guard/commands')
        assert not guarded.route.is_watched(guarded.network.fail)


@pytest.mark.parametrize(('timeout', 'every'), [(0.2, 1), (0.5, 1), (0.5, 10)])
def test_commands_that_no_longer_come_through(guarded, guard, timeout, every):
    guarded.route.timeout = timeout
    guarded.network.node.destroy_subscription(guard)
    assert guarded.go_on(3.0, send=0)[0] == ''
    fault, after = guarded.go_on(3.0, every)
    assert fault == 'Commands to /guard/commands no longer arrive at /commands.'
    assert after == pytest.approx(timeout, abs=0.11)


def test_not_even_the_last_command_may_be_lost(guarded, guard):
    guarded.network.node.destroy_subscription(guard)
    assert guarded.go_on(0.1)[0] == ''
    assert guarded.go_on(3.0, send=0)[0]


def test_no_timeout_is_for_any_time(guarded, guard):
    guarded.route.timeout = 0.0
    guarded.network.node.destroy_subscription(guard)
    assert guarded.go_on(3.0)[0] == ''


def test_the_direct_way_leads_past_what_stands_in_front(guarded):
    heard = guarded.network.listen(Float64MultiArray, 'commands')
    guarded.network.expect(lambda: guarded.network.node.count_publishers('commands') == 1)
    guarded.go_on(0.1)
    assert not heard
    guarded.route.direct = True
    guarded.network.send(guarded.route, COMMAND, lambda: heard)
    assert list(heard[0].data) == [1.0, 2.0]


def test_leaves_nothing_behind(guarded):
    node = guarded.network.node
    assert node.count_publishers('commands') == node.count_subscribers('commands') == 1
    guarded.route.destroy()
    guarded.network.expect(lambda: not (
        node.count_publishers('commands') or node.count_subscribers('commands')
        or node.count_publishers('guard/commands')))

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Several nodes that command the same joints: who refuses, who leaves, and what they say."""

import os
import signal
import threading

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import rclpy
import rclpy.executors
import ros_nodes
from controller_bench import PARAMETERS, START, Bench
from lifecycle_msgs.msg import State, Transition
from ros_nodes import CONTROLLER, NEWEST, RELIABLE, joint_state
from std_msgs.msg import Float64MultiArray

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.commands.rivals import Rivals
from opspace_control.ros.middleware.graph import UNKNOWN

TOPIC, END = '/guard/commands', '/effort_controller/commands'
PUBLISHED = 'is published by another node as well: '


@pytest.fixture
def network():
    with ros_nodes.network() as network:
        yield network


class TestControllers:

    @pytest.fixture
    def first(self, network):
        """Return a bench around a controller that has been active for longer than a moment."""
        bench = Bench(network)
        bench.start(PARAMETERS)
        bench.command(joint_state(START))
        return bench

    def test_one_of_the_same_name_ends(self, network, first):
        process = network.start('controller', PARAMETERS)
        network.expect(lambda: process.exit_code() is not None, ros_nodes.COMPILING)
        assert process.exit_code() == 1
        assert f'Another node is called {CONTROLLER}.' in process.said()
        assert 'Traceback' not in process.said()
        first.command(joint_state(START))
        assert '[ERROR]' not in first.process.said()

    def test_one_that_is_not_alone_after_its_start_ends(self, network):
        """Discovery was late: the other node was there all the time."""
        first = Bench(network)
        first.start(PARAMETERS)
        first.command(joint_state(START))
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=int(network.environment['ROS_DOMAIN_ID']))
        namesake = rclpy.create_node(CONTROLLER.strip('/'), context=context)
        namesake.create_publisher(Float64MultiArray, END, RELIABLE)
        executor = rclpy.executors.SingleThreadedExecutor(context=context)
        executor.add_node(namesake)
        thread = threading.Thread(target=executor.spin, daemon=True)
        thread.start()
        try:
            network.expect(lambda: first.process.exit_code() is not None)
        finally:
            executor.shutdown()
            thread.join()
            namesake.destroy_node()
            context.try_shutdown()
        assert first.process.exit_code() == 1
        assert f'{END} {PUBLISHED}another node called {CONTROLLER}.' in first.process.said()
        assert f'opspace controller: Another node is called {CONTROLLER}.' in first.process.said()
        assert 'Traceback' not in first.process.said() and 'FATAL' not in first.process.said()

    def test_one_of_another_name_waits_for_its_turn(self, network, first):
        """It takes the joints over when the first is deactivated, or has been killed."""
        process = network.start('controller', PARAMETERS, ['-r', '__node:=other'])
        network.expect(lambda: 'The controller stays inactive' in process.said(),
                       ros_nodes.COMPILING)
        assert f'{END} {PUBLISHED}{CONTROLLER}.' in process.said()
        first.command(joint_state(START))
        assert '[ERROR]' not in first.process.said()

        assert first.transition(Transition.TRANSITION_DEACTIVATE)
        assert network.transition('/other', Transition.TRANSITION_ACTIVATE)
        assert not first.transition(Transition.TRANSITION_ACTIVATE)
        assert f'{END} {PUBLISHED}/other.' in first.process.said()
        assert network.transition('/other', Transition.TRANSITION_DEACTIVATE)
        assert first.transition(Transition.TRANSITION_ACTIVATE)

        os.kill(first.process.pid, signal.SIGKILL)
        assert network.transition('/other', Transition.TRANSITION_ACTIVATE)
        assert f'{CONTROLLER} is still known to ROS 2 and does not answer' in process.said()
        first.command(joint_state(START))

    def test_leaves_when_another_node_commands(self, network, first):
        network.node.create_publisher(Float64MultiArray, END, RELIABLE)
        first.log(f'{END} {PUBLISHED}/test.')
        first.log('The robot is released')
        assert not any(first.heard[-1].data)
        assert first.lifecycle_state() == State.PRIMARY_STATE_INACTIVE


class TestGraph:
    """The class alone, beside nodes of the test; time is the test's."""

    @pytest.fixture
    def rivals(self, network):
        return Rivals(network.node, TOPIC, END)

    @pytest.fixture
    def other(self, network):
        """Return another node, which does not answer questions, as that of `ros2 topic pub`."""
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=int(network.environment['ROS_DOMAIN_ID']))
        node = rclpy.create_node('other', context=context, start_parameter_services=False)
        yield node
        node.destroy_node()
        context.try_shutdown()

    @pytest.fixture
    def own(self, network):
        for topic in (TOPIC, END):
            network.node.create_publisher(Float64MultiArray, topic, RELIABLE)

    def publish(self, network, node, topic):
        count = network.node.count_publishers(topic)
        publisher = node.create_publisher(Float64MultiArray, topic, RELIABLE)
        network.expect(lambda: network.node.count_publishers(topic) > count)
        network.spin(0.1)  # the name of the node comes by another way
        return publisher

    def test_a_name_that_follows_its_publisher_is_waited_for(
            self, network, own, rivals, other, monkeypatch):
        """A node of this one's name would have to end: nobody leaves before names are known."""
        rivals.begin(0.0)
        rivals.check(0.0)
        self.publish(network, other, END)
        known = rivals._names
        monkeypatch.setattr(rivals, '_names', lambda: [UNKNOWN])
        rivals.check(1.0)
        rivals.check(1.9)
        with pytest.raises(RosInterfaceError, match=UNKNOWN):
            rivals.check(2.1)
        monkeypatch.setattr(rivals, '_names', known)
        with pytest.raises(RosInterfaceError, match=f'{PUBLISHED}/other'):
            rivals.check(1.9)

    @pytest.mark.parametrize('topic', [TOPIC, END])
    def test_publisher_is_a_rival(self, network, rivals, other, topic):
        rivals.refuse()
        self.publish(network, other, topic)
        with pytest.raises(RosInterfaceError, match=f'{TOPIC} {PUBLISHED}/other'):
            rivals.refuse()

    def test_subscribers_and_own_publishers_are_none(self, network, rivals, other, own):
        for topic in (TOPIC, END):
            other.create_subscription(Float64MultiArray, topic, lambda _: None, NEWEST)
        rivals.begin(0.0)
        for now in range(10):
            rivals.check(float(now))

    def test_what_passes_commands_on_is_none(self, network, rivals, other, own):
        other.create_subscription(Float64MultiArray, TOPIC, lambda _: None, NEWEST)
        self.publish(network, other, END)
        rivals.begin(0.0)
        rivals.check(0.0)
        rivals.check(9.0)
        self.publish(network, other, TOPIC)  # to itself
        rivals.check(10.0)
        with pytest.raises(RosInterfaceError, match='/other'):
            rivals.check(13.0)

    @pytest.mark.parametrize(('begun', 'grace'), [(0.0, 2.0), (7.5, 1.1), (10.0, 0.2)])
    def test_the_younger_of_two_leaves_first(self, network, rivals, other, own, begun, grace):
        rivals.begin(begun)
        rivals.check(10.0)
        self.publish(network, other, TOPIC)
        rivals.check(10.0)
        rivals.check(10.0 + 0.99 * grace)
        with pytest.raises(RosInterfaceError, match='/other'):
            rivals.check(10.0 + 1.01 * grace)

    def test_one_that_leaves_in_time_is_forgotten(self, network, rivals, other, own):
        rivals.begin(0.0)
        rivals.check(9.0)
        publisher = self.publish(network, other, TOPIC)
        rivals.check(10.0)
        other.destroy_publisher(publisher)
        network.expect(lambda: network.node.count_publishers(TOPIC) == 1)
        rivals.check(20.0)
        self.publish(network, other, TOPIC)
        rivals.check(30.0)
        rivals.check(31.9)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Nodes in processes of their own, and a node in the test that talks to them over real DDS."""

import array
import contextlib
import json
import os
import signal
import tempfile
import time
from pathlib import Path

import forked
import rclpy
from lifecycle_msgs.srv import ChangeState
from rclpy.qos import QoSProfile
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control.cli.processes import Process, own_domain, private_environment
from opspace_control.ros.middleware.endpoints import LATCHED, NEWEST, RELIABLE
from opspace_control.ros.middleware.executor import make_executor

PATIENCE = 120.0  # s, for anything that has to cross DDS; a busy machine takes its time
_QUESTIONS = 6     # until there is an answer
_BE_KNOWN = 0.2    # s, for a server to hear of a client
# A serialized message that is none, of whatever type.
DAMAGED = b'\0\1\0\0' + bytes([255]) * 12
COMPILING = 300.0  # s, for a controller that finds no compiled code on a busy machine

CONTROLLER = '/opspace_controller'
SIMULATOR = '/opspace_simulator'
COMMANDS = 'effort_controller/commands'
URDF = Path(__file__).parents[1] / 'urdf'


class Node(Process):
    """A node that gets the time to leave that it needs on a busy machine."""

    grace_time = PATIENCE

    def __init__(self, verb, arguments, environment, log):
        if self.program == Process.program:
            self.verb, self.log = verb, log
            self._process = forked.Fork(verb, arguments, environment, log)
            self.pid = self._process.pid
        else:
            super().__init__(verb, arguments, environment, log)


class Network:
    """A ROS 2 domain of its own with a client node, and processes on it."""

    def __init__(self, stack, domain):
        self._stack = stack
        self.environment = private_environment(domain)
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.processes = {}
        self._context = rclpy.Context()
        # DDS reads the environment of the process; every test of this process wants the same.
        os.environ.update(self.environment)
        rclpy.init(context=self._context, domain_id=domain)
        stack.callback(self._context.try_shutdown)
        self.node = rclpy.create_node('test', context=self._context)
        self._executor = make_executor(self._context)
        self._executor.add_node(self.node)
        self._never = Future()
        stack.callback(self.node.destroy_node)
        # It holds callbacks that may hold it: participants would pile up until none finds another.
        stack.callback(self._executor.shutdown)
        stack.callback(self._executor.remove_node, self.node)
        stack.callback(self.end)

    def start(self, verb, parameters=(), arguments=(), kind=Node):
        """Start a node with a dict of parameters; return its process."""
        name = verb if verb not in self.processes else f'{verb}_{len(self.processes)}'
        file = self._folder / f'{name}.yaml'
        file.write_text(json.dumps({'/**': {'ros__parameters': dict(parameters)}}))
        process = kind(verb, ['--ros-args', '--params-file', str(file), *arguments],
                          self.environment, self._folder / f'{name}.log')
        self.processes[name] = process
        return process

    def ignore(self):
        """Withdraw the subscriptions of the test; a controller has nobody to release then."""
        for subscription in list(self.node.subscriptions):
            self.node.destroy_subscription(subscription)
        self.spin(0.001)  # the executor holds what it waits for, until it waits anew

    def end(self):
        """End every process; all of them are asked first, since each takes its time to leave."""
        self.ignore()
        for process in self.processes.values():
            process.send_signal(signal.SIGINT)
        for process in self.processes.values():
            process.end()

    def add(self, node):
        """Spin a further node of this process."""
        self._executor.add_node(node)

    def remove(self, node):
        """Spin it no more."""
        self._executor.remove_node(node)

    def spin(self, seconds):
        """Let messages in for a while."""
        self.until(lambda: False, seconds)

    def until(self, condition, seconds=PATIENCE):
        """Spin until a condition holds; return whether it does."""
        end = time.monotonic() + seconds
        while not condition():
            left = end - time.monotonic()
            if left <= 0.0:
                return False
            self._executor.spin_until_future_complete(self._never, min(left, 0.005))
        return True

    def wait(self, future, seconds=PATIENCE):
        """Spin until a future is done, and not a moment longer; return whether it is."""
        self._executor.spin_until_future_complete(future, seconds)
        return future.done()

    def expect(self, condition, seconds=PATIENCE):
        """Spin until a condition holds, or fail with what the processes said."""
        if not self.until(condition, seconds):
            self.fail()

    def fail(self):
        """Fail with what the processes said."""
        raise AssertionError(self._said())

    def _somebody_died(self):
        return any(process.exit_code() is not None for process in self.processes.values())

    def _said(self):
        return 'It never came true. The nodes said:\n' + '\n'.join(
            f'--- {verb} ({process.exit_code()})\n{process.said()}'
            for verb, process in self.processes.items())

    def send(self, publisher, message, condition):
        """
        Publish a message until a condition holds: the other side's first match may come late.

        A publisher sees its subscriber before the subscriber sees it, and takes best effort.
        Returns how often it was published.
        """
        count = 0

        def sent_and_true():
            nonlocal count
            if condition():
                return True
            publisher.publish(message)
            count += 1
            self.until(condition, 0.02)
            return condition()
        self.expect(sent_and_true)
        return count

    def call(self, kind, name, **fields):
        """
        Call a service that may be called twice, and return its response.

        A server drops the answer if it does not know yet where the question came from.
        """
        client = self.node.create_client(kind, name)
        self.expect(client.service_is_ready)
        for _ in range(_QUESTIONS):
            future = client.call_async(kind.Request(**fields))
            if self.wait(future, PATIENCE / _QUESTIONS):
                self.node.destroy_client(client)
                return future.result()
        return self.fail()

    def transition(self, node, number):
        """Ask a node for a lifecycle transition; return whether it succeeded."""
        client = self.node.create_client(ChangeState, f'{node}/change_state')
        self.expect(client.service_is_ready)
        self.spin(_BE_KNOWN)  # as above, but nobody asks twice for this
        request = ChangeState.Request()
        request.transition.id = number
        future = client.call_async(request)
        self.expect(future.done, COMPILING)
        self.node.destroy_client(client)
        return future.result().success

    def listen(self, kind, topic, qos=RELIABLE):
        """Return a list that receives the messages of a topic."""
        heard = []
        self.node.create_subscription(kind, topic, heard.append, qos)
        return heard

    def publisher(self, kind, topic, qos=RELIABLE):
        """Return a publisher that somebody listens to."""
        publisher = self.node.create_publisher(kind, topic, qos)
        self.expect(lambda: publisher.get_subscription_count() > 0 or self._somebody_died(),
                    COMPILING)
        assert publisher.get_subscription_count() > 0, self._said()
        return publisher

    def commands(self):
        """Return a list that receives the effort commands, none left out."""
        return self.listen(Float64MultiArray, COMMANDS, QoSProfile(depth=1000))

    def states(self):
        """Return a list that receives the joint states, none left out."""
        return self.listen(JointState, 'joint_states', QoSProfile(depth=1000))


@contextlib.contextmanager
def network():
    """Open a domain, and end every process on it afterwards."""
    with contextlib.ExitStack() as stack:
        yield Network(stack, stack.enter_context(own_domain()))


def joint_state(positions, velocities=None):
    """Return a JointState of a dict of positions; velocities are zero if not given."""
    count = len(positions)
    velocities = [0.0] * count if velocities is None else velocities
    return JointState(name=list(positions), position=array.array('d', positions.values()),
                      velocity=array.array('d', velocities))


def robot_text(name='dual_arm'):
    """Return the URDF text of one of our robots."""
    return (URDF / f'{name}.urdf').read_text()


__all__ = ['LATCHED', 'NEWEST', 'Network', 'joint_state', 'network', 'robot_text']

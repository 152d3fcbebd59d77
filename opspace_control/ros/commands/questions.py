# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Service calls from inside a callback of a node, with a wait for their answers."""

import contextlib
import time

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from opspace_control.errors import RosInterfaceError

_POLL = 5e-4  # s
# A request may precede the discovery of the route of its answer.
_ASK_AGAIN = 0.5  # s
_HASTE = 1.0  # s, timeout of each step while a process ends or an executor waits


class Questions:
    """
    A node with an executor of its own, which works while the executor of another node waits.

    Parameters
    ----------
    node : rclpy.node.Node
        Provides namespace and context.
    suffix : str
        Appended to the name of ``node`` for the name of the new one.
    timeout : float
        Longest time for each step, s.

    Attributes
    ----------
    node : rclpy.node.Node
        For clients, and for subscriptions that are polled.
    timeout : float
        Present longest time for each step, s.

    """

    def __init__(self, node, suffix, timeout):
        self.timeout = timeout
        # Without the global arguments, which rename every node of the process.
        self.node = Node(
            f'{node.get_name()}_{suffix}', context=node.context, namespace=node.get_namespace(),
            use_global_arguments=False, enable_rosout=False, start_parameter_services=False)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(self.node)

    def end(self):
        """Withdraw from the network."""
        self._executor.shutdown()
        self.node.destroy_node()

    @contextlib.contextmanager
    def haste(self):
        """Use a short timeout, for a process that ends or an executor that waits."""
        usual, self.timeout = self.timeout, min(self.timeout, _HASTE)
        try:
            yield
        finally:
            self.timeout = usual

    def wait(self, condition, meanwhile):
        """Wait for a condition, calling ``meanwhile``; return whether it came true in time."""
        end = time.monotonic() + self.timeout
        while not condition():
            if time.monotonic() > end:
                return False
            meanwhile()
            self._executor.spin_once(timeout_sec=_POLL)
        return True

    def ask(self, client, request, meanwhile, once=False):
        """
        Return the answer of a service; without ``once`` repeat the request, which may get lost.

        Raises
        ------
        RosInterfaceError
            There is no such service, or no answer.

        """
        if not self.wait(client.service_is_ready, meanwhile):
            raise RosInterfaceError(
                f'There is no service {client.service_name}.',
                cure="Start the controller manager (ros2_control_node, or Gazebo's), or set the "
                     "parameter controller_manager to '' if there is none.")
        futures = [client.call_async(request)]
        due = time.monotonic() + _ASK_AGAIN

        def answered():
            nonlocal due
            if not once and time.monotonic() > due:
                futures.append(client.call_async(request))
                due += _ASK_AGAIN
            return any(future.done() for future in futures)
        try:
            if self.wait(answered, meanwhile):
                return next(future.result() for future in futures if future.done())
        finally:
            for future in futures:
                client.remove_pending_request(future)
        raise RosInterfaceError(
            f'{client.service_name} does not answer within {self.timeout:g} s.',
            cure='The controller manager hangs or has died: see its log.')

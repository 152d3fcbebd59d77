# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Services asked, and their answers awaited, inside a callback of the node that needs them."""

import contextlib
import time

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from opspace_control.errors import RosInterfaceError

_POLL = 5e-4  # s
# A service can be asked before its answers find the way back: discovery takes its time.
_ASK_AGAIN = 0.5  # s
_HASTE = 1.0  # s, for each step of what has to leave, or that others wait for


class Questions:
    """
    A node and an executor of their own, which go on while the executor of another node waits.

    Parameters
    ----------
    node : rclpy.node.Node
        Whose namespace and context are used.
    suffix : str
        Of the name of that node, for our own.
    timeout : float
        Longest time for each step, s.

    Attributes
    ----------
    node : rclpy.node.Node
        For clients, and for subscriptions that are only looked at.
    timeout : float
        Longest time for each step at present, s.

    """

    def __init__(self, node, suffix, timeout):
        self.timeout = timeout
        # Not with the global arguments: they rename every node of the process.
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
        """Wait no longer than is right for a process that has to leave, or that others wait for."""
        usual, self.timeout = self.timeout, min(self.timeout, _HASTE)
        try:
            yield
        finally:
            self.timeout = usual

    def wait(self, condition, meanwhile):
        """Return whether a condition came true in time, ``meanwhile`` being called all the time."""
        end = time.monotonic() + self.timeout
        while not condition():
            if time.monotonic() > end:
                return False
            meanwhile()
            self._executor.spin_once(timeout_sec=_POLL)
        return True

    def ask(self, client, request, meanwhile, once=False):
        """
        Return the answer of a service; ask again meanwhile, since the first may get lost.

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
        asked = [client.call_async(request)]
        due = time.monotonic() + _ASK_AGAIN

        def answered():
            nonlocal due
            if not once and time.monotonic() > due:
                asked.append(client.call_async(request))
                due += _ASK_AGAIN
            return any(future.done() for future in asked)
        try:
            if self.wait(answered, meanwhile):
                return next(future.result() for future in asked if future.done())
        finally:
            for future in asked:
                client.remove_pending_request(future)
        raise RosInterfaceError(
            f'{client.service_name} does not answer within {self.timeout:g} s.',
            cure='The controller manager hangs or has died: its log says more.')

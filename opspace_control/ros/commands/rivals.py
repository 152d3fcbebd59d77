# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of other nodes that command the same joints, or have the name of the controller."""

import math
import time

from rcl_interfaces.srv import GetParameters

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.commands.manager_client import ServiceCaller
from opspace_control.ros.middleware import graph

# After a node is made, until it knows the others: Fast DDS announces it five times, every 100 ms.
_DISCOVERY = 0.5  # s
# A killed process stays in the graph for 20 s (Fast DDS); a live one answers within this time.
_ANSWER_TIME, _PAUSE = 1.0, 0.01  # s
# Fast DDS repeats a lost announcement after 3 s. The grace time grows with the time that this
# controller has been active, from the first value to the second: the younger one leaves first.
_NEW = 5.0  # s
_GRACE_OF_NEWCOMER, _GRACE = 0.2, 2.0  # s


class Rivals:
    """
    The nodes that publish commands for the same joints as this one, by name.

    A node that relays the commands of this one, such as the command watchdog, is no rival. A node
    with a publisher in the graph that does not answer was killed. The executor of this ``node``
    must not run during `refuse` and `refuse_namesakes`: an answer then comes from another node of
    the same name. ``topic`` and ``end`` are the full names of the topics of published commands, and
    of the forward controller's, '' for none; ``born``, s, is the monotonic time at which the node
    was made.
    """

    def __init__(self, node, topic, end, born=-math.inf):
        self._node = node
        self._knows = born + _DISCOVERY  # time from which it knows the other nodes
        self._name = node.get_fully_qualified_name()
        self._topic, self._topics = topic, tuple(dict.fromkeys(filter(None, (topic, end))))
        self._ignored = set()  # gids of publishers whose process has been killed
        self._own = 0  # publishers of this node on each topic
        self._counts = None  # of publishers, without a rival
        self._begun = self._seen = math.inf

    def refuse_namesakes(self):
        """Raise a RosInterfaceError if another node has the full name of this one, and answers."""
        if not graph.namesakes(self._node):
            return
        if self._answers(self._name):
            raise RosInterfaceError(
                f'Another node is called {self._name}.', node=self._name,
                cure='End it first, or give this one another name (-r __node:=NAME) or namespace '
                     '(-r __ns:=/NAME).')
        self._ignore({self._name})

    def refuse(self):
        """
        Raise a RosInterfaceError if another node commands the joints, or has the name of this one.

        This node must not have a publisher on the topics yet.
        """
        self._own = 0
        time.sleep(max(0.0, self._knows - time.monotonic()))
        self.refuse_namesakes()
        names, end = set(self._names()), time.monotonic() + _ANSWER_TIME
        while graph.UNKNOWN in names and time.monotonic() < end:  # names follow publishers
            time.sleep(_PAUSE)
            names = set(self._names())
        living = {name for name in names if self._answers(name)}
        self._ignore(names - living)
        if living:
            raise self._refusal(living)

    def begin(self, now):
        """Start at the steady time ``now``, s: this node has one publisher on each topic."""
        self._own, self._counts = 1, None
        self._begun, self._seen = now, math.inf

    def check(self, now):
        """
        Raise a RosInterfaceError if another node commands the joints for longer than a grace time.

        Of two controllers the younger one leaves, at once if it has just started. Takes 5 µs per
        topic while the number of publishers is constant.
        """
        counts = [self._node.count_publishers(topic) for topic in self._topics]
        if counts == self._counts:
            self._seen = math.inf
            return
        names = self._names()
        if not names:
            self._counts, self._seen = counts, math.inf
            return
        self._seen = min(self._seen, now)
        age = min((self._seen - self._begun) / _NEW, 1.0)
        grace = _GRACE_OF_NEWCOMER + age * (_GRACE - _GRACE_OF_NEWCOMER)
        if graph.UNKNOWN in names:  # names follow publishers; a node of this one's name ends it
            grace = max(grace, _ANSWER_TIME)
        if now - self._seen > grace:
            raise self._refusal(names)

    def _names(self):
        """Return the names of the other nodes that command the joints."""
        if not self._topics:
            return []
        relays = graph.subscribers(self._node, self._topic) - {self._name}
        found = []
        for topic in self._topics:
            names = [name for name, gid in graph.publishers(self._node, topic)
                     if gid not in self._ignored]
            found += [name for name in names if name != self._name
                      and (topic == self._topic or name not in relays)]
            found += [name for name in names if name == self._name][self._own:]
        return found

    def _answers(self, name):
        """Return whether a node of this name answers, or may be alive without a service."""
        if name == graph.UNKNOWN:
            return True
        caller = ServiceCaller(self._node, 'rivals', _ANSWER_TIME)
        client = caller.node.create_client(GetParameters, f'{name}/get_parameters')
        try:
            caller.call(client, GetParameters.Request(), lambda: None)
        except RosInterfaceError:
            return not client.service_is_ready()
        finally:
            caller.end()
            self._drop_requests()
        return True

    def _drop_requests(self):
        """Discard requests of `_answers` to this node itself, whose client is gone."""
        for service in self._node.services:
            if service.srv_type is GetParameters:
                with service.handle:
                    while service.handle.service_take_request(GetParameters.Request)[0]:
                        pass

    def _ignore(self, names):
        """Ignore the publishers of these nodes from now on: their processes were killed."""
        for topic in self._topics:
            self._ignored |= {
                gid for name, gid in graph.publishers(self._node, topic) if name in names}
        for name in sorted(names):
            self._node.get_logger().warning(
                f'{name} is still known to ROS 2 and does not answer: its process was probably '
                'killed.')

    def _refusal(self, names):
        described = {f'another node called {name}' if name == self._name else name
                     for name in names}
        return RosInterfaceError(
            f'{self._topic} is published by another node as well: {graph.in_words(described)}.',
            nodes=sorted(names),
            cure='Only one node may command the joints: end or deactivate the other one. If it '
                 'relays commands, as the command watchdog does, set command_topic to its topic.')

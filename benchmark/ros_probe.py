# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A robot at 1 kHz for two controllers at once, which notes how long each takes to answer.

Their turns are half a period apart. Each gets its next state when it has answered the last one, so
that every answer has its question.
"""

import array
import gc
import json
import math
import sys
import time
from pathlib import Path

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control.ros.middleware.endpoints import LATCHED, NEWEST
from opspace_control.ros.middleware.executor import run

_HALF_PERIOD = 0.0005  # s: each controller has its turn at 1 kHz
_GIVE_UP = 100         # turns: an answer that has not come by then never will
_WARM_UP = 2000        # cycles that do not count
_DISCOVERY = 60.0      # s, a controller may have to compile first
_SWING = 0.05          # rad


class Controlled:
    """One controller as the robot sees it: what it is sent, and how quickly it answers."""

    def __init__(self, node, namespace, joints, positions):
        count = len(joints)
        self._middle = positions
        self._state = JointState(name=joints, position=array.array('d', positions),
                                 velocity=array.array('d', bytes(8 * count)),
                                 effort=array.array('d', bytes(8 * count)))
        self._publisher = node.create_publisher(JointState, f'/{namespace}/joint_states', LATCHED)
        node.create_subscription(Float64MultiArray, f'/{namespace}/effort_controller/commands',
                                 self._on_answer, NEWEST)
        self._sent = None
        self._waited = 0     # turns, for the answer to come
        self.latencies = []  # s
        self.lost = 0

    def turn(self, now):
        """
        Send the next state if the last one has its answer.

        In a steady stream the state that is held back for a late answer would wait its turn in the
        controller's queue of one; the next ones would each replace it, and are lost.
        """
        if self._sent is not None:
            self._waited += 1
            if self._waited > 1:
                self.lost += 1
            if self._waited < _GIVE_UP:
                return
        self._waited = 0
        angle = _SWING * math.sin(2.0 * math.pi * now)
        rate = _SWING * 2.0 * math.pi * math.cos(2.0 * math.pi * now)
        for i, middle in enumerate(self._middle):
            self._state.position[i] = middle + angle
            self._state.velocity[i] = rate
        stamp = self._state.header.stamp
        stamp.sec, stamp.nanosec = divmod(time.time_ns(), 1_000_000_000)
        self._sent = time.perf_counter()
        self._publisher.publish(self._state)

    def restart(self):
        """Begin to count."""
        self.latencies.clear()
        self.lost = 0

    def _on_answer(self, _command):
        if self._sent is not None:
            self.latencies.append(time.perf_counter() - self._sent)
            self._sent = None


class Probe(Node):
    """
    Drive both controllers and write what was found to a JSON file: ``latencies``, s, and ``lost``.

    Parameters
    ----------
    stop : opspace_control.ros.middleware.executor.Stop
        Ends the process.
    request : dict
        ``namespaces``, ``joints``, ``positions`` (rad or m) and ``seconds`` to measure.
    file : Path
        To write.

    """

    def __init__(self, stop, request, file):
        super().__init__('probe')
        self._stop, self._file = stop, file
        self._controlled = {
            name: Controlled(self, name, request['joints'], request['positions'])
            for name in request['namespaces']}
        self._turns = list(self._controlled.values())
        self._seconds = request['seconds']
        self._counted = None
        self._started = time.perf_counter()
        gc.collect()
        gc.freeze()
        self.create_timer(_HALF_PERIOD, self._on_timer,
                          clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _on_timer(self):
        now = time.perf_counter()
        self._turns.reverse()
        self._turns[0].turn(now)
        answers = [len(item.latencies) for item in self._turns]
        if self._counted is None:
            if min(answers) >= _WARM_UP:
                self._counted = now
                for item in self._turns:
                    item.restart()
            elif now - self._started > _DISCOVERY:
                raise TimeoutError(f'Answers so far: {answers}.')
        elif now - self._counted > self._seconds:
            self._counted = math.inf
            self._file.write_text(json.dumps(
                {name: {'latencies': item.latencies, 'lost': item.lost}
                 for name, item in self._controlled.items()}))
            self._stop.now()

    def leave(self):
        """Nothing has to be left at rest."""


if __name__ == '__main__':
    sys.exit(run(lambda stop: Probe(stop, json.loads(sys.argv[1]), Path(sys.argv[2])), []))

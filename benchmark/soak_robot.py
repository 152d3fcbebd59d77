# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A simulated robot in real time at 1 kHz, which checks every command and counts what it misses.

A bare echo is sent the same states, half a period apart from the controller: what the echo misses
too is the machine's fault, or rclpy's. Neither is sent a state before it has answered the last one.
A cycle is missed for each whole period between a state and its answer.
"""

import array
import gc
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control.ros.middleware.endpoints import LATCHED, NEWEST
from opspace_control.ros.middleware.executor import run
from opspace_control.simulation import SimulatedRobot

_STEP = 0.001           # s
_GIVE_UP = 0.1          # s, an answer that has not come by then never will
_REPORT_PERIOD = 1.0    # s
_WARM_UP = 3000         # answers of each that do not count


class Listener:
    """Who is sent the states, and how well it keeps up."""

    def __init__(self, node, namespace, on_answer):
        self._publisher = node.create_publisher(JointState, f'/{namespace}/joint_states', LATCHED)
        node.create_subscription(Float64MultiArray, f'/{namespace}/effort_controller/commands',
                                 self._on_answer, NEWEST)
        self._tell = on_answer
        self._sent = None    # when, of a state without its answer
        self.answers = self.missed = 0

    def turn(self, state):
        """Send a state, unless the last one has not been answered."""
        now = time.perf_counter()
        if self._sent is not None:
            if now - self._sent < _GIVE_UP:
                return
            self._count_missed(now)
        self._sent = now
        self._publisher.publish(state)

    def _on_answer(self, command):
        if self._sent is not None:
            self._count_missed(time.perf_counter())
            self._sent = None
        self.answers += 1
        self._tell(command)

    def _count_missed(self, now):
        self.missed += int((now - self._sent) / _STEP)


class SoakRobot(Node):
    """
    The robot; writes its counts to a JSON file once a second.

    Parameters
    ----------
    request : dict
        ``urdf`` (text), ``start`` (joint -> rad), ``order`` of the command.
    file : Path
        To write.

    """

    def __init__(self, request, file):
        super().__init__('soak_robot')
        self._file = file
        self._robot = SimulatedRobot(request['urdf'], timestep=_STEP)
        self._robot.reset(request['start'])
        names = list(self._robot.joint_names)
        self._index = [names.index(name) for name in request['order']]
        self._limits = self._robot.effort_limits[self._index]
        self._efforts = np.zeros(len(names))
        self._last = None
        self._worst = {'effort': 0.0, 'step': 0.0, 'not_finite': 0}
        count = len(names)
        self._state = JointState(name=names, position=array.array('d', bytes(8 * count)),
                                 velocity=array.array('d', bytes(8 * count)),
                                 effort=array.array('d', bytes(8 * count)))
        self._position = np.frombuffer(self._state.position)
        self._velocity = np.frombuffer(self._state.velocity)
        self._listeners = {
            'controller': Listener(self, 'controller', self._on_command),
            'echo': Listener(self, 'echo', lambda _: None)}
        self._turns = list(self._listeners.values())
        self._counting = False
        self._report_due = time.perf_counter()
        gc.collect()
        gc.freeze()
        self.create_timer(_STEP / 2, self._on_timer,
                          clock=Clock(clock_type=ClockType.STEADY_TIME))

    def leave(self):
        """Nothing has to be left at rest."""

    def _on_timer(self):
        self._turns.reverse()
        if self._turns[0] is self._listeners['controller']:
            self._step()
        self._turns[0].turn(self._state)
        now = time.perf_counter()
        if now >= self._report_due:
            self._report_due = now + _REPORT_PERIOD
            self._report()

    def _step(self):
        if self._last is not None:
            self._robot.step()
        self._position[:] = self._robot.positions
        self._velocity[:] = self._robot.velocities
        stamp = self._state.header.stamp
        stamp.sec, stamp.nanosec = divmod(1_000_000_000 + round(1e9 * self._robot.time),
                                          1_000_000_000)

    def _on_command(self, command):
        efforts = np.frombuffer(command.data)
        worst = self._worst
        if not np.isfinite(efforts).all():
            worst['not_finite'] += 1
            return
        worst['effort'] = max(worst['effort'], (abs(efforts) / self._limits).max())
        if self._last is not None:
            step = (abs(efforts - self._last) / self._limits).max()
            worst['step'] = max(worst['step'], step)
        self._last = efforts
        self._efforts[self._index] = efforts
        self._robot.set_effort(self._efforts)

    def _report(self):
        if not self._counting and min(item.answers for item in self._turns) > _WARM_UP:
            self._counting = True
            for item in self._turns:
                item.answers = item.missed = 0
        found = {'counting': self._counting, **self._worst, **{
            name: {'answers': item.answers, 'missed': item.missed}
            for name, item in self._listeners.items()}}
        draft = self._file.with_suffix('.draft')
        draft.write_text(json.dumps(found))
        os.replace(draft, self._file)  # a reader sees all of it or nothing


if __name__ == '__main__':
    sys.exit(run(lambda _stop: SoakRobot(json.loads(Path(sys.argv[1]).read_text()),
                                         Path(sys.argv[2])), []))

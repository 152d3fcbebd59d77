# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A quadruped on a floor of MuJoCo: its law in a process in C++, its gait in Python beside it."""

import numpy as np
import pytest
from test_attached_servo import Loop, attached, compile_loop

from opspace_control import library
from opspace_control.cli.showcase.legged_scene import LeggedScene, tilt
from opspace_control.ros.parameters.parameter_file import ParameterFile
from opspace_control.safety.servo import Servo
from opspace_control.safety.servo_data import CONTROL
from opspace_control.safety.supervisor import NO_TRIP
from opspace_control.share import share_directory
from opspace_control.spatial.rotations import matrix_from_quaternion

pytestmark = pytest.mark.skipif(not library.is_there(), reason='the library is not built')
STANDING, SPEED = 1.5, 1.0  # s, m/s


class Attached(LeggedScene):
    """The robot; a cycle in C++ for each step, and a gait that sees every so many of them."""

    def __init__(self, program, folder, every, timeout):
        super().__init__('b1')
        self.servo, self._every = Servo(self.controller), every
        self.servo.restart(0.0)
        self.loop = Loop(program, folder, self.servo)
        self.link = attached(self.loop, self.servo)
        self.link.memory.frame['timeout'][0] = round(1e9 * timeout)
        assert self.link.send_changes()
        assert self.loop.ask('activate', (1.0).hex()) == 'active'
        self.alive, self.results = True, []

    def _compute(self, state, dt):
        steps = len(self.reports) + 1
        now, q, v = 1.0 + dt * steps, state.q, state.v
        R = matrix_from_quaternion(q[3:7])
        result, trip, lost, ended, _, efforts = self.loop.cycle(
            now, q[7:], v[6:], [*q[:7], *(v[:3] @ R), *(v[3:6] @ R)])
        self.results.append((result, trip, lost, ended))
        if self.alive and steps % self._every == 0:
            assert self.link.synchronise(now)
            self.locomotion.update(self.servo.state.state, self._every * dt)
            assert self.link.send_changes()
        return np.r_[np.zeros(6), efforts]


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    return compile_loop(tmp_path_factory.mktemp('native'))


@pytest.fixture
def make(program, tmp_path):
    loops = []

    def make_scene(every):
        scene = Attached(program, tmp_path, every, timeout=0.1)
        loops.append(scene.loop)
        scene.run(STANDING)
        scene.locomotion.gait = 'trot'
        scene.locomotion.command(SPEED)
        return scene
    yield make_scene
    for loop in loops:
        loop.end()


@pytest.mark.parametrize('every', [2, 10])
def test_a_gait_beside_the_cycles(make, every):
    """Goals and contacts that come every 2 or 10 ms let a quadruped trot as in one process."""
    scene = make(every)
    scene.run(1.5)
    trot = scene.run(1.0)
    assert set(scene.results) == {(CONTROL, NO_TRIP, 0, 0)}
    assert trot[:, 2].mean() == pytest.approx(SPEED, rel=0.03)
    assert tilt(trot) < 0.2
    assert trot[:, 5].max() < 0.6  # of the velocity limits
    assert trot[:, 6].max() <= 1.0  # of the effort limits


@pytest.mark.parametrize('name', ['b1', 'go2'])
def test_presets_of_legs_end_soon_without_a_node(name):
    values = ParameterFile(share_directory() / f'config/{name}.yaml').of_node('opspace_controller')
    assert values['safety.node_timeout'] == 0.1


def test_a_gait_whose_node_dies(make):
    """The robot lies down, damped: within its limits, and at rest without effort in the end."""
    scene = make(2)
    scene.run(2.0)
    scene.alive = False
    fall = scene.run(3.0)
    seen = list(dict.fromkeys(result[2:] for result in scene.results))
    assert seen == [(0, 0), (1, 0), (1, 1)]
    assert fall[:, 5].max() < 0.8  # 0.56 measured; 1.07 with a time-out of 0.5 s
    assert fall[:, 6].max() <= 1.0
    assert fall[-500:, 5:7].max() < 0.01
    assert scene.robot.simulated.base_pose[2] < 0.15
    assert abs(fall[-1, :2]).max() < 0.1  # on its belly

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""States of robots that walk and trot in MuJoCo, held against a dense lexicographic optimum."""

import math

import numpy as np
import pytest
from contact_optimum import held_against_optimum

from opspace_control.cli.showcase.legged_scene import LeggedScene
from opspace_control.locomotion import Stepping


class HeldScene(LeggedScene):
    """
    A quadruped whose cycles, one of ``EVERY`` with feet on the ground, are held.

    On two feet of one side its tasks are not: within friction next to nothing rolls the trunk about
    their line, and a direction below the truncation threshold is given up.
    """

    EVERY = 41

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.cycles, self.given_way = 0, []

    def compute_torque(self, state, tau):
        """Compute the torque and hold it."""
        super().compute_torque(state, tau)
        self.cycles += 1
        feet = [name for name, contact in self.controller.constraints.items() if contact.closed]
        if self.cycles % self.EVERY == 0 and feet:
            one_side = len(feet) == 2 and feet[0][1] == feet[1][1]
            self.given_way.append(any(held_against_optimum(
                self.controller, state, tau, joints_may_pass=np.inf, tasks=not one_side)))


@pytest.mark.parametrize(('robot', 'gait', 'speed', 'friction', 'shove'), [
    ('b1', 'trot', 1.0, 0.7, 0.45), ('b1', 'running_trot', 2.0, 0.5, 0.45),
    ('go2', 'walk', 0.5, 0.7, 0.5), ('go2', 'trot', 1.5, 0.4, 0.45)])
def test_walking_robots_do_what_is_optimal(robot, gait, speed, friction, shove):
    """They start fast and are shoved: some of the states are such that tasks must give way."""
    scene = HeldScene(robot, friction=friction, stepping=Stepping(acceleration=3.0))
    scene.run(0.1)
    scene.locomotion.gait = gait
    scene.locomotion.command(speed)
    scene.run(1.0)
    for direction in (60.0, 240.0):
        angle = math.radians(direction)
        scene.shove(shove * math.cos(angle), shove * math.sin(angle))
        scene.run(0.5)
    assert not scene.fallen
    assert len(scene.given_way) > 30
    assert sum(scene.given_way) > 3

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A humanoid on two feet that leans a hand on a wall of MuJoCo, which only pushes."""

import mujoco
import numpy as np
import pytest
from apart import apart
from contact_optimum import held_against_optimum
from test_standing import FRICTION, HANDS, SAFE, Standing

from opspace_control import Contact
from opspace_control.simulation import Box, Shape
from opspace_control.spatial.rotations import matrix_from_quaternion

WALL, RADIUS = 0.46, 0.04  # m: how far ahead it is; of the hand's tip
PLACE = np.array([WALL - RADIUS, 0.35, 1.05])  # where the hand is, m
LEAST, GREATEST, COUNTED_ON = 5.0, 200.0, 0.5  # N; friction
TOE = 0.1  # m ahead of the ankle


class Leaning(Standing):
    """Talos whose left hand is on a wall; ``forces`` of MuJoCo and of the controller, (k, 2, 3)."""

    def __init__(self):
        self.forces, hand = [], HANDS[0]
        self.wall = Contact(hand, kind='point', normal=(-1.0, 0.0, 0.0), friction=COUNTED_ON,
                            normal_force=(LEAST, GREATEST))
        box = Box('wall', (0.1, 2.0, 2.0), pose=(WALL + 0.05, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
                  fixed=True, friction=FRICTION)
        super().__init__([box], shapes=[Shape(hand, (RADIUS,))], others=[self.wall])
        # Else MuJoCo's friction creeps: a foot by 7 mm/s under 50 N.
        self.simulated.model.opt.impratio = 30.0
        self.simulated.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        self.balance.max_linear_velocity = 0.1
        self.hands[1].enabled = False
        for ahead in (-0.002, 0.01):
            goal = self.hands[0].pose
            goal[:3] = PLACE
            goal[0] += ahead
            self.hands[0].set_target(goal)
            self.run(1.0)
        self.stabilise(100.0)
        self.wall.engage(self.state)
        self.run(0.3)

    def stabilise(self, gain):
        """Set the gain by which contacts return what drifts, 1/s²."""
        for contact in (*self.contacts, self.wall):
            contact.set_gains(gain)

    def stepped(self):
        """Keep the forces on the hand, world axes, N."""
        turn = matrix_from_quaternion(self.simulated.frame_pose(HANDS[0])[3:])
        self.forces.append([turn @ self.simulated.contact_wrench(HANDS[0])[:3],
                            (self.wall.force - self.wall.internal_wrench)[:3]])

    def lean(self, ahead):
        """Move the centre of mass ahead of the ankles, m."""
        goal = self.balance.pose
        goal[0] = self._feet()[:, 0].mean() + ahead
        self.balance.set_target(goal)
        self.run(1.5)


@pytest.fixture(scope='module')
def leaning():
    robot = Leaning()
    robot.lean(0.05)
    return robot


@apart
def test_it_leans_further_than_its_feet_reach(leaning):
    """
    The wall bears what feet cannot; forces are those of MuJoCo and of a dense optimum.

    Those along the wall are not determined by the statics: friction bounds them.
    """
    robot = leaning
    robot.stabilise(0.0)  # the dense constraints do not return what drifts
    tau = robot.controller.compute_torque(robot.state)
    held_against_optimum(robot.controller, robot.state, tau, joints_may_pass=np.inf)
    robot.stabilise(100.0)
    robot.lean(TOE + 0.005)
    robot.forces.clear()
    robot.run(0.5)
    seen, told = np.median(robot.forces, axis=0)
    assert abs(robot.balance.error[0]) < 4e-3
    weight = 9.81 * robot.model.nodes['mass'].sum()
    assert -seen[0] > weight * (TOE + 0.004 - SAFE * TOE) / PLACE[2]
    assert seen[0] == pytest.approx(told[0], rel=0.15)
    assert np.linalg.norm(seen[1:]) < -FRICTION * seen[0]
    forces = np.array(robot.forces)[:, 1]
    assert (-forces[:, 0] >= LEAST - 1e-3).all()
    assert (abs(forces[:, 1:]).max(axis=1) < (COUNTED_ON / 2.0 ** 0.5 * -forces[:, 0] + 1e-3)).all()
    assert robot.feet_moved < 3e-3


@pytest.mark.parametrize('direction', range(0, 360, 60))
@apart
def test_a_push_at_the_pelvis_while_it_leans(leaning, direction):
    """An impulse of 0.2 m/s times the mass within 0.1 s; towards the wall the wall is needed."""
    robot = leaning
    robot.forces.clear()
    robot.push(direction)
    assert np.linalg.norm(robot.balance.error[:2]) > 4e-3
    robot.run(1.9)
    assert np.linalg.norm(robot.balance.error[:2]) < 0.01
    assert robot.feet_moved < 0.01
    assert np.linalg.norm(robot.simulated.frame_pose(HANDS[0])[:3] - PLACE) < 0.06
    assert direction != 0 or -np.array(robot.forces)[:, 0, 0].min() > 90.0


def test_the_other_hand_reaches():
    """Places in and out of reach: the hand stays on the wall, the feet where they are."""
    robot, rng, missed = Leaning(), np.random.default_rng(1), 0
    robot.hands[1].enabled = True
    for _ in range(4):
        robot.hands[1].set_target([rng.uniform(0.2, 0.7), rng.uniform(-0.6, 0.0),
                                   rng.uniform(0.6, 1.4)])
        robot.run(1.5)
        missed += np.linalg.norm(robot.hands[1].error[:3]) > 0.05
        assert np.linalg.norm(robot.balance.error[:2]) < 0.01
    assert robot.feet_moved < 5e-3
    assert np.linalg.norm(robot.simulated.frame_pose(HANDS[0])[:3] - PLACE) < 0.06
    assert 0 < missed < 4

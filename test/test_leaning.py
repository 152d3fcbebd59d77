# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A humanoid on two feet that leans a hand on a wall or a table of MuJoCo, which only push."""

from dataclasses import dataclass

import mujoco
import numpy as np
import pytest
from apart import apart
from contact_optimum import held_against_optimum
from test_standing import FRICTION, HANDS, SAFE, Standing

from opspace_control import Contact
from opspace_control.simulation import Box, Shape
from opspace_control.spatial.rotations import matrix_from_quaternion


@dataclass(frozen=True)
class Surface:
    """A box whose surface has a normal; the hand, a sphere, touches it at a place, m."""

    box: Box
    normal: tuple
    place: tuple
    radius: float
    approach: tuple = (0.002, -0.01)  # distances that the hand goes to one after the other, m


def box_of(name, size, place):
    return Box(name, size, pose=(*place, 0.0, 0.0, 0.0, 1.0), fixed=True, friction=FRICTION)


WALL = Surface(box_of('wall', (0.1, 2.0, 2.0), (0.51, 0.0, 1.0)), (-1.0, 0.0, 0.0),
               (0.42, 0.35, 1.05), 0.04)
# The controller takes the frame's origin for the contact. A sphere that a table's friction turns
# rolls on it: one of 4 cm by centimetres.
TABLE = Surface(box_of('table', (0.6, 2.0, 0.1), (0.6, 0.0, 0.8)), (0.0, 0.0, 1.0),
                (0.42, 0.35, 0.86), 0.01, approach=(0.1, 0.002, -0.01))
LEAST, GREATEST, COUNTED_ON = 5.0, 200.0, 0.5  # N; friction
TOE = 0.1  # m ahead of the ankle


class Leaning(Standing):
    """Talos, its left hand on a surface; ``forces`` of MuJoCo and of the controller, (k, 2, 3)."""

    def __init__(self, surface=WALL):
        self.forces, self.place, hand = [], np.array(surface.place), HANDS[0]
        self.wall = Contact(hand, kind='point', normal=surface.normal, friction=COUNTED_ON,
                            normal_force=(LEAST, GREATEST))
        super().__init__(
            [surface.box], shapes=[Shape(hand, (surface.radius,))], others=[self.wall])
        # Else MuJoCo's friction creeps: a foot by 7 mm/s under 50 N.
        self.simulated.model.opt.impratio = 30.0
        self.simulated.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        self.balance.max_linear_velocity = 0.1
        self.hands[1].enabled = False
        for away in surface.approach:
            goal = self.hands[0].pose
            goal[:3] = self.place + away * self.wall.normal
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

    @property
    def slipped(self):
        """How far the hand is from its place, m."""
        return np.linalg.norm(self.simulated.frame_pose(HANDS[0])[:3] - self.place)

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


@pytest.fixture(scope='module')
def at_a_table():
    robot = Leaning(TABLE)
    robot.lean(0.05)
    return robot


def forces_of_leaning(robot, ahead):
    """
    Let it lean; return the normal forces of MuJoCo and of the controller, medians, N.

    Those of the controller are within their bounds, and the hand does not slip.
    """
    robot.lean(ahead)
    robot.forces.clear()
    robot.run(0.5)
    normal = robot.wall.normal
    along, forces = normal == 0.0, np.array(robot.forces)
    across, told = forces @ normal, forces[:, 1]
    assert ((across[:, 1] >= LEAST - 1e-3) & (across[:, 1] <= GREATEST + 1e-3)).all()
    assert (abs(told[:, along]).max(axis=1) < (
        COUNTED_ON / 2.0 ** 0.5 * across[:, 1] + 1e-3)).all()
    seen = np.median(forces[:, 0], axis=0)
    assert np.linalg.norm(seen[along]) < FRICTION * (seen @ normal)
    return np.median(across, axis=0)


def withstands_a_push(robot, direction):
    robot.push(direction)
    assert np.linalg.norm(robot.balance.error[:2]) > 4e-3
    robot.run(1.9)
    assert np.linalg.norm(robot.balance.error[:2]) < 0.01
    assert robot.feet_moved < 0.01
    assert robot.slipped < 0.06


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
    seen, told = forces_of_leaning(robot, TOE + 0.005)
    assert abs(robot.balance.error[0]) < 4e-3
    weight = 9.81 * robot.model.nodes['mass'].sum()
    assert seen > weight * (TOE + 0.004 - SAFE * TOE) / robot.place[2]
    assert seen == pytest.approx(told, rel=0.15)
    assert robot.feet_moved < 3e-3


@pytest.mark.parametrize('direction', range(0, 360, 60))
@apart
def test_a_push_at_the_pelvis_while_it_leans(leaning, direction):
    """An impulse of 0.2 m/s times the mass within 0.1 s; towards the wall the wall is needed."""
    robot = leaning
    robot.forces.clear()
    withstands_a_push(robot, direction)
    assert direction != 0 or -np.array(robot.forces)[:, 0, 0].min() > 90.0


@apart
def test_it_leans_on_a_table_beyond_its_toes(at_a_table):
    """The hand presses down, ahead of the feet, as far as friction and the bounds allow."""
    robot = at_a_table
    seen, told = forces_of_leaning(robot, TOE + 0.02)
    assert np.linalg.norm(robot.balance.error[:2]) < 6e-3
    # Moments about the toes, as of a hand and feet that exert no force along the ground.
    weight = 9.81 * robot.model.nodes['mass'].sum()
    assert seen > weight * 0.015 / (robot.place[0] - TOE)
    assert seen == pytest.approx(told, rel=0.1)
    assert robot.feet_moved < 5e-3


@pytest.mark.parametrize('direction', range(0, 360, 60))
@apart
def test_a_push_at_the_pelvis_at_a_table(at_a_table, direction):
    withstands_a_push(at_a_table, direction)


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
    assert robot.slipped < 0.06
    assert 0 < missed < 4

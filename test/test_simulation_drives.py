# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Drives that die and brakes that come on, while the simulated robot moves."""

import re

import numpy as np
import pytest
import robots
from test_simulation_robot import DUAL_ARM, PLANAR

from opspace_control.errors import SimulationError
from opspace_control.simulation import SimulatedRobot

EFFORTS = np.linspace(-3.0, 3.0, 17)
POSTURE = {'l_elbow': -0.9, 'r_elbow': -0.4, 'l_shoulder_pitch': 0.3, 'torso_pitch': 0.1}


def moving_robot():
    robot = SimulatedRobot(DUAL_ARM)
    robot.set_effort(EFFORTS)
    robot.step(50)
    return robot


@pytest.fixture
def robot():
    return moving_robot()


def index(robot, name):
    return robot.joint_names.index(name)


class TestDeadDrive:

    def test_applies_nothing_whatever_is_commanded(self, robot):
        elbow = index(robot, 'l_elbow')
        alive = moving_robot()
        alive.set_effort({'l_elbow': 0.0})
        robot.set_status(passive=['l_elbow'])
        assert robot.efforts[elbow] == 0.0
        np.testing.assert_array_equal(np.delete(robot.efforts, elbow), np.delete(EFFORTS, elbow))
        np.testing.assert_array_equal(robot.accelerations(), alive.accelerations())
        robot.set_effort(EFFORTS)
        assert robot.efforts[elbow] == 0.0

    def test_comes_back(self, robot):
        robot.set_status(passive=['l_elbow', 'r_elbow'])
        robot.set_status(passive=['r_elbow'])
        robot.set_effort(EFFORTS)
        assert robot.efforts[index(robot, 'l_elbow')] == EFFORTS[index(robot, 'l_elbow')]
        assert robot.efforts[index(robot, 'r_elbow')] == 0.0
        robot.reset()
        robot.set_effort(EFFORTS)
        np.testing.assert_array_equal(robot.efforts, EFFORTS)


    def test_has_the_friction_that_one_that_works_overcomes(self):
        text = robots.chain('revolute', 'revolute', inner='<dynamics damping="5" friction="2"/>')
        robot, rubbing = SimulatedRobot(text, joint_friction=False), SimulatedRobot(text)
        free = SimulatedRobot(re.sub('<dynamics.*?/>', '', text))

        def motion(robot):
            robot.reset(velocities={'j1': 1.0, 'j2': -1.0})
            if robot is not free and robot is not rubbing:
                robot.set_status(passive=dead)
            return robot.accelerations()

        dead = []
        np.testing.assert_array_equal(motion(robot), motion(free))
        dead = ['j1', 'j2']
        np.testing.assert_array_equal(motion(robot), motion(rubbing))
        dead = ['j2']
        slow = motion(robot)
        assert abs(slow - motion(free)).max() > 1.0
        assert abs(slow - motion(rubbing)).max() > 1.0


class TestBrake:

    def test_stops_a_joint_that_moves_and_holds_it_there(self, robot):
        elbow = index(robot, 'l_elbow')
        robot.set_effort({'l_elbow': 8.0})
        robot.step(100)
        before = robot.velocities[elbow]
        assert abs(before) > 0.5
        robot.set_status(locked=['l_elbow'])
        at = robot.positions[elbow]
        robot.step(20)
        assert abs(robot.velocities[elbow]) < 0.02 * abs(before)
        robot.set_effort({'l_elbow': 50.0})
        robot.step(300)
        assert robot.positions[elbow] == pytest.approx(at, abs=5e-3)
        assert abs(robot.positions[index(robot, 'r_elbow')]) > 0.05
        # It does not creep.
        held = robot.positions[elbow]
        robot.step(300)
        assert robot.positions[elbow] == pytest.approx(held, abs=1e-3)

    def test_stays_where_it_is_when_others_change(self, robot):
        elbow = index(robot, 'l_elbow')
        robot.set_status(locked=['l_elbow'])
        robot.step(50)
        held = robot.positions[elbow]
        robot.set_status(locked=['l_elbow', 'r_elbow'], passive=['torso_yaw'])
        robot.set_status(passive=[])
        robot.step(50)
        assert robot.positions[elbow] == pytest.approx(held, abs=1e-4)
        robot.set_status(locked=[])
        robot.step(100)
        assert abs(robot.positions[elbow] - held) > 0.01

    def test_is_off_after_a_reset(self, robot):
        robot.set_status(locked=['l_elbow'])
        robot.reset({'l_elbow': -1.0})
        free = SimulatedRobot(DUAL_ARM)
        free.reset({'l_elbow': -1.0})
        for each in (robot, free):
            each.step(100)
        np.testing.assert_array_equal(robot.positions, free.positions)

    def test_holds_all_of_a_joint_or_one_degree_of_freedom(self):
        robot = SimulatedRobot(PLANAR)
        robot.set_status(locked=['wheels'])
        robot.set_effort({'wheels/x': 5.0, 'wheels/rz': 2.0})
        robot.step(200)
        assert abs(robot.positions[:3]).max() < 1e-3
        robot.set_status(locked=['wheels/rz'])
        robot.step(200)
        assert abs(robot.positions[0]) > 0.01
        assert abs(robot.positions[2]) < 1e-3


@pytest.mark.parametrize('which', ['passive', 'locked'])
def test_unknown_joints_are_refused(robot, which):
    with pytest.raises(SimulationError, match="'l_elbow'"):
        robot.set_status(**{which: ['l_elbov']})


def test_a_welded_joint_may_be_named_too():
    robot = SimulatedRobot(robots.chain('revolute', 'revolute'), locked_joints=['j1'])
    robot.set_status(locked=['j1'], passive=['j1'])
    robot.step(10)
    assert robot.positions[0] == 0.0


class TestPositions:
    """Drives of DUAL_ARM that are given positions, while gravity pulls."""

    @pytest.fixture
    def held(self):
        robot = SimulatedRobot(DUAL_ARM)
        robot.reset(POSTURE)
        self.everywhere = dict(zip(robot.joint_names, robot.positions, strict=True))
        robot.set_position(self.everywhere)
        robot.step(300)
        return robot

    def test_are_held_with_the_efforts_that_are_told(self, held):
        np.testing.assert_allclose(held.positions, list(self.everywhere.values()), atol=1e-3)
        assert abs(held.efforts).max() > 5.0
        efforts = held.efforts
        held.set_position({})
        held.set_effort(efforts)
        np.testing.assert_allclose(held.accelerations(), 0.0, atol=0.05)
        np.testing.assert_array_equal(held.efforts, efforts)

    def test_are_followed(self, held):
        for k in range(500):
            held.set_position({**self.everywhere, 'l_elbow': -0.9 + 0.001 * k})
            held.step()
        there = held.positions[index(held, 'l_elbow')]
        assert there == pytest.approx(-0.9 + 0.499, abs=5e-3)

    def test_are_those_of_the_joints_that_are_named(self, held):
        held.set_effort({'l_elbow': 3.0})
        assert held.efforts[index(held, 'l_elbow')] != 3.0
        held.set_position({'r_elbow': -0.4})
        held.set_effort({'l_elbow': 3.0})
        assert held.efforts[index(held, 'l_elbow')] == 3.0
        held.step(100)
        assert held.positions[index(held, 'r_elbow')] == pytest.approx(-0.4, abs=5e-3)
        assert abs(held.positions[index(held, 'l_elbow')] + 0.9) > 0.05

    def test_are_nothing_to_a_dead_drive_and_a_brake(self, held):
        held.set_status(passive=['l_elbow'], locked=['r_elbow'])
        held.set_position({**self.everywhere, 'r_elbow': -0.8})
        held.step(100)
        assert held.efforts[index(held, 'l_elbow')] == 0.0
        assert abs(held.positions[index(held, 'l_elbow')] + 0.9) > 0.05
        assert held.positions[index(held, 'r_elbow')] == pytest.approx(-0.4, abs=5e-3)
        held.set_status(passive=[], locked=[])
        held.step(100)
        assert held.positions[index(held, 'r_elbow')] == pytest.approx(-0.8, abs=5e-3)

    def test_are_forgotten_by_a_reset(self, held):
        held.reset(POSTURE)
        free = SimulatedRobot(DUAL_ARM)
        free.reset(POSTURE)
        for each in (held, free):
            each.step(100)
        np.testing.assert_array_equal(held.positions, free.positions)

    @pytest.mark.parametrize('wrong', [{'l_elbov': 0.0}, {'l_elbow': np.nan}])
    def test_mistakes_change_nothing(self, held, wrong):
        with pytest.raises(SimulationError, match='l_elbo'):
            held.set_position(wrong)
        held.step(50)
        np.testing.assert_allclose(held.positions, list(self.everywhere.values()), atol=1e-3)

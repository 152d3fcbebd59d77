# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the simulated robot measures, held against Pinocchio and against statics."""

from pathlib import Path

import numpy as np
import pinocchio
import pytest
import robots
from oracles import joint_of_frame
from test_simulation_robot import DUAL_ARM, GRAVITY, HUMANOID, Oracle, frictionless, random_state

from opspace_control.errors import SimulationError
from opspace_control.simulation import SimulatedRobot

URDF = Path(__file__).parents[1] / 'urdf'
PUSH = np.array([3.0, -2.0, 1.0, 0.2, 0.1, -0.3])


class TestWrench:

    @pytest.mark.parametrize('link', ['l_forearm', 'l_palm', 'torso'])
    def test_is_what_newton_euler_finds_at_the_joint(self, link):
        """In motion, with efforts, and pushed at the hand: minus the force that moves the rest."""
        text = frictionless(DUAL_ARM)
        robot, oracle = SimulatedRobot(text, wrench_sensors=[link]), Oracle(text)
        positions, velocities, efforts = random_state(robot)
        robot.reset(positions, velocities)
        robot.set_effort(efforts)
        robot.apply_wrench('l_hand', PUSH)
        accelerations = robot.accelerations()
        names = robot.joint_names
        q, (_, order) = oracle.q(names, positions), oracle.indices(names)
        v, a = np.zeros(oracle.model.nv), np.zeros(oracle.model.nv)
        v[order], a[order] = velocities, accelerations
        pinocchio.framesForwardKinematics(oracle.model, oracle.data, q)
        hand = oracle.model.frames[oracle.model.getFrameId('l_hand')]
        rotation = oracle.data.oMf[oracle.model.getFrameId('l_hand')].rotation
        forces = pinocchio.StdVec_Force()
        for _ in range(oracle.model.njoints):
            forces.append(pinocchio.Force.Zero())
        forces[joint_of_frame(hand)] = hand.placement.act(
            pinocchio.Force(rotation.T @ PUSH[:3], rotation.T @ PUSH[3:]))
        pinocchio.rnea(oracle.model, oracle.data, q, v, a, forces)
        joint = joint_of_frame(oracle.model.frames[oracle.model.getBodyId(link)])
        expected = -oracle.data.f[joint].vector
        np.testing.assert_allclose(robot.wrench(link), expected, rtol=0.0,
                                   atol=1e-8 * abs(expected).max())

    def test_a_hand_at_rest_shows_its_weight_in_its_own_axes(self):
        """As a sensor in a wrist does: what hangs on it pulls down. The frame is turned."""
        text = robots.robot(
            robots.link('base'), robots.link('arm'), robots.link('wrist', None),
            robots.link('hand', 2.0, inner='<origin xyz="0.1 0 0"/>'),
            robots.joint('j', 'base', 'arm', inner='<axis xyz="0 1 0"/>'),
            robots.joint('flange', 'arm', 'wrist', 'fixed',
                         '<origin xyz="0.3 0 0" rpy="0 1.5707963267948966 0"/>'),
            robots.joint('mount', 'wrist', 'hand', 'fixed'))
        robot = SimulatedRobot(text, locked_joints=['j'], wrench_sensors=['wrist'])
        robot.step(2)
        # The wrist's x axis points down, and its z axis ahead.
        np.testing.assert_allclose(robot.wrench('wrist'), [2.0 * GRAVITY, 0, 0, 0, 0, 0],
                                   atol=1e-6)
        robot.apply_wrench('hand', [0.0, 5.0, 0.0, 0.0, 0.0, 0.0])
        robot.step(2)
        np.testing.assert_allclose(robot.wrench('wrist'), [2.0 * GRAVITY, 5, 0, 0, 0, 0],
                                   atol=1e-6)

    def test_only_where_there_is_a_sensor(self):
        with pytest.raises(SimulationError, match='wrench_sensors'):
            SimulatedRobot(DUAL_ARM).wrench('l_hand')
        with pytest.raises(SimulationError, match="Did you mean 'l_hand'"):
            SimulatedRobot(DUAL_ARM, wrench_sensors=['l_hnad'])


BOX = robots.robot(
    robots.link('body', 3.0, inner='<origin xyz="0.1 0.05 0"/>') + robots.link('sole', None),
    robots.joint('ankle', 'body', 'sole', 'fixed',
                 '<origin xyz="0 0 -0.2" rpy="0 0 1.5707963267948966"/>')).replace(
    '</link>', '<collision><geometry><box size="0.6 0.6 0.4"/></geometry></collision></link>', 1)


class TestContactWrench:

    @pytest.fixture
    def robot(self):
        robot = SimulatedRobot(BOX, floating_base=True, floor=True)
        robot.reset(base_pose=[0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0])
        return robot

    def test_carries_the_weight_and_what_pushes(self, robot):
        """About the sole's origin and in its axes, a quarter of a turn from those of the world."""
        robot.apply_wrench('body', [4.0, -2.0, 0.0, 0.0, 0.0, 1.5])
        robot.step(2000)
        assert abs(robot.base_twist).max() < 1e-2
        weight = 3.0 * GRAVITY
        # The floor's answer, in world axes: the moment about the sole, 0.2 m below the push.
        force = np.array([-4.0, 2.0, weight])
        center, height = np.array([0.1, 0.05]), 0.2
        moment = np.array([center[1] * weight - height * 2.0, -center[0] * weight - height * 4.0,
                           -1.5])
        turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        expected = np.concatenate([turned.T @ force, turned.T @ moment])
        np.testing.assert_allclose(robot.contact_wrench('sole'), expected, atol=0.02)
        np.testing.assert_allclose(robot.contact_wrench('body')[:3], force, atol=0.02)

    def test_is_zero_in_the_air(self, robot):
        robot.reset(base_pose=[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])
        robot.step(10)
        np.testing.assert_array_equal(robot.contact_wrench('sole'), 0.0)
        with pytest.raises(SimulationError, match='sole'):
            robot.contact_wrench('soul')


class TestMomentum:

    def test_is_pinocchios(self):
        text = frictionless(HUMANOID)
        robot, oracle = SimulatedRobot(text, floating_base=True), Oracle(text, floating_base=True)
        positions, velocities, _ = random_state(robot)
        pose = np.array([1.0, 2.0, 3.0, *(np.array([0.1, -0.2, 0.3, 0.9]) / np.sqrt(0.95))])
        twist = np.array([0.3, -0.2, 0.1, 0.6, 0.5, -0.4])
        robot.reset(positions, velocities, base_pose=pose, base_twist=twist)
        q, (_, order) = oracle.q(robot.joint_names, positions), oracle.indices(robot.joint_names)
        q[:7] = pose
        rotation = pinocchio.Quaternion(pose[3:]).matrix()
        v = np.zeros(oracle.model.nv)
        v[:3], v[3:6], v[order] = rotation.T @ twist[:3], rotation.T @ twist[3:], velocities
        about_center = pinocchio.computeCentroidalMomentum(oracle.model, oracle.data, q, v)
        point = np.array([0.5, -1.0, 2.0])
        arm = oracle.data.com[0] - point
        expected = np.concatenate([
            about_center.linear, about_center.angular + np.cross(arm, about_center.linear)])
        np.testing.assert_allclose(robot.momentum(point), expected, rtol=1e-9)
        parts = sum(robot.momentum(point, link) for link in robot.link_names)
        np.testing.assert_allclose(parts, expected, rtol=1e-9)

    def test_is_conserved_without_gravity_about_a_point_that_stays(self):
        robot = SimulatedRobot(frictionless(DUAL_ARM), floating_base=True, gravity=np.zeros(3))
        positions, velocities, _ = random_state(robot)
        robot.reset(0.3 * positions, 0.3 * velocities, base_twist=[0.3, -0.2, 0.1, 0.3, 0.2, -0.2])
        start, base = robot.momentum(), robot.base_pose
        for k in range(1000):
            robot.set_effort(0.02 * (np.sin(0.006 * k + np.arange(17)) - robot.velocities))
            robot.step()
        assert np.linalg.norm(robot.base_pose[:3] - base[:3]) > 0.2
        np.testing.assert_allclose(robot.momentum(), start, rtol=0.0, atol=2e-4 * abs(start).max())

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Residuals are split into friction, an error of a payload, and contact."""

import numpy as np
import pytest
from robots import robot_file

from opspace_control import (
    DisturbanceObserver,
    JointLimits,
    OperationalSpaceController,
    Payload,
    PoseTask,
    RobotModel,
    RobotState,
    StateError,
)
from opspace_control.identification import ResidualSplitter, residual_parts
from opspace_control.identification.residual_parts import PARTS
from opspace_control.identification.samples import SLOW
from opspace_control.model.bodies import attach_payloads
from opspace_control.simulation import Reality, SimulatedRobot
from opspace_control.simulation.lockstep import LockStep
from opspace_control.spatial.rotations import matrix_from_vector

PANDA = RobotModel.from_urdf_file(
    robot_file('panda.urdf'), locked_joints=['panda_finger_joint1'])
HAND = 'panda_hand'
HOME = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.7, 0.78, 0.0])
FREE = ~PANDA.locked
COULOMB = np.where(FREE, 0.03 * PANDA.effort_limits, 0.0)
VISCOUS = 0.3 * COULOMB
LOAD = Payload.of_box(1.5, (0.1, 0.06, 0.2), (0.02, -0.03, 0.1))
RATE = 50.0  # 1/s, of the observer
FORCE = np.array([5.0, -8.0, 12.0, 0.5, 0.2, -0.4])


def loaded():
    """Return the model with the payload."""
    model = RobotModel.from_urdf_file(
        robot_file('panda.urdf'), locked_joints=['panda_finger_joint1'])
    nodes = model.nodes.copy()
    attach_payloads(nodes, model.nodes, [(model.frames[model.frame_index(HAND)], LOAD)])
    object.__setattr__(model, 'nodes', nodes)
    return model


def measured(spread, speed, touched, noise=0.0):
    """Return states of a slow motion, and their residuals; a third of them touch something."""
    rng, truth = np.random.default_rng(0), loaded()
    states, residuals = [], []
    for k in range(120):
        q = HOME + np.where(FREE, rng.uniform(-spread, spread, PANDA.nv), 0.0)
        v = np.where(FREE, rng.uniform(-speed, speed, PANDA.nv), 0.0)
        v[PANDA.dof_index('panda_joint1')] = 0.0
        state = RobotState(PANDA, q, v)
        r = PANDA.gravity(state) - truth.gravity(RobotState(truth, q, v))
        # Dry friction of a joint that hardly moves is anything.
        r -= COULOMB * np.where(abs(v) > SLOW, 1.0, rng.uniform(-1.0, 1.0, PANDA.nv)) * np.sign(v)
        r -= VISCOUS * v
        if touched and k % 3 == 0:
            r += PANDA.jacobian(state, HAND).T @ FORCE
        states.append(state)
        residuals.append(np.where(FREE, r + noise * rng.normal(size=PANDA.nv), 0.0))
    return states, residuals


@pytest.mark.parametrize(('noise', 'tolerance'), [(0.0, 1e-4), (0.05, 0.1)])
def test_friction_payload_and_contact_are_told_apart(noise, tolerance):
    parts = residual_parts(PANDA, *measured(0.6, 0.8, True, noise), HAND)
    moved = FREE.copy()
    moved[PANDA.dof_index('panda_joint1')] = False
    assert np.isnan(parts.coulomb[~moved]).all() and np.isnan(parts.viscous[~moved]).all()
    np.testing.assert_allclose(parts.coulomb[moved], COULOMB[moved], rtol=tolerance,
                               atol=0.5 * tolerance)
    assert parts.mass == pytest.approx(LOAD.mass, rel=tolerance)
    np.testing.assert_allclose(parts.moment, LOAD.mass * LOAD.center_of_mass, atol=tolerance)
    touching = np.arange(120) % 3 == 0
    # What slow joints may have as friction is missing in the wrench of some states.
    np.testing.assert_allclose(np.median(parts.contact[touching], axis=0), FORCE,
                               atol=0.2 + 10.0 * tolerance)
    assert np.median(np.linalg.norm(parts.contact[~touching], axis=1)) < 20.0 * tolerance


def test_one_posture_tells_no_centre_of_mass_along_gravity():
    parts = residual_parts(PANDA, *measured(0.0, 0.8, False), HAND)
    assert np.isnan(parts.moment).any()
    assert parts.mass == pytest.approx(LOAD.mass, rel=1e-6) or np.isnan(parts.mass)


def filtered(states, residuals, repeated=20):
    """Yield time, state and residual behind the observer's filter, each state for 0.2 s."""
    r = np.zeros(PANDA.nv)
    for k, (state, residual) in enumerate(zip(states, residuals, strict=True)):
        for step in range(repeated):
            r = residual + np.exp(-RATE * 0.01) * (r - residual)
            yield 0.01 * (repeated * k + step), state, r


def test_a_residual_is_split_while_the_robot_moves():
    states, residuals = measured(0.6, 0.8, True)
    splitter = ResidualSplitter(PANDA, [HAND], RATE, span=24.0, interval=0.1)
    found = []
    for time, state, r in filtered(states, residuals):
        parts = splitter.split(time, state, r)
        np.testing.assert_allclose(sum(parts.values()), r, atol=1e-9)
        found.append(parts)
    for k in range(90, 120):
        parts, v = found[20 * k + 19], states[k].v
        fast = abs(v) > SLOW
        np.testing.assert_allclose(
            parts['friction'][fast], (-COULOMB * np.sign(v) - VISCOUS * v)[fast], atol=0.03)
        contact = PANDA.jacobian(states[k], HAND).T @ FORCE if k % 3 == 0 else np.zeros(PANDA.nv)
        np.testing.assert_allclose(
            parts['contact'][fast], np.where(FREE, contact, 0.0)[fast], atol=0.1)
        # What a slow joint may have as friction is no contact.
        assert (abs(parts['contact'])[~fast] <= abs(contact)[~fast] + 0.1).all()
    # A payload that is gone is forgotten with the time span; a clock that goes back begins anew.
    free = [RobotState(PANDA, state.q, np.where(FREE, 0.5, 0.0)) for state in states]
    for time, state, _ in filtered(free * 2, residuals * 2):
        parts = splitter.split(30.0 + time, state, np.zeros(PANDA.nv))
    assert all(abs(part).max() < 1e-6 for part in parts.values())
    parts = splitter.split(0.0, states[0], residuals[0])
    np.testing.assert_allclose(sum(parts.values()), residuals[0], atol=1e-9)


class Simulated:
    """A simulated Panda by its URDF but for a `Reality`, an observer, and a splitter at 50 Hz."""

    def __init__(self, reality):
        text = robot_file('panda.urdf').read_text()
        robot = SimulatedRobot(text, joint_friction=False, reality=reality,
                               locked_joints=['panda_finger_joint1'])
        robot.reset(dict(zip(PANDA.dof_names, HOME, strict=True)))
        self.task = PoseTask(HAND, max_linear_velocity=0.4, max_angular_velocity=1.5)
        controller = OperationalSpaceController(PANDA, [self.task], limits=JointLimits(PANDA))
        controller.disturbance = DisturbanceObserver(20.0, max_force=10.0, max_moment=2.0)
        self.lockstep, self.observer = LockStep(robot, controller), controller.momentum_observer(
            RATE)
        self.splitter, self._exerted = ResidualSplitter(PANDA, [HAND], RATE), np.zeros(PANDA.nv)
        self.home = PANDA.forward_kinematics(self.lockstep.state, HAND)[HAND]

    def run(self, seconds, force=0.0):
        """Return friction, payload and contact, (3, k, 7), under a force upwards at the hand."""
        parts, robot = [], self.lockstep.simulated
        for k in range(round(1e3 * seconds)):
            effort = self.lockstep.cycle()
            self.observer.update(self.lockstep.state, self._exerted, 1e-3)
            self._exerted = effort.copy()
            robot.apply_wrench(HAND, [0.0, 0.0, force, 0.0, 0.0, 0.0])
            robot.step()
            if k % 20 == 0:
                found = self.splitter.split(robot.time, self.lockstep.state, self.observer.residual)
                parts.append([found[part][FREE] for part in PARTS])
        return np.array(parts).transpose(1, 0, 2)

    def go(self, number):
        """Send the hand up to 0.25 m and 1 rad away from home."""
        rng, goal = np.random.default_rng(number), self.home.copy()
        goal[:3, 3] += rng.uniform(-0.15, 0.15, 3)
        goal[:3, :3] = matrix_from_vector(rng.uniform(-0.6, 0.6, 3)) @ goal[:3, :3]
        self.task.set_target(goal)


@pytest.mark.parametrize('coulomb_ratio', [0.0, 0.03])
def test_noise_at_rest_is_neither_friction_nor_payload(coulomb_ratio):
    friction, payload, contact = Simulated(
        Reality(velocity_noise=0.01, coulomb_ratio=coulomb_ratio)).run(4.0)
    assert not friction.any() and not payload.any()
    assert contact.std(axis=0).max() > 0.3


@pytest.mark.parametrize(('noise', 'contact_bound', 'friction_bound'), [
    (0.0, 0.02, 0.02), (0.01, 0.35, 0.3)])
def test_friction_from_goal_to_goal_is_no_contact(noise, contact_bound, friction_bound):
    """
    Bounds are in parts of the Coulomb friction, of means of sizes; contact is told afterwards.

    Nothing but friction acts: payload and contact are noise, and friction is that of the drives.
    """
    robot = Simulated(Reality(velocity_noise=noise, coulomb_ratio=0.03))
    true = COULOMB[FREE]
    found = []
    for number in range(12):
        robot.go(number)
        found.append(robot.run(2.0))
    friction, payload, contact = np.concatenate(found[6:], axis=1)
    assert (abs(contact).mean(axis=0) < contact_bound * true).all()
    assert (abs(payload).mean(axis=0) < 0.2 * true).all()
    assert (abs(friction) < (1.0 + friction_bound) * true + 1e-9).all()
    assert (abs(friction).max(axis=0) > (1.0 - friction_bound) * true).all()
    # A hand that pulls the arm up at rest is contact, but for what its friction carries.
    _, payload, contact = robot.run(1.0, force=40.0)
    pulled = (PANDA.jacobian(robot.lockstep.state, HAND).T @ [0, 0, 40.0, 0, 0, 0])[FREE]
    left = abs(pulled) - 2.0 * true
    strong = left > 0.0
    assert strong.any()
    assert (np.sign(pulled) * contact[-20:].mean(axis=0))[strong] == pytest.approx(
        (abs(pulled) - true)[strong], abs=1.3 * true.max())


def test_joints_with_brakes_have_no_part():
    states, residuals = measured(0.6, 0.8, True)
    splitter, locked = ResidualSplitter(PANDA, [HAND], RATE), ~FREE
    locked[1] = True
    for k, state in enumerate(states):
        parts = splitter.split(0.1 * k, state, np.where(locked, 0.0, residuals[k]), locked)
    assert all((part[locked] == 0.0).all() for part in parts.values())


def test_what_is_refused():
    states, residuals = measured(0.1, 0.1, False)
    for bad in (residuals[:-1], np.full((120, PANDA.nv), np.nan)):
        with pytest.raises(StateError, match='residuals = '):
            residual_parts(PANDA, states, bad, HAND)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Efforts for a robot that is not controlled."""

import math

import numpy as np
import pytest

from opspace_control import Contact, OperationalSpaceController, RobotModel, RobotState
from opspace_control.control.brake import Brake
from opspace_control.control.controller import DAMPING_RATE
from opspace_control.share import share_directory

MODEL = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')


@pytest.fixture
def controller():
    return OperationalSpaceController(MODEL)


@pytest.fixture
def state():
    rng = np.random.default_rng(0)
    return RobotState(MODEL, 0.3 * rng.normal(size=MODEL.nq), 0.1 * rng.normal(size=MODEL.nv))


def damping(controller, state):
    """Return ``−rate A v`` of active joints (nv,), by the mass matrix, shrunk to effort limits."""
    active = ~controller.passive & ~controller.locked & (controller.effort_limits > 0.0)
    A = controller.model.mass_matrix(state)
    tau = np.where(active, -DAMPING_RATE * A @ np.where(active, state.v, 0.0), 0.0)
    return tau / max(1.0, (abs(tau) / controller.effort_limits)[active].max())


@pytest.fixture
def out():
    return np.full(MODEL.nv, np.nan)


def test_weight_is_gravity_unless_the_hardware_carries_it(controller, state, out):
    Brake(controller).weight(state, out)
    np.testing.assert_array_equal(out, MODEL.gravity(state))
    controller.gravity_compensation = False
    Brake(controller).weight(state, out)
    np.testing.assert_array_equal(out, 0.0)


def test_carry_takes_energy_out_of_any_motion_and_holds_the_robot(controller, state, out):
    Brake(controller).gravity_hold(state, out)
    damps = out - MODEL.gravity(state)
    np.testing.assert_allclose(damps, damping(controller, state), atol=1e-9)
    assert damps @ state.v < 0.0


class TestHold:
    """About where it began, which is where the robot is at the first call."""

    @staticmethod
    def at(model, q):
        return RobotState(model, q, np.zeros(model.nv))

    def impedance(self, controller, q, start=None):
        """Return what is commanded at q, beside the weight, of a hold that began elsewhere."""
        brake, out = Brake(controller), np.empty(controller.model.nv)
        for positions in (q if start is None else start, q):
            brake.gravity_hold(self.at(controller.model, positions), out)
        return out - controller.model.gravity(self.at(controller.model, q))

    def test_a_robot_that_is_elsewhere_returns_like_a_critically_damped_one(self, controller):
        rng = np.random.default_rng(1)
        start = 0.3 * rng.normal(size=MODEL.nq)
        away = rng.uniform(-0.02, 0.02, MODEL.nv)
        expected = -0.25 * DAMPING_RATE ** 2 * MODEL.mass_matrix(
            self.at(MODEL, start + away)) @ away
        np.testing.assert_allclose(
            self.impedance(controller, start + away, start), expected, atol=1e-9)

    @pytest.mark.parametrize('interrupt', [
        Brake.forget, lambda brake: brake.damp(RobotState(
            MODEL, MODEL.neutral(), np.zeros(MODEL.nv)), 0.0, 1.0, np.empty(MODEL.nv))])
    def test_it_begins_without_stiffness_each_time(self, controller, interrupt):
        brake, out = Brake(controller), np.empty(MODEL.nv)
        for position in (0.0, 0.05):
            state = self.at(MODEL, np.full(MODEL.nq, position))
            brake.gravity_hold(state, out)
        assert abs(out - MODEL.gravity(state)).max() > 0.1
        interrupt(brake)
        brake.gravity_hold(state, out)
        np.testing.assert_array_equal(out, MODEL.gravity(state))

    def test_its_effort_is_bounded_however_far_the_robot_is_moved(self, controller):
        brake, out = Brake(controller), np.empty(MODEL.nv)
        for position in np.linspace(0.0, 20.0, 400):
            state = self.at(MODEL, np.r_[0.0, position, np.zeros(MODEL.nq - 2)])
            brake.gravity_hold(state, out)
        impedance = abs(out - MODEL.gravity(state)) / MODEL.effort_limits
        assert 0.99 < impedance.max() <= 1.0 + 1e-9

    def test_a_reading_that_jumps_is_no_motion(self, controller):
        zero, jumped = np.zeros(MODEL.nq), np.r_[0.3, np.zeros(MODEL.nq - 1)]
        np.testing.assert_array_equal(self.impedance(controller, jumped, zero), 0.0)

    def test_an_encoder_that_wraps_is_none(self):
        model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'free_flyer.urdf')
        k = int(np.flatnonzero(model.turns_freely)[0])
        before, after = model.neutral(), model.neutral()
        before[model.q_index[k]], after[model.q_index[k]] = 3.13, -3.13
        controller = OperationalSpaceController(model)
        there = before.copy()
        there[model.q_index[k]] = 3.13 + 2.0 * (math.pi - 3.13)
        np.testing.assert_allclose(self.impedance(controller, after, before),
                                   self.impedance(controller, there, before), atol=1e-9)
        assert self.impedance(controller, after, before).any()

    def test_joints_without_a_drive_have_none_and_move_no_others(self, controller):
        zero = np.zeros(MODEL.nq)
        away = np.zeros(MODEL.nq)
        away[[4, 6]] = 0.05
        names = [MODEL.dof_names[k] for k in (4, 6)]
        assert self.impedance(controller, away, zero).any()
        controller.set_status(passive_joints=names[:1], locked_joints=names[1:])
        out = np.empty(MODEL.nv)
        brake = Brake(controller)
        for q in (zero, away):
            brake.gravity_hold(self.at(MODEL, q), out)
        weight = MODEL.gravity(self.at(MODEL, away))
        weight[[4, 6]] = 0.0
        np.testing.assert_array_equal(out, weight)

    def test_a_base_that_floats_pulls_at_nothing(self):
        model = RobotModel.from_urdf_file(
            share_directory() / 'urdf' / 'free_flyer_3d.urdf', floating_base=True,
            passive_joints=['base'])
        controller = OperationalSpaceController(model)
        away = model.integrate(model.neutral(), np.r_[np.full(6, 0.05), np.zeros(model.nv - 6)], 1)
        out, weight = np.empty(model.nv), np.empty(model.nv)
        brake = Brake(controller)
        for q in (model.neutral(), away):
            brake.gravity_hold(self.at(model, q), out)
        brake.weight(self.at(model, away), weight)
        np.testing.assert_array_equal(out, weight)


def test_what_legs_carry_is_damped_by_a_present_velocity_alone():
    model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf',
                                      floating_base=True, passive_joints=('base',))
    controller = OperationalSpaceController(model, constraints=[Contact('l_hand', kind='point')])
    v = np.zeros(model.nv)
    v[6:] = 0.01
    state, out, brake = RobotState(model, model.neutral(), v), np.empty(model.nv), Brake(controller)
    own = damping(controller, state)
    brake.damp(state, 0.0, 1.0, out)
    J = model.jacobian(state, 'l_hand')[:3, 6:]
    carried = DAMPING_RATE * model.nodes['mass'].sum() * J.T @ (J @ v[6:])
    np.testing.assert_allclose(out[6:], own[6:] - carried)
    brake.damp(state, 0.06, 1.0, out)
    np.testing.assert_allclose(out, math.exp(-0.06 * DAMPING_RATE) * own)


def test_damping_acts_on_what_is_left_of_a_motion(controller, state, out):
    brake = Brake(controller)
    brake.damp(state, 0.0, 1.0, out)
    np.testing.assert_allclose(out, damping(controller, state), atol=1e-9)
    np.testing.assert_array_equal(out, controller.damping_torque(state))
    before = out.copy()
    brake.damp(state, 0.2, 0.5, out)
    np.testing.assert_allclose(out, 0.5 * math.exp(-0.2 * DAMPING_RATE) * before)
    brake.damp(state, 0.2, 0.0, out)
    np.testing.assert_array_equal(out, 0.0)

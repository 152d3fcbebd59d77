# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Each effect of a `Reality`, against its known value."""

import math

import numpy as np
import pytest
import robots

from opspace_control.errors import SimulationError
from opspace_control.simulation import Reality, SimulatedRobot

LIMITS = '<limit effort="50" velocity="5" lower="-9" upper="9"/>'
INERTIA, LIMIT = 0.1, 50.0  # kg m² and N·m, of each joint of ONE
ONE = robots.chain('revolute', inner=LIMITS)
THREE = robots.chain('revolute', 'revolute', 'prismatic', inner=LIMITS)
FLOATING = {'floating_base': True, 'gravity': (0.0, 0.0, 0.0)}
DT = 1e-3


def weightless(text=ONE, **reality):
    return SimulatedRobot(text, gravity=(0.0, 0.0, 0.0), timestep=DT, reality=Reality(**reality))


def rotation_angles(quaternions):
    return 2.0 * np.arctan2(np.linalg.norm(quaternions[:, :3], axis=1), quaternions[:, 3])


class TestFriction:

    @pytest.mark.parametrize('reality', [{'coulomb_ratio': 0.04}, {'coulomb': {'j1': 2.0}},
                                         {'coulomb_ratio': 0.5, 'coulomb': {'j1': 2.0}}])
    def test_a_joint_stops_after_the_distance_of_coulomb_friction(self, reality):
        """Kinetic energy I v² / 2 is used up by 2 N·m of friction."""
        robot = weightless(**reality)
        robot.reset(velocities=[1.0])
        robot.step(2000)
        # The first step ends at the velocity that it has then.
        assert robot.positions[0] == pytest.approx(INERTIA / (2 * 2.0), abs=0.51 * DT)
        assert robot.velocities[0] == pytest.approx(0.0, abs=1e-9)

    def test_a_joint_sticks_below_it_and_moves_above_it(self):
        robot = weightless(coulomb_ratio=0.04)
        robot.set_effort([1.9])
        robot.step(1000)
        assert robot.positions[0] == pytest.approx(0.0, abs=1e-5)
        robot.set_effort([2.5])
        assert robot.accelerations()[0] == pytest.approx(0.5 / INERTIA, rel=1e-3)

    @pytest.mark.parametrize('reality', [{'viscous_ratio': 0.01}, {'viscous': {'j1': 0.5}}])
    def test_viscous_friction_brakes_exponentially(self, reality):
        robot = weightless(**reality)
        robot.reset(velocities=[1.0])
        robot.step(400)
        # Implicit in time: by 1 / (1 + b dt / I) in each step.
        assert robot.velocities[0] == pytest.approx((1 + 0.5 * DT / INERTIA) ** -400, rel=1e-6)

    @pytest.mark.parametrize('joint_friction', [True, False])
    def test_it_is_added_to_that_of_the_urdf(self, joint_friction):
        text = robots.chain('revolute', inner=LIMITS + '<dynamics damping="0.3" friction="1"/>')
        robot = SimulatedRobot(text, gravity=(0.0, 0.0, 0.0), joint_friction=joint_friction,
                               reality=Reality(coulomb_ratio=0.04, viscous_ratio=0.01))
        for dead in ([], ['j1']):
            robot.set_status(passive=dead)
            own = joint_friction or bool(dead)
            assert robot.model.dof_frictionloss[0] == pytest.approx(2.0 + own * 1.0)
            assert robot.model.dof_damping[0] == pytest.approx(0.5 + own * 0.3)
        robot.reality = Reality()
        robot.set_status(passive=[])
        assert robot.model.dof_frictionloss[0] == (1.0 if joint_friction else 0.0)

    def test_it_may_end(self):
        """The robot is exactly as one that never had any."""
        text = robots.chain('revolute', inner=LIMITS + '<dynamics damping="0.3" friction="1"/>')
        ideal, other = SimulatedRobot(text), SimulatedRobot(text)
        other.reality = Reality(coulomb_ratio=0.1, viscous_ratio=0.1, mass_deviation=0.2)
        other.reality = Reality()
        for robot in (ideal, other):
            robot.reset(velocities=[0.2])
            robot.step(300)
        np.testing.assert_array_equal(other.positions, ideal.positions)

    def test_a_part_of_no_effort_limit_is_refused(self):
        text = robots.chain('continuous')
        with pytest.raises(SimulationError, match=r"coulomb_ratio: joint 'j1'.*coulomb, by its"):
            weightless(text, coulomb_ratio=0.1)
        assert weightless(text, coulomb_ratio=0.1, coulomb={'j1': 0.5}).drive_friction[0] == 0.5

    def test_an_unknown_joint_is_refused(self):
        with pytest.raises(SimulationError, match=r"viscous friction is given for 'j2'.*j1"):
            weightless(viscous={'j2': 1.0})


class TestMasses:

    def test_masses_and_inertias_are_those_of_the_seed(self):
        nominal, first, again, other = (
            weightless(THREE, mass_deviation=deviation, seed=seed).model
            for deviation, seed in ((0.0, 1), (0.1, 1), (0.1, 1), (0.1, 2)))
        factors = Reality(mass_deviation=0.1, seed=1).mass_factors(4)
        np.testing.assert_allclose(first.body_mass[1:], factors * nominal.body_mass[1:])
        np.testing.assert_allclose(first.body_inertia[1:],
                                   factors[:, None] * nominal.body_inertia[1:])
        np.testing.assert_array_equal(first.body_mass, again.body_mass)
        assert (first.body_mass[1:] != other.body_mass[1:]).all()

    def test_the_motion_is_that_of_the_masses(self):
        robot = weightless(mass_deviation=0.3, seed=3)
        robot.set_effort([1.0])
        factor = Reality(mass_deviation=0.3, seed=3).mass_factors(2)[1]
        assert abs(factor - 1.0) > 0.05
        assert robot.accelerations()[0] == pytest.approx(1.0 / (factor * INERTIA))
        robot.reality = Reality()
        assert robot.accelerations()[0] == pytest.approx(1.0 / INERTIA)

    @pytest.mark.parametrize('deviation', [0.1, 0.5, 1.0])
    def test_factors_have_mean_one_and_the_deviation_and_are_positive(self, deviation):
        factors = Reality(mass_deviation=deviation).mass_factors(200_000)
        assert factors.mean() == pytest.approx(1.0, abs=0.01)
        assert factors.std() == pytest.approx(deviation, rel=0.03)
        assert factors.min() > 0.0


def measured_at_rest(count, text=THREE, **reality):
    """Return the measurements of a robot that stands still, and the robot."""
    robot = weightless(text, **reality)
    robot.reset([0.3, -0.2, 0.1])
    measured = []
    for _ in range(count):
        measured.append(robot.measured)
        robot.step()
    return measured, robot


class TestMeasurements:

    def test_without_a_reality_they_are_the_state(self):
        robot = SimulatedRobot(THREE, **FLOATING)
        robot.reset([0.3, -0.2, 0.1], [1.0, 2.0, 0.5], base_twist=[0.1] * 6)
        robot.step(10)
        seen = robot.measured
        np.testing.assert_array_equal(seen.positions, robot.positions)
        np.testing.assert_array_equal(seen.velocities, robot.velocities)
        np.testing.assert_array_equal(seen.base_pose, robot.base_pose)
        np.testing.assert_array_equal(seen.base_twist, robot.base_twist)
        assert seen.base_time == robot.time == pytest.approx(0.01)

    def test_noise_is_white_and_has_the_deviations(self):
        measured, robot = measured_at_rest(4000, position_noise=2e-3, velocity_noise=0.05)
        for values, truth, deviation in (
                ([each.positions for each in measured], robot.positions, 2e-3),
                ([each.velocities for each in measured], 0.0, 0.05)):
            errors = np.array(values) - truth
            np.testing.assert_allclose(errors.std(axis=0), deviation, rtol=0.05)
            np.testing.assert_allclose(errors.mean(axis=0), 0.0, atol=0.06 * deviation)
            correlated = (errors[1:] * errors[:-1]).mean(axis=0) / deviation ** 2
            np.testing.assert_allclose(correlated, 0.0, atol=0.06)
            assert abs(np.corrcoef(errors.T) - np.eye(3)).max() < 0.06
        # The robot itself has not moved.
        np.testing.assert_allclose(robot.positions, [0.3, -0.2, 0.1], atol=1e-12)

    def test_noise_of_a_base_has_the_deviations(self):
        noise = 0.02, 0.01, 0.1, 0.05
        robot = SimulatedRobot(THREE, **FLOATING, reality=Reality(base_noise=noise))
        turn = math.sin(0.6), 0.0, 0.0, math.cos(0.6)
        robot.reset(base_pose=[1.0, 2.0, 3.0, *turn])
        poses, twists = [], []
        for _ in range(3000):
            poses.append(robot.measured.base_pose)
            twists.append(robot.measured.base_twist)
            robot.step()
        poses, twists = np.array(poses), np.array(twists)
        np.testing.assert_allclose(poses[:, :3].std(axis=0), noise[0], rtol=0.06)
        np.testing.assert_allclose(twists.std(axis=0), np.repeat(noise[2:], 3), rtol=0.06)
        np.testing.assert_allclose(np.linalg.norm(poses[:, 3:], axis=1), 1.0, atol=1e-12)
        x, y, z, w = poses[:, 3:].T
        s, _, _, c = turn
        # By the inverse of the true orientation, from the right.
        away = np.column_stack([c * x - s * w, c * y - s * z, c * z + s * y, c * w + s * x])
        angles = rotation_angles(away)
        assert math.sqrt((angles ** 2).mean() / 3.0) == pytest.approx(noise[1], rel=0.05)

    def test_noise_is_that_of_the_seed_and_of_the_time(self):
        first, _ = measured_at_rest(5, position_noise=0.01, seed=4)
        again, robot = measured_at_rest(5, position_noise=0.01, seed=4)
        other, _ = measured_at_rest(5, position_noise=0.01, seed=5)
        np.testing.assert_array_equal([each.positions for each in first],
                                      [each.positions for each in again])
        assert (first[0].positions != other[0].positions).all()
        np.testing.assert_array_equal(robot.measured.positions, robot.measured.positions)
        robot.reset([0.3, -0.2, 0.1])
        np.testing.assert_array_equal(robot.measured.positions, first[0].positions)

    def test_positions_are_multiples_of_the_resolution(self):
        resolution = 2.0 * math.pi / 4096
        robot = weightless(position_resolution=resolution, position_noise=1e-3)
        robot.reset(velocities=[0.7])
        seen = []
        for _ in range(1000):
            seen.append((robot.measured.positions[0], robot.positions[0]))
            robot.step()
        measured, true = np.array(seen).T
        np.testing.assert_allclose(measured / resolution, np.round(measured / resolution),
                                   atol=1e-9)
        assert len(set(measured.tolist())) > 100
        ideal = weightless(position_resolution=resolution)
        ideal.reset([0.0123])
        assert abs(ideal.measured.positions[0] - 0.0123) <= 0.5 * resolution
        # Uniform rounding adds a variance of resolution² / 12 to that of the noise.
        assert (measured - true).std() == pytest.approx(
            math.hypot(1e-3, resolution / math.sqrt(12.0)), rel=0.1)


class TestDelay:

    @pytest.mark.parametrize(('delay', 'steps'), [(0.002, 2), (0.007, 7), (0.0015, 2)])
    def test_states_are_measured_late(self, delay, steps):
        robot = weightless(state_delay=delay)
        robot.reset(velocities=[2.0])
        true, seen = [], []
        for _ in range(30):
            true.append((robot.positions[0], robot.velocities[0]))
            seen.append((robot.measured.positions[0], robot.measured.velocities[0]))
            robot.set_effort([5.0 * len(true)])
            robot.step()
        np.testing.assert_array_equal(seen[steps:], true[:-steps])
        np.testing.assert_array_equal(seen[:steps], [true[0]] * steps)

    def test_bases_are_measured_late_by_a_delay_of_their_own(self):
        robot = SimulatedRobot(THREE, **FLOATING, reality=Reality(
            base_delay=0.005, state_delay=0.002))
        robot.reset(base_twist=[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], velocities=[1.0, 0.0, 0.0])
        bases, joints = [], []
        for _ in range(20):
            bases.append(robot.base_pose)
            joints.append(robot.positions)
            robot.step()
        # 20 steps: the states of the steps 15 and 18.
        assert robot.measured.base_time == pytest.approx(0.015)
        np.testing.assert_array_equal(robot.measured.base_pose, bases[15])
        np.testing.assert_array_equal(robot.measured.positions, joints[18])

    @pytest.mark.parametrize('delay', [0.0, 0.003])
    def test_a_step_of_an_effort_is_obeyed_late(self, delay):
        robot = weightless(command_delay=delay)
        velocities = []
        for k in range(20):
            robot.set_effort([1.0 if k >= 5 else 0.0])
            robot.step()
            velocities.append(robot.velocities[0])
        first = 5 + round(delay / DT)
        steps = np.maximum(np.arange(1, 21) - first, 0)
        np.testing.assert_allclose(velocities, steps * DT / INERTIA, atol=1e-12)
        robot.reset()
        robot.step(5)
        assert robot.velocities[0] == 0.0

    def test_many_steps_at_once_are_as_single_ones(self):
        late = [weightless(state_delay=0.002, command_delay=0.003) for _ in range(2)]
        for robot in late:
            robot.set_effort([1.0])
        late[0].step(10)
        for _ in range(10):
            late[1].step()
        np.testing.assert_array_equal(late[0].measured.positions, late[1].measured.positions)
        assert late[0].velocities[0] == pytest.approx(7 * DT / INERTIA)

    def test_positions_are_obeyed_late_too(self):
        robot = weightless(command_delay=0.003)
        robot.set_position({'j1': 0.01})
        robot.step(3)
        assert robot.positions[0] == 0.0
        robot.step(30)
        assert robot.positions[0] == pytest.approx(0.01, abs=1e-4)
        robot.set_position({})
        robot.set_effort([1.0])
        robot.step(3)
        assert robot.efforts[0] == pytest.approx(0.0, abs=0.2)
        robot.step()
        assert robot.efforts[0] == 1.0

    def test_a_dead_drive_does_not_obey_late_commands(self):
        robot = weightless(command_delay=0.003)
        robot.set_effort([1.0])
        robot.set_status(passive=['j1'])
        robot.step(10)
        assert robot.velocities[0] == 0.0

    def test_a_delay_that_begins_keeps_the_last_command(self):
        robot = weightless()
        robot.set_effort([1.0])
        robot.step()
        robot.reality = Reality(command_delay=0.003)
        robot.set_effort([2.0])
        robot.step()
        assert robot.efforts[0] == 1.0
        robot.step(3)
        assert robot.efforts[0] == 2.0


@pytest.mark.parametrize(('name', 'value'), [
    ('coulomb_ratio', -0.1), ('mass_deviation', math.nan), ('state_delay', math.inf),
    ('viscous', {'j1': -1.0}), ('base_noise', (0.0, 0.0, 0.0)), ('seed', 0.5)])
def test_what_no_robot_has_is_refused_by_name(name, value):
    with pytest.raises(SimulationError, match=f'^Reality: {name} = .*Give (a|4|a whole) number'):
        Reality(**{name: value})

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Feet that meet the ground where it is not expected."""

from types import SimpleNamespace

import numpy as np
import pytest

from opspace_control import RobotState
from opspace_control.cli.showcase.legged_scene import FEET, FRICTION, LeggedScene
from opspace_control.control.controller_limits import ActiveLimit
from opspace_control.locomotion import GAITS
from opspace_control.locomotion.clock import GaitClock
from opspace_control.locomotion.footing import Footing, off_ground
from opspace_control.locomotion.legs import Legs
from opspace_control.locomotion.swing import raise_lagging, swing
from opspace_control.simulation import Box

NONE = np.zeros(4, bool)
PLACES = np.arange(12.0).reshape(4, 3)


@pytest.fixture
def clock():
    clock = GaitClock(GAITS['trot'], 0.2)
    clock.start(GAITS['trot'])
    return clock


def footing_at(clock, phase, stretched=NONE, off=NONE, footing=None):
    footing, clock.phase = footing or Footing(4), phase
    footing.put(footing.scheduled(clock, stretched, off), clock, PLACES)
    return footing


def test_feet_that_move_or_are_high_are_off_the_ground():
    """By a margin on either side of each bound; upwards only the speed counts."""
    descent, clearance = np.array([0.0, 0.0, -2.0]), 0.05
    for height, velocity, off in (
            (0.0, [0.0, 0.0, -0.98], False), (0.0, [0.0, 0.0, -1.02], True),
            (0.0, [1.38, -1.38, 0.4], False), (0.0, [1.42, -1.42, 0.2], True),
            (0.0, [0.0, 0.0, 1.98], False), (0.0, [0.0, 0.0, 2.02], True),
            (0.099, [0.0, 0.0, 0.0], False), (0.101, [0.0, 0.0, 0.0], True)):
        told = off_ground(np.array([height, 0.0]), np.array([velocity, [0.0] * 3]),
                          descent, clearance)
        assert told.tolist() == [off, False], (height, velocity)


def test_the_ground_is_not_below_all_feet():
    """Where the plane is lower it is wrong; a foot in a hole says nothing of the others."""
    heights, descent = np.array([0.15, 0.17, 0.24, 0.26]), np.array([0.0, 0.0, -2.0])
    still = np.zeros((4, 3))
    assert off_ground(heights, still, descent, 0.05).tolist() == [False, False, False, True]
    heights[0] = -0.05
    assert off_ground(heights, still, descent, 0.05).tolist() == [False, True, True, True]


@pytest.mark.parametrize('trots', [False, True])
def test_an_estimate_that_drifts_upwards_takes_no_ground_away(trots):
    """By more than two clearances: the robot goes on, on the ground that its feet find."""
    scene, drift = LeggedScene('go2'), 0.1
    height = scene.robot.simulated.base_pose[2]

    def drifted(observed=scene.robot.observed):
        q, v = observed()
        q[2] += drift if scene.robot.simulated.data.time > 0.5 else 0.0
        return q, v

    scene.robot.observed = drifted
    assert drift > 2.0 * scene.locomotion.stepping.clearance * scene.locomotion.stance.height
    for begin in (trots, True):
        scene.run(0.2)
        if begin:
            scene.locomotion.gait = 'trot'
        scene.run(0.5)
    scene.run(0.6)
    assert abs(scene.robot.simulated.base_pose[2] - height) < 0.03 and not scene.fallen


def test_feet_that_go_down_are_neither_on_the_ground_nor_swing(clock):
    down = np.array([True, False, False, False])
    footing = footing_at(clock, 0.1, off=down)
    assert footing.on_ground.tolist() == [False, False, False, True]
    assert footing.swinging.tolist() == [False, True, True, False]
    footing_at(clock, 0.2, footing=footing)
    assert footing.on_ground.tolist() == [True, False, False, True]


def test_a_foot_that_has_met_no_ground_swings_from_where_it_is(clock):
    down = np.array([True, False, False, False])
    footing = footing_at(clock, 0.49, off=down)
    assert not footing.lift_off[0].any()
    footing_at(clock, 0.51, footing=footing)
    assert footing.swinging.tolist() == [True, False, False, True]
    np.testing.assert_allclose(footing.lift_off[[0, 3]], PLACES[[0, 3]])
    progress, whole = footing.swing_progress([0], clock)
    assert progress == pytest.approx(0.0) and whole == pytest.approx(0.98)


def test_stretched_legs_lift_early_in_the_second_half_of_their_stance_and_swing_longer(clock):
    stretched = np.array([True, False, False, False])
    footing = footing_at(clock, 0.2, stretched)
    assert footing.on_ground[0]
    footing_at(clock, 0.3, stretched, footing=footing)
    footing_at(clock, 0.4, footing=footing)
    assert footing.swinging[0] and not footing.on_ground[0]
    assert footing.swing_progress([0], clock)[1] == pytest.approx(1.4)


def test_legs_are_straight_at_a_limit_of_position_without_a_load():
    """A limit of another leg, of the velocity, or with a load is something else."""
    scene = LeggedScene('b1')
    controller = SimpleNamespace(model=scene.model, tasks=scene.controller.tasks)
    legs = Legs(controller, FEET)
    empty = ActiveLimit('RL_foot', 'normal force', -1)
    for limits, straight in (
            ([ActiveLimit('RL_calf_joint', 'position', 1), empty], True),
            ([ActiveLimit('RL_calf_joint', 'position', 1)], False),
            ([ActiveLimit('RL_calf_joint', 'velocity', 1), empty], False),
            ([ActiveLimit('RR_calf_joint', 'position', 1), empty], False),
            ([ActiveLimit('RL_calf_joint', 'position', 1), empty._replace(side=1)], False)):
        controller.active_limits = limits
        assert legs.straight().tolist() == [False, False, straight, False]


def test_velocities_of_feet_are_derivatives_of_their_places():
    scene = LeggedScene('go2')
    legs, rng, step = Legs(scene.controller, FEET), np.random.default_rng(3), 1e-6
    q, v = scene.model.neutral(), rng.normal(size=scene.model.nv)
    q[7:] = rng.normal(size=len(q) - 7)
    places = []
    for sign in (-1.0, 1.0):
        legs.update(RobotState(scene.model, scene.model.integrate(q, v, sign * step), v))
        places.append(legs.feet)
    legs.update(RobotState(scene.model, q, v))
    np.testing.assert_allclose((places[1] - places[0]) / (2.0 * step), legs.velocities, atol=1e-6)


def test_the_goal_of_a_foot_that_lags_rises_as_much():
    """Of three feet one is ahead, one lags, and one has nowhere to go."""
    start, end = np.zeros((3, 3)), np.array([[0.3, 0.4, 0.0], [0.3, 0.4, 0.0], [0.0, 0.0, 0.0]])
    position, velocity, _ = goal = swing(
        start, end, np.full(3, 0.05), np.full(3, 0.5), np.full(3, 0.2))
    usual = position.copy(), velocity.copy()
    way = np.array([0.6, 0.8, 0.0])
    lag, rate = np.array([[-0.02], [0.02], [0.02]]) * way, np.array([[0.0], [0.3], [0.3]]) * way
    raise_lagging(goal, position - lag, velocity - rate, end - start)
    np.testing.assert_allclose(
        position - usual[0], [[0.0] * 3, [0.0, 0.0, 0.02], [0.0] * 3], atol=1e-12)
    np.testing.assert_allclose(
        velocity - usual[1], [[0.0] * 3, [0.0, 0.0, 0.3], [0.0] * 3], atol=1e-12)


def test_a_foot_above_a_hole_gets_no_load_before_it_is_at_its_bottom():
    """The floor ends 3 cm above another one; without a load the knees keep their limits."""
    deck = Box('deck', (2.0, 4.0, 0.5), 1.0, (-0.2, 0.0, 0.03 - 0.25, 0.0, 0.0, 0.0, 1.0),
               fixed=True, friction=FRICTION)
    scene = LeggedScene('go2', objects=(deck,), height=0.323 + 0.022 + 0.03)
    locomotion, late = scene.locomotion, 0
    scene.run(0.2)
    locomotion.gait = 'trot'
    locomotion.command(1.0)
    while scene.robot.simulated.base_pose[0] < 1.5:
        reports = scene.run(0.002)
        late += int((~locomotion.on_ground & ~locomotion._footing.swinging).any())
        assert abs(reports[:, :2]).max() < 0.15 and reports[:, 5].max() < 1.02
    assert late > 5

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Gaits, footholds and swings: what they promise by themselves."""

import math

import numpy as np
import pytest

from opspace_control import ControlError, OperationalSpaceController, RobotState
from opspace_control.cli.showcase.legged_scene import FEET, LeggedScene
from opspace_control.locomotion import GAITS, Gait, Locomotion, Stepping
from opspace_control.locomotion.clock import GaitClock
from opspace_control.locomotion.footholds import GroundPlane, step_gain, step_length
from opspace_control.locomotion.legs import MovingFrame
from opspace_control.locomotion.swing import swing
from opspace_control.locomotion.trunk_motion import TrunkMotion, load_shares
from opspace_control.spatial.rotations import matrix_from_vector, quaternion_from_matrix

ARMS = np.array([[0.3, 0.2], [0.3, -0.2], [-0.3, 0.2], [-0.3, -0.2]])


def rows(gait, name):
    motion = TrunkMotion(gait.offsets, gait.duty, gait.tilting, ARMS)
    return np.array([getattr(motion.at((k + 0.5) / 200.0), name) for k in range(200)])


@pytest.mark.parametrize('name', GAITS)
def test_the_mean_force_is_the_weight_and_the_motion_periodic(name):
    gait = GAITS[name]
    lift, rise, height = (rows(gait, field) for field in ('lift', 'rise', 'height'))
    assert lift.mean() == pytest.approx(1.0)
    assert (lift >= 0.0).all()
    # rise is the integral of lift − 1, height that of rise, with no jump over the stride's end.
    steps = np.diff(rise, append=rise[0])
    middle = 0.5 * (lift + np.roll(lift, -1)) - 1.0
    np.testing.assert_allclose(steps, middle / 200.0, atol=1e-12)
    np.testing.assert_allclose(np.diff(height, append=height[0]),
                               0.5 * (rise + np.roll(rise, -1)) / 200.0, atol=1e-12)


def test_flight_is_free_fall_and_its_height_that_of_a_parabola():
    gait = Gait(1.0, 0.35, (0.0, 0.5, 0.5, 0.0))
    lift, height = rows(gait, 'lift'), rows(gait, 'height')
    assert set(np.round(lift, 9)) == {0.0, round(1.0 / 0.7, 9)}
    flight = 0.15  # of the stride: the trunk falls by (flight/2)²/2, and in stance as much more
    fall = 0.5 * (flight / 2.0) ** 2 * (1.0 + 0.35 / flight)
    assert np.ptp(height) == pytest.approx(fall, rel=0.02)


def test_without_flight_the_height_is_constant():
    assert abs(rows(GAITS['trot'], 'height')).max() < 1e-12
    assert abs(rows(GAITS['walk'], 'height')).max() < 1e-12


def test_the_velocity_follows_from_the_forces_towards_the_hips():
    """``ẍ = κ g (F/m g) v T (φ − β/2)/h``: slowest in the middle of a stance."""
    gait = GAITS['running_trot']
    speed, lift = rows(gait, 'speed'), rows(gait, 'lift')
    assert speed.mean() == pytest.approx(0.0, abs=1e-12)
    stance = slice(0, int(200 * gait.duty))
    assert np.argmin(speed[stance]) == pytest.approx(100 * gait.duty, abs=1)
    # From touch-down to the middle: ∫ lift (φ − β/2) dφ = −lift β²/8.
    assert np.ptp(speed) == pytest.approx(lift[0] * gait.duty**2 / 8.0, rel=0.02)


def test_only_supports_beside_the_centre_of_mass_tilt_or_sway():
    for name in ('trot', 'running_trot', 'pronk'):
        assert abs(rows(GAITS[name], 'tilt')).max() < 1e-12
        assert abs(rows(GAITS[name], 'sway')).max() < 1e-12
    tilt = rows(GAITS['bound'], 'tilt_acceleration')
    # Front feet, ahead of the centre of mass: the nose goes up, a rotation about −y.
    assert tilt[10, 1] < 0.0 < tilt[110, 1]
    assert abs(tilt[:, 0]).max() < 1e-12
    assert abs(rows(GAITS['walk'], 'sway')).max() > 1e-3


def test_loads_are_shared():
    gait = GAITS['walk']
    phases = (np.linspace(0.0, 1.0, 50)[:, None] + gait.offsets) % 1.0
    shares = load_shares(phases, gait.duty)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares[phases >= gait.duty] == 0.0).all()
    assert (load_shares(np.array([0.9, 0.95]), 0.5) == 0.0).all()


def test_swings_begin_and_end_at_rest_on_the_ground():
    start, end, step = np.array([0.1, 0.0, 0.0]), np.array([0.5, 0.1, 0.02]), 1e-5
    heights, times = np.array([0.05, 0.05, 0.08, 0.05]), np.array([0.3, 0.3, 0.2, 0.3])

    def swings(s):
        """Of four feet at once, one as much along its way as the other."""
        return swing(np.tile(start, (4, 1)), np.tile(end, (4, 1)), heights, np.asarray(s), times)
    for s, place in ((0.0, start), (1.0, end)):
        position, velocity, _ = swings(np.full(4, s))
        np.testing.assert_allclose(position, np.tile(place, (4, 1)), atol=1e-12)
        np.testing.assert_allclose(velocity, 0.0, atol=1e-12)
    np.testing.assert_allclose(swings(np.full(4, 0.5))[0][:, 2], 0.01 + heights)
    s = np.array([0.2, 0.7, 0.4, 0.9])
    before, now, after = (swings(s + k * step) for k in (-1, 0, 1))
    for order in (0, 1):
        np.testing.assert_allclose((after[order] - before[order]) / (2.0 * step * times[:, None]),
                                   now[order + 1], atol=3e-4)


def test_steps_are_symmetric_null_errors_in_one_step_and_are_cut():
    v, zero = np.array([2.0, 0.0, 0.0]), np.zeros(3)
    np.testing.assert_allclose(step_length(v, zero, 0.2, 0.3, 1.0), [0.2, 0.0, 0.0])
    assert np.linalg.norm(step_length(v, v, 0.2, 0.3, 0.4)) == pytest.approx(0.4)
    # A foot δ = k e ahead decelerates by κ g δ/h for the time T/n of a step.
    h, T, n, g, kappa = 0.5, 0.3, 2, 9.81, 1.3
    assert kappa * g * step_gain(h, T, n, g, kappa) / h * T / n == pytest.approx(1.0)


def test_the_ground_is_the_plane_of_the_footholds():
    feet = np.array([[x, y, 0.1 * x - 0.05 * y + 0.3] for x, y in ARMS])
    ground = GroundPlane(feet)
    for _ in range(40):  # the slope is approached
        ground.touch(np.ones(4, bool), feet)
    assert ground.height(np.array([1.0, 2.0, 0.0])) == pytest.approx(0.1 - 0.1 + 0.3)
    line = GroundPlane(feet[[0, 3]])
    line.touch(np.ones(2, bool), feet[[0, 3]])
    across = np.array([-0.2, 0.3, 0.0])
    assert line.height(across) == pytest.approx(feet[[0, 3], 2].mean())


def test_the_clock_changes_its_gait_within_two_strides_without_a_jump():
    clock = GaitClock(GAITS['trot'], 0.25)
    clock.start(GAITS['trot'])
    phases = [clock.phases()]
    clock.change(GAITS['walk'])
    for _ in range(2000):
        clock.advance(1e-3)
        phases.append(clock.phases())
    turns = np.diff(phases, axis=0)
    turns -= np.round(turns)
    assert not clock.changing
    assert (turns > 0.0).all() and turns.max() < 0.01
    np.testing.assert_allclose(clock.offsets, GAITS['walk'].offsets)
    assert clock.duty == GAITS['walk'].duty


def test_legs_begin_with_a_shorter_and_lower_swing():
    scene = LeggedScene('b1')
    scene.run(0.01)
    assert scene.locomotion.gait == 'stand' and scene.locomotion.on_ground.all()
    scene.locomotion.gait = 'trot'
    scene.run(0.01)
    assert scene.locomotion.on_ground.tolist() == [True, False, False, True]
    top = 0.0
    while not scene.locomotion.on_ground.all():
        scene.run(0.002)
        top = max(top, scene.robot.simulated.frame_pose(FEET[1])[2] - 0.04)
        if scene.locomotion.on_ground[1]:
            break
    whole = scene.locomotion.stepping.clearance * scene.locomotion.stance.height
    assert 0.1 * whole < top < 0.35 * whole


def test_the_symmetric_stance_of_b1():
    stance = LeggedScene('b1').locomotion.stance
    assert stance.height == pytest.approx(1.5 * 0.35, abs=0.02)
    np.testing.assert_allclose(stance.arms.mean(axis=0), 0.0, atol=1e-12)
    assert stance.arms[0, 0] > 0.0 and stance.arms[0, 1] > 0.0  # front left
    # Radii of gyration between those of the trunk alone and of the feet.
    assert 0.1 < math.sqrt(stance.inertia[0]) < 0.3 < math.sqrt(stance.inertia[1]) + 0.1 < 0.5


@pytest.mark.parametrize(('what', 'match'), [
    (lambda it: setattr(it, 'gait', 'gallop'), "no gait 'gallop'"),
    (lambda it: setattr(it, 'gait', Gait(1.0, 0.5, (0.0, 0.5))), '4 feet'),
    (lambda it: it.command(math.nan), 'command = .* finite')])
def test_what_cannot_be_used_is_refused_and_changes_nothing(what, match):
    locomotion = LeggedScene('go2').locomotion
    with pytest.raises(ControlError, match=match):
        what(locomotion)
    assert locomotion.gait == 'stand'


def test_the_clock_waits_for_all_feet_before_gaits_that_differ_much():
    clock = GaitClock(GAITS['trot'], 0.25)
    assert clock.wanted is None
    clock.start(GAITS['trot'])
    clock.change(GAITS['pronk'])
    assert clock.gathering and not clock.changing and clock.gait is GAITS['trot']
    assert clock.wanted is GAITS['pronk']
    clock.gathered()
    assert clock.running and clock.gait is GAITS['pronk'] and not clock.gathering
    clock.change(GAITS['bound'])
    clock.change(GAITS['pronk'])  # what was waited for is forgotten
    assert clock.changing and not clock.gathering
    clock.stop()
    assert clock.running and clock.wanted is None
    clock.gathered()
    assert not clock.running


def test_a_trunk_that_rises_does_not_step_and_restarting_is_beginning_anew():
    scene = LeggedScene('b1', posture={
        f'{leg}_{joint}_joint': angle for leg in ('FL', 'FR', 'RL', 'RR')
        for joint, angle in (('thigh', 1.15), ('calf', -2.3))}, height=0.33)
    scene.run(0.05)
    with pytest.raises(ControlError, match='rises'):
        scene.locomotion.gait = 'trot'
    scene.run(1.0)
    scene.locomotion.gait = 'trot'
    scene.locomotion.command(0.3)
    scene.run(0.6)
    assert scene.locomotion.velocity[0] == pytest.approx(0.3)
    tilted, lower = scene.locomotion.deviation(RobotState(scene.model, *scene.robot.observed()))
    assert tilted < 0.1 and abs(lower) < 0.02
    scene.locomotion.restart()
    scene.run(1.0)
    assert scene.locomotion.gait == 'stand' and scene.locomotion.on_ground.all()
    assert abs(scene.reports[-1][2]) < 0.02 and not scene.locomotion.velocity.any()


@pytest.mark.parametrize('numbers', [
    {'period': 0.0}, {'duty': 1.0}, {'duty': 0.0}, {'tilting': 1.5}])
def test_numbers_that_make_no_gait(numbers):
    with pytest.raises(ControlError, match='not a gait'):
        Gait(**{'period': 1.0, 'duty': 0.5, 'offsets': (0.0,)} | numbers)


def test_a_controller_without_the_tasks_is_refused():
    model = LeggedScene('go2').model
    with pytest.raises(ControlError, match='trunk_level'):
        Locomotion(OperationalSpaceController(model), FEET, {})


def test_a_trunk_sees_feet_as_its_joints_move_them():
    """Position, velocity and acceleration in its frame agree with differences over time."""
    scene, step = LeggedScene('go2'), 1e-4
    model, rng = scene.model, np.random.default_rng(1)
    twist, acceleration = rng.normal(size=6), rng.normal(size=6)
    foot = [rng.normal(size=3) for _ in range(3)]
    seen = []
    for t in (-step, 0.0, step):
        # Angular: a constant acceleration rotates by ω t + α t²/2, to the second order of t.
        q = model.neutral()
        q[:3] = twist[:3] * t + 0.5 * acceleration[:3] * t * t
        turn = twist[3:] * t + 0.5 * acceleration[3:] * t * t
        q[3:7] = quaternion_from_matrix(matrix_from_vector(turn))
        v = np.zeros(model.nv)
        v[:6] = twist + acceleration * t
        seen.append(MovingFrame(RobotState(model, q, v), acceleration).seen(
            foot[0] + foot[1] * t + 0.5 * foot[2] * t * t, foot[1] + foot[2] * t, foot[2]))
    for order in (0, 1):
        np.testing.assert_allclose((seen[2][order] - seen[0][order]) / (2.0 * step),
                                   seen[1][order + 1], atol=1e-5)


def test_the_ground_has_a_normal_and_rises_along_a_velocity():
    feet = np.array([[x, y, 0.1 * x - 0.05 * y] for x, y in ARMS])
    ground = GroundPlane(feet)
    np.testing.assert_allclose(ground.normal, [0.0, 0.0, 1.0])
    for _ in range(40):
        ground.touch(np.ones(4, bool), feet)
    across = np.cross(ground.normal, np.cross([1.0, 0.0, 0.1], [0.0, 1.0, -0.05]))
    np.testing.assert_allclose(across, 0.0, atol=1e-9)
    assert np.linalg.norm(ground.normal) == pytest.approx(1.0) and ground.normal[2] > 0.0
    assert ground.rise(np.array([2.0, 1.0, 0.0])) == pytest.approx(0.2 - 0.05)


def test_a_foot_that_is_stretched_lifts_early_and_swings_longer():
    scene = LeggedScene('b1')
    locomotion = scene.locomotion
    locomotion.gait = 'trot'
    locomotion.command(0.5)
    scene.run(0.7)
    while not 0.2 < locomotion._clock.phases()[0] < 0.22:
        scene.run(0.002)
    assert locomotion.on_ground.tolist() == [True, False, False, True]
    locomotion.stepping = Stepping(reach=0.02)
    while locomotion.on_ground[0]:
        scene.run(0.001)
    assert 0.25 < locomotion._clock.phases()[0] < 0.4 < locomotion._clock.duty
    assert locomotion._footing.swing_progress([0], locomotion._clock)[1] > 1.0


def test_excursions_are_those_of_feet_from_places_below_the_trunk():
    stance = LeggedScene('go2').locomotion.stance
    place, heading = np.array([1.0, 2.0, 3.0]), np.array(
        [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    feet = place + (stance.center + stance.arms) @ heading.T - [0.0, 0.0, 0.3]
    np.testing.assert_allclose(stance.excursions(place, heading, feet), 0.0, atol=1e-12)
    feet[1] += 0.3, -0.4, 0.1
    np.testing.assert_allclose(stance.excursions(place, heading, feet), [0.0, 0.5, 0.0, 0.0],
                               atol=1e-12)

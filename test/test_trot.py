# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Quadrupeds run in MuJoCo, on a floor with friction, their drives within the URDF's limits."""

import math

import numpy as np
import pytest
from apart import apart

from opspace_control.cli.showcase.legged_scene import FEET, LeggedScene, tilt
from opspace_control.locomotion import GAITS, Gait, Stepping
from opspace_control.simulation import Box

_, PITCH, AHEAD, LEFT, YAW_RATE, SPEED, EFFORT, SLIP = range(8)


def run(scene, gait, *command, settle=1.0, seconds=1.0):
    """Return the reports of the last seconds of a gait, time to settle after the command's ramp."""
    scene.locomotion.gait = gait
    scene.run(0.3)
    scene.locomotion.command(*command)
    scene.run(max(map(abs, command)) / scene.locomotion.stepping.acceleration + settle)
    return scene.run(seconds)


def test_b1_runs_with_contacts_of_large_inertia():
    """[WPO15] (43), without limits: as with contacts that are eliminated."""
    tilts = {}
    for contact_model in ('exact', 'large_inertia'):
        scene = LeggedScene('b1', noise=1.0, delay=2, stepping=Stepping(acceleration=2.0),
                            law={'contact_model': contact_model})
        reports = run(scene, 'running_trot', 3.6)
        assert reports[:, AHEAD].mean() > 3.6
        tilts[contact_model] = tilt(reports)
    assert tilts['exact'] < 3.0
    assert tilts['large_inertia'] == pytest.approx(tilts['exact'], rel=0.1)


def test_go2_runs_and_stops():
    scene = LeggedScene('go2', stepping=Stepping(acceleration=2.0))
    reports = run(scene, 'running_trot', 2.5, seconds=0.5)
    assert reports[:, AHEAD].mean() > 2.5
    assert tilt(reports) < 3.0
    assert reports[:, [SPEED, EFFORT]].max() < 1.0
    scene.locomotion.command(0.0)
    scene.run(1.7)
    scene.locomotion.gait = 'stand'
    scene.run(0.7)
    assert scene.locomotion.standing and scene.locomotion.on_ground.all()
    assert abs(scene.robot.simulated.base_twist).max() < 0.02


def test_go2_goes_sideways_and_turns():
    scene = LeggedScene('go2')
    reports = run(scene, 'running_trot', 0.0, 0.8, settle=0.5, seconds=0.5)
    assert reports[:, LEFT].mean() == pytest.approx(0.8, abs=0.05)
    reports = run(scene, 'running_trot', 0.0, 0.0, 2.0, settle=0.3, seconds=0.5)
    assert reports[:, YAW_RATE].mean() == pytest.approx(2.0, abs=0.05)
    assert abs(reports[:, [AHEAD, LEFT]].mean(axis=0)).max() < 0.05


def test_a_trot_with_two_feet_on_the_ground_is_level():
    """Tilt is controlled exactly; without flight nothing but the ground's softness disturbs it."""
    reports = run(LeggedScene('b1'), 'trot', 1.0, seconds=0.5)
    assert tilt(reports) < 0.05
    assert reports[:, SLIP].max() < 1.0


@pytest.fixture(scope='module')
def on_the_spot():
    scene = LeggedScene('b1')
    run(scene, 'trot', 0.0, settle=0.2, seconds=0.0)
    return scene


@pytest.mark.parametrize('direction', [0.0, 60.0, 180.0, 300.0])
@apart
def test_a_trotting_robot_is_shoved(on_the_spot, direction):
    scene = on_the_spot
    angle = math.radians(direction)
    scene.shove(0.5 * math.cos(angle), 0.5 * math.sin(angle))
    assert abs(scene.run(0.8)[:, :2]).max() < math.radians(10.0)
    assert abs(scene.run(0.4)[:, [AHEAD, LEFT]].mean(axis=0)).max() < 0.1


@pytest.fixture(scope='module')
def ahead():
    scene = LeggedScene('go2', stepping=Stepping(acceleration=2.0))
    run(scene, 'trot', 2.0, settle=0.4, seconds=0.0)
    return scene


@pytest.mark.parametrize('direction', [45.0, 225.0, 270.0])
@apart
def test_go2_is_shoved_at_2_metres_per_second(ahead, direction):
    """Legs that are straight lift, and feet that are late get no load: the trunk stays level."""
    scene = ahead
    angle = math.radians(direction)
    scene.shove(0.5 * math.cos(angle), 0.5 * math.sin(angle))
    assert abs(scene.run(0.8)[:, :2]).max() < math.radians(15.0)
    assert abs(scene.run(0.4)[:, LEFT].mean()) < 0.1


@pytest.mark.parametrize('speed', [0.5, 1.5])
@pytest.mark.parametrize('gait', ['trot', 'running_trot'])
def test_go2_crosses_unseen_steps(gait, speed):
    """3 cm up and down, of a height of 32 cm: feet are blocked, and meet ground early and late."""
    steps = tuple(Box(f'step_{x}', (0.4, 4.0, 0.5), 1.0, (x, 0.0, 0.03 - 0.25, 0.0, 0.0, 0.0, 1.0),
                      fixed=True, friction=0.7) for x in (0.7, 1.5))
    scene = LeggedScene('go2', objects=steps, stepping=Stepping(acceleration=3.0))
    reports = run(scene, gait, speed, settle=0.0, seconds=2.0 / speed)
    assert scene.robot.simulated.base_pose[0] > 1.9
    assert abs(reports[:, :2]).max() < math.radians(20.0)


def test_go2_bounds_at_2_metres_per_second():
    reports = run(LeggedScene('go2'), 'bound', 2.0, settle=0.5)
    assert reports[:, AHEAD].mean() == pytest.approx(2.0, abs=0.1)
    assert tilt(reports) < 7.0
    assert reports[:, SPEED].max() < 1.02
    assert reports[:, EFFORT].max() <= 1.0


def test_gaits_change_without_a_stop():
    scene = LeggedScene('b1', stepping=Stepping(acceleration=2.0))
    for gait, speed in (('walk', 0.5), ('trot', 1.0), ('running_trot', 1.5)):
        reports = run(scene, gait, speed, settle=0.4, seconds=0.3)
        assert scene.locomotion.gait is GAITS[gait]
        assert reports[:, AHEAD].mean() == pytest.approx(speed, abs=0.15)
        assert tilt(reports) < 2.0


def test_gaits_in_which_other_feet_step_together_follow_without_a_stop():
    scene = LeggedScene('b1', stepping=Stepping(acceleration=2.0))
    run(scene, 'trot', 1.0, settle=0.2, seconds=0.0)
    for gait in ('pronk', 'trot', 'bound', 'running_trot'):
        scene.locomotion.gait = gait
        reports = scene.run(1.0)
        assert scene.locomotion.gait is GAITS[gait]
        assert reports[:, AHEAD].min() > 0.6
        assert reports[-300:, AHEAD].mean() == pytest.approx(1.0, abs=0.15)
        assert abs(reports[:, :2]).max() < math.radians(15.0)


@pytest.mark.parametrize('gait', ['walk', Gait(4.0, 0.8, GAITS['walk'].offsets)])
def test_go2_walks(gait):
    """Between two and four feet on the ground; slowly, three and four: no pendulum is fed back."""
    reports = run(LeggedScene('go2'), gait, 0.5, settle=0.5, seconds=1.5)
    assert reports[:, AHEAD].mean() == pytest.approx(0.5, abs=0.02)
    assert abs(reports[:, LEFT]).max() < 0.35  # the slow reference sways at 0.35 m/s
    assert tilt(reports) < 0.3
    assert reports[:, [SPEED, EFFORT]].max() <= 1.0


@pytest.mark.parametrize('gait', ['pronk', 'bound'])
def test_gaits_with_flight_on_the_spot(gait):
    scene = LeggedScene('go2')
    reports = run(scene, gait, 0.0, settle=0.5, seconds=0.5)
    assert tilt(reports) < 10.0
    assert abs(reports[:, [AHEAD, LEFT]].mean(axis=0)).max() < 0.1
    flying = 1.0 - GAITS[gait].duty * len(set(GAITS[gait].offsets))
    assert 0.0 < flying < 1.0
    assert abs(reports[:, PITCH]).max() > (0.05 if gait == 'bound' else 0.0)


def test_a_folded_robot_stands_up():
    folded = {f'{foot[:2]}_{joint}_joint': angle for foot in FEET
              for joint, angle in (('hip', 0.0), ('thigh', 1.3), ('calf', -2.55))}
    scene = LeggedScene('b1', posture=folded, height=0.25)
    scene.run(1.5)
    assert scene.robot.simulated.base_pose[2] == pytest.approx(
        scene.locomotion.stance.height + 0.04, abs=0.005)
    assert abs(scene.robot.simulated.base_twist).max() < 0.02


def test_a_gait_of_ones_own():
    """Without flight, in diagonal pairs, slowly."""
    scene = LeggedScene('go2')
    slow = Gait(2.0, 0.6, (0.0, 0.5, 0.5, 0.0))
    reports = run(scene, slow, 0.4, settle=0.8, seconds=0.5)
    assert reports[:, AHEAD].mean() == pytest.approx(0.4, abs=0.05)
    assert np.degrees(abs(reports[:, :2]).max()) < 1.0


def test_friction_bounds_follow_the_slope_of_the_ground():
    """Up 10 degrees with a friction of 0.3: with vertical normals the feet would slip."""
    slope, length, thick = math.radians(10.0), 4.0, 0.2
    c, s = math.cos(slope), math.sin(slope)
    pose = (0.6 + 0.5 * (c * length + s * thick), 0.0, 0.5 * (s * length - c * thick),
            0.0, -math.sin(0.5 * slope), 0.0, math.cos(0.5 * slope))
    scene = LeggedScene('b1', friction=0.3, objects=(
        Box('slope', (length, 4.0, thick), 1.0, pose, fixed=True, friction=0.3),))
    reports = run(scene, 'trot', 0.8, settle=1.5)
    assert reports[:, AHEAD].mean() == pytest.approx(0.8, abs=0.12)
    assert tilt(reports) < 1.0
    for contact in scene.controller.constraints.values():
        np.testing.assert_allclose(contact.normal, [-s, 0.0, c], atol=0.02)
    assert abs(scene.controller.tasks['trunk_level'].error[2]) < 0.01

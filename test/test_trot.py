# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Quadrupeds run in MuJoCo, on a floor with friction, their drives within the URDF's limits."""

import math

import numpy as np
import pytest
from legged_bench import FEET, LeggedBench, tilt

from opspace_control.locomotion import GAITS, Gait, Stepping

_, PITCH, AHEAD, LEFT, YAW_RATE, SPEED, EFFORT, SLIP = range(8)


def run(bench, gait, *command, settle=1.0, seconds=1.0):
    """Return the reports of the last seconds of a gait, time to settle after the command's ramp."""
    bench.locomotion.gait = gait
    bench.run(0.3)
    bench.locomotion.command(*command)
    bench.run(max(map(abs, command)) / bench.locomotion.stepping.acceleration + settle)
    return bench.run(seconds)


def test_b1_runs_at_3_6_metres_per_second():
    """[WPO15]: pitch and roll are stable at 3.6 m/s, without sensors of contact forces."""
    bench = LeggedBench('b1', noise=1.0, delay=2, stepping=Stepping(acceleration=2.0))
    reports = run(bench, 'running_trot', 3.6)
    assert reports[:, AHEAD].mean() > 3.6
    assert tilt(reports) < 3.0
    assert reports[:, SPEED].max() < 1.02
    assert reports[:, EFFORT].max() <= 1.0


def test_go2_runs_and_stops():
    bench = LeggedBench('go2', stepping=Stepping(acceleration=2.0))
    reports = run(bench, 'running_trot', 2.5, seconds=0.5)
    assert reports[:, AHEAD].mean() > 2.5
    assert tilt(reports) < 3.0
    assert reports[:, [SPEED, EFFORT]].max() < 1.0
    bench.locomotion.command(0.0)
    bench.run(1.7)
    bench.locomotion.gait = 'stand'
    bench.run(0.7)
    assert bench.locomotion.standing and bench.locomotion.on_ground.all()
    assert abs(bench.robot.base_twist).max() < 0.02


def test_go2_goes_sideways_and_turns():
    bench = LeggedBench('go2')
    reports = run(bench, 'running_trot', 0.0, 0.8, settle=0.5, seconds=0.5)
    assert reports[:, LEFT].mean() == pytest.approx(0.8, abs=0.05)
    reports = run(bench, 'running_trot', 0.0, 0.0, 2.0, settle=0.3, seconds=0.5)
    assert reports[:, YAW_RATE].mean() == pytest.approx(2.0, abs=0.05)
    assert abs(reports[:, [AHEAD, LEFT]].mean(axis=0)).max() < 0.05


def test_a_trot_with_two_feet_on_the_ground_is_level():
    """Tilt is controlled exactly; without flight nothing but the ground's softness disturbs it."""
    reports = run(LeggedBench('b1'), 'trot', 1.0, seconds=0.5)
    assert tilt(reports) < 0.05
    assert reports[:, SLIP].max() < 1.0


@pytest.mark.parametrize('direction', [0.0, 60.0, 180.0, 300.0])
def test_a_trotting_robot_is_shoved(direction):
    bench = LeggedBench('b1')
    run(bench, 'trot', 0.0, settle=0.2, seconds=0.0)
    angle = math.radians(direction)
    bench.shove(0.5 * math.cos(angle), 0.5 * math.sin(angle))
    assert abs(bench.run(0.8)[:, :2]).max() < math.radians(10.0)
    assert abs(bench.run(0.4)[:, [AHEAD, LEFT]].mean(axis=0)).max() < 0.1


def test_gaits_change_without_a_stop():
    bench = LeggedBench('b1', stepping=Stepping(acceleration=2.0))
    for gait, speed in (('walk', 0.5), ('trot', 1.0), ('running_trot', 1.5)):
        reports = run(bench, gait, speed, settle=0.4, seconds=0.3)
        assert bench.locomotion.gait is GAITS[gait]
        assert reports[:, AHEAD].mean() == pytest.approx(speed, abs=0.15)
        assert tilt(reports) < 2.0


@pytest.mark.parametrize('gait', ['pronk', 'bound'])
def test_gaits_with_flight_on_the_spot(gait):
    bench = LeggedBench('go2')
    reports = run(bench, gait, 0.0, settle=0.5, seconds=0.5)
    assert tilt(reports) < 10.0
    assert abs(reports[:, [AHEAD, LEFT]].mean(axis=0)).max() < 0.1
    flying = 1.0 - GAITS[gait].duty * len(set(GAITS[gait].offsets))
    assert 0.0 < flying < 1.0
    assert abs(reports[:, PITCH]).max() > (0.05 if gait == 'bound' else 0.0)


def test_a_folded_robot_stands_up():
    folded = {f'{foot[:2]}_{joint}_joint': angle for foot in FEET
              for joint, angle in (('hip', 0.0), ('thigh', 1.3), ('calf', -2.55))}
    bench = LeggedBench('b1', posture=folded, height=0.25)
    bench.run(1.5)
    assert bench.robot.base_pose[2] == pytest.approx(
        bench.locomotion.stance.height + 0.04, abs=0.005)
    assert abs(bench.robot.base_twist).max() < 0.02


def test_a_gait_of_ones_own():
    """Without flight, in diagonal pairs, slowly."""
    bench = LeggedBench('go2')
    slow = Gait(2.0, 0.6, (0.0, 0.5, 0.5, 0.0))
    reports = run(bench, slow, 0.4, settle=0.8, seconds=0.5)
    assert reports[:, AHEAD].mean() == pytest.approx(0.4, abs=0.05)
    assert np.degrees(abs(reports[:, :2]).max()) < 1.0

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The wrench sensor: what of a reading is neither bias, nor weight of the tool, nor noise."""

import numpy as np
import pytest
from law_bench import LawBench

from opspace_control import ForceControl, ForceSensor, PoseTask, TaskError
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.tasks.sensor import VALIDITY_TIME

MASS, CENTER = 0.8, np.array([0.01, -0.02, 0.07])
BIAS = np.array([1.0, -2.0, 3.0, 0.1, -0.2, 0.3])


def bench_of(sensor):
    return LawBench(PoseTask('tip', force=ForceControl(sensor)))


def weight(R):
    """Return what the tool's weight reads with axes R."""
    force = R.T @ (MASS * GRAVITY)
    return np.r_[force, np.cross(CENTER, force)]


def turn(rng):
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return R * np.sign(np.linalg.det(R))


@pytest.fixture
def sensor():
    return ForceSensor('wrist', bias=BIAS, tool_mass=MASS, tool_center=CENTER, cutoff=np.inf)


def test_bias_and_weight_are_taken_out_however_the_tool_is_turned(sensor):
    rng = np.random.default_rng(0)
    bench = bench_of(sensor)
    for _ in range(20):
        R, felt = turn(rng), rng.normal(size=6)
        bench.place('wrist', R)
        sensor.update(BIAS + weight(R) + felt)
        bench.cycle()
        np.testing.assert_allclose(sensor.wrench, felt, atol=1e-12)
        np.testing.assert_allclose(bench.sensors['wrench'][0], np.r_[R @ felt[:3], R @ felt[3:]],
                                   atol=1e-12)


def test_zero_makes_what_is_felt_the_bias_and_the_weight_stays_known(sensor):
    rng = np.random.default_rng(1)
    sensor.set_bias()
    bench = bench_of(sensor)
    for R in (turn(rng), turn(rng)):
        bench.place('wrist', R)
        sensor.update(BIAS + weight(R))
        bench.cycle()
        if not sensor.bias.any():
            sensor.zero()
            bench.cycle()
        np.testing.assert_allclose(sensor.wrench, 0.0, atol=1e-12)
        np.testing.assert_allclose(sensor.bias, BIAS, atol=1e-12)


def test_the_filter_is_of_first_order():
    """A step reaches 1 − 1/e within 1 / (2π cutoff), a fast sine hardly shows."""
    sensor = ForceSensor('wrist', cutoff=5.0)
    bench = bench_of(sensor)
    bench.sensors['gravity'] = 0.0
    for _ in range(200):
        sensor.update(np.zeros(6))
        bench.cycle()
    course = []
    for k in range(200):
        sensor.update([10.0, np.sin(2.0 * np.pi * 50.0 * 1e-3 * k), 0.0, 0.0, 0.0, 0.0])
        bench.cycle()
        course.append(sensor.wrench)
    x, y = np.array(course)[:, :2].T
    tau = 1.0 / (2.0 * np.pi * 5.0)
    np.testing.assert_allclose(x, 10.0 * (1.0 - np.exp(-1e-3 * np.arange(1, 201) / tau)), rtol=1e-9)
    assert abs(y[100:]).max() == pytest.approx(1.0 / np.hypot(1.0, 10.0), rel=0.05)


def test_the_first_reading_counts_at_once():
    sensor = ForceSensor('wrist', cutoff=1.0)
    bench = bench_of(sensor)
    bench.sensors['gravity'] = 0.0
    bench.cycle()
    sensor.update(BIAS)
    bench.cycle()
    np.testing.assert_allclose(sensor.wrench, BIAS)


def test_trust_is_won_and_lost_by_and_by(sensor):
    bench = bench_of(sensor)
    validity = []
    for k in range(500):
        if k < 200 or k >= 400:
            sensor.update(BIAS)
        bench.cycle()
        validity.append(bench.sensors['validity'][0])
        assert sensor.fresh == (k < 298 or k >= 400)  # until timeout
    validity = np.array(validity)
    assert abs(np.diff(validity)).max() == pytest.approx(1e-3 / VALIDITY_TIME)
    assert validity[199] == validity[297] == 1.0 and validity[399] == pytest.approx(0.0, abs=1e-9)
    assert validity[499] == pytest.approx(1.0)


def test_before_the_first_reading_it_is_silent(sensor):
    bench = bench_of(sensor)
    for _ in range(5):
        bench.cycle()
    assert not sensor.fresh and sensor.age == np.inf
    with pytest.raises(TaskError, match="sensor 'wrist' has no recent reading"):
        sensor.zero()


@pytest.mark.parametrize('arguments', [
    {'bias': np.ones(5)}, {'bias': np.full(6, np.nan)}, {'tool_mass': -1.0}, {'tool_mass': 'x'},
    {'tool_mass': np.inf}, {'tool_center': np.ones(2)}, {'tool_center': [0.0, np.nan, 0.0]},
    {'tool_center': 'x'}, {'cutoff': 0.0}, {'cutoff': np.nan}, {'timeout': -0.1},
    {'timeout': True}], ids=str)
def test_values_that_cannot_be_used_are_refused(arguments):
    with pytest.raises(TaskError, match="sensor 'wrist'"):
        ForceSensor('wrist', **arguments)


@pytest.mark.parametrize('wrench', [np.ones(5), np.full(6, np.inf), 'x', None], ids=str)
def test_readings_that_are_none_are_refused_and_the_last_one_stays(sensor, wrench):
    sensor.update(BIAS)
    if wrench is not None:
        with pytest.raises(TaskError, match="sensor 'wrist': reading cannot be used"):
            sensor.update(wrench)
        np.testing.assert_array_equal(sensor.reading, BIAS)


def test_what_is_set_can_be_read_and_is_copied(sensor):
    bench_of(sensor)
    for array in (sensor.bias, sensor.tool_center, sensor.reading, sensor.wrench):
        array[:] = np.nan
    np.testing.assert_array_equal(sensor.bias, BIAS)
    np.testing.assert_array_equal(sensor.tool_center, CENTER)
    assert (sensor.tool_mass, sensor.cutoff, sensor.timeout) == (MASS, np.inf, 0.1)
    sensor.set_tool(2.0, (0.0, 0.0, 0.5))
    assert sensor.tool_mass == 2.0 and sensor.tool_center[2] == 0.5


def test_two_tasks_may_share_a_sensor_and_two_controllers_may_not(sensor):
    bench = LawBench(PoseTask('a', force=ForceControl(sensor)),
                     PoseTask('b', force=ForceControl(sensor)))
    assert len(bench.sensors) == 1 and sensor.in_use
    assert (bench.tasks['force']['sensor'] == 0).all()
    with pytest.raises(TaskError, match='belongs to another controller'):
        bench_of(sensor)
    with pytest.raises(TaskError, match='is the name of two'):
        LawBench(PoseTask('a', force=ForceControl(ForceSensor('wrist'))),
                 PoseTask('b', force=ForceControl(ForceSensor('wrist'))))

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The force law of a task by itself: [K87] (5.4)-(5.7), at a point before an elastic wall."""

import numpy as np
import pytest
from law_bench import LawBench, PointAtWall

from opspace_control import ForceControl, ForceSensor, ForceTask, PoseTask
from opspace_control.tasks.sensor import VALIDITY_TIME

WANTED = 20.0  # N


def pressing(sensor=True, axes='z', wanted=WANTED, **force):
    """Return a task that presses along z."""
    control = ForceControl(ForceSensor('wrist') if sensor else None, **force)
    task = PoseTask('tip', force_axes=axes, force=control)
    task.force.set_target([0.0, 0.0, wanted, 0.0, 0.0, 0.0])
    return task


def law_with(measured, **force):
    """Return a task without transitions, and a bench in which it feels this force."""
    task = pressing(axes='x y z rx ry rz', approach=(0.0, 0.0), **force)
    bench = LawBench(task)
    bench.sensors['gravity'], bench.sensors['validity'] = 0.0, 1.0
    task.force.sensor.cutoff = np.inf
    task.force.sensor.update(-np.asarray(measured, float))
    return task, bench


class TestLaw:
    def test_it_is_proportional_and_integral_feedback_on_top_of_what_is_wanted(self):
        """F_a and F_s* of (5.5), with all that they depend on drawn at random."""
        rng = np.random.default_rng(0)
        for _ in range(20):
            measured, target, integral = (rng.uniform(-5.0, 5.0, 6) for _ in range(3))
            kp, ki, damping = (rng.uniform(0.1, 2.0, 6) for _ in range(3))
            task, bench = law_with(measured, kp=kp, ki=ki, damping=damping,
                                   max_force=np.inf, max_moment=np.inf)
            task.force.set_target(target)
            task.set_feed_forward(rng.normal(size=6), rng.normal(size=6))
            bench.tasks['force']['integral'] = integral
            bench.points['v'] = v = rng.normal(size=6)
            record = bench.cycle(dt=1e-3)
            wanted = target + kp * (target - measured) + integral
            np.testing.assert_allclose(record['applied_wrench'], wanted, rtol=1e-12)
            np.testing.assert_allclose(record['force']['integral'],
                                       integral + 1e-3 * ki * (target - measured), rtol=1e-12)
            feed_forward = bench.tasks['target_acceleration'][0]
            np.testing.assert_allclose(
                record['acceleration'],
                feed_forward + damping * (bench.tasks['target_twist'][0] - v), rtol=1e-12)
            assert (record['row_activation'] == 1.0).all()

    def test_open_loop_is_what_is_wanted(self):
        task = pressing(sensor=False, approach=(0.0, 0.0))
        record = LawBench(task).cycle()
        np.testing.assert_array_equal(record['applied_wrench'], [0, 0, WANTED, 0, 0, 0])
        assert task.force.measured is None and not task.force.closed_loop

    def test_the_moment_is_taken_to_the_point_and_all_of_it_along_the_axes(self):
        rng = np.random.default_rng(1)
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        task = pressing(axes='x y z rx ry rz')
        task.set_axes(frame='turned')
        bench = LawBench(task)
        bench.sensors['gravity'] = 0.0
        bench.place('turned', turn)
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        sensor_at, point_at = rng.normal(size=3), rng.normal(size=3)
        bench.place('wrist', R, sensor_at)
        bench.points['p'] = point_at
        reading = rng.normal(size=6)
        task.force.sensor.update(reading)
        bench.cycle()
        force, moment = R @ reading[:3], R @ reading[3:]
        moment += np.cross(sensor_at - point_at, force)
        np.testing.assert_allclose(task.force.measured, -np.r_[turn.T @ force, turn.T @ moment],
                                   atol=1e-12)

    def test_no_axis_presses_more_than_is_allowed_and_the_integral_stops_there(self):
        task, bench = law_with(np.zeros(6), max_force=30.0, kp=0.0, ki=10.0)
        for _ in range(5000):
            task.force.sensor.update(np.zeros(6))
            record = bench.cycle(dt=1e-3)
            assert abs(record['applied_wrench']).max() <= 30.0
        assert record['applied_wrench'][2] == 30.0
        assert record['force']['integral'][2] == pytest.approx(10.0, abs=0.2)
        task.force.sensor.update([0.0, 0.0, -30.0, 0.0, 0.0, 0.0])  # now there is too much
        for _ in range(10):
            record = bench.cycle(dt=1e-3)
        assert record['applied_wrench'][2] < 30.0

    def test_the_integral_does_not_grow_against_effort_limits(self):
        task, bench = law_with(np.zeros(6), kp=0.0, ki=10.0)
        grown = bench.cycle(dt=1e-3)['force']['integral'][2].copy()
        assert bench.cycle(dt=1e-3, limited=1)['force']['integral'][2] == grown
        task.force.sensor.update([0.0, 0.0, -2.0 * WANTED, 0.0, 0.0, 0.0])
        assert bench.cycle(dt=1e-3, limited=1)['force']['integral'][2] < grown

    def test_a_task_on_its_way_presses_as_much_as_it_acts(self):
        task, bench = law_with(np.zeros(6), kp=0.0, ki=0.0)
        task.activation = 0.25
        assert bench.cycle()['applied_wrench'][2] == 0.25 * WANTED
        task.activation = 0.0
        record = bench.cycle()
        assert (record['applied_wrench'] == 0.0).all() and task.force.contact == 'none'

    def test_an_axis_between_motion_and_force_blends_both(self):
        task = pressing(sensor=False, approach=(0.0, 0.0), damping=7.0)
        bench = LawBench(task)
        bench.tasks['motion'][0, 2], bench.tasks['force']['axes'][0, 2] = 0.25, 0.75
        bench.points['v'][0, 2] = 0.1
        record = bench.cycle()
        assert record['applied_wrench'][2] == 0.75 * WANTED
        assert record['acceleration'][2] == pytest.approx(-0.1 * (0.25 * 20.0 + 0.75 * 7.0))
        assert record['row_activation'][2] == 1.0

    def test_nan_stays_visible(self):
        for field in ('target', 'kp'):
            _, bench = law_with(np.zeros(6))
            bench.tasks['force'][field][0, 2] = np.nan
            assert np.isnan(bench.cycle()['applied_wrench']).any()


class TestContact:
    @pytest.mark.parametrize('stiffness', [1e3, 1e4, 1e5])
    @pytest.mark.parametrize('delay', [0, 1, 2])
    def test_it_approaches_touches_and_presses(self, stiffness, delay):
        task = pressing()
        plant = PointAtWall(task, stiffness=stiffness, damping=0.2 * np.sqrt(1.5 * stiffness),
                            delay=delay)
        forces, _ = plant.run(3.0)
        first = np.flatnonzero(forces)[0]
        assert first == pytest.approx(0.02 / 0.05 * 1000, abs=40)  # at approach_velocity
        assert abs(forces[-500:] - WANTED).max() < 0.005 * WANTED
        assert task.force.contact == 'contact' and task.force.closed_loop
        assert forces.max() < 2.0 * WANTED

    def test_the_impact_is_damped_before_the_force_comes_in(self):
        task = pressing(impact_time=0.05)
        plant = PointAtWall(task)
        seen = []
        plant.run(1.0, lambda t: seen.append((task.force.contact, bench_press(plant))))
        names = [name for name, _ in seen]
        assert names.count('impact') == pytest.approx(50, abs=1)
        order = list(dict.fromkeys(names))
        assert order == ['none', 'impact', 'contact']
        presses = np.array([press for _, press in seen])
        assert (presses[np.array(names) != 'contact'] == 0.0).all()
        first = names.index('contact')
        np.testing.assert_allclose(presses[first:first + 45],
                                   WANTED * np.arange(1, 46) / 50.0, atol=0.15 * WANTED)

    def test_a_rebound_is_short_and_happens_once(self):
        """[K87] IX: 4 in/s without bounce; on a wall of almost no damping there is one, of 1 mm."""
        task = pressing(approach=(0.1, 0.2))
        plant = PointAtWall(task, stiffness=1e5, damping=0.1 * np.sqrt(1e5 * 1.5))
        heights = []
        forces, _ = plant.run(1.0, lambda t: heights.append(plant.x[2]))
        first = np.flatnonzero(forces)[0]
        away = np.flatnonzero(np.diff((forces[first:] > 0.0).astype(int)) == -1)
        assert len(away) <= 1
        assert 0.02 - min(heights[first + 1:]) < 1e-3
        assert abs(forces[first + 250:] - WANTED).max() < 0.02 * WANTED

    def test_a_wall_that_goes_away_is_followed_slowly(self):
        task = pressing()
        plant = PointAtWall(task, gap=1e-4)
        plant.run(1.0)
        plant.gap = 0.05
        speeds = []
        _, wrenches = plant.run(1.5, lambda t: speeds.append(plant.v[2]))
        assert max(speeds) < 0.15
        assert np.median(speeds) == pytest.approx(0.05, abs=0.01)  # it approaches again
        assert abs(np.diff(wrenches[:200, 2])).max() < 0.5 * WANTED
        forces, _ = plant.run(1.0)
        assert abs(forces[-100:] - WANTED).max() < 0.005 * WANTED

    def test_a_weak_force_is_found_too(self):
        task = pressing(wanted=0.5)
        forces, _ = PointAtWall(task, noise=0.02).run(3.0)
        assert forces[-500:].mean() == pytest.approx(0.5, abs=0.02)

    def test_noise_does_no_harm(self):
        task = pressing()
        forces, _ = PointAtWall(task, noise=0.5).run(3.0)
        assert abs(forces[-1000:] - WANTED).max() < 0.05 * WANTED

    @pytest.mark.parametrize('stiffness', [1e3, 1e5])
    def test_without_a_sensor_contact_is_where_the_approach_is_held_up(self, stiffness):
        task = pressing(sensor=False)
        plant = PointAtWall(task, stiffness=stiffness, damping=0.2 * np.sqrt(1.5 * stiffness))
        forces, _ = plant.run(3.0)
        assert abs(forces[-500:] - WANTED).max() < 1e-3 * WANTED
        assert task.force.contact == 'contact'
        plant.gap = 1.0
        plant.run(2.0)
        assert task.force.contact == 'none'
        assert plant.v[2] == pytest.approx(0.05, abs=1e-3)

    def test_free_space_is_no_contact_however_long(self):
        for task in (pressing(), pressing(sensor=False)):
            plant = PointAtWall(task, gap=1.0)
            plant.run(2.0)
            assert task.force.contact == 'none'
            assert plant.v[2] == pytest.approx(0.05, abs=1e-4)
            assert abs(plant.x[:2]).max() < 1e-6  # nothing else is disturbed

    def test_nothing_wanted_yields_and_then_approaches(self):
        """A wrench that is wanted later does not come in before there is contact."""
        task = pressing(wanted=0.0)
        plant = PointAtWall(task, gap=0.05)
        plant.run(1.0)
        assert abs(plant.x).max() < 1e-9
        task.force.set_target([0.0, 0.0, WANTED, 0.0, 0.0, 0.0])
        plant.run(0.5)
        assert task.force.contact == 'none' and plant.v[2] == pytest.approx(0.05, abs=1e-3)
        assert abs(plant.x[:2]).max() < 1e-6

    def test_it_yields_to_a_push_where_nothing_is_wanted(self):
        """ForceTask at zero: a hand that pushes feels the mass, less kp, and the damping."""
        sensor = ForceSensor('wrist', cutoff=np.inf)
        task = ForceTask('tip', force_axes='z', force=ForceControl(
            sensor, kp=1.0, ki=0.0, damping=20.0))
        plant = PointAtWall(task, gap=1.0)
        plant.sensing = False
        plant.external[2] = 10.0

        def read(_):
            sensor.update([0.0, 0.0, 10.0, 0.0, 0.0, 0.0])
        plant.run(1.0, read)
        mobility = plant.L[2, 2]
        assert plant.v[2] == pytest.approx(2.0 * 10.0 * mobility / 20.0, rel=1e-3)


class TestFeedback:
    def test_a_square_wave_is_followed(self):
        """[K87] IX: rise under 20 ms; here also an error at rest of far less than 12 %."""
        task = pressing(wanted=10.0)
        plant = PointAtWall(task, gap=1e-4)
        plant.run(1.0)
        for wanted in (20.0, 10.0, 20.0):
            before = plant.force
            task.force.set_target([0.0, 0.0, wanted, 0.0, 0.0, 0.0])
            forces, _ = plant.run(0.5)
            share = (forces - before) / (wanted - before)
            assert np.flatnonzero(share > 0.9)[0] - np.flatnonzero(share > 0.1)[0] < 20
            assert abs(forces[-100:] - wanted).max() < 0.005 * wanted

    def test_it_makes_up_for_what_the_model_does_not_know(self):
        task = pressing()
        plant = PointAtWall(task)
        plant.external[2] = 5.0
        forces, _ = plant.run(3.0)
        assert forces[-1] == pytest.approx(WANTED, rel=1e-3)
        open_loop = PointAtWall(pressing(sensor=False))
        open_loop.external[2] = 5.0
        assert open_loop.run(3.0)[0][-1] == pytest.approx(WANTED + 5.0, rel=1e-3)

    def test_a_sensor_that_falls_silent_means_open_loop_and_no_jump(self):
        task = pressing()
        plant = PointAtWall(task)
        plant.external[2] = 5.0
        plant.run(3.0)
        plant.sensing = False
        forces, wrenches = plant.run(1.0)
        assert not task.force.closed_loop and task.force.measured is None
        assert task.force.contact == 'contact'
        assert forces[-1] == pytest.approx(WANTED + 5.0, rel=1e-3)
        assert abs(np.diff(wrenches[:, 2])).max() < 2.0 * 5.0 * 1e-3 / VALIDITY_TIME + 0.1
        plant.sensing = True
        forces, wrenches = plant.run(1.0)
        assert forces[-1] == pytest.approx(WANTED, rel=1e-2)
        assert abs(np.diff(wrenches[:, 2])).max() < 2.0 * 5.0 * 1e-3 / VALIDITY_TIME + 0.1

    @pytest.mark.parametrize('stiffness', [1e3, 1e4, 1e5, 1e6])
    def test_no_elastic_wall_rings_up_to_the_kp_that_is_promised(self, stiffness):
        """kp = damping / (2π cutoff), no damping in the wall, no delay."""
        kp = 60.0 / (2.0 * np.pi * 100.0)
        task = pressing(kp=kp, damping=60.0, ki=1.0, approach=(0.0, 0.0))
        plant = PointAtWall(task, stiffness=stiffness, damping=0.0, gap=0.0, delay=0)
        plant.x[2] = 1.2 * WANTED / stiffness
        forces, _ = plant.run(3.0, substeps=50)
        assert np.ptp(forces[-300:]) < 0.1 * np.ptp(forces[:300]) + 1e-3


def bench_press(plant):
    return float(plant.bench.tasks['applied_wrench'][0, 2])

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The spring of an impedance by itself: where its far end is. What it does: test_cycle_force.py."""

import numpy as np
import pytest
from law_bench import LawBench

from opspace_control import Impedance, PoseTask
from opspace_control.spatial.rotations import matrix_from_vector, vector_from_matrix

DT = 1e-3


def goal_at(position=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = matrix_from_vector(np.array(turn)), position
    return pose


def spring(**options):
    task = PoseTask('tip', impedance=Impedance(100.0), **options)
    return task, LawBench(task)


def test_the_far_end_goes_to_the_goal_at_v_max_and_the_point_is_pulled_no_harder():
    task, bench = spring(max_linear_velocity=0.2, max_angular_velocity=0.5)
    bench.cycle(DT)
    task.set_target(goal_at((0.3, 0.4, 0.0), (0.0, 0.6, 0.8)))
    for k in range(1, 3000):
        stretch = bench.cycle(DT)['spring']['stretch'].copy()
        np.testing.assert_allclose(stretch[:3], min(0.2 * k * DT, 0.5) * np.array([0.6, 0.8, 0]),
                                   atol=1e-12)
        np.testing.assert_allclose(stretch[3:], min(0.5 * k * DT, 1.0) * np.array([0, 0.6, 0.8]),
                                   atol=1e-9)
    np.testing.assert_array_equal(bench.tasks['spring']['p'][0], [0.3, 0.4, 0.0])


def test_pushing_the_point_away_never_slackens_the_spring():
    task, bench = spring(max_linear_velocity=0.2)
    task.set_target(goal_at())
    bench.cycle(DT)
    bench.points['p'] = [-0.5, 0.0, 0.0]
    record = bench.cycle(DT)
    assert record['spring']['stretch'][0] == 0.5
    assert record['spring_wrench'][0] == pytest.approx(50.0)


def test_without_a_limit_the_far_end_is_the_goal():
    task, bench = spring()
    bench.cycle(0.0)
    task.set_target(goal_at((1.0, 2.0, 3.0), (0.0, 0.0, 3.0)))
    stretch = bench.cycle(0.0)['spring']['stretch']
    np.testing.assert_allclose(stretch, [1, 2, 3, 0, 0, 3.0], atol=1e-12)


def test_a_goal_that_moves_faster_than_v_max_is_followed_by_its_own_speed():
    task, bench = spring(max_linear_velocity=0.1)
    bench.cycle(DT)
    for k in range(1, 500):
        task.set_target(goal_at((0.5 * k * DT, 0.0, 0.0)), twist=[0.5, 0, 0, 0, 0, 0])
        assert bench.cycle(DT)['spring']['p'][0] == pytest.approx(0.5 * k * DT)


def test_half_a_turn_goes_one_way():
    task, bench = spring(max_angular_velocity=1.0)
    bench.cycle(DT)
    task.set_target(goal_at(turn=(0.0, 0.0, np.pi)))
    turns = []
    for _ in range(3000):
        bench.cycle(DT)
        turns.append(vector_from_matrix(bench.tasks['spring']['R'][0])[2])
    assert abs(np.abs(np.diff(turns)) - DT).max() < 1e-9


def test_it_begins_where_the_point_is_each_time_it_is_switched_on():
    task, bench = spring(max_linear_velocity=0.2)
    task.mode = 'decoupled'
    task.set_target(goal_at((1.0, 0.0, 0.0)))
    bench.cycle(DT)
    bench.points['p'] = [0.5, 0.0, 0.0]
    bench.cycle(DT)
    task.mode = 'impedance'
    assert bench.cycle(DT)['spring']['stretch'][0] == pytest.approx(0.2 * DT)


@pytest.mark.parametrize('share', [0.0, 0.25, 0.75, 1.0])
def test_between_the_modes_both_laws_have_their_share(share):
    task, bench = spring(kp=64.0)
    bench.inverse_inertia[:] = 0.5 * np.eye(6)  # 2 kg
    task.set_target(goal_at((0.1, 0.0, 0.0)))
    bench.tasks['impedance'] = share
    bench.points['v'][0, 0] = 0.3
    record = bench.cycle(DT)
    push = 100.0 * 0.1 - 2.0 * np.sqrt(100.0 * 2.0) * 0.3
    assert record['spring_wrench'][0] == pytest.approx(share * push)
    assert record['acceleration'][0] == pytest.approx((1 - share) * (64.0 * 0.1 - 16.0 * 0.3))
    np.testing.assert_array_equal(record['compliant'], share)


def test_free_axes_have_no_spring_and_no_damper():
    task, bench = spring(axes='x ry')
    bench.points['v'] = 1.0
    task.set_target(goal_at((1.0, 1.0, 1.0)))
    record = bench.cycle(DT)
    np.testing.assert_array_equal(record['spring_wrench'] != 0.0, [1, 0, 0, 0, 1, 0])
    np.testing.assert_array_equal(record['compliant'], [1, 0, 0, 0, 1, 0])


def test_a_direction_that_cannot_move_is_not_damped_and_leaves_no_nan():
    task, bench = spring()
    task.set_target(goal_at((0.1, 0.1, 0.1)))
    for rank in range(7):
        bench.inverse_inertia[:] = np.diag(np.arange(6) < rank).astype(float)
        bench.points['v'] = 1.0
        push = bench.cycle(DT)['spring_wrench']
        stretch = bench.tasks['spring']['stretch'][0]
        np.testing.assert_allclose(push, 100.0 * stretch - 20.0 * (np.arange(6) < rank), atol=1e-9)

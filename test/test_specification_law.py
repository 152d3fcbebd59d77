# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Task specification, [K87] II: axes of frames that move, and changes without a jump."""

from itertools import pairwise

import numpy as np
import pytest
from law_bench import LawBench
from own_ramps import Ramps

from opspace_control import ForceControl, PoseTask
from opspace_control.spatial.rotations import matrix_from_vector, vector_from_matrix
from opspace_control.tasks.specification_law import TURNING_TIME
from opspace_control.tasks.task import gradual_fields

DT = 1e-3


def rotation(*vector):
    return matrix_from_vector(np.array(vector))


def test_axes_are_those_of_the_frames_and_move_with_them():
    task = PoseTask('tip', axes_frame=('a', 'b'))
    bench = LawBench(task)
    for k in range(5):
        bench.place('a', rotation(0.1 * k, 0.2, 0.3))
        bench.place('b', rotation(0.3, -0.1 * k, 0.0))
        axes = bench.cycle(DT)['axes']
        np.testing.assert_allclose(axes[0], rotation(0.1 * k, 0.2, 0.3), atol=1e-15)
        np.testing.assert_allclose(axes[1], rotation(0.3, -0.1 * k, 0.0), atol=1e-15)


def test_demands_are_components_along_these_axes():
    """Gains are, too: a* = S (x_dd) + kp S e + kd S (ẋ_d − ẋ)."""
    rng = np.random.default_rng(0)
    task = PoseTask('tip', kp=rng.uniform(1, 99, 6), kd=rng.uniform(1, 20, 6),
                    axes_frame=('a', 'b'))
    bench = LawBench(task)
    R = [rotation(*rng.normal(size=3)) for _ in range(2)]
    bench.place('a', R[0])
    bench.place('b', R[1])
    goal = np.eye(4)
    goal[:3, :3], goal[:3, 3] = rotation(0.2, -0.3, 0.1), rng.normal(size=3)
    twist, a_d, velocity = rng.normal(size=(3, 6))
    task.set_target(goal, twist, a_d)
    bench.points['v'] = velocity
    record = bench.cycle(DT)
    S = np.zeros((6, 6))
    S[:3, :3], S[3:, 3:] = R[0].T, R[1].T
    error = np.r_[goal[:3, 3], 0.2, -0.3, 0.1]
    wanted = S @ a_d + task.kp * (S @ error) + task.kd * (S @ (twist - velocity))
    np.testing.assert_allclose(record['acceleration'], wanted, rtol=1e-10)
    np.testing.assert_allclose(task.error, error, atol=1e-12)  # stays in base axes


def test_v_max_counts_the_controlled_axes_of_the_frame():
    task = PoseTask('tip', axes='x y', axes_frame='a', kp=100.0, max_linear_velocity=1.0)
    bench = LawBench(task)
    bench.place('a', rotation(0.0, np.pi / 2.0, 0.0))  # its x is −z of the base
    goal = np.eye(4)
    goal[:3, 3] = [5.0, 0.1, 0.0]  # 5 m along the free axis
    task.set_target(goal)
    assert bench.cycle(DT)['acceleration'][1] == pytest.approx(100.0 * 0.1)


def test_another_frame_is_turned_to_by_and_by():
    task = PoseTask('tip', axes_frame='a')
    bench = LawBench(task)
    before, after = rotation(0.4, 0.0, 0.2), rotation(-0.5, 1.0, 0.7)
    bench.place('a', before)
    bench.place('b', after)
    bench.cycle(DT)
    task.set_axes(frame='b')
    courses = [bench.cycle(DT)['axes'][0].copy() for _ in range(600)]
    np.testing.assert_allclose(courses[0], before, atol=1e-12)
    steps = [np.linalg.norm(vector_from_matrix(new @ old.T))
             for old, new in pairwise(courses)]
    whole = np.linalg.norm(vector_from_matrix(after @ before.T))
    assert max(steps) == pytest.approx(whole * DT / TURNING_TIME, rel=1e-6)
    np.testing.assert_allclose(courses[-1], after, atol=1e-12)


def test_back_to_the_base_and_there_again():
    task = PoseTask('tip', axes_frame='a')
    bench = LawBench(task)
    bench.place('a', rotation(0.0, 0.0, 1.0))
    bench.cycle(DT)
    for frame, angle in (('', 0.0), ('a', 1.0), ('', 0.0)):
        task.set_axes(frame=frame)
        seen = [vector_from_matrix(bench.cycle(DT)['axes'][1])[2] for _ in range(600)]
        assert seen[0] == pytest.approx(1.0 - angle, abs=1e-9)
        assert seen[-1] == pytest.approx(angle, abs=1e-9)
        assert abs(np.diff(seen)).max() < 1.01 * DT / TURNING_TIME


def test_a_frame_named_before_the_first_cycle_is_there_at_once():
    task = PoseTask('tip')
    bench = LawBench(task)
    bench.place('a', rotation(0.0, 0.0, 1.0))
    task.set_axes(frame='a')
    np.testing.assert_allclose(bench.cycle(DT)['axes'][0], rotation(0.0, 0.0, 1.0), atol=1e-15)


def test_turned_axes_are_turned_within_their_frames_and_to_by_and_by():
    """``S_fᵀ`` is the frame's axes times the rotation, one for each kind; a new one fades in."""
    turn = rotation(0.2, 0.5, -0.1), rotation(-0.3, 0.0, 0.4)
    task = PoseTask('tip', axes_frame=('a', ''), axes_rotation=turn)
    bench = LawBench(task)
    bench.place('a', rotation(0.4, 0.0, 0.2))
    axes = bench.cycle(DT)['axes'].copy()
    np.testing.assert_allclose(axes, [rotation(0.4, 0.0, 0.2) @ turn[0], turn[1]], atol=1e-15)
    np.testing.assert_allclose(task.axes_rotation, turn, atol=1e-12)
    task.set_axes(rotation=[0.0, 0.0, np.sin(0.3), np.cos(0.3)])
    course = [bench.cycle(DT)['axes'].copy() for _ in range(600)]
    np.testing.assert_allclose(course[0], axes, atol=1e-12)
    z = rotation(0.0, 0.0, 0.6)
    np.testing.assert_allclose(course[-1], [rotation(0.4, 0.0, 0.2) @ z, z], atol=1e-12)
    assert abs(np.diff(course, axis=0)).max() < 2.0 * DT / TURNING_TIME
    task.set_axes(frame='')  # the rotation stays
    np.testing.assert_allclose([bench.cycle(DT)['axes'] for _ in range(600)][-1], [z, z],
                               atol=1e-12)


def test_axes_may_be_rotated_at_once():
    task = PoseTask('tip')
    bench = LawBench(task)
    bench.cycle(DT)
    task.set_axes(rotation=rotation(0.0, 0.0, 1.0))
    bench.cycle(DT)  # on its way
    now = rotation(0.0, 0.5, 0.0)
    task.set_axes(rotation=now, gradually=False)
    np.testing.assert_allclose(bench.cycle(DT)['axes'][1], now, atol=1e-12)


def test_base_axes_are_turned_in_the_first_cycle():
    task = PoseTask('tip', axes_rotation=rotation(0.0, 0.0, 1.0))
    bench = LawBench(task)
    np.testing.assert_allclose(bench.cycle(DT)['axes'][1], rotation(0.0, 0.0, 1.0), atol=1e-12)


def test_from_motion_to_force_and_free_and_back_nothing_jumps():
    """Demand, pressing force and how much is asked for, in small steps all the way."""
    force = ForceControl(approach=(0.0, 0.0))
    task = PoseTask('tip', force=force)
    bench = LawBench(task)
    ramps = Ramps(gradual_fields(bench.tasks), 0.2)
    goal = np.eye(4)
    goal[:3, 3] = 0.3
    task.set_target(goal)
    task.force.set_target([0.0, 0.0, 10.0, 0.0, 0.0, 0.0])
    bench.points['v'] = 0.05
    course, ends = [], []
    for change in ({}, {'force_axes': 'z rx'}, {'axes': 'x y', 'force_axes': 'z'},
                   {'force_axes': ''}, {'axes': 'x y z rx ry rz'}):
        with ramps.smoothly():
            task.set_axes(**change)
        for _ in range(250):
            ramps.advance(DT)
            record = bench.cycle(DT)
            course.append(np.r_[record['acceleration'] * record['row_activation'],
                                record['applied_wrench'], record['row_activation']])
        ends.append((record['motion'].tolist(), record['force']['axes'].tolist()))
    assert ends[1] == ([1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 0, 0])
    assert ends[2] == ([1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0])
    assert ends[3] == ([1, 1, 0, 0, 0, 0], [0] * 6)
    assert ends[4] == ([1] * 6, [0] * 6)
    course = np.array(course)
    swing = np.ptp(course, axis=0)
    assert (swing[[2, 8, 14]] > [1.0, 9.0, 0.9]).all()  # it does change
    assert (abs(np.diff(course, axis=0)).max(axis=0) < 0.02 * swing + 1e-9).all()

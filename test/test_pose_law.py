# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The motion law of a pose task by itself, against [K87] written out with Pinocchio's logarithm."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law_bench import LawBench
from printed_law import Goal

from opspace_control import PoseTask

pin = pytest.importorskip('pinocchio')

ORIGIN = np.array([1.0, -2.0, 3.0])


def law(goal):
    """Return the law of a task that has never seen a cycle."""
    bench = LawBench(PoseTask('hand'), origin=ORIGIN)
    task = bench.tasks
    task['kp'], task['kd'] = goal.kp, goal.kd
    task['max_linear_velocity'] = goal.max_linear_velocity
    task['max_angular_velocity'] = goal.max_angular_velocity
    set_goal(bench, goal.pose)
    task['target_twist'], task['target_acceleration'] = goal.twist, goal.acceleration
    return bench


def set_goal(bench, pose):
    bench.tasks['target_R'], bench.tasks['target_p'] = pose.rotation, pose.translation


def demand(bench, pose, twist=0.0):
    """Run the law at a pose and return a* and the error, both copied."""
    point = bench.points
    point['R'], point['p'], point['v'] = pose.rotation, pose.translation - ORIGIN, twist
    task = bench.cycle()
    return task['acceleration'].copy(), task['error'].copy()


def turn(axis, angle):
    axis = np.array(axis, dtype=float)
    return pin.SE3(pin.exp3(angle * axis / np.linalg.norm(axis)), np.zeros(3))


def goal_at(pose=None, kp=100.0, kd=20.0, **rest):
    return Goal('hand', pin.SE3.Identity() if pose is None else pose,
                kp=np.broadcast_to(kp, 6).copy(), kd=np.broadcast_to(kd, 6).copy(), **rest)


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 2**32 - 1), st.sampled_from([np.inf, 0.05, 1.0, 30.0]),
       st.sampled_from([np.inf, 0.05, 1.0, 30.0]))
def test_law_is_that_of_khatib(seed, linear_limit, angular_limit):
    rng = np.random.default_rng(seed)
    pose, target = (pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3)) for _ in range(2))
    goal = goal_at(target, rng.uniform(0.0, 300.0, 6), rng.uniform(1.0, 60.0, 6),
                   twist=rng.normal(size=6), acceleration=rng.normal(size=6),
                   max_linear_velocity=linear_limit, max_angular_velocity=angular_limit)
    twist = rng.normal(size=6)
    a, error = demand(law(goal), pose, twist)
    wanted = goal.demand(pose, twist)
    np.testing.assert_allclose(a, wanted, atol=1e-11 * abs(wanted).max())
    np.testing.assert_allclose(error[:3], target.translation - pose.translation, atol=1e-14)
    np.testing.assert_allclose(error[3:], pin.log3(target.rotation @ pose.rotation.T), atol=1e-12)


@pytest.mark.parametrize('part', [0, 3], ids=['position', 'orientation'])
def test_near_the_goal_the_limited_law_is_the_pd_law_to_the_last_bit(part):
    """ν = 1 of (4.5)."""
    pose = pin.SE3(pin.exp3(np.array([0.02, -0.01, 0.03])), np.array([0.01, 0.02, -0.03]))
    speed = np.linalg.norm(100.0 / 20.0 * demand(law(goal_at()), pose)[1][part:part + 3])
    for limit in (1.0001 * speed, 10.0 * speed, np.inf):
        limited = law(goal_at(max_linear_velocity=limit, max_angular_velocity=limit))
        np.testing.assert_array_equal(demand(limited, pose, 0.1)[0][part:part + 3],
                                      demand(law(goal_at()), pose, 0.1)[0][part:part + 3])
    limited = law(goal_at(max_linear_velocity=0.99 * speed,
                                  max_angular_velocity=0.99 * speed))
    assert (demand(limited, pose, 0.1)[0][part:part + 3]
            != demand(law(goal_at()), pose, 0.1)[0][part:part + 3]).all()


@pytest.mark.parametrize('part', [0, 3], ids=['position', 'orientation'])
def test_far_from_the_goal_the_speed_wanted_is_the_limit_towards_it(part):
    """(4.4): a* vanishes exactly when it travels at V_max towards the goal."""
    pose = pin.SE3(pin.exp3(np.array([0.5, -0.4, 0.3])), np.array([-2.0, 3.0, 1.0]))
    task = law(goal_at(kp=80.0, kd=11.0, max_linear_velocity=0.3,
                               max_angular_velocity=0.2))
    error = demand(task, pose)[1]
    towards = error[part:part + 3] / np.linalg.norm(error[part:part + 3])
    twist = np.zeros(6)
    twist[part:part + 3] = {0: 0.3, 3: 0.2}[part] * towards
    np.testing.assert_allclose(demand(task, pose, twist)[0][part:part + 3], 0.0, atol=1e-12)


def test_the_limit_counts_the_controlled_axes_only():
    pose = pin.SE3(np.eye(3), np.array([5.0, 0.1, 0.0]))
    task = law(goal_at(max_linear_velocity=1.0))
    task.tasks['motion'] = [0, 1, 1, 1, 1, 1]
    assert demand(task, pose)[0][1] == pytest.approx(-100.0 * 0.1)
    task.tasks['motion'] = 1.0
    assert abs(demand(task, pose)[0][1]) < 1.0


def test_axes_without_stiffness_need_no_damping_under_a_limit():
    kp, kd = np.array([0.0, 100.0, 100.0, 0.0, 0.0, 0.0]), np.array([0.0, 20.0, 20.0, 0, 0, 0])
    task = law(goal_at(kp=kp, kd=kd, max_linear_velocity=1.0, max_angular_velocity=1.0))
    a, _ = demand(task, pin.SE3(np.eye(3), np.ones(3)), 0.5)
    assert np.isfinite(a).all()
    assert a[0] == 0.0 and (a[3:] == 0.0).all()


def test_without_a_goal_it_holds_the_pose_first_seen():
    task = law(goal_at())
    task.tasks['target_p'] = np.nan
    first = pin.SE3(pin.exp3(np.array([0.3, 0.2, 0.1])), np.array([1.0, 2.0, 3.0]))
    a, error = demand(task, first, 0.25)
    assert (error == 0.0).all()
    np.testing.assert_array_equal(a, np.full(6, -20.0 * 0.25))
    later = pin.SE3(first.rotation, first.translation + 0.1)
    np.testing.assert_allclose(demand(task, later)[1][:3], -0.1, atol=1e-15)


@pytest.mark.parametrize('axis', [(1, 0, 0), (0, -1, 0), (1, 2, -3), (-1e-3, 0, 1)], ids=str)
def test_error_takes_the_short_way_round(axis):
    for angle in np.linspace(-3.1, 3.1, 63):
        _, error = demand(law(goal_at(turn(axis, angle))), pin.SE3.Identity())
        np.testing.assert_allclose(pin.exp3(error[3:]), turn(axis, angle).rotation, atol=1e-12)
        assert np.linalg.norm(error[3:]) == pytest.approx(abs(angle), abs=1e-12)


@pytest.mark.parametrize('angle', [0.0, 1e-12, 1e-9, 1e-6, np.pi - 1e-6, np.pi - 1e-9, np.pi])
def test_error_is_precise_at_small_angles_and_at_half_a_turn(angle):
    for axis in np.vstack([np.eye(3), -np.eye(3), np.random.default_rng(0).normal(size=(5, 3))]):
        _, error = demand(law(goal_at(turn(axis, angle))), pin.SE3.Identity())
        assert np.linalg.norm(error[3:]) == pytest.approx(angle, abs=1e-8 * angle + 1e-15)
        np.testing.assert_allclose(pin.exp3(error[3:]), turn(axis, angle).rotation, atol=1e-15)


def test_a_goal_half_a_turn_away_is_not_chased_to_and_fro():
    """Noise carries the error past half a turn and back: it goes on round the same way."""
    task = law(goal_at(turn((0, 0, 1), np.pi - 0.05)))
    _, first = demand(task, pin.SE3.Identity())
    rng = np.random.default_rng(0)
    for _ in range(200):
        noise = pin.SE3(pin.exp3(0.05 * rng.normal(size=3)), np.zeros(3))
        _, error = demand(task, turn((0, 0, -1), 0.05) * noise)
        assert error[3:] @ first[3:] > 0.0
        assert np.linalg.norm(error[3:]) == pytest.approx(np.pi, abs=0.3)


def test_error_has_no_step_when_a_goal_passes_half_a_turn():
    """It may wind up to 1.1 half turns, and then, once, takes the other way."""
    task = law(goal_at())
    angles = np.arange(0.9 * np.pi, 1.2 * np.pi, 0.002)
    errors = []
    for angle in angles:
        set_goal(task, turn((0, 1, 0), angle))  # a goal that streams in
        errors.append(demand(task, pin.SE3.Identity())[1][4])
    kept = angles < 1.1 * np.pi - 1e-9
    np.testing.assert_allclose(np.array(errors)[kept], angles[kept], atol=1e-9)
    np.testing.assert_allclose(np.array(errors)[~kept], angles[~kept] - 2.0 * np.pi, atol=1e-9)


def test_a_new_goal_takes_the_short_way_whatever_was_before():
    task = law(goal_at(turn((0, 0, 1), 0.5)))
    demand(task, pin.SE3.Identity())
    set_goal(task, turn((0, 0, -1), 0.95 * np.pi))
    assert demand(task, pin.SE3.Identity())[1][5] == pytest.approx(-0.95 * np.pi)


def test_passing_zero_turns_the_error_round():
    task = law(goal_at(turn((0, 0, 1), 1e-3)))
    assert demand(task, pin.SE3.Identity())[1][5] == pytest.approx(1e-3)
    assert demand(task, turn((0, 0, 1), 2e-3))[1][5] == pytest.approx(-1e-3)


def test_nan_stays_visible():
    for field in ('target_R', 'kp', 'target_twist'):
        task = law(goal_at(turn((0, 0, 1), 1.0), max_linear_velocity=1.0))
        task.tasks[field] = np.nan
        a, _ = demand(task, pin.SE3(np.eye(3), np.ones(3)))
        assert np.isnan(a).any()
    task = law(goal_at())
    assert np.isnan(demand(task, pin.SE3(np.eye(3), np.full(3, np.nan)))[0][:3]).all()
    assert np.isfinite(demand(task, pin.SE3.Identity())[0]).all()  # and is gone with its cause

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The posture task as its user sees it: gains and goals, by number and by name."""

import numpy as np
import pytest
from robots import joint, link, robot

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    TaskError,
)
from opspace_control.share import share_directory

LIMIT = '<limit lower="-9" upper="9" effort="1e6" velocity="1"/>'


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')


@pytest.fixture(scope='module')
def mixed():
    """Return a robot with joints of several coordinates, on a floating base."""
    return RobotModel.from_urdf(robot(
        link('l0'), link('l1'), link('l2'), link('l3'), link('l4'),
        joint('hinge', 'l0', 'l1', 'revolute', LIMIT),
        joint('cart', 'l1', 'l2', 'planar'),
        joint('ball', 'l2', 'l3', 'floating'),
        joint('wheel', 'l3', 'l4', 'continuous', '<limit effort="1e6" velocity="1"/>'),
    ), floating_base=True)


def at_work(model, posture, *tasks, **arguments):
    return OperationalSpaceController(model, tasks, posture, **arguments)


def of(model, array, name):
    return array[model.dof_index(name)]


def test_defaults(model):
    posture = PostureTask()
    assert posture.target is posture.kp is posture.kd is None
    assert not posture.in_use
    at_work(model, posture)
    assert posture.in_use
    np.testing.assert_array_equal(posture.kp, np.full(model.nv, 25.0))
    np.testing.assert_array_equal(posture.kd, np.full(model.nv, 10.0))
    assert np.isnan(posture.target).all()


def test_holds_the_posture_first_seen(model):
    posture = PostureTask()
    controller = at_work(model, posture)
    q = np.random.default_rng(0).uniform(-0.5, 0.5, model.nq)
    state = RobotState(model, q, np.zeros(model.nv))
    np.testing.assert_allclose(controller.compute_torque(state), model.gravity(state), atol=1e-12)
    np.testing.assert_array_equal(posture.target, q)
    moved = RobotState(model, q + 0.01, np.zeros(model.nv))
    a = model.forward_dynamics(moved, controller.compute_torque(moved))
    np.testing.assert_allclose(a, -25.0 * 0.01, atol=1e-10)


def test_gains_by_name_leave_the_others_alone(model):
    posture = PostureTask(kp={'l_elbow': 100.0})
    at_work(model, posture)
    assert of(model, posture.kp, 'l_elbow') == 100.0 and of(model, posture.kd, 'l_elbow') == 20.0
    assert of(model, posture.kp, 'r_elbow') == 25.0 and of(model, posture.kd, 'r_elbow') == 10.0
    posture.set_gains(kp={'default': 4.0, 'torso_yaw': 9.0}, kd={'r_elbow': 1.5})
    assert of(model, posture.kp, 'l_elbow') == 4.0 and of(model, posture.kp, 'torso_yaw') == 9.0
    assert of(model, posture.kd, 'r_elbow') == 1.5 and of(model, posture.kd, 'torso_yaw') == 6.0
    posture.set_gains(kp={'r_elbow': 49.0})
    assert of(model, posture.kd, 'r_elbow') == 1.5 and of(model, posture.kp, 'torso_yaw') == 9.0
    posture.set_gains(kd=-1.0)
    assert of(model, posture.kd, 'r_elbow') == 14.0


def test_gains_of_joints_of_several_dofs(mixed):
    posture = PostureTask(kp={'cart': 7.0, 'ball/rx': 3.0, 'base': [1, 2, 3, 4, 5, 6]}, kd=0.5)
    at_work(mixed, posture)
    kp = dict(zip(mixed.dof_names, posture.kp, strict=True))
    assert kp['cart/x'] == kp['cart/y'] == kp['cart/rz'] == 7.0
    assert kp['ball/rx'] == 3.0 and kp['ball/ry'] == kp['hinge'] == 25.0
    assert [kp[f'base/{axis}'] for axis in ('x', 'y', 'z', 'rx', 'ry', 'rz')] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize('gains', [
    {'kp': -1.0}, {'kp': np.nan}, {'kd': np.inf}, {'kp': 'stiff'}, {'kp': {'l_elbow': -1.0}},
    {'kp': {'l_elbow': None}}, {'kd': {'default': 'soft'}}, {'kp': [1.0, np.nan]}], ids=str)
def test_numbers_that_cannot_be_used_are_refused_at_once(gains):
    with pytest.raises(TaskError, match=r'posture: k[pd].*finite'):
        PostureTask(**gains)


@pytest.mark.parametrize('gains, named', [
    ({'kp': {'l_elbw': 1.0}}, 'l_elbow'), ({'kp': [1.0] * 16}, '17'), ({'kd': np.ones(18)}, '17'),
    ({'kp': {'l_elbow': [1.0, 2.0]}}, 'l_elbow'), ({'kp': {'default': [1.0, 2.0]}}, 'default')],
    ids=str)
def test_names_and_sizes_that_do_not_fit_are_refused_by_the_robot(model, gains, named):
    posture, task = PostureTask(**gains), PoseTask('l_hand')
    with pytest.raises(TaskError, match=f'(?s)posture: .*{named}'):
        at_work(model, posture, task)
    # Nothing is in use now, and gains that fit make it a posture like any other.
    assert not posture.in_use and not task.in_use and posture.target is None
    at_work(model, PostureTask(), task)


@pytest.mark.parametrize('gains', [
    {'kp': -1.0}, {'kp': 9.0, 'kd': np.nan}, {'kp': 9.0, 'kd': {'nobody': 1.0}},
    {'kp': {'l_elbow': 9.0, 'nobody': 1.0}}, {'kp': 9.0, 'kd': [1.0, 2.0]}], ids=str)
def test_refused_gains_change_nothing(model, gains):
    posture = PostureTask(kp=16.0, kd={'default': -1.0, 'r_elbow': 3.0})
    controller = at_work(model, posture)
    state = RobotState(model, np.full(model.nq, 0.1), np.ones(model.nv))
    posture.set_target(np.zeros(model.nq))
    before = posture.kp, posture.kd, controller.compute_torque(state)
    with pytest.raises(TaskError):
        posture.set_gains(**gains)
    for old, new in zip(before, (posture.kp, posture.kd, controller.compute_torque(state)),
                        strict=True):
        np.testing.assert_array_equal(new, old)


def test_goal_by_number_and_by_name(model):
    posture = PostureTask()
    at_work(model, posture)
    posture.set_target({'l_elbow': -1.0, 'torso_yaw': 0.2})
    assert of(model, posture.target, 'l_elbow') == -1.0
    assert np.isnan(posture.target).sum() == model.nq - 2
    posture.set_target(np.full(model.nq, 0.3))
    posture.set_target({'l_elbow': -0.5})
    assert of(model, posture.target, 'l_elbow') == -0.5
    assert (posture.target == 0.3).sum() == model.nq - 1
    posture.clear_target()
    assert np.isnan(posture.target).all()


def test_goal_of_joints_of_several_coordinates(mixed):
    posture = PostureTask(kp=4.0, kd=0.0)
    controller = at_work(mixed, posture, effort_limits=np.inf, gravity_compensation=False)
    state = RobotState(mixed, mixed.neutral(), np.zeros(mixed.nv))
    controller.compute_torque(state)
    s = np.sin(0.1)
    posture.set_target({'ball': [1, 2, 3, 0, 0, -s, -np.cos(0.1)], 'cart': [4, 5, 0.6],
                        'base/z': 7.0})
    assert posture.target[2] == 7.0
    a = mixed.forward_dynamics(state, controller.compute_torque(state)
                               + mixed.gravity(state))
    a = dict(zip(mixed.dof_names, a / 4.0, strict=True))
    assert a['cart/x'] == pytest.approx(4.0) and a['cart/rz'] == pytest.approx(0.6)
    assert a['ball/y'] == pytest.approx(2.0) and a['ball/rz'] == pytest.approx(0.2)
    assert a['base/z'] == pytest.approx(7.0) and a['base/rx'] == pytest.approx(0.0, abs=1e-9)


def test_targets_and_gains_are_copied(model):
    target, kp = np.zeros(model.nq), {'l_elbow': 9.0}
    posture = PostureTask(kp=kp, target=target)
    target[:], kp['l_elbow'] = 5.0, 77.0
    at_work(model, posture)
    np.testing.assert_array_equal(posture.target, np.zeros(model.nq))
    assert of(model, posture.kp, 'l_elbow') == 9.0
    again = np.ones(model.nq)
    posture.set_target(again)
    again[:] = posture.target[:] = posture.kp[:] = posture.kd[:] = np.nan
    np.testing.assert_array_equal(posture.target, np.ones(model.nq))
    assert np.isfinite(posture.kp).all() and np.isfinite(posture.kd).all()


def test_what_is_set_before_there_is_a_robot_is_kept_in_order(model):
    posture = PostureTask(target={'l_elbow': -1.0})
    posture.clear_target()
    posture.set_target({'r_elbow': -1.0})
    posture.set_target({'torso_yaw': 0.1})
    posture.set_gains(kp={'r_elbow': 1.0})
    posture.set_gains(kp={'l_elbow': 2.0})
    at_work(model, posture)
    assert np.isnan(of(model, posture.target, 'l_elbow'))
    assert of(model, posture.target, 'r_elbow') == -1.0
    assert of(model, posture.target, 'torso_yaw') == 0.1
    assert of(model, posture.kp, 'r_elbow') == 1.0 and of(model, posture.kp, 'l_elbow') == 2.0


@pytest.mark.parametrize('target, named', [
    ({'l_elbw': 1.0}, 'l_elbow'), ({'l_elbow': np.nan}, 'l_elbow'), ({'l_elbow': 'up'}, 'l_elbow'),
    ({'l_elbow': None}, 'l_elbow'), ({'l_elbow': [1.0, 2.0]}, 'l_elbow'),
    ({'torso_yaw': 0.3, 'nobody': 1.0}, 'nobody'), (np.zeros(16), '17'), (0.0, '17'),
    (np.full(17, np.nan), 'finite'), ('home', 'finite')], ids=str)
def test_a_refused_goal_changes_nothing(model, target, named):
    posture = PostureTask(target=np.full(model.nq, 0.1))
    at_work(model, posture)
    with pytest.raises(TaskError, match=f'(?s)posture.*{named}'):
        posture.set_target(target)
    np.testing.assert_array_equal(posture.target, np.full(model.nq, 0.1))


def test_orientations_are_given_whole_and_of_unit_norm(mixed):
    posture = PostureTask(target=mixed.neutral())
    at_work(mixed, posture)
    for target, named in (({'ball/rx': 0.1}, 'ball/rx'), ({'base': [0, 0, 0, 0, 0, 0, 2]}, 'base'),
                          ({'ball': [0, 0, 0, 0, 0, 0, 0]}, 'ball'),
                          ({'ball': [0, 0, 0, 1]}, '7'), (np.zeros(mixed.nq), 'base')):
        with pytest.raises(TaskError, match=f'posture.*{named}'):
            posture.set_target(target)
        np.testing.assert_array_equal(posture.target, mixed.neutral())


def test_rotations_without_limits_go_the_short_way_round(mixed):
    posture = PostureTask(kp=1.0, kd=0.0)
    controller = at_work(mixed, posture, effort_limits=np.inf)
    q = mixed.neutral()
    state = RobotState(mixed, q, np.zeros(mixed.nv))
    controller.compute_torque(state)
    turned = 2.0 * np.pi + 0.1
    posture.set_target({'wheel': turned, 'hinge': turned, 'cart': [0.0, turned, turned]})
    controller.compute_torque(state)
    a = dict(zip(mixed.dof_names, controller.posture_acceleration, strict=True))
    assert a['wheel'] == pytest.approx(0.1) and a['cart/rz'] == pytest.approx(0.1)
    assert a['hinge'] == pytest.approx(turned) and a['cart/y'] == pytest.approx(turned)


def test_a_goal_for_a_joint_under_its_brake_disturbs_nobody():
    """A posture that names every joint must not push the others about through a locked one."""
    path = share_directory() / 'urdf' / 'dual_arm.urdf'
    model = RobotModel.from_urdf_file(path, locked_joints=['torso_pitch'])
    state = RobotState(model, np.full(model.nq, 0.1), np.zeros(model.nv))
    torques = []
    for goal in (0.1, 0.9):
        posture = PostureTask(target={'torso_pitch': goal})
        controller = at_work(model, posture)
        torques.append(controller.compute_torque(state))
        assert of(model, controller.posture_acceleration, 'torso_pitch') == 0.0
        assert of(model, posture.kp, 'torso_pitch') == 25.0
    np.testing.assert_array_equal(torques[0], torques[1])
    assert of(model, torques[0], 'torso_pitch') == 0.0


def test_feed_forward(model):
    """Given before there is a robot, or after; efforts come on top, accelerations through A."""
    state = RobotState(model, model.neutral(), np.zeros(model.nv))
    rng = np.random.default_rng(0)
    acceleration, effort = rng.uniform(-0.1, 0.1, (2, model.nv))
    still = at_work(model, PostureTask(), effort_limits=np.inf).compute_torque(state)
    early = PostureTask()
    early.set_target(model.neutral(), acceleration=acceleration, effort=effort)
    late = PostureTask()
    controllers = [at_work(model, posture, effort_limits=np.inf) for posture in (early, late)]
    late.set_feed_forward(acceleration=acceleration, effort=effort)
    expected = still + model.mass_matrix(state) @ acceleration + effort
    for controller in controllers:
        np.testing.assert_allclose(controller.compute_torque(state), expected, atol=1e-9)
    np.testing.assert_array_equal(late.feed_forward_effort, effort)
    for wrong in (np.zeros(3), np.full(model.nv, np.nan), 'fast'):
        with pytest.raises(TaskError, match='feed-forward'):
            late.set_feed_forward(velocity=wrong)
    np.testing.assert_array_equal(late.feed_forward_effort, effort)
    late.clear_target()
    assert not late.feed_forward_effort.any()
    np.testing.assert_allclose(controllers[1].compute_torque(state), still, atol=1e-9)

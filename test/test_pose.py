# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The pose task as its user sees it; its law has a test of its own."""

import numpy as np
import pytest

from opspace_control import OperationalSpaceController, PoseTask, RobotModel, RobotState, TaskError
from opspace_control.share import share_directory

GOAL = np.array([0.4, 0.1, 1.2, 0.0, 0.6, 0.0, 0.8])


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')


@pytest.fixture
def task():
    return PoseTask('l_hand', name='left', kp=400.0, max_linear_velocity=0.5)


def everything(task):
    """Return all that can be seen of a task."""
    return {name: getattr(task, name) for name in (
        'frame', 'name', 'axes', 'kp', 'kd', 'target', 'pose', 'error', 'enabled', 'in_use',
        'max_linear_velocity', 'max_angular_velocity')}


def assert_unchanged(task, before):
    for name, value in everything(task).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def cycle(model, task, q=None):
    """Put the task to work for one cycle."""
    controller = OperationalSpaceController(model, [task])
    state = RobotState(model, np.zeros(model.nq) if q is None else q, np.zeros(model.nv))
    controller.compute_torque(state)
    return controller, state


def test_defaults():
    task = PoseTask('l_hand')
    assert task.name == task.frame == 'l_hand'
    assert task.axes == ('x', 'y', 'z', 'rx', 'ry', 'rz')
    assert task.enabled and not task.in_use
    assert task.target is task.pose is task.error is None
    assert task.max_linear_velocity == task.max_angular_velocity == np.inf
    np.testing.assert_array_equal(task.kp, np.full(6, 100.0))
    np.testing.assert_array_equal(task.kd, np.full(6, 20.0))


@pytest.mark.parametrize('axes, expected', [
    ('x', ('x',)), ('x y rz', ('x', 'y', 'rz')), (['rz', 'x'], ('x', 'rz')),
    (('z', 'ry', 'x'), ('x', 'z', 'ry'))])
def test_axes_by_name(axes, expected):
    assert PoseTask('l_hand', axes=axes).axes == expected


@pytest.mark.parametrize('axes', ['', (), 'xyz', 'x x', ('x', 'roll'), 3, None, [1, 2], ('x', 'x')],
                         ids=str)
def test_other_axes_are_refused(axes):
    with pytest.raises(TaskError, match=r"task 'l_hand': axes .* x y z rx ry rz"):
        PoseTask('l_hand', axes=axes)


@pytest.mark.parametrize('arguments', [
    {'kp': -1.0}, {'kp': np.nan}, {'kp': [1.0] * 5}, {'kp': 'stiff'}, {'kd': np.inf},
    {'kd': [1.0] * 7}, {'max_linear_velocity': 0.0}, {'max_linear_velocity': -1.0},
    {'max_linear_velocity': np.nan}, {'max_angular_velocity': None},
    {'max_angular_velocity': 'fast'}, {'kd': 0.0, 'max_linear_velocity': 1.0}], ids=str)
def test_values_that_cannot_be_used_are_refused(arguments):
    with pytest.raises(TaskError, match="task 'l_hand': "):
        PoseTask('l_hand', **arguments)


def test_stiffness_without_damping_is_legal_where_nothing_limits_the_velocity():
    assert (PoseTask('l_hand', kp=100.0, kd=0.0).kd == 0.0).all()
    PoseTask('l_hand', kp=[1, 1, 1, 0, 0, 0], kd=[2, 2, 2, 0, 0, 0], max_angular_velocity=1.0)


def test_gains_change_alone_and_critical_damping_follows(task):
    task.set_gains(kp=900.0)
    np.testing.assert_array_equal(task.kd, np.full(6, 60.0))
    task.set_gains(kd=[7, 7, 7, -1, -1, -1])
    np.testing.assert_array_equal(task.kp, np.full(6, 900.0))
    np.testing.assert_array_equal(task.kd, [7, 7, 7, 60, 60, 60])
    task.set_gains(kp=100.0)
    np.testing.assert_array_equal(task.kd, [7, 7, 7, 20, 20, 20])


@pytest.mark.parametrize('gains', [
    {'kp': -1.0}, {'kp': 50.0, 'kd': np.nan}, {'kp': 'x', 'kd': 5.0}, {'kd': [1, 2]},
    {'kd': 0.0}, {'kp': 50.0, 'kd': [0.0, 1, 1, 1, 1, 1]}], ids=str)
def test_refused_gains_change_nothing(task, gains):
    before = everything(task)
    with pytest.raises(TaskError):
        task.set_gains(**gains)
    assert_unchanged(task, before)


def test_refused_limits_change_nothing(task):
    task.set_gains(kd=[5, 5, 5, 0, 0, 0])
    before = everything(task)
    for name, value in (('max_linear_velocity', -1.0), ('max_linear_velocity', 'x'),
                        ('max_angular_velocity', np.nan), ('max_angular_velocity', 1.0)):
        with pytest.raises(TaskError, match=f"task 'left': {name}"):
            setattr(task, name, value)
    assert_unchanged(task, before)


def test_gains_and_targets_are_copied(task):
    kp, goal, twist = np.full(6, 50.0), GOAL.copy(), np.ones(6)
    task.set_gains(kp=kp)
    task.set_target(goal, twist=twist)
    for array in (kp, goal, twist, task.kp, task.kd, task.target):
        array[:] = np.nan
    np.testing.assert_array_equal(task.kp, np.full(6, 50.0))
    np.testing.assert_allclose(task.target, GOAL, atol=1e-15)


@pytest.mark.parametrize('target', [
    {'pose': np.full(7, np.nan)}, {'pose': np.zeros(7)}, {'pose': np.eye(3)},
    {'pose': GOAL, 'twist': np.zeros(5)}, {'pose': GOAL, 'acceleration': [np.inf] * 6}], ids=str)
def test_a_refused_target_changes_nothing(model, task, target):
    goal = GOAL * 1.0
    goal[:3] += 0.2
    task.set_target(goal, twist=np.ones(6), acceleration=np.ones(6))
    controller, state = cycle(model, task)
    torque, before = controller.compute_torque(state), everything(task)
    with pytest.raises(TaskError, match="task 'left': target"):
        task.set_target(**target)
    assert_unchanged(task, before)
    np.testing.assert_array_equal(controller.compute_torque(state), torque)


def test_feed_forward_stays_until_the_next_target(model, task):
    task.set_target(GOAL)
    controller, state = cycle(model, task)
    plain = controller.compute_torque(state)
    for feed_forward in ({'twist': np.ones(6)}, {'acceleration': np.ones(6)}):
        task.set_target(GOAL, **feed_forward)
        torques = [controller.compute_torque(state) for _ in range(3)]
        assert abs(torques[0] - plain).max() > 0.1
        np.testing.assert_array_equal(torques[1], torques[0])
        np.testing.assert_array_equal(torques[2], torques[0])
    task.set_target(GOAL)
    np.testing.assert_array_equal(controller.compute_torque(state), plain)


def test_feed_forward_alone_leaves_the_goal(model, task):
    task.set_target(GOAL)
    controller, state = cycle(model, task)
    task.set_feed_forward(twist=np.ones(6))
    moving = controller.compute_torque(state)
    np.testing.assert_allclose(task.target, GOAL, atol=1e-15)
    task.set_target(GOAL, twist=np.ones(6))
    np.testing.assert_array_equal(controller.compute_torque(state), moving)
    with pytest.raises(TaskError):
        task.set_feed_forward(twist=np.ones(6), acceleration=np.full(6, np.nan))
    np.testing.assert_array_equal(controller.compute_torque(state), moving)


def test_error_is_right_as_soon_as_a_goal_is_set(model, task):
    """Whoever waits for a small error must not be told of the last goal's."""
    cycle(model, task)
    np.testing.assert_array_equal(task.error, np.zeros(6))
    goal = task.pose
    goal[:3] += [0.3, 0.0, -0.1]
    task.set_target(goal)
    np.testing.assert_allclose(task.error, [0.3, 0, -0.1, 0, 0, 0], atol=1e-12)
    task.set_target((task.pose[:3], [0.6, 0.0, 0.0, 0.8]))
    assert np.linalg.norm(task.error[3:]) > 0.5


def test_pose_target_and_error_at_work(model, task):
    q = np.random.default_rng(0).uniform(-0.5, 0.5, model.nq)
    task.set_target(GOAL)
    controller, state = cycle(model, task, q)
    pose = model.forward_kinematics(state, ['l_hand'])['l_hand']
    np.testing.assert_allclose(task.pose[:3], pose[:3, 3], atol=1e-15)
    np.testing.assert_allclose(task.error[:3], GOAL[:3] - pose[:3, 3], atol=1e-15)
    task.clear_target()
    assert task.target is None and task.error is None
    controller.compute_torque(state)
    np.testing.assert_allclose(task.target, task.pose, atol=1e-15)
    np.testing.assert_allclose(task.error, 0.0, atol=1e-15)


def test_what_is_set_before_there_is_a_controller_counts(model):
    tasks = [PoseTask('l_hand'), PoseTask('l_hand', kp=64.0, kd=3.0)]
    tasks[0].set_gains(64.0, 3.0)
    torques = []
    for task in tasks:
        task.set_target(GOAL)
        task.enabled = True
        torques.append(cycle(model, task)[0].compute_torque(
            RobotState(model, np.full(model.nq, 0.1), np.zeros(model.nv))))
    np.testing.assert_array_equal(torques[0], torques[1])


def test_wrench_is_what_the_task_adds(model, task):
    """Jᵀ f' of [CK00] (13)."""
    task.set_target(GOAL)
    controller = OperationalSpaceController(model, [task], effort_limits=np.inf)
    state = RobotState(model, np.full(model.nq, 0.2), np.ones(model.nv))
    tau = controller.compute_torque(state)
    a = controller.posture_acceleration
    expected = (model.jacobian(state, ['l_hand']).T @ task.wrench
                + model.inverse_dynamics(state, a))
    np.testing.assert_allclose(tau, expected, atol=1e-10 * abs(tau).max())


def test_disabled_is_as_if_it_were_not_there(model):
    state = RobotState(model, np.full(model.nq, 0.2), np.ones(model.nv))
    tasks = [PoseTask('l_hand'), PoseTask('r_hand')]
    for task in tasks:
        task.set_target(GOAL)
    both = OperationalSpaceController(model, tasks)
    with_both = both.compute_torque(state)
    tasks[1].enabled = False
    alone = PoseTask('l_hand')
    alone.set_target(GOAL)
    one = OperationalSpaceController(model, [alone])
    np.testing.assert_allclose(both.compute_torque(state), one.compute_torque(state), atol=1e-9)
    np.testing.assert_array_equal(tasks[1].wrench, np.zeros(6))
    assert tasks[1].error is not None  # it is still watched
    tasks[1].enabled = True
    np.testing.assert_array_equal(both.compute_torque(state), with_both)

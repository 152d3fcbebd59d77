# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The controller as its user sees it; what it computes is tested with the cycle."""

import inspect
import sys

import numpy as np
import pytest
from robots import TALOS, chain, robot_file

from opspace_control import (
    ControlError,
    ModelError,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    TaskError,
)
from opspace_control.share import share_directory

DUAL_ARM = share_directory() / 'urdf' / 'dual_arm.urdf'


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf_file(DUAL_ARM)


def random_state(model, seed=0):
    rng = np.random.default_rng(seed)
    q = model.integrate(model.neutral(), rng.uniform(-0.5, 0.5, model.nv), 1.0)
    return RobotState(model, q, np.where(model.locked, 0.0, rng.normal(size=model.nv)))


def pulled(model, *frames, **arguments):
    """Return a controller whose tasks are pulled somewhere else."""
    controller = OperationalSpaceController(
        model, [PoseTask(frame) for frame in frames], **arguments)
    for task in controller.tasks.values():
        task.set_target([0.5, 0.2, 1.0, 0.0, 0.0, 0.6, 0.8])
    return controller


def test_tasks_by_name_in_order(model):
    posture = PostureTask()
    controller = OperationalSpaceController(
        model, [PoseTask('r_hand', name='right'), PoseTask('l_hand')], posture)
    assert list(controller.tasks) == ['right', 'l_hand']
    assert controller.tasks['right'].frame == 'r_hand'
    assert controller.model is model and controller.posture is posture
    with pytest.raises(TypeError):
        controller.tasks['head'] = PoseTask('torso')


@pytest.mark.parametrize('dt', [-1e-3, np.nan, np.inf])
def test_a_time_that_is_none_is_refused(model, dt):
    """Nothing of the controller changes: no integral, filter or goal on its way goes by it."""
    controller = OperationalSpaceController(model, PoseTask('l_hand'))
    state = random_state(model)
    tau = controller.compute_torque(state)
    with pytest.raises(ControlError, match='dt = '):
        controller.compute_torque(state, dt=dt)
    np.testing.assert_array_equal(controller.compute_torque(state, dt=0.0), tau)


def test_any_number_of_tasks(model):
    state = random_state(model)
    assert OperationalSpaceController(model).compute_torque(state).shape == (17,)
    one = OperationalSpaceController(model, PoseTask('l_hand'))
    assert list(one.tasks) == ['l_hand']
    many = OperationalSpaceController(model, (PoseTask(name) for name in model.frame_names))
    assert np.isfinite(many.compute_torque(state)).all()


@pytest.mark.parametrize('arguments, message', [
    ({'model': 'robot.urdf'}, 'RobotModel'),
    ({'tasks': ['l_hand']}, 'PoseTask'),
    ({'tasks': [25.0]}, 'PoseTask'),
    ({'tasks': [PoseTask('l_hand'), PoseTask('l_hand')]}, "'l_hand'.*name="),
    ({'tasks': [PoseTask('l_hand'), PoseTask('r_hand', name='l_hand')]}, "'l_hand'.*name="),
    ({'posture': PoseTask('l_hand')}, 'PostureTask'),
    ({'posture': 25.0}, 'PostureTask'),
    ({'effort_limits': -1.0}, '17 numbers'),
    ({'effort_limits': np.ones(16)}, '17 numbers'),
    ({'effort_limits': np.full(17, np.nan)}, '17 numbers'),
    ({'effort_limits': 'weak'}, '17 numbers'),
    ({'singularity_threshold': 0.0}, 'between 0 and 1'),
    ({'singularity_threshold': np.nan}, 'between 0 and 1'),
    ({'singularity_threshold': 'small'}, 'between 0 and 1'),
], ids=str)
def test_what_does_not_fit_is_refused_with_a_cure(model, arguments, message):
    with pytest.raises(ControlError, match=message):
        OperationalSpaceController(**{'model': model, **arguments})


def test_unknown_frame_names_the_nearest(model):
    with pytest.raises(ModelError, match='l_hand'):
        OperationalSpaceController(model, [PoseTask('left_hand')])


def test_a_task_belongs_to_one_controller(model):
    task, posture = PoseTask('l_hand'), PostureTask()
    OperationalSpaceController(model, [task], posture)
    assert task.in_use and posture.in_use
    with pytest.raises(ControlError, match="'l_hand' already"):
        OperationalSpaceController(model, [PoseTask('r_hand'), task])
    with pytest.raises(ControlError, match='posture already'):
        OperationalSpaceController(model, [PoseTask('r_hand')], posture)


def test_a_controller_that_was_refused_has_taken_nothing(model):
    for spoiler in ({'effort_limits': -1.0}, {'singularity_threshold': 2.0}, {}):
        task, posture = PoseTask('l_hand'), PostureTask()
        tasks = [task] if spoiler else [task, PoseTask('nowhere')]
        with pytest.raises((ControlError, ModelError)):
            OperationalSpaceController(model, tasks, posture, **spoiler)
        assert not task.in_use and not posture.in_use
        OperationalSpaceController(model, [task], posture)
    task = PoseTask('l_hand')
    with pytest.raises(TaskError):
        OperationalSpaceController(model, [task], PostureTask(kp={'nobody': 1.0}))
    assert not task.in_use


def test_result_is_new_or_goes_into_out(model):
    controller, state = pulled(model, 'l_hand'), random_state(model)
    first, second = controller.compute_torque(state), controller.compute_torque(state)
    assert first is not second
    out = np.full(model.nv, np.nan)
    assert controller.compute_torque(state, out=out) is out
    np.testing.assert_array_equal(out, first)
    np.testing.assert_array_equal(second, first)


def read_only(n):
    array = np.zeros(n)
    array.setflags(write=False)
    return array


@pytest.mark.parametrize('out', [
    np.zeros(16), np.zeros((17, 1)), np.zeros(17, np.float32), np.zeros(17, '>f8'),
    np.zeros(34)[::2], read_only(17), [0.0] * 17, 0.0],
    ids=['short', 'column', 'single', 'swapped', 'strided', 'read-only', 'list', 'number'])
def test_out_that_cannot_take_the_torques_is_refused(model, out):
    controller, state = pulled(model, 'l_hand'), random_state(model)
    for method in (controller.compute_torque, controller.damping_torque):
        with pytest.raises(ControlError, match='17'):
            method(state, out=out)


def test_states_of_other_models_are_refused(model):
    controller = pulled(model, 'l_hand')
    other = RobotModel.from_urdf_file(DUAL_ARM)
    for state in (random_state(other), np.zeros(17), None):
        for method in (controller.compute_torque, controller.damping_torque):
            with pytest.raises(ControlError, match='RobotState'):
                method(state)


def test_controllers_of_one_model_do_not_meet(model):
    left, right, state = pulled(model, 'l_hand'), pulled(model, 'r_hand'), random_state(model)
    expected = left.compute_torque(state)
    right.compute_torque(random_state(model, 1))
    right.posture.set_gains(kp=1.0)
    np.testing.assert_array_equal(left.compute_torque(state), expected)


def test_cycles_do_not_remember_each_other(model):
    controller, states = pulled(model, 'l_hand', 'r_hand'), [random_state(model, i) for i in (0, 1)]
    controller.posture.set_target(np.zeros(model.nq))
    first = controller.compute_torque(states[0])
    controller.compute_torque(states[1])
    np.testing.assert_array_equal(controller.compute_torque(states[0]), first)


def test_gravity_is_compensated_before_the_limits(model):
    """The limits see the sum: a robot that can hardly hold itself has nothing left to move with."""
    state = random_state(model)
    free = pulled(model, 'l_hand', effort_limits=np.inf).compute_torque(state)
    holding = abs(model.gravity(state)).max()
    for limits in (0.2 * model.effort_limits, np.full(model.nv, 0.7 * holding), np.zeros(model.nv)):
        controller = pulled(model, 'l_hand', effort_limits=limits)
        np.testing.assert_array_equal(controller.compute_torque(state),
                                      np.clip(free, -limits, limits))
        assert controller.limited_joints == (abs(free) > limits).sum() > 0


def test_effort_limits_are_those_of_the_urdf_or_given(model):
    np.testing.assert_array_equal(OperationalSpaceController(model).effort_limits,
                                  model.effort_limits)
    given = np.arange(1.0, 18.0)
    controller = OperationalSpaceController(model, effort_limits=given)
    given[:] = controller.effort_limits[:] = 0.0
    np.testing.assert_array_equal(controller.effort_limits, np.arange(1.0, 18.0))
    unlimited = OperationalSpaceController(model, effort_limits=np.inf)
    unlimited.posture.set_target(np.full(17, 100.0))
    unlimited.compute_torque(random_state(model))
    assert unlimited.limited_joints == 0


@pytest.mark.parametrize('floating', [False, True])
def test_locked_joints_get_exactly_zero(floating):
    locked = ['torso_1_joint', 'arm_left_4_joint', 'leg_right_6_joint']
    model = RobotModel.from_urdf_file(robot_file(TALOS), locked_joints=locked,
                                      floating_base=floating)
    controller, state = pulled(model, 'gripper_left_base_link'), random_state(model)
    indices = [model.dof_index(name) for name in locked]
    for tau in (controller.compute_torque(state), controller.damping_torque(state)):
        assert (tau[indices] == 0.0).all()
        assert (np.delete(tau, indices) != 0.0).sum() > 20


def test_hold_makes_the_present_everyones_goal(model):
    controller = pulled(model, 'l_hand', 'r_hand')
    controller.tasks['l_hand'].set_feed_forward(twist=np.ones(6))
    controller.posture.set_target(np.ones(model.nq))
    state = RobotState(model, random_state(model).q, np.zeros(model.nv))
    assert abs(controller.compute_torque(state) - model.gravity(state)).max() > 1.0
    controller.hold()
    np.testing.assert_allclose(controller.compute_torque(state), model.gravity(state), atol=1e-9)
    np.testing.assert_array_equal(controller.posture.target, state.q)
    for task in controller.tasks.values():
        np.testing.assert_allclose(task.target, task.pose)
    moved = RobotState(model, state.q + 0.01, np.zeros(model.nv))
    assert abs(controller.compute_torque(moved) - model.gravity(moved)).max() > 0.1


@pytest.mark.parametrize('floating, locked', [
    (False, ()), (True, ()), (False, ['arm_left_4_joint'])])
@pytest.mark.parametrize('limit', [np.inf, 5.0, 0.01])
def test_damping_takes_energy_out_of_any_motion(floating, locked, limit):
    model = RobotModel.from_urdf_file(robot_file(TALOS), floating_base=floating,
                                      locked_joints=locked)
    limits = np.full(model.nv, limit)
    limits[::7] = 0.0  # joints without a motor
    controller = OperationalSpaceController(
        model, posture=PostureTask(kd={'default': 0.0, 'arm_left_1_joint': 1e3}),
        effort_limits=limits)
    rng = np.random.default_rng(0)
    for seed in range(50):
        still = random_state(model, seed)
        v = rng.normal(size=model.nv) * 10.0 ** rng.uniform(-3.0, 2.0, model.nv)
        v[model.locked] = 0.0
        tau = controller.damping_torque(RobotState(model, still.q, v))
        assert (abs(tau) <= limits).all()
        assert tau @ v < 0.0
    assert (controller.damping_torque(RobotState(model, still.q, 0.0 * v)) == 0.0).all()


def test_damping_slows_all_joints_alike(model):
    """A v̇ + b + g = −rate A v + b + g would be v̇ = −rate v."""
    controller = pulled(model, 'l_hand', effort_limits=np.inf)
    state = random_state(model)
    for rate in (10.0, 3.0):
        tau = controller.damping_torque(state, rate=rate)
        a = model.forward_dynamics(state, tau + model.gravity(state) + model.bias_force(state))
        np.testing.assert_allclose(a, -rate * state.v, atol=1e-10)
    np.testing.assert_array_equal(controller.damping_torque(state),
                                  controller.damping_torque(state, rate=10.0))


def test_the_first_cycle_needs_no_warm_up_and_others_nothing_new(model):
    cold, warm, state = pulled(model, 'l_hand'), pulled(model, 'l_hand'), random_state(model)
    warm.warm_up()
    np.testing.assert_array_equal(cold.compute_torque(state), warm.compute_torque(state))


def test_live_changes_act_at_the_next_cycle(model):
    controller, state = pulled(model, 'l_hand'), random_state(model)
    task = controller.tasks['l_hand']
    torques = [controller.compute_torque(state)]
    for change in (lambda: task.set_gains(kp=200.0), lambda: task.set_gains(kd=3.0),
                   lambda: setattr(task, 'max_linear_velocity', 0.01),
                   lambda: setattr(task, 'max_angular_velocity', 0.01),
                   lambda: controller.posture.set_gains(kp=70.0),
                   lambda: controller.posture.set_target(np.ones(model.nq)),
                   lambda: setattr(controller, 'gravity_compensation', False),
                   lambda: setattr(task, 'enabled', False)):
        change()
        torques.append(controller.compute_torque(state))
        assert abs(torques[-1] - torques[-2]).max() > 1e-3


@pytest.mark.parametrize(('place', 'word', 'given'), [
    ('compute_torque', 'connect(0', True), ('compute_torque', '_state = state', True),
    ('_connect_result', 'connect(1', True), ('_connect_result', '_out = out', True),
    ('_connect_result', 'connect(1', False), ('_connect_result', '_out = out', False)])
def test_an_interrupt_leaves_no_other_arrays(place, word, given):
    """The next cycle reads the state and writes the array that it is given, and no other."""
    model = RobotModel.from_urdf(chain('revolute', 'revolute'))
    controller = OperationalSpaceController(model)
    states = [RobotState(model, q, v) for q, v in (([0.1, 0.2], [1.0, 2.0]), ([1.0, 2.0], [0, 3]))]
    wanted = [controller.compute_torque(state) for state in states]
    arrays = [np.full(model.nv, 7.0) for _ in range(2)]
    controller.compute_torque(states[0], arrays[0])
    lines, first = inspect.getsourcelines(getattr(type(controller), place))
    number = first + next(k for k, line in enumerate(lines) if word in line)

    def interrupt(frame, event, _):
        if event == 'line' and frame.f_lineno == number:
            raise KeyboardInterrupt
        return interrupt

    before, other = sys.gettrace(), int(place == '_connect_result')
    sys.settrace(lambda frame, *_: interrupt if frame.f_code.co_name == place else None)
    try:
        with pytest.raises(KeyboardInterrupt):
            controller.compute_torque(
                states[1 - other], arrays[other] if given else None)
    finally:
        sys.settrace(before)
    for state, torque in zip(states, wanted, strict=True):
        for out in (*arrays[::-1], None, arrays[0]):
            for array in arrays:
                array[:] = 7.0
            assert controller.compute_torque(state, out) == pytest.approx(torque)
            assert [(array != 7.0).any() for array in arrays] == [array is out for array in arrays]

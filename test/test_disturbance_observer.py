# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Unknown joint forces are compensated along the axes of motion of tasks, and nowhere else."""

import numpy as np
import pytest
from ideal_robot import IdealRobot
from robots import TALOS, robot_file
from samples import random_state, sample

from opspace_control import (
    CenterOfMassTask,
    Constraint,
    ControlError,
    DisturbanceObserver,
    ForceControl,
    ForceTask,
    Grasp,
    Impedance,
    JointLimits,
    MomentumObserver,
    OperationalSpaceController,
    Payload,
    PoseTask,
    PositionTask,
    PostureTask,
    RobotModel,
    RobotState,
    operational_space,
)

UNBOUNDED = {'max_force': np.inf, 'max_moment': np.inf}
DT = 1e-3
PANDA = RobotModel.from_urdf_file(
    robot_file('panda.urdf'), locked_joints=['panda_finger_joint1'])
TCP = 'panda_hand_tcp'
HOME = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.7, 0.78, 0.0])


def at_home(v=None):
    return RobotState(PANDA, HOME, np.zeros(PANDA.nv) if v is None else v)


def unknown(model, seed=0):
    """Return unknown joint forces in proportion to the inertia that each joint moves, (nv,)."""
    A = model.mass_matrix(RobotState(model, model.neutral(), np.zeros(model.nv)))
    return np.where(model.locked, 0.0, np.random.default_rng(seed).normal(size=model.nv) * (
        A.diagonal()))


def difference_of(model, tasks, state, r, observer, **options):
    """Return the joint forces with an observer that knows r, minus those without; and with what."""
    controller = OperationalSpaceController(model, tasks, **options)
    for constraint in controller.constraints.values():
        constraint.close()
    bare = controller.compute_torque(state).copy()
    controller.disturbance = observer
    know(controller, state, r)
    return controller.compute_torque(state) - bare, controller


def know(controller, state, r):
    """Let the observer of a controller know r, by the forces of a robot that rests."""
    observer = controller.disturbance
    controller.compute_torque(state, dt=0.0)
    observer.apply(np.where(controller.locked, 0.0, controller.model.gravity(state) - r))
    for _ in range(2):  # a rate of 1e6/s: known after one period
        controller.compute_torque(state, dt=DT)
        observer.apply(controller.model.gravity(state) - r)
    np.testing.assert_allclose(observer.residual, r, atol=1e-9)
    observer.frozen = True


@pytest.mark.parametrize('limits', [False, True], ids=['bare', 'limited'])
def test_the_hand_moves_as_that_of_the_model(limits):
    """``−Jᵀ J̄ᵀ r``: nothing of r accelerates the hand, and no more than that is exerted."""
    r, state = unknown(PANDA), at_home()
    options = {'limits': JointLimits(PANDA)} if limits else {}
    change, controller = difference_of(
        PANDA, [PoseTask(TCP)], state, r, DisturbanceObserver(1e6, **UNBOUNDED), **options)
    space = operational_space(PANDA, state, TCP)
    F = space.dynamically_consistent_inverse.T @ r
    assert abs(F).max() > 0.1
    np.testing.assert_allclose(change, -space.jacobian.T @ F, atol=1e-4 * abs(r).max())
    np.testing.assert_allclose(controller.disturbance.rejected[TCP], -F, atol=1e-4 * abs(F).max())


@pytest.mark.parametrize('priority', [0, 1])
def test_two_hands_of_a_floating_robot_on_one_level_and_on_two(priority):
    """Whatever the levels, neither hand is accelerated: levels above compensate for those below."""
    model = RobotModel.from_urdf_file(robot_file(TALOS), floating_base=True)
    hands = ['gripper_left_base_link', 'gripper_right_base_link']
    tasks = [PoseTask(hands[0]), PoseTask(hands[1], priority=priority)]
    state, r = random_state(model, 0, speed=0.0), unknown(model)
    change, _ = difference_of(model, tasks, state, r, DisturbanceObserver(1e6, **UNBOUNDED))
    J, A = model.jacobian(state, hands), model.mass_matrix(state)
    moved = J @ np.linalg.solve(A, r)
    left = J @ np.linalg.solve(A, r + change)
    assert abs(moved).max() > 0.1
    np.testing.assert_allclose(left, 0.0, atol=1e-4 * abs(moved).max())


def test_constraint_forces_in_the_estimate_change_nothing():
    """``Φ J_cᵀ = 0``: of a hand that is held, r may contain what holds it."""
    model = sample('dual_arm').model
    state, r = random_state(model, 1, speed=0.0), unknown(sample('dual_arm').model)
    reaction = model.jacobian(state, 'r_hand').T @ np.array([50.0, -20.0, 30.0, 2.0, 1.0, -3.0])

    def change(r):
        return difference_of(model, [PoseTask('l_hand')], state, r,
                             DisturbanceObserver(1e6, **UNBOUNDED),
                             constraints=[Constraint('r_hand')])[0]
    assert abs(change(r)).max() > 0.1
    np.testing.assert_allclose(change(reaction), 0.0, atol=1e-6)
    np.testing.assert_allclose(change(r + reaction), change(r), atol=1e-6)


def test_nothing_along_force_axes_springs_and_free_axes():
    r, state = unknown(PANDA), at_home()
    space = operational_space(PANDA, state, TCP)
    J, A = space.jacobian, PANDA.mass_matrix(state)
    accelerated = J @ np.linalg.solve(A, r)
    for task in (PositionTask(TCP), ForceTask(TCP, force_axes='z')):
        change, controller = difference_of(
            PANDA, [task], state, r, DisturbanceObserver(1e6, **UNBOUNDED))
        rejected = controller.disturbance.rejected[TCP]
        rows = [0, 1, 2] if isinstance(task, PositionTask) else []
        np.testing.assert_array_equal(rejected[[k for k in range(6) if k not in rows]], 0.0)
        left = J @ np.linalg.solve(A, r + change)
        np.testing.assert_allclose(left[rows], 0.0, atol=1e-4 * abs(accelerated).max())
    spring = PoseTask(TCP, impedance=Impedance())
    change, _ = difference_of(PANDA, [spring], state, r, DisturbanceObserver(1e6, **UNBOUNDED))
    np.testing.assert_array_equal(change, 0.0)


def pressing(task, state, press):
    """Return a controller of a task that presses, and its efforts, when the force is there."""
    controller = OperationalSpaceController(state.model, [task])
    task.force.set_target([0.0, 0.0, press, 0.0, 0.0, 0.0])
    for _ in range(3000):
        bare = controller.compute_torque(state, dt=DT)
    assert task.wrench[2] == pytest.approx(press, rel=0.01)
    return controller, bare


def test_the_environment_of_a_hand_that_presses_is_not_compensated():
    """
    Its reaction is in r, [K87] (5.5), with its friction and its moment about the hand.

    If the axes of motion compensated for these, a hand that is not flush would lose its contact.
    """
    state = at_home()
    task = PoseTask(TCP, force_axes='z', force=ForceControl(approach=(0.0, 0.0)))
    controller, bare = pressing(task, state, 12.0)
    controller.disturbance = observer = DisturbanceObserver(1e6, **UNBOUNDED)
    controller.compute_torque(state, dt=0.0)
    for r in (-operational_space(PANDA, state, TCP).jacobian.T @ task.wrench, unknown(PANDA)):
        for _ in range(2):
            observer.apply(PANDA.gravity(state) - r)
            np.testing.assert_array_equal(controller.compute_torque(state, dt=DT), bare)


def test_what_was_found_before_a_hand_presses_stays():
    """To the bit, whatever is unknown then; without force control it follows again."""
    state, observer = at_home(), DisturbanceObserver(1e6, **UNBOUNDED)
    task = PoseTask(TCP, force_axes='z', force=ForceControl(approach=(0.0, 0.0)))
    controller = OperationalSpaceController(PANDA, [task])
    controller.disturbance = observer
    controller.compute_torque(state, dt=0.0)

    def rejected(r):
        for _ in range(2):
            observer.apply(PANDA.gravity(state) - r)
            controller.compute_torque(state, dt=DT)
        return observer.rejected[TCP].copy()
    before = rejected(unknown(PANDA))
    assert abs(before).max() > 0.1
    task.force.set_target([0.0, 0.0, 12.0, 0.0, 0.0, 0.0])
    for seed in (1, 2):
        np.testing.assert_array_equal(rejected(unknown(PANDA, seed)), before)
    task.force.set_target(np.zeros(6))
    assert abs(rejected(unknown(PANDA, 1)) - before).max() > 0.1


def test_while_a_grasp_is_engaged_what_compensates_fades():
    """The residual of the arms has the load, which the law carries already."""
    model = sample('dual_arm').model
    grasp = Grasp(('l_hand', 'r_hand'))
    state = random_state(model, 2, speed=0.0)
    controller = OperationalSpaceController(model, [PoseTask('l_hand')], grasps=[grasp])
    controller.disturbance = observer = DisturbanceObserver(100.0, **UNBOUNDED)

    def rejected(periods):
        for _ in range(periods):
            controller.compute_torque(state, dt=DT)
            observer.apply(model.gravity(state) - unknown(model))
        return max(abs(force).max() for force in observer.rejected.values())
    before = rejected(100)
    assert before > 0.1
    grasp.engage(state)
    assert 0.3 * before < rejected(10) < 0.95 * before
    assert rejected(100) < 0.01 * before
    grasp.disengage()
    assert rejected(100) > 0.5 * before


def test_bounds_of_each_task_shrink_the_whole():
    r, state = unknown(PANDA), at_home()
    F = operational_space(PANDA, state, TCP).dynamically_consistent_inverse.T @ r
    force, moment = np.linalg.norm(F[:3]), np.linalg.norm(F[3:])
    for bounds, share in (({'max_force': 0.25 * force, 'max_moment': np.inf}, 0.25),
                          ({'max_force': 0.5 * force, 'max_moment': 0.1 * moment}, 0.1),
                          ({'max_force': np.inf, 'max_moment': 0.0}, 0.0)):
        _, controller = difference_of(
            PANDA, [PoseTask(TCP)], state, r, DisturbanceObserver(1e6, **bounds))
        np.testing.assert_allclose(controller.disturbance.rejected[TCP], -share * F,
                                   atol=1e-4 * abs(F).max())
    _, controller = difference_of(
        PANDA, [PoseTask(TCP)], state, r, DisturbanceObserver(1e6, **UNBOUNDED))
    for bound, share in ((0.5, 0.5), (0.25, 0.25), (0.5, 0.25)):
        # What is filtered shrinks, too, so that here, where it is frozen, it stays small.
        controller.disturbance.set(max_force=bound * force)
        controller.compute_torque(state)
        np.testing.assert_allclose(controller.disturbance.rejected[TCP], -share * F,
                                   atol=1e-4 * abs(F).max())


@pytest.mark.parametrize('observer', [
    DisturbanceObserver(1e6, max_force=0.0, max_moment=0.0),
    DisturbanceObserver(1e6, **UNBOUNDED, tasks=())])
def test_without_a_task_that_compensates_it_is_the_bare_law(observer):
    state = at_home()
    controller = OperationalSpaceController(PANDA, [PoseTask(TCP)])
    bare = controller.compute_torque(state, dt=DT).copy()
    controller.disturbance = observer
    for _ in range(3):
        observer.apply(controller.compute_torque(state, dt=DT) + unknown(PANDA))
        np.testing.assert_array_equal(controller.compute_torque(state, dt=DT), bare)
    np.testing.assert_array_equal(observer.residual, 0.0)


def test_gaps_and_new_beginnings():
    """After a gap the next state tells no force; a restart forgets what compensates, too."""
    r, state = unknown(PANDA), at_home()
    _, controller = difference_of(
        PANDA, [PoseTask(TCP)], state, r, DisturbanceObserver(1e6, **UNBOUNDED))
    observer, before = controller.disturbance, controller.disturbance.rejected[TCP]
    assert abs(before).max() > 0.1
    observer.frozen = False
    observer.interrupt()
    observer.apply(0.0 * r)
    controller.compute_torque(state, dt=DT)
    np.testing.assert_allclose(observer.rejected[TCP], before, rtol=1e-9)
    observer.apply(controller.model.gravity(state))
    controller.compute_torque(state, dt=DT)
    np.testing.assert_allclose(observer.rejected[TCP], 0.0, atol=1e-9)
    observer.restart()
    for frozen in (False, True):
        observer.frozen = frozen
        controller.compute_torque(state, dt=0.0)
        np.testing.assert_array_equal(observer.rejected[TCP], 0.0)


@pytest.mark.parametrize('change', ['payload', 'brake'])
def test_another_momentum_of_a_moving_arm_is_no_force(change):
    """What a payload or a brake changes of ``A v`` between two cycles nothing has exerted."""
    controller = OperationalSpaceController(PANDA, [PoseTask(TCP)])
    controller.disturbance = observer = DisturbanceObserver(20.0, **UNBOUNDED)
    state = at_home(np.where(PANDA.locked, 0.0, 0.4))
    bias = PANDA.bias_force(state) + PANDA.gravity(state)
    for k in range(4):
        if k == 2 and change == 'payload':
            controller.payloads.put('box', TCP, Payload.of_box(3.0, (0.1, 0.1, 0.1)))
        elif k == 2:
            controller.set_status(locked_joints=['panda_joint6', 'panda_finger_joint1'])
        controller.compute_torque(state, dt=DT)
        if k < 3:  # with a payload the weight is other forces at the same state
            assert abs(observer.rejected[TCP]).max() < 0.5
        observer.apply(bias)


def test_the_estimate_is_that_of_the_momentum_observer_and_stays_when_frozen():
    rng, state = np.random.default_rng(2), at_home()
    controller = OperationalSpaceController(PANDA, [PoseTask(TCP)])
    controller.disturbance = DisturbanceObserver(80.0, **UNBOUNDED)
    reference = controller.momentum_observer(1e9)  # 1/s: without a filter
    assert isinstance(reference, MomentumObserver)
    applied = np.zeros(PANDA.nv)
    for _ in range(30):
        v = np.where(PANDA.locked, 0.0, 0.3 * rng.normal(size=PANDA.nv))
        state.update(PANDA.integrate(state.q, v, DT), v)
        reference.update(state, applied, DT)
        applied = controller.compute_torque(state, dt=DT)
        np.testing.assert_allclose(controller.disturbance.residual, reference.residual, rtol=1e-9,
                                   atol=1e-9)
    controller.disturbance.frozen = True
    before = controller.disturbance.residual
    assert abs(before).max() > 1.0
    for frozen in (True, False):  # the first state after it is where the observer begins anew
        controller.disturbance.frozen = frozen
        state.update(state.q, np.where(PANDA.locked, 0.0, 0.3 * rng.normal(size=PANDA.nv)))
        controller.compute_torque(state, dt=DT)
        np.testing.assert_array_equal(controller.disturbance.residual, before)
    controller.disturbance.restart()
    np.testing.assert_array_equal(controller.disturbance.residual, 0.0)
    controller.disturbance = None
    bare = OperationalSpaceController(PANDA, [PoseTask(TCP)])
    bare.tasks[TCP].set_target(controller.tasks[TCP].target)
    bare.posture.set_target(controller.posture.target)
    np.testing.assert_allclose(controller.compute_torque(state), bare.compute_torque(state))


def steered(observer, mass, seconds):
    """Return the error of a Panda that carries a mass its model lacks, m, and the mass's forces."""
    controller = OperationalSpaceController(
        PANDA, [PoseTask(TCP)], PostureTask(target=HOME), limits=JointLimits(PANDA))
    controller.disturbance = observer
    state, force = at_home(), np.array([0.0, 0.0, -9.81 * mass, 0.0, 0.0, 0.0])
    ideal = IdealRobot(PANDA, TCP)
    for _ in range(round(seconds / DT)):
        before, tau = state, controller.compute_torque(state, dt=DT)
        state = ideal.after(before, tau, DT, force)
    return np.linalg.norm(controller.tasks[TCP].error[:3]), PANDA.jacobian(before, TCP).T @ force


def test_a_load_is_carried_without_steady_error():
    """2 kg: the bare law sags for good, the observer brings the hand back."""
    bare, _ = steered(None, 2.0, 1.5)
    observer = DisturbanceObserver(20.0, max_force=40.0, max_moment=20.0)
    ours, load = steered(observer, 2.0, 1.5)
    assert bare > 5e-3
    assert ours < 5e-5
    np.testing.assert_allclose(observer.residual, load, atol=0.02 * abs(load).max())


@pytest.mark.parametrize(('bounds', 'yields', 'overshoots'), [
    ((10.0, 2.0), True, False), ((60.0, 20.0), False, True)])
def test_a_push_by_hand_beyond_the_bounds_yields_and_returns(bounds, yields, overshoots):
    """
    20 N for a second: twice the bounds of the node; within larger ones it is compensated.

    Then the hand moves as ``s / ((s + K) (s² + kd s + kp)) Λ⁻¹ f`` when the push begins, and as far
    the other way when it ends: the loop is linear, and there is no windup in it.
    """
    controller = OperationalSpaceController(
        PANDA, [PoseTask(TCP)], PostureTask(target=HOME), limits=JointLimits(PANDA))
    controller.disturbance = DisturbanceObserver(20.0, max_force=bounds[0], max_moment=bounds[1])
    state, force = at_home(), np.array([0.0, 0.0, -20.0, 0.0, 0.0, 0.0])
    below, ideal = [], IdealRobot(PANDA, TCP)
    for k in range(3000):
        tau = controller.compute_torque(state, dt=DT)
        state = ideal.after(state, tau, DT, force if k < 1000 else 0.0)
        below.append(controller.tasks[TCP].error[2])
    assert (below[999] > 0.01) == yields  # m, at the end of the push
    assert (-min(below) > 0.2 * max(below)) == overshoots
    if overshoots:
        t = np.arange(0.0, 1.0, DT)
        response = (np.exp(-20.0 * t) - (1.0 - 10.0 * t) * np.exp(-10.0 * t)) / 100.0
        J = PANDA.jacobian(at_home(), TCP)[:, ~PANDA.locked]
        A = PANDA.mass_matrix(at_home())[np.ix_(~PANDA.locked, ~PANDA.locked)]
        far = 20.0 * (J @ np.linalg.solve(A, J.T))[2, 2] * response.max()
        assert [max(below), -min(below)] == pytest.approx([far, far], rel=0.05)
    assert abs(below[-1]) < 1e-4


@pytest.mark.parametrize('rate', [20.0, 80.0])
def test_what_moves_in_the_null_space_comes_to_rest(rate):
    """
    20 N at one of two light hands.

    A filter of r of each joint, not of the tasks' forces, has a lag that feeds the null space: at
    10 N and 20/s joints moved faster and faster.
    """
    model = sample('dual_arm').model
    controller = OperationalSpaceController(model, [PoseTask('l_hand'), PoseTask('r_hand')])
    controller.disturbance = DisturbanceObserver(rate, max_force=60.0, max_moment=20.0)
    state, force = random_state(model, 0, speed=0.0), np.array([0.0, 0.0, -20.0, 0.0, 0.0, 0.0])
    ideal = IdealRobot(model, 'l_hand')
    for _ in range(4000):
        tau = controller.compute_torque(state, dt=DT)
        state = ideal.after(state, tau, DT, force)
    assert np.linalg.norm(controller.tasks['l_hand'].error[:3]) < 2e-6
    assert abs(state.v).max() < 1e-5
    np.testing.assert_allclose(controller.disturbance.rejected['l_hand'], -force, atol=1e-3)


@pytest.mark.parametrize('limits', [None, JointLimits(PANDA)], ids=['bare', 'limited'])
def test_while_something_blocks_the_arm_the_estimate_stays_within_the_efforts(limits):
    """It is what holds the arm, ``g − τ``, however long; an integral of the error would grow."""
    state = at_home()
    controller = OperationalSpaceController(
        PANDA, [PoseTask(TCP)], effort_limits=20.0, limits=limits)
    controller.compute_torque(state)
    goal = controller.tasks[TCP].pose
    goal[:3] += 0.1, 0.1, 0.2
    controller.tasks[TCP].set_target(goal)
    controller.disturbance = observer = DisturbanceObserver(20.0, **UNBOUNDED)
    found, efforts = [], []
    for _ in range(6000):
        efforts.append(controller.compute_torque(state, dt=DT))
        found.append(observer.residual)
    found, efforts = np.array(found), np.array(efforts)
    held = PANDA.gravity(state) - efforts
    assert (abs((held - found)[-1, ~PANDA.locked]) < 0.1).all()
    weight = np.where(PANDA.locked, 0.0, PANDA.gravity(state))
    assert (abs(found - weight) < np.maximum(20.0, abs(weight)) + 0.1).all()
    at_limit = np.isclose(abs(efforts[-1000:]), 20.0).all(axis=0)
    assert at_limit.sum() >= 2
    np.testing.assert_allclose(found[-1000:, at_limit], found[-1:, at_limit].repeat(1000, 0),
                               atol=1e-3)


def test_what_is_refused():
    for arguments in ({'rate': 0.0, **UNBOUNDED}, {'rate': np.inf, **UNBOUNDED},
                      {'rate': 1.0, 'max_force': -1.0, 'max_moment': 1.0},
                      {'rate': 1.0, 'max_force': 1.0, 'max_moment': 'big'}):
        with pytest.raises(ControlError, match=r'disturbance observer: .* is not allowed'):
            DisturbanceObserver(**arguments)
    model = sample('dual_arm').model
    controller = OperationalSpaceController(model, [PoseTask('l_hand'), CenterOfMassTask()])
    for name in ('r_hand', 'center_of_mass'):
        with pytest.raises(ControlError, match=f"'{name}'"):
            controller.disturbance = DisturbanceObserver(1.0, **UNBOUNDED, tasks=[name])
    assert controller.disturbance is None
    controller.disturbance = observer = DisturbanceObserver(1.0, **UNBOUNDED)
    with pytest.raises(ControlError, match='belongs to a controller'):
        OperationalSpaceController(model, [PoseTask('r_hand')]).disturbance = observer

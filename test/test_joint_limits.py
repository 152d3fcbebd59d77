# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Joints keep their limits: the law against the conditions of its optimum, and in simulation."""

import math

import numpy as np
import pytest
from own_ramps import Ramps
from robots import robot_file

from opspace_control import (
    ControlError,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.control.data import SCALE
from opspace_control.control.limits.joint_limits import SHORTEST_STOP
from opspace_control.control.limits.kinds import MOTION
from opspace_control.control.limits.limit_law import bound_acceleration
from opspace_control.control.problem.resting import find_resting
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.model.mobility import carried_by_joints
from opspace_control.share import share_directory
from opspace_control.simulation import SimulatedRobot
from opspace_control.spatial.eigen import SINGULARITY_THRESHOLD

HAND = 'hand'
KP, KD, KD_POSTURE = 100.0, 20.0, 10.0
BENT = 0.2, 0.5, -0.3, 1.4, 0.2, 0.8, 0.1  # rad


def read(robot):
    """Return the text of a robot of ours."""
    return (share_directory() / 'urdf' / robot).read_text()


@pytest.fixture(scope='module')
def arm():
    """Return the model of an arm of seven joints."""
    return RobotModel.from_urdf(read('arm_7r.urdf'))


class Bench:
    """One controller of the arm's hand, with limits that can be changed, and one without."""

    def __init__(self, arm):
        self.model = arm
        self.limits = JointLimits(arm)
        self.task = PoseTask(HAND, kp=KP, kd=KD)
        self.posture = PostureTask(kp=25.0, kd=KD_POSTURE)
        self.controller = OperationalSpaceController(
            arm, self.task, self.posture, limits=self.limits, effort_limits=1e3)
        self.efforts, self.records, _ = self.controller._arguments.limits
        self.usual = self.records.copy()

    def restart(self):
        """Forget what held joints, and be the usual one again."""
        self.records[:] = self.usual
        self.efforts[:] = 1e3
        self.controller._limits.memory.bound_active[:] = 0

    def run(self, state, goal):
        """Return the joint forces, and the accelerations that they cause."""
        self.task.set_target(goal)
        tau = self.controller.compute_torque(state)
        A = self.model.mass_matrix(state)
        return tau, np.linalg.solve(A, tau - self.model.bias_force(state)
                                    - self.model.gravity(state))


@pytest.fixture(scope='module')
def module_bench(arm):
    """Return a Bench, compiled once."""
    return Bench(arm)


@pytest.fixture
def bench(module_bench):
    """Return the Bench as it was at first."""
    module_bench.restart()
    yield module_bench
    module_bench.restart()


def state_of(model, rng, speed=0.1):
    """Return a random state away from singularities."""
    q = model.neutral()
    q[:] = BENT
    q += rng.uniform(-0.2, 0.2, 7)
    return RobotState(model, q, rng.uniform(-speed, speed, 7))


def goal_near(model, state, rng, distance):
    """Return a goal some distance from where the hand is."""
    pose = model.forward_kinematics(state, HAND)[HAND]
    pose[:3, 3] += distance * rng.uniform(-1.0, 1.0, 3)
    return pose


def advised(bench, state):
    """Return q̈_null within the limits, (7,), and what the hand is to do beyond it, (6,)."""
    posture = bench.controller.posture_acceleration
    asked = np.zeros(6)
    error = bench.task.error
    J = bench.model.jacobian(state, HAND)
    asked[:] = KP * error - KD * (J @ state.v)
    return posture, asked - bench.model.bias_acceleration(state, HAND) - J @ posture


def part_missed(bench, state, row):
    """
    Return which part of what the hand wants is missed at most because of a bound on ``row @ q̈``.

    Eight proximal steps leave ``(ε / (λ + ε))⁸`` along a direction of which the bound leaves λ.
    """
    J, A = bench.model.jacobian(state, HAND), bench.model.mass_matrix(state)
    rows = np.vstack([J, row])
    L = rows @ np.linalg.solve(A, rows.T)
    left = L[:6, :6] - np.outer(L[:6, 6], L[6, :6]) / L[6, 6]
    scale = np.diag(bench.controller._rows[SCALE])
    softness = SINGULARITY_THRESHOLD / 6.0
    return (softness / (np.linalg.eigvalsh(scale @ left @ scale)[0] + softness)) ** 8


def hold_one(bench, state, goal, k, part):
    """Let joint k do but a part of what it would, and return that and what the joints do then."""
    bench.restart()
    bench.posture.set_target(state.q)
    bench.records['acceleration'], bench.records['slow'] = 1e3, -1.0
    tau, free = bench.run(state, goal)
    bench.records['acceleration'][k] = part * abs(free[k])
    return tau, free, *bench.run(state, goal)


def test_active_limits_satisfy_the_conditions_of_the_optimum(bench):
    """Of all accelerations that meet task and limits this is the one nearest to the posture's."""
    model, cases = bench.model, 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        state = state_of(model, rng)
        goal = goal_near(model, state, rng, 0.05)
        J, A = model.jacobian(state, HAND), model.mass_matrix(state)
        for k in range(7):
            _, free, _, a = hold_one(bench, state, goal, k, 0.5)
            if abs(KD_POSTURE * state.v[k]) > 0.5 * abs(free[k]):
                continue  # it is the posture that gives way
            held = [(joint.name, joint.limit) for joint in bench.controller.active_limits]
            assert held == [(model.dof_names[k], 'acceleration')]
            assert a[k] == pytest.approx(0.5 * free[k], rel=1e-8)
            missed = part_missed(bench, state, np.eye(7)[k])
            if missed > 1e-2:
                continue  # without this joint a direction of the hand is nearly lost
            cases += 1
            posture, wanted = advised(bench, state)
            np.testing.assert_allclose(
                J @ (a - posture), wanted, atol=(1e-7 + 10.0 * missed) * abs(wanted).max())
            # A (q̈ − q̈_null) = Jᵀ f + e_k λ, and λ holds the joint back.
            gradient = A @ (a - posture)
            columns = np.column_stack([J.T, np.eye(7)[k]])
            forces, *_ = np.linalg.lstsq(columns, gradient, rcond=None)
            np.testing.assert_allclose(
                columns @ forces, gradient, atol=1e-8 * abs(gradient).max())
            assert forces[-1] * free[k] < 0.0
    assert cases >= 6


def test_an_effort_at_its_limit_leaves_the_task_to_other_joints(bench):
    """With A_k q̈ + b_k + g_k = limit the rest is as near to the posture's advice as can be."""
    rng = np.random.default_rng(3)
    model, state = bench.model, state_of(bench.model, rng)
    goal = goal_near(model, state, rng, 0.05)
    bench.records['acceleration'], bench.records['slow'] = 1e3, -1.0
    tau, _ = bench.run(state, goal)
    load = model.gravity(state)
    A = model.mass_matrix(state)
    k = int(np.argmax(abs(tau - load)))
    limits = bench.efforts
    limits[k] = abs(load[k] + 0.7 * (tau[k] - load[k]))
    bench.run(state, goal)          # is cut, and noted
    held_tau, a = bench.run(state, goal)
    assert [(joint.name, joint.limit) for joint in bench.controller.active_limits] == [
        (model.dof_names[k], 'effort')]
    assert abs(held_tau[k]) == pytest.approx(limits[k], rel=1e-9)
    posture, wanted = advised(bench, state)
    J, missed = model.jacobian(state, HAND), part_missed(bench, state, A[k])
    assert missed < 1e-2
    np.testing.assert_allclose(
        J @ (a - posture), wanted, atol=(1e-7 + 10.0 * missed) * abs(wanted).max())
    gradient = A @ (a - posture)
    columns = np.column_stack([J.T, A[k]])
    forces, *_ = np.linalg.lstsq(columns, gradient, rcond=None)
    np.testing.assert_allclose(columns @ forces, gradient, atol=1e-8 * abs(gradient).max())
    assert forces[-1] * tau[k] < 0.0


def test_the_feed_forward_of_the_posture_counts_as_effort(bench):
    """Such as that against friction: the task is met with what the limit leaves beside it."""
    rng = np.random.default_rng(3)
    model, state = bench.model, state_of(bench.model, rng)
    goal = goal_near(model, state, rng, 0.05)
    bench.records['acceleration'], bench.records['slow'] = 1e3, -1.0
    tau, _ = bench.run(state, goal)
    load = model.gravity(state)
    k = int(np.argmax(abs(tau - load)))
    feed = np.zeros(model.nv)
    feed[k] = 0.3 * (tau - load)[k]
    bench.posture.set_feed_forward(effort=feed)
    try:
        bench.efforts[k] = abs(load[k] + 0.9 * (tau[k] - load[k]))
        bench.run(state, goal)
        held_tau, _ = bench.run(state, goal)
    finally:
        bench.posture.set_feed_forward()
    assert abs(held_tau[k]) == pytest.approx(bench.efforts[k], rel=1e-9)
    posture, wanted = advised(bench, state)
    a = model.forward_dynamics(state, held_tau - feed)
    missed = part_missed(bench, state, model.mass_matrix(state)[k])
    assert missed < 1e-2
    np.testing.assert_allclose(model.jacobian(state, HAND) @ (a - posture), wanted,
                               atol=(1e-7 + 10.0 * missed) * abs(wanted).max())


def test_nothing_changes_where_nothing_is_near_a_limit(arm, bench):
    """The law within its limits is the law without them."""
    rng = np.random.default_rng(5)
    task = PoseTask(HAND, kp=KP, kd=KD)
    plain = OperationalSpaceController(
        arm, task, PostureTask(kp=25.0, kd=KD_POSTURE), effort_limits=1e3)
    for _ in range(20):
        state = state_of(arm, rng)
        goal = goal_near(arm, state, rng, 1e-3)
        bench.posture.set_target(state.q)
        plain.posture.set_target(state.q)
        task.set_target(goal)
        expected = plain.compute_torque(state)
        tau, _ = bench.run(state, goal)
        assert bench.controller.limit_solutions == 0
        np.testing.assert_allclose(tau, expected, rtol=0.0, atol=1e-13 * abs(expected).max())
        # Nor where they are not kept, whatever is asked for.
        goal = goal_near(arm, state, rng, 0.5)
        task.set_target(goal)
        expected = plain.compute_torque(state)
        bench.controller.limits = bench.limits.changed(keep=False)
        tau, _ = bench.run(state, goal)
        assert bench.controller.active_limits == ()
        np.testing.assert_allclose(tau, expected, rtol=0.0, atol=1e-13 * abs(expected).max())
        bench.controller.limits = bench.limits


@pytest.mark.parametrize('change', [
    {'position_margin': 0.04}, {'velocity_kept': 0.5}, {'approach_rate': 5.0},
    {'return_rate': 50.0}])
def test_limits_change_gradually(bench, change):
    """There and back again: on its way no effort makes a step, and it gets there."""
    model = bench.model
    q = model.neutral()
    q[:] = BENT
    q[3] = model.upper_position_limits[3] - 0.05
    moving = RobotState(model, q, 0.2 * np.eye(7)[3] * model.velocity_limits[3])
    goal = model.forward_kinematics(RobotState(model, q + 0.3 * np.eye(7)[3], np.zeros(7)),
                                    HAND)[HAND]
    bench.posture.set_target(q)
    there_and_back(bench, moving, goal, bench.limits, bench.limits.changed(**change))


def there_and_back(bench, state, goal, *both):
    """Change limits gradually to the others and back; no cycle makes a tenth of the change."""
    bench.controller.limits = both[0]
    ramps = Ramps(bench.controller.gradual, 0.2)
    bench.run(state, goal)  # finds out which joints are held
    before, _ = bench.run(state, goal)
    for limits in reversed(both):
        with ramps.smoothly():
            bench.controller.limits = limits
        efforts = [before]
        for _ in range(210):
            ramps.advance(1e-3)
            efforts.append(bench.run(state, goal)[0])
        whole = abs(efforts[-1] - before).max()
        assert whole > 0.1
        assert abs(np.diff(efforts, axis=0)).max() < 0.1 * whole
        before = efforts[-1]


def test_limits_come_and_go_gradually(bench):
    """A joint that does but half of what it would does all of it by and by, and half again."""
    rng = np.random.default_rng(0)
    state = state_of(bench.model, rng)
    goal = goal_near(bench.model, state, rng, 0.05)
    for k in range(7):
        _, free, _, _ = hold_one(bench, state, goal, k, 0.5)
        if bench.controller.active_limits and bench.controller.attained:
            break
    limits = JointLimits(bench.model, acceleration=np.where(
        np.arange(7) == k, 0.5 * abs(free[k]), 1e3))
    there_and_back(bench, state, goal, limits, limits.changed(keep=False))
    bench.controller.limits = bench.limits


def test_a_posture_that_pulls_for_good_feels_limits_gradually_too(arm):
    """Its pull alone is cut: not at once as soon as limits begin to be kept."""
    q = arm.neutral()
    q[arm.q_index] = 0.4
    target = dict.fromkeys(arm.dof_names, -1.0)
    torques = []
    for part in (0.0, 1e-6, 0.02):
        made = OperationalSpaceController(
            arm, PoseTask('hand'), PostureTask(kp=50.0, target=target), limits=JointLimits(arm))
        made.gradual['limits.keep'][...] = part
        torques.append(made.compute_torque(RobotState(arm, q, np.zeros(arm.nv))))
    np.testing.assert_allclose(torques[1:], [torques[0]] * 2, rtol=1e-9)


def test_a_controller_made_without_limits_has_none(arm):
    """They are another compiled cycle."""
    plain = OperationalSpaceController(arm)
    assert plain.limits is None
    with pytest.raises(ControlError, match='made without limits'):
        plain.limits = JointLimits(arm)


def test_soft_limits_are_the_ends(arm):
    """Those of a <safety_controller> are kept, unless the others are asked for."""
    text = read('arm_7r.urdf').replace(
        '<joint name="joint_2" type="revolute">', '<joint name="joint_2" type="revolute">'
        '<safety_controller k_velocity="10" soft_lower_limit="-0.5" soft_upper_limit="99"/>', 1)
    model = RobotModel.from_urdf(text)
    limits = JointLimits(model)
    assert limits.lower[1] == -0.5
    assert limits.upper[1] == model.upper_position_limits[1]
    assert model.lower_position_limits[1] < -0.5
    np.testing.assert_array_equal(
        limits.changed(soft_limits=False).lower, arm.lower_position_limits)


def test_the_force_is_continuous_where_a_joint_begins_to_be_held(bench):
    """A limit that is just reached changes nothing yet, unless a direction is nearly lost by it."""
    cases = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        state = state_of(bench.model, rng)
        goal = goal_near(bench.model, state, rng, 0.05)
        for k in range(7):
            tau, free, held, _ = hold_one(bench, state, goal, k, 1.0 - 1e-6)
            if abs(KD_POSTURE * state.v[k]) > abs(free[k]):
                continue
            assert bench.controller.active_limits
            exact = bench.controller.attained
            cases += exact
            assert abs(held - tau).max() < (1e-4 if exact else 0.1) * abs(tau).max()
    assert cases >= 6


def test_what_the_tasks_miss_is_told(bench):
    """With too many joints held the hand misses what it asked for, and the controller says so."""
    rng = np.random.default_rng(2)
    state = state_of(bench.model, rng)
    goal = goal_near(bench.model, state, rng, 0.3)
    bench.records['acceleration'] = 1.0
    bench.records['slow'] = -1.0
    _, a = bench.run(state, goal)
    assert abs(a).max() < 1.0 + 1e-6
    posture, wanted = advised(bench, state)
    missed = bench.controller.residual_accelerations[HAND]
    np.testing.assert_allclose(
        missed, wanted - bench.model.jacobian(state, HAND) @ (a - posture), atol=1e-6)
    assert abs(missed).max() > 1.0


def test_a_gravity_torque_that_was_set_stays(arm):
    """Limits that count on the efforts of their controller follow these in all other numbers."""
    own, halves = JointLimits(arm), 0.5 * arm.effort_limits
    usual = own.gravity_torque.copy()
    own.gravity_torque[2] = 1.0
    kept = OperationalSpaceController(arm, limits=own, effort_limits=halves).limits.gravity_torque
    assert kept[2] == 1.0
    assert np.delete(kept, 2) == pytest.approx(0.5 * np.delete(usual, 2))
    own.changed(keep=False).gravity_torque[2] = 2.0
    assert own.gravity_torque[2] == 1.0


def test_limits_count_on_the_efforts_of_their_controller(arm):
    """Without effort limits of their own; never on more than the controller has."""
    own, halves = JointLimits(arm), 0.5 * arm.effort_limits
    given = JointLimits(arm, effort_limits=halves)
    controller = OperationalSpaceController(arm, limits=own, effort_limits=halves)
    for limits in (controller.limits, controller.limits.changed(position_margin=0.1)):
        for name in ('effort_limits', 'acceleration', 'gravity_torque'):
            np.testing.assert_array_equal(getattr(limits, name), getattr(given, name))
        assert limits.weak == given.weak
    assert (given.gravity_torque < own.gravity_torque).all()
    np.testing.assert_array_equal(
        controller._limits.records['gravity_torque'], given.gravity_torque)
    less = JointLimits(arm, effort_limits=0.5 * halves)
    controller.limits = less
    assert controller.limits is less
    more = halves.copy()
    more[1] *= 1.01
    name = arm.dof_names[1]
    with pytest.raises(ControlError, match=f"count on .* of '{name}', but its effort limit is"):
        controller.limits = JointLimits(arm, effort_limits=more)
    assert controller.limits is less
    with pytest.raises(ControlError, match=name):
        OperationalSpaceController(
            arm, limits=JointLimits(arm, effort_limits=more), effort_limits=halves)


def test_a_joint_without_effort_is_as_a_passive_one():
    """An effort limit of 0, as URDFs have it for joints without a motor: other joints do all."""
    text, efforts = read('planar_3r.urdf'), []
    for passive in ((), ('wrist',)):
        model = RobotModel.from_urdf(text, passive_joints=passive)
        limits = model.effort_limits.copy()
        limits[model.dof_index('wrist')] = 0.0
        task = PoseTask('hand', axes='x z', kp=KP)
        controller = OperationalSpaceController(
            model, task, effort_limits=limits,
            limits=JointLimits(model, acceleration={'wrist': np.inf}))
        state = RobotState(model, [0.9, -1.2, -0.6], np.zeros(3))
        controller.compute_torque(state)
        goal = task.pose
        goal[:3] += 0.01, 0.0, -0.02
        task.set_target(goal)
        efforts.append([controller.compute_torque(state) for _ in range(3)][-1])
        assert controller.limit_solutions > 0
    assert efforts[0][2] == 0.0
    np.testing.assert_allclose(efforts[0], efforts[1], rtol=0.0, atol=1e-4)


def test_a_problem_without_a_finite_solution_is_told_and_leaves_nothing_behind(arm, bench):
    """A velocity overflows: the sender of the efforts sees NaN, for one cycle."""
    rng = np.random.default_rng(3)
    state = state_of(arm, rng)
    goal = goal_near(arm, state, rng, 0.5)
    bench.run(state, goal)
    before, _ = bench.run(state, goal)
    assert bench.controller.limit_solutions > 0
    assert bench.controller.unsolved_limits == 0
    fast = RobotState(arm, state.q, np.full(arm.nv, 1e200))
    assert not np.isfinite(bench.controller.compute_torque(fast)).all()
    assert bench.controller.unsolved_limits > 0
    bench.run(state, goal)
    after, _ = bench.run(state, goal)
    assert bench.controller.unsolved_limits == 0
    np.testing.assert_allclose(after, before, rtol=0.0, atol=1e-6 * abs(before).max())


@pytest.mark.parametrize('robot, hands, start', [
    ('arm_7r.urdf', ('hand',), {'joint_2': 0.5, 'joint_4': 1.4, 'joint_6': 0.8}),
    ('dual_arm.urdf', ('l_hand', 'r_hand'), {'l_elbow': -1.7, 'r_elbow': -1.7})])
def test_joints_keep_their_limits_on_the_way_to_wild_goals(robot, hands, start):
    """No end stop helps, and no goal is within reach but by chance."""
    text = read(robot)
    model, simulated = RobotModel.from_urdf(text), SimulatedRobot(text, joint_friction=False)
    simulated.model.jnt_limited[:] = False
    simulated.reset(start)
    order = [model.dof_index(name) for name in simulated.joint_names]
    q, v = model.neutral(), np.zeros(model.nv)
    q[model.q_index[order]] = simulated.positions
    state, tau = RobotState(model, q, v), np.zeros(model.nv)
    tasks = [PoseTask(hand) for hand in hands]
    controller = OperationalSpaceController(
        model, tasks, PostureTask(target=q), limits=JointLimits(model))
    rng = np.random.default_rng(0)
    reached = held = 0
    for _ in range(5):
        for task in tasks:
            pose = model.forward_kinematics(state, task.frame)[task.frame]
            pose[:3, 3] += rng.uniform(-1.0, 1.0, 3)
            task.set_target(pose)
        for _ in range(600):
            controller.compute_torque(state, tau)
            assert (abs(tau) <= model.effort_limits).all()
            simulated.set_effort(tau[order])
            simulated.step()
            q[model.q_index[order]], v[order] = simulated.positions, simulated.velocities
            state.update(q, v)
            joints = q[model.q_index]
            beyond = np.maximum(model.lower_position_limits - joints,
                                joints - model.upper_position_limits)
            assert beyond.max() < np.deg2rad(0.5)
            assert (abs(v) <= 1.05 * model.velocity_limits).all()
            reached += (abs(v) > 0.98 * model.velocity_limits).any()
            held += bool(controller.limit_solutions)
    assert reached > 10  # or the limits would not have been tried
    assert held > 100


def test_a_joint_that_takes_turns_between_its_limits_is_held_at_both():
    """A Panda that was sent the hard way: its second joint had now its limit of effort, now not."""
    text, braked = robot_file('panda.urdf').read_text(), ['panda_finger_joint1']
    model = RobotModel.from_urdf(text, locked_joints=braked)
    robot = SimulatedRobot(text, joint_friction=False, locked_joints=braked)
    start = -1.0329, 1.285, 2.2856, -0.4482, -0.2149, 2.6724, -1.0386
    moving = -0.2514, -0.2318, -1.2489, -0.0261, 0.0585, -0.0233, 0.999
    robot.reset(dict(zip(model.dof_names, start, strict=False)),
                dict(zip(model.dof_names, moving, strict=False)))
    order = [model.dof_index(name) for name in robot.joint_names]
    home = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.8, 0.0, 0.0])
    task = PoseTask('panda_link8', kp=100.0)
    controller = OperationalSpaceController(
        model, task, PostureTask(target=home), limits=JointLimits(model))
    task.set_target([-0.62497608, 0.24290578, 0.712206, 0.95723538, 0.14893542, -0.2213119,
                     0.11198086])
    state, both = RobotState(model, home, np.zeros(model.nv)), 0
    for _ in range(200):
        q, v = np.zeros(model.nv), np.zeros(model.nv)
        q[order], v[order] = robot.positions, robot.velocities
        state.update(q, v)
        assert (abs(v[:7]) <= 1.01 * model.velocity_limits[:7]).all()
        robot.set_effort(controller.compute_torque(state)[order])
        assert controller.limit_solutions < 16
        held = [held.name for held in controller.active_limits]
        both += len(held) > len(set(held))
        robot.step()
    assert both > 0


def test_without_limits_of_acceleration_those_of_velocity_hold(arm):
    limits = JointLimits(arm, acceleration=np.inf)
    task = PoseTask(HAND, kp=KP, kd=KD)
    controller = OperationalSpaceController(arm, task, limits=limits, effort_limits=1e6)
    v = np.zeros(arm.nv)
    v[1] = 1.01 * limits.velocity[1]
    state = RobotState(arm, np.array(BENT), v)
    pose = arm.forward_kinematics(state, HAND)[HAND]
    pose[:3, 3] += arm.jacobian(state, HAND)[:3] @ v  # faster still
    task.set_target(pose)
    controller.compute_torque(state)
    tau = controller.compute_torque(state)
    a = np.linalg.solve(arm.mass_matrix(state), tau - arm.bias_force(state) - arm.gravity(state))
    assert a[1] < 0.0
    assert ('joint_2', 'velocity') in {held[:2] for held in controller.active_limits}


def test_a_joint_beyond_its_limit_comes_back_slowly(bench):
    """Put beyond an end, a joint is brought back at a tenth of its speed."""
    model = bench.model
    q = model.neutral()
    q[:] = BENT
    q[1] = model.upper_position_limits[1] + 0.1
    state, dt = RobotState(model, q, np.zeros(7)), 1e-3
    bench.posture.set_target(q)
    fastest = 0.0
    for _ in range(1500):
        _, a = bench.run(state, model.forward_kinematics(RobotState(model, q, np.zeros(7)),
                                                         HAND)[HAND])
        v = state.v + dt * a
        state.update(state.q + dt * v, v)
        fastest = max(fastest, abs(v[1]))
    bench.posture.clear_target()
    assert state.q[1] <= model.upper_position_limits[1] + np.deg2rad(0.5)
    assert fastest <= 0.1 * model.velocity_limits[1] * 1.01


def test_joints_without_a_drive_are_not_held(bench):
    """A joint that is let go of has no limits that anybody could keep."""
    rng = np.random.default_rng(2)
    state = state_of(bench.model, rng)
    goal = goal_near(bench.model, state, rng, 0.3)
    bench.records['acceleration'], bench.records['slow'] = 1.0, -1.0
    bench.run(state, goal)
    dead = bench.controller.active_limits[-1].name
    bench.controller.set_status(passive_joints=[dead])
    tau, _ = bench.run(state, goal)
    still = [held.name for held in bench.controller.active_limits]
    bench.controller.set_status(passive_joints=[])
    assert still
    assert dead not in still
    assert tau[bench.model.dof_index(dead)] == 0.0


def test_joints_that_are_braked_are_not_held_even_if_nothing_else_is_at_a_limit(bench):
    """Else directions near singularities might have to do without them for good."""
    rng = np.random.default_rng(2)
    state = state_of(bench.model, rng)
    for name, value in (('acceleration', 1.0), ('slow', -1.0)):
        bench.records[name] = value
    bench.run(state, goal_near(bench.model, state, rng, 0.3))
    held = [held.name for held in bench.controller.active_limits]
    for name in ('acceleration', 'slow'):
        bench.records[name] = bench.usual[name]
    bench.controller.set_status(locked_joints=held)
    still = RobotState(bench.model, state.q, np.zeros(7))
    bench.run(still, bench.model.forward_kinematics(still, [HAND])[HAND])
    bench.controller.set_status(locked_joints=[])
    assert held
    assert not bench.controller.active_limits


@pytest.mark.parametrize('robot', ['arm_7r.urdf', 'humanoid.urdf', 'puma560.urdf'])
def test_what_joints_carry_is_in_the_equations_of_motion(robot):
    """The diagonal of A, and gravity; by arrays, without anything to compile."""
    model = RobotModel.from_urdf(read(robot))
    q = np.random.default_rng(0).uniform(-1.0, 1.0, model.nq)
    state = RobotState(model, q, np.zeros(model.nv))
    driven = model.nodes['v_index'] >= 0
    dofs = model.nodes['v_index'][driven]
    inertias, loads = carried_by_joints(model.nodes, q, -GRAVITY)
    np.testing.assert_allclose(inertias[driven], model.mass_matrix(state).diagonal()[dofs],
                               rtol=1e-12)
    np.testing.assert_allclose(loads[driven], model.gravity(state)[dofs], rtol=1e-12, atol=1e-12)


def test_braking_is_within_what_the_effort_limits_leave(arm):
    """No acceleration is chosen that gravity and the inertia of all that is carried forbid."""
    limits = JointLimits(arm)
    rng = np.random.default_rng(7)
    for _ in range(20):
        q = rng.uniform(arm.lower_position_limits, arm.upper_position_limits)
        state = RobotState(arm, q, np.zeros(7))
        needed = arm.mass_matrix(state).diagonal() * limits.acceleration
        assert (needed + abs(arm.gravity(state)) <= arm.effort_limits).all()
    assert limits.weak == ()
    assert JointLimits(RobotModel.from_urdf(read('humanoid.urdf'))).weak


def test_joints_that_cannot_brake_as_their_acceleration_says_are_weak(arm):
    """What is left of their effort in every posture is 2.5 times the default deceleration."""
    usual = JointLimits(arm)
    free = usual.acceleration < usual.velocity / SHORTEST_STOP  # by their drives
    assert free.any()
    for part, weak in ((2.4, ()), (2.6, tuple(np.array(arm.dof_names)[free]))):
        limits = JointLimits(arm, acceleration=part * usual.acceleration)
        assert tuple(name for name in limits.weak if free[arm.dof_index(name)]) == weak
    assert set(JointLimits(arm, acceleration=np.inf).weak) == set(arm.dof_names)


def test_a_joint_without_a_limit_of_velocity_rests_only_when_slow_and_returns_slowly(arm):
    """Its ordinary speed counts: a hundredth of infinity would be any speed."""
    text = read('arm_7r.urdf').replace('velocity="', 'other="')
    model = RobotModel.from_urdf(text)
    limits = JointLimits(model).records(model.nodes).view(np.recarray)
    limit, nodes = limits[3], model.nodes.view(np.recarray)
    assert math.isinf(limit.velocity)
    bound_acceleration(limit, 100.0, 20.0, 0.0, limit.upper + 10.0, 0.0)
    assert limit.greatest == pytest.approx(-100.0 * 0.1 * 2.0)
    for speed, rests in ((0.019, True), (0.021, False)):
        limit.active_side[MOTION] = 1
        v = np.zeros(model.nv)
        v[3] = speed
        bound_acceleration(limit, 100.0, 20.0, 0.0, limit.upper, speed)
        find_resting(nodes, limits, True, 1e-3, v)
        assert (limit.resting_share[MOTION] > 0.0) == rests
        limit.resting_share[MOTION] = 0.0


@pytest.mark.parametrize('wrong', [
    {'acceleration': -1.0}, {'acceleration': {'joint_1': 0.0}}, {'acceleration': 'much'},
    {'velocity_kept': 1.1}, {'position_margin': -0.1}, {'approach_rate': 1e3},
    {'return_rate': np.nan}])
def test_unusable_numbers_are_refused(arm, wrong):
    """Every refusal names what is wrong, and a cure."""
    with pytest.raises(ControlError, match='Give'):
        JointLimits(arm, **wrong)


def test_limits_of_another_model_are_refused(arm):
    """They would be those of other joints."""
    other = RobotModel.from_urdf(read('planar_3r.urdf'))
    with pytest.raises(ControlError, match='same model'):
        OperationalSpaceController(arm, limits=JointLimits(other))


def test_margin_and_scale_draw_limits_in(arm):
    """A margin is taken off at both ends; the middle of a joint's range is always left."""
    limits = JointLimits(arm, position_margin=0.1, velocity_kept=0.5)
    finite = np.isfinite(arm.upper_position_limits)
    np.testing.assert_allclose(
        (limits.upper - limits.lower)[finite],
        (arm.upper_position_limits - arm.lower_position_limits)[finite] - 0.2)
    np.testing.assert_allclose(limits.velocity, 0.5 * arm.velocity_limits)
    narrow = JointLimits(arm, position_margin=100.0)
    np.testing.assert_allclose(narrow.lower[finite], narrow.upper[finite])


def test_joints_pressed_against_their_limits_need_the_same_efforts_in_every_cycle():
    """
    Whether a joint is pressed is the same with and without singular-direction control.

    Both hands are where they are to be, and the posture presses both wrists against a limit.
    Otherwise they begin and cease to rest in every other cycle, and efforts change by 0.2 % of
    their limits each time.
    """
    model = RobotModel.from_urdf(read('dual_arm.urdf'))
    q = np.array([1.274, 0.292, -0.082, -0.712, 1.106, 1.512, -0.371, -1.982, -0.626, 1.2,
                  -2.181, -0.431, 0.831, -0.279, -1.132, -1.33, 1.2])
    state = RobotState(model, q, np.zeros(model.nv))
    hands = 'l_hand', 'r_hand'
    controller = OperationalSpaceController(
        model, [PoseTask(hand) for hand in hands], PostureTask(target=model.neutral()),
        limits=JointLimits(model))
    for hand, pose in model.forward_kinematics(state, hands).items():
        controller.tasks[hand].set_target(pose)
    efforts = [controller.compute_torque(state, dt=1e-3) for _ in range(5000)]
    assert {limit.name for limit in controller.active_limits} == {'l_wrist_roll', 'r_wrist_roll'}
    steps = abs(np.diff(efforts[-100:], axis=0)) / model.effort_limits
    assert steps.max() < 1e-9

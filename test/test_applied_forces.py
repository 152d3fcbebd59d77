# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Forces of force control where drives cannot exert all of them beside the motion."""

import numpy as np
import pytest
from ideal_robot import IdealRobot
from prioritised import Problem
from robots import TALOS
from test_contact_forces import FEET, HANDS, SOLE, robot

from opspace_control import (
    Contact,
    DisturbanceObserver,
    ForceControl,
    ForceSensor,
    Grasp,
    JointLimits,
    OperationalSpaceController,
    PassiveForces,
    Payload,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.control.problem.applied_forces import SHARE_COST
from opspace_control.share import share_directory

HAND, NO_LIMIT = 'hand', 1e6
ARM = RobotModel.from_urdf((share_directory() / 'urdf' / 'arm_7r.urdf').read_text())
F = np.array([0.0, 0.0, -200.0, 0.0, 0.0, 0.0])


def at(offset=0.0):
    """Return a state at rest in the plane of joints 2, 4 and 6, or so far out of it."""
    q = ARM.neutral() + offset
    for name, angle in {'joint_2': 0.5, 'joint_4': 1.4, 'joint_6': 0.8}.items():
        q[ARM.q_index[ARM.dof_index(name)]] = angle
    return RobotState(ARM, q, np.zeros(ARM.nv))


def pressing(state, efforts, force=F, above=None, sensor=None, **gains):
    """
    Return a controller that presses with a force (6,), within efforts and hardly other limits.

    ``above`` is a frame that a task above holds along x and y.
    """
    task = PoseTask(HAND, force_axes='z', priority=2, force=ForceControl(
        sensor, approach=(0.0, 0.0), max_force=500.0, **gains))
    tasks = [PoseTask(above, axes='x y'), task] if above else [task]
    controller = OperationalSpaceController(
        ARM, tasks, PostureTask(target=state.q + 0.1), effort_limits=efforts,
        limits=JointLimits(ARM, acceleration=1e4))
    controller._limits.records['gravity_torque'] = np.inf
    task.set_target(ARM.forward_kinematics(state, HAND)[HAND])
    task.force.set_target(force)
    return controller


def limits_of(k, effort):
    limits = np.full(ARM.nv, NO_LIMIT)
    limits[k] = effort
    return limits


def most_loaded(state, above=None):
    """Return the joint whose effort the force changes most, its effort with the force, without."""
    free, rest = (pressing(state, NO_LIMIT, force, above).compute_torque(state)
                  for force in (F, 0.0 * F))
    k = int(np.argmax(abs(free - rest)))
    return k, free[k], rest[k]


@pytest.mark.parametrize('share', [0.99, 0.8, 0.5])
def test_the_force_is_reduced_and_all_motion_axes_are_met(share):
    """No joint is free to relieve the drive: three joints move in the plane of three axes."""
    state = at()
    k, free, rest = most_loaded(state)
    controller = pressing(state, limits_of(k, abs(rest + share * (free - rest))))
    for _ in range(4):
        tau = controller.compute_torque(state)
    assert controller.limited_joints == 0  # a bound, no cut
    assert [(each.name, each.limit) for each in controller.active_limits] == [
        (ARM.dof_names[k], 'effort')]
    assert controller.force_share == pytest.approx(share, abs=1e-6)
    np.testing.assert_allclose(
        tau, pressing(state, NO_LIMIT, share * F).compute_torque(state), atol=1e-4)
    assert not any(abs(a).max() > 1e-4 for a in controller.residual_accelerations.values())


@pytest.mark.parametrize('share', [0.99, 0.6])
def test_the_share_is_that_of_a_dense_problem(share):
    """With a joint to spare; force and posture give way as their costs say, the tasks do not."""
    state = at(0.2)
    k, free, rest = most_loaded(state)
    limit = abs(rest + share * (free - rest))
    controller = pressing(state, limits_of(k, limit))
    for _ in range(4):
        tau = controller.compute_torque(state)
    A, J = ARM.mass_matrix(state), ARM.jacobian(state, HAND)
    w, h = J.T @ F, ARM.gravity(state)
    bare = OperationalSpaceController(ARM, [], PostureTask(target=state.q + 0.1))
    a_null = np.linalg.solve(A, bare.compute_torque(state) - h)
    metric = np.zeros((ARM.nv + 1, ARM.nv + 1))
    metric[:-1, :-1], metric[-1, -1] = A, SHARE_COST * w @ np.linalg.solve(A, w)
    rows = np.vstack([np.c_[J, np.zeros(6)], np.r_[A[k], w[k]]])
    wanted, spare = -J @ a_null, np.sign(free) * limit - (A @ a_null + h + w)[k]
    x = Problem(rows, np.r_[wanted, spare], np.r_[wanted, spare], metric).by_quadprog()
    assert 0.0 < 1.0 + x[-1] < 1.0
    assert controller.force_share == pytest.approx(1.0 + x[-1], abs=1e-5)
    np.testing.assert_allclose(
        tau, A @ (a_null + x[:-1]) + h + (1.0 + x[-1]) * w, atol=1e-4 * abs(tau).max())


def test_a_drive_that_the_weight_alone_overloads_presses_with_nothing():
    """Then motion gives way; the force is never turned round to relieve the drive."""
    state = at()
    k, _, rest = most_loaded(state)
    tau = {}
    for name, force in (('with', -F), ('without', 0.0 * F)):  # upwards, as the weight loads k
        controller = pressing(state, limits_of(k, 0.9 * abs(rest)), force)
        for _ in range(4):
            tau[name] = controller.compute_torque(state)
        assert controller.limited_joints == 0
        assert controller.force_share == pytest.approx(0.0 if name == 'with' else 1.0, abs=1e-12)
    np.testing.assert_allclose(tau['with'], tau['without'], atol=1e-6)


def test_a_force_that_relieves_the_drive_is_not_increased():
    state = at()
    k, _, rest = most_loaded(state)
    limit, small = 0.9 * abs(rest), 0.02 * F  # relieves joint k by less than it lacks
    controller = pressing(state, limits_of(k, limit), small)
    for _ in range(4):
        tau = controller.compute_torque(state)
    assert controller.force_share == 1.0
    assert abs(tau[k]) == pytest.approx(limit)
    assert controller.limited_joints == 0


def test_tasks_above_are_met_whatever_their_compensation_takes():
    """
    They compensate for forces below, [K87] (5.6), with the same share.

    Random postures; at some joints compensation takes more effort than the force, or all of it.
    """
    rng, cases = np.random.default_rng(0), 0
    for trial in range(60):
        state = RobotState(ARM, ARM.neutral() + rng.uniform(-1.2, 1.2, ARM.nq), np.zeros(ARM.nv))
        above = ('link_4', 'link_5', 'link_3')[trial % 3]
        free, rest = (pressing(state, NO_LIMIT, force, above).compute_torque(state)
                      for force in (F, 0.0 * F))
        A, J = ARM.mass_matrix(state), ARM.jacobian(state, above)[:2]
        for k in np.flatnonzero(abs(free - rest) > 5.0):
            limit = abs(rest[k] + 0.6 * (free[k] - rest[k]))
            if not abs(rest[k]) < limit < abs(free[k]):
                continue
            controller = pressing(state, limits_of(k, limit), above=above)
            for _ in range(3):
                tau = controller.compute_torque(state)
            cases += 1
            assert controller.limited_joints == 0
            assert controller.limit_solutions == 1
            motion = np.linalg.solve(A, tau - ARM.gravity(state))
            task = controller.tasks[above]
            np.testing.assert_allclose(
                J @ motion, task.error[:2] * task.kp[:2], atol=1e-5 * abs(motion).max())
    assert cases > 200


def test_points_on_a_trunk_keep_limits_of_motion():
    """Three tasks at one hand have a trunk, whose rows are no rows of the stack."""
    state = at()
    reached = {}
    for frame in (HAND, 'link_7'):
        place = PoseTask(HAND, name='place', axes='x y')
        press = PoseTask(HAND, name='press', axes='z', force_axes='z', force=ForceControl(
            approach=(0.0, 0.0), max_force=500.0))
        controller = OperationalSpaceController(
            ARM, [place, press, PoseTask(frame, name='turn', axes='rx ry rz')],
            PostureTask(target=state.q), effort_limits=NO_LIMIT,
            limits=JointLimits(ARM, acceleration=70.0))
        goal = ARM.forward_kinematics(state, HAND)[HAND].copy()
        goal[0, 3] += 0.3
        place.set_target(goal)
        press.force.set_target(F)
        for _ in range(3):
            tau = controller.compute_torque(state)
        reached[frame] = np.linalg.solve(
            ARM.mass_matrix(state), tau - ARM.gravity(state) - ARM.jacobian(state, HAND).T @ F)
        assert abs(reached[frame]).max() == pytest.approx(70.0)
    np.testing.assert_allclose(reached[HAND], reached['link_7'], atol=1e-6)


def test_grips_bear_their_part_of_a_force_of_the_object():
    """The arm that does not carry it is relieved by less force, too: efforts are no J f of it."""
    demo = demo_robot('dual_arm')
    model = RobotModel.from_urdf(demo.path().read_text())
    q = model.neutral() + np.random.default_rng(0).uniform(-0.15, 0.15, model.nq)
    for joint, angle in demo.start.items():
        q[model.q_index[model.dof_index(joint)]] += angle
    state = RobotState(model, q, np.zeros(model.nv))

    def efforts(force, limits):
        carry = PoseTask(demo.hands[0], name='carry', axes='x y rx ry rz', force_axes='z',
                         force=ForceControl(approach=(0.0, 0.0), max_force=1e3))
        grasp = Grasp(list(demo.hands), payload=Payload.of_box(3.0, (0.2, 0.4, 0.3)), task=carry,
                      grasp_force=30.0)
        controller = OperationalSpaceController(
            model, [PoseTask(hand) for hand in demo.hands], PostureTask(target=q), grasps=[grasp],
            effort_limits=limits, limits=JointLimits(model, acceleration=1e5))
        controller.compute_torque(state)
        grasp.engage(state)
        controller.compute_torque(state)
        carry.force.set_target(force)
        for _ in range(4):
            tau = controller.compute_torque(state)
        return tau, controller

    free, rest = efforts(F, NO_LIMIT)[0], efforts(0.0 * F, NO_LIMIT)[0]
    arms = set()
    for k in np.flatnonzero(abs(free - rest) > 3.0):
        limits = np.full(model.nv, NO_LIMIT)
        limits[k] = abs(rest[k] + 0.6 * (free[k] - rest[k]))
        if limits[k] < abs(free[k]):
            tau, controller = efforts(F, limits)
            assert controller.limited_joints == 0
            assert controller.limit_solutions == 1  # what rows say of efforts is exact
            assert abs(tau[k]) == pytest.approx(limits[k])
            assert 0.55 < controller.force_share < 0.85
            arms.add(model.dof_names[k][:2])
    assert {'l_', 'r_'} <= arms


@pytest.mark.parametrize('force', [-200.0, 200.0])
@pytest.mark.parametrize('feet', [2, 1])
def test_feet_bear_their_part_of_a_force_of_the_hand(force, feet):
    """
    A humanoid presses: legs carry what the hand presses with, and the trunk does not move.

    Where internal forces of two feet relieve the drive, the hand keeps nearly all of its force.
    """
    model, _, home = robot(TALOS)
    state = RobotState(model, home, np.zeros(model.nv))

    def efforts(force, limits):
        contacts = [Contact(foot, friction=0.6, sole=SOLE, normal_force=(0.0, np.inf))
                    for foot in FEET[:feet]]
        hand = PoseTask(HANDS[0], name='hand', axes='x y z', force_axes='z', force=ForceControl(
            approach=(0.0, 0.0), max_force=1e3))
        controller = OperationalSpaceController(
            model, [PoseTask('base_link', name='base'), hand],
            PostureTask(target=home, kp=10.0, kd=5.0), constraints=contacts,
            passive_forces=PassiveForces(model), effort_limits=limits,
            limits=JointLimits(model, acceleration=1e4))
        for contact in contacts:
            contact.close()
        controller.hold()
        hand.force.set_target([0.0, 0.0, force, 0.0, 0.0, 0.0])
        for _ in range(4):
            tau = controller.compute_torque(state)
        return tau, controller

    free, rest = efforts(force, NO_LIMIT)[0], efforts(0.0, NO_LIMIT)[0]
    for part in ('leg_left', 'arm_left'):
        joints = [k for k, name in enumerate(model.dof_names)
                  if name.startswith(part) and (free[k] - rest[k]) * free[k] > 0.0]
        k = max(joints, key=lambda k: abs(free[k] - rest[k]))
        limits = np.full(model.nv, NO_LIMIT)
        limits[k] = abs(rest[k] + 0.6 * (free[k] - rest[k]))
        tau, controller = efforts(force, limits)
        assert controller.limited_joints == 0
        assert abs(tau[k]) == pytest.approx(limits[k])
        assert 0.3 < controller.force_share < 0.999
        assert abs(controller.residual_accelerations.get('base', np.zeros(6))).max() < 1e-4


def test_the_integral_of_a_reduced_force_does_not_grow():
    """The sensor lacks what the drive cannot exert: the integral would never stop."""
    state = at()
    k, free, rest = most_loaded(state)
    controller = pressing(state, limits_of(k, abs(rest + 0.5 * (free - rest))),
                          sensor=ForceSensor(HAND, cutoff=np.inf), kp=0.0, ki=20.0)
    turn = ARM.forward_kinematics(state, HAND)[HAND][:3, :3]
    reading = np.r_[turn.T @ (-0.5 * F[:3]), np.zeros(3)]
    task = controller.tasks[HAND]
    for _ in range(300):
        task.force.sensor.update(reading)
        controller.compute_torque(state, dt=1e-3)
    assert controller.force_share == pytest.approx(0.5, abs=0.01)


def hold(load, efforts, cycles):
    """Return the controller that compensates for a load (6,) at the hand, and its last efforts."""
    controller = OperationalSpaceController(
        ARM, [PoseTask(HAND)], effort_limits=efforts, limits=JointLimits(ARM, acceleration=1e4))
    controller.disturbance = DisturbanceObserver(20.0, max_force=100.0, max_moment=50.0)
    state, ideal = at(0.2), IdealRobot(ARM, HAND)
    for _ in range(cycles):
        tau = controller.compute_torque(state, dt=1e-3)
        state = ideal.after(state, tau, 1e-3, load)
    return controller, tau


def test_what_a_load_is_held_with_is_not_reduced():
    """A force against a disturbance acts as long as this does: as the weight, it takes effort."""
    load = np.array([0.0, 0.0, -40.0, 0.0, 0.0, 0.0])
    tau = hold(load, NO_LIMIT, 600)[1]
    k = int(np.argmax(abs(tau - ARM.gravity(at(0.2)))))
    limit = 0.97 * abs(tau[k])
    controller, tau = hold(load, limits_of(k, limit), 60)
    assert controller.force_share == 1.0
    assert controller.limited_joints == 0
    assert abs(tau[k]) == pytest.approx(limit)


def test_a_reduced_force_is_no_disturbance():
    """What tasks above compensate is the reduced force: with that of s = 1 they rejected 73 N."""
    state, steps = at(0.2), 100
    k, free, rest = most_loaded(state, 'link_4')
    controller = pressing(state, limits_of(k, abs(rest + 0.5 * (free - rest))), above='link_4')
    controller.disturbance = DisturbanceObserver(
        20.0, max_force=1e4, max_moment=1e4, tasks=['link_4'])
    for _ in range(steps):
        tau = controller.compute_torque(state, dt=1e-3)
        balanced = controller.force_share * ARM.jacobian(state, HAND).T @ F
        v = state.v + 1e-3 * ARM.forward_dynamics(state, tau - balanced)
        state = RobotState(ARM, ARM.integrate(state.q, v, 1e-3), v)
    assert controller.force_share < 0.6
    assert abs(controller.disturbance.rejected['link_4'][:3]).max() < 1.0  # N

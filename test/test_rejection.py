# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Forces against disturbances of several levels: they balance what is unknown, and move nothing."""

import re

import numpy as np
import pytest
from ideal_robot import IdealRobot
from samples import sample
from test_disturbance_observer import HOME as ARM
from test_disturbance_observer import PANDA, TCP, UNBOUNDED, unknown

from opspace_control import (
    DisturbanceObserver,
    ForceControl,
    Impedance,
    JointLimits,
    JointTask,
    OperationalSpaceController,
    PoseTask,
    PositionTask,
    RelativeTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot

MODEL = sample('dual_arm').model
HANDS = ['l_hand', 'r_hand']
HOME = MODEL.neutral()
for _joint, _position in demo_robot('dual_arm').start.items():
    HOME[MODEL.q_index[MODEL.dof_index(_joint)]] = _position


def at_rest(q):
    return RobotState(MODEL, q, np.zeros(MODEL.nv))


def levels(**options):
    """Return tasks of three levels: the rows of the last one leave little to those above."""
    return [PoseTask('l_hand', **options), PoseTask('r_hand', **options),
            JointTask(['torso_yaw'], priority=1),
            RelativeTask('l_forearm', 'r_hand', name='gap', axes='x y z', priority=2)]


def learn(controller, state, r, periods=2):
    """Let the observer of a controller learn of r, (nv,), by the forces of a robot at rest."""
    for _ in range(periods):
        controller.disturbance.apply(MODEL.gravity(state) - r)
        tau = controller.compute_torque(state)
    return tau


def simulated(model, controller, q, count, dt=1e-3, delay=0, load=lambda _state, _time: 0.0,
              loaded=None, wrench=0.0):
    """
    Return the velocities (nv,) at the end, and the greatest, of a ``model`` under a controller.

    Its efforts act so many cycles late, and beside them the joint forces ``load(state, time)`` and
    a ``wrench`` (6,) on a link ``loaded``.
    """
    v, sent, fastest = np.zeros(model.nv), [], np.zeros(model.nv)
    ideal = IdealRobot(model, loaded)
    for k in range(count):
        sent.append(controller.compute_torque(RobotState(controller.model, q, v), dt=dt))
        state = RobotState(model, q, v)
        tau = sent[max(k - delay, 0)] + load(state, k * dt)
        v = np.where(model.locked, 0.0, v + dt * ideal.accelerations(state, tau, wrench))
        q = model.integrate(q, v, dt)
        fastest = np.maximum(fastest, abs(v))
    return v, fastest


def with_wrong_masses(seed, error):
    """Return the model of the robot with each link's inertia wrong by up to this part."""
    rng = np.random.default_rng(seed)

    def change(inertial):
        factor = 1.0 + error * rng.uniform(-1.0, 1.0)
        return re.sub(r'((?:mass value|i..)=")([^"]+)',
                      lambda found: f'{found[1]}{factor * float(found[2])!r}', inertial[0])
    return RobotModel.from_urdf(
        re.sub('<inertial>.*?</inertial>', change, sample('dual_arm').urdf, flags=re.DOTALL))


@pytest.mark.parametrize('seed', range(4))
def test_points_move_as_the_law_demands_where_limits_are_active(seed):
    """Forces of the last level are compensated above, and no bound counts that as a motion."""
    rng = np.random.default_rng(seed)
    state, goal = (at_rest(MODEL.integrate(HOME, rng.normal(size=MODEL.nv), part))
                   for part in (0.1, 0.5))
    controller = OperationalSpaceController(
        MODEL, levels(kp=400.0), limits=JointLimits(MODEL, acceleration=20.0))
    controller.disturbance = DisturbanceObserver(1e6, **UNBOUNDED)
    controller.compute_torque(state, dt=0.0)
    for hand, pose in MODEL.forward_kinematics(goal, HANDS).items():
        controller.tasks[hand].set_target(pose)
    r = unknown(MODEL, seed)
    tau = learn(controller, state, r)
    assert any(limit.limit == 'acceleration' for limit in controller.active_limits)
    assert abs(controller.disturbance.rejected['gap']).max() > 1.0
    J = np.vstack([MODEL.jacobian(state, HANDS),
                   controller.tasks['gap'].jacobian(MODEL, state)[:3]])
    law = J @ controller._arguments.storage.results.a_joints
    actual = J @ MODEL.forward_dynamics(state, tau + r)
    off = abs(actual - law) / abs(J @ MODEL.forward_dynamics(state, MODEL.gravity(state) + r)).max()
    assert off[:12].max() < 1e-4
    assert off[12:].max() < 2e-2  # of the softness, where the levels above leave so little


@pytest.mark.parametrize('seed', [1, 2, 4, 5])
def test_filtered_forces_do_not_accelerate_light_joints_in_motion(seed):
    """
    Two hands, and an arm's point relative to the other, go far with masses wrong by up to 20 %.

    Forces of rows that are nearly dependent balanced each other until the posture changed: wrists
    were at 4 to 22 times their velocity limits, without a disturbance observer at 0.7 to 1.0.
    """
    tasks = [*(PoseTask(hand) for hand in HANDS),
             RelativeTask('l_forearm', 'r_hand', name='gap', axes='x y z')]
    controller = OperationalSpaceController(MODEL, tasks, limits=JointLimits(MODEL))
    controller.disturbance = DisturbanceObserver(20.0, max_force=10.0, max_moment=2.0)
    controller.compute_torque(at_rest(HOME))
    posture = np.random.default_rng(seed).uniform(
        MODEL.lower_position_limits, MODEL.upper_position_limits)
    poses = MODEL.forward_kinematics(
        at_rest(HOME + 0.4 * (posture - HOME)), [*HANDS, 'l_forearm'])
    for hand in HANDS:
        controller.tasks[hand].set_target(poses[hand])
    controller.tasks['gap'].set_target(np.linalg.inv(poses['r_hand']) @ poses['l_forearm'])
    plant = with_wrong_masses(seed, 0.2)
    fastest = simulated(plant, controller, HOME, 1500)[1]
    assert (fastest / MODEL.velocity_limits).max() < 1.5


def test_filtered_forces_accelerate_no_more_than_what_was_unknown():
    """Found where the arms are nearly straight they are large, and what remains of them is not."""
    def energy(state, tau):
        return tau @ np.linalg.solve(MODEL.mass_matrix(state), tau)
    straight, r = HOME.copy(), unknown(MODEL)
    for side in 'lr':
        straight[MODEL.q_index[MODEL.dof_index(f'{side}_elbow')]] = -0.15
    controller = OperationalSpaceController(MODEL, [PoseTask(hand) for hand in HANDS])
    controller.disturbance = DisturbanceObserver(20.0, **UNBOUNDED)
    learn(controller, at_rest(straight), r, 500)
    controller.disturbance.interrupt()
    learn(controller, at_rest(HOME), np.zeros(MODEL.nv))
    f = np.concatenate([controller.disturbance.rejected[hand] for hand in HANDS])
    left = energy(at_rest(HOME), MODEL.jacobian(at_rest(HOME), HANDS).T @ f)
    assert 0.1 * energy(at_rest(straight), r) < left < energy(at_rest(straight), r)


@pytest.mark.parametrize('frozen', [False, True])
def test_a_task_that_is_disabled_below_others_does_not_move_them(frozen):
    """Its force ends at once: levels above compensate for it no more, the filter takes 50 ms."""
    state, r = at_rest(HOME), 3.0 * unknown(MODEL)
    controller = OperationalSpaceController(MODEL, [
        *(PoseTask(hand) for hand in HANDS),
        RelativeTask('l_forearm', 'r_hand', name='gap', axes='x y z', priority=1),
        PositionTask('r_forearm', name='point', priority=1)])
    controller.disturbance = DisturbanceObserver(20.0, **UNBOUNDED)
    learn(controller, state, r, 500)
    controller.disturbance.frozen = frozen
    controller.tasks['gap'].enabled = False
    for _ in range(3):
        a = MODEL.forward_dynamics(state, learn(controller, state, r, 1) + r)
        assert abs(MODEL.jacobian(state, HANDS) @ a).max() < 0.01
    assert not controller.disturbance.rejected['gap'].any()


def test_a_task_that_goes_out_gradually_leaves_the_forces_of_others():
    """What its rows gain in mobility, as if a spring were before them, moves no joint."""
    state, r = at_rest(HOME), unknown(MODEL)
    controller = OperationalSpaceController(MODEL, [PoseTask(hand) for hand in HANDS])
    controller.disturbance = observer = DisturbanceObserver(20.0, **UNBOUNDED)
    learn(controller, state, r, 500)
    before, least = np.linalg.norm(observer.rejected['r_hand']), np.inf
    for activation in np.linspace(1.0, 0.0, 200):
        controller.tasks['l_hand'].activation = activation
        learn(controller, state, r, 1)
        least = min(least, np.linalg.norm(observer.rejected['r_hand']))
    assert least > 0.8 * before > 0.0
    assert not observer.rejected['l_hand'].any()


def test_a_constant_load_is_compensated_in_any_posture():
    """The bound of filtered forces by what they do does not shrink them, wherever the arm goes."""
    load = np.array([3.0, -2.0, -5.0, 0.2, 0.1, -0.3])
    controller = OperationalSpaceController(MODEL, [PoseTask(hand) for hand in HANDS])
    controller.disturbance = DisturbanceObserver(20.0, **UNBOUNDED)
    rng, periods = np.random.default_rng(0), 600
    for part in (0.0, 0.3, 0.6):
        state = at_rest(MODEL.integrate(HOME, rng.normal(size=MODEL.nv), part))
        controller.disturbance.interrupt()
        learn(controller, state, MODEL.jacobian(state, 'l_hand').T @ load, periods)
        np.testing.assert_allclose(
            controller.disturbance.rejected['l_hand'], -load, rtol=2e-3, atol=2e-3)
        periods = 2


@pytest.mark.parametrize('dt', [1e-3, 2e-3])
@pytest.mark.parametrize('delay', [0, 1], ids=['at once', 'a cycle later'])
def test_hands_come_to_rest_after_a_push(delay, dt):
    """
    10 N and 1 N·m on both hands for 60 ms, more than the bounds.

    Bounds of motion that counted the compensation took it away: the forces of the last level threw
    the wrist with 2,000 rad/s², as fast as 20 rad/s.
    """
    controller = OperationalSpaceController(MODEL, levels(), limits=JointLimits(MODEL))
    controller.disturbance = DisturbanceObserver(20.0, max_force=10.0, max_moment=2.0)
    wrench = np.array([0.0, 0.0, -10.0, 0.0, 1.0, 0.0])

    def load(state, time):
        return sum(MODEL.jacobian(state, hand).T @ wrench for hand in HANDS
                   ) if 0.3 < time < 0.36 else 0.0
    v, fastest = simulated(MODEL, controller, HOME, round(2.0 / dt), dt, delay, load)
    assert fastest.max() < 11.0
    assert abs(v).max() < 0.02


@pytest.mark.parametrize('priority', [0, 1])
def test_the_other_hand_compensates_for_what_presses(priority):
    """It does so once, whatever the level of the hand that presses is."""
    state, controllers = at_rest(MODEL.integrate(HOME, np.ones(MODEL.nv), 0.1)), []
    for _ in range(2):
        left = PoseTask('l_hand', force_axes='z', force=ForceControl(approach=(0.0, 0.0)),
                        priority=priority)
        controllers.append(OperationalSpaceController(MODEL, [left, PoseTask('r_hand')]))
    controller, bare = controllers
    controller.disturbance = observer = DisturbanceObserver(1e6, **UNBOUNDED)
    controller.compute_torque(state, dt=0.0)
    learn(controller, state, 10.0 * unknown(MODEL))
    for each in controllers:
        each.tasks['l_hand'].force.set_target([0.0, 0.0, 40.0, 0.0, 0.0, 0.0])
    learn(controller, state, 10.0 * unknown(MODEL), 3000)
    for _ in range(3002):
        without = bare.compute_torque(state)
    r = unknown(MODEL, 1)
    change = learn(controller, state, r) - without
    pressed = bare.tasks['l_hand'].wrench
    assert pressed[2] == pytest.approx(40.0, rel=0.01)
    assert abs(observer.rejected['l_hand']).max() > 0.1
    J, A = MODEL.jacobian(state, HANDS), MODEL.mass_matrix(state)
    balanced = r + J[:6].T @ pressed
    moved = J[6:] @ np.linalg.solve(A, balanced + change)
    before = J[6:] @ np.linalg.solve(A, balanced + J[:6].T @ observer.rejected['l_hand'])
    np.testing.assert_allclose(moved, 0.0, atol=1e-4 * abs(before).max())


def test_what_nearly_nothing_can_move_gets_no_force():
    """
    A point of the wrist seen from the hand, whose last joint moves it by millimetres.

    Efforts act a cycle late. Measured by its own mobility alone, that row had its force at one
    bound or the other in every cycle, and the joint moved for good, with 0.5 rad/s and more.
    """
    controller = OperationalSpaceController(
        PANDA, [PoseTask(TCP), RelativeTask('panda_link5', TCP, axes='x y z')])
    controller.disturbance = DisturbanceObserver(20.0, max_force=10.0, max_moment=2.0)

    def load(state, time):
        return (time < 0.2) * PANDA.jacobian(state, TCP).T @ [5.0, 5.0, -5.0, 0.0, 0.0, 0.0]
    v, _ = simulated(PANDA, controller, ARM, 1500, 2e-3, 1, load)
    assert abs(v).max() < 1e-3


ABOVE = {
    'motion': lambda: PositionTask('panda_link4', axes='z'),
    'spring': lambda: PositionTask('panda_link4', axes='z', impedance=Impedance(400.0)),
    'joint': lambda: JointTask(['panda_joint2'], name='joint')}


@pytest.mark.parametrize('kind', ABOVE)
def test_a_load_below_a_task_leaves_no_error(kind):
    """
    10 N at a hand, whether or not the task above it rejects disturbances itself.

    The load and the hand's force balance each other at both. When the task above compensated for
    the force, its error was 70 times that without an observer.
    """
    above, hand = ABOVE[kind](), PoseTask(TCP, axes='x y z', priority=1)
    controller = OperationalSpaceController(PANDA, [above, hand])
    controller.disturbance = DisturbanceObserver(20.0, max_force=60.0, max_moment=20.0)
    v, _ = simulated(PANDA, controller, ARM, 4000, loaded=TCP,
                     wrench=[0.0, 0.0, -10.0, 0.0, 0.0, 0.0])
    assert np.linalg.norm(hand.error[:3]) < 2e-5
    assert abs(above.error[0 if kind == 'joint' else 2]) < 2e-5
    assert abs(v).max() < 1e-3

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Forces against disturbances of several levels: they balance what is unknown, and move nothing."""

import numpy as np
import pytest
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


def simulated(model, controller, q, count, dt=1e-3, delay=0, load=None):
    """
    Return the velocities (nv,) at the end, and the greatest speed, of a robot under a controller.

    Its efforts act so many cycles late, and beside them the joint forces ``load(state, time)``.
    """
    v, sent, fastest = np.zeros(model.nv), [], 0.0
    for k in range(count):
        state = RobotState(model, q, v)
        sent.append(controller.compute_torque(state, dt=dt))
        tau = sent[max(k - delay, 0)] + load(state, k * dt)
        v = np.where(model.locked, 0.0, v + dt * model.forward_dynamics(state, tau))
        q = model.integrate(q, v, dt)
        fastest = max(fastest, abs(v).max())
    return v, fastest


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
    law = J @ controller._arguments.storage.results.a_task
    actual = J @ MODEL.forward_dynamics(state, tau + r)
    off = abs(actual - law) / abs(J @ MODEL.forward_dynamics(state, MODEL.gravity(state) + r)).max()
    assert off[:12].max() < 1e-4
    assert off[12:].max() < 2e-2  # of the softness, where the levels above leave so little


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
        return (0.3 < time < 0.36) * sum(
            MODEL.jacobian(state, hand).T @ wrench for hand in HANDS)
    v, fastest = simulated(MODEL, controller, HOME, round(2.0 / dt), dt, delay, load)
    assert fastest < 11.0
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

    def load(state, _):
        return PANDA.jacobian(state, TCP).T @ [0.0, 0.0, -10.0, 0.0, 0.0, 0.0]
    v, _ = simulated(PANDA, controller, ARM, 4000, load=load)
    assert np.linalg.norm(hand.error[:3]) < 2e-5
    assert abs(above.error[0 if kind == 'joint' else 2]) < 2e-5
    assert abs(v).max() < 1e-3

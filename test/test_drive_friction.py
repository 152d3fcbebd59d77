# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The friction of drives is overcome: joints that stick start, and none oscillates."""

import numpy as np
import pytest
from robots import robot_file
from samples import random_state, sample

from opspace_control import (
    Closure,
    Constraint,
    ControlError,
    DisturbanceObserver,
    DriveFriction,
    JointLimits,
    ModelError,
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    RobotState,
    closed_chain_dynamics,
)
from opspace_control.simulation import SimulatedRobot

PATH, TCP = robot_file('panda.urdf'), 'panda_hand_tcp'
BRAKED = ['panda_finger_joint1']
PANDA = RobotModel.from_urdf_file(PATH, locked_joints=BRAKED)
FREE = ~PANDA.locked
BENT = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.7, 0.78, 0.0])
NUMBERS = {'coulomb': 2.0, 'breakaway': 3.0, 'viscous': 0.5, 'stribeck_velocity': 0.05,
           'slip_velocity': 0.1, 'horizon': 0.4}


def overcome(v, a, numbers):
    """Return the friction that is overcome at velocities and accelerations, by its equation."""
    level = numbers['coulomb'] + (numbers['breakaway'] - numbers['coulomb']) * np.exp(
        -(v / numbers['stribeck_velocity'])**2)
    return level * np.tanh((v + numbers['horizon'] * a) / numbers['slip_velocity']) + (
        numbers['viscous'] * v)


@pytest.mark.parametrize('known', [False, True], ids=['no observer', 'observer'])
@pytest.mark.parametrize('held', [False, True], ids=['free', 'other hand held'])
def test_the_sign_is_that_of_the_motion_that_the_efforts_would_cause(held, known):
    """``F(v, v + T q̈)``: q̈ of a robot without friction, with what the observer asks for, too."""
    model = sample('dual_arm').model
    state = random_state(model, 4, speed=0.1)  # no link has inertia, whose memory would follow v
    task = PoseTask('l_hand', kp=1.0)
    controller = OperationalSpaceController(
        model, [task], limits=JointLimits(model, acceleration=1e3),
        constraints=[Constraint('r_hand')] if held else [], effort_limits=np.inf)
    for constraint in controller.constraints.values():
        constraint.close()
    controller.compute_torque(state)  # notes where the hand is held
    if known:
        controller.disturbance = DisturbanceObserver(1e3, max_force=1e3, max_moment=1e3)
        controller.compute_torque(state)
        controller.disturbance.apply(controller.compute_torque(state) + 1.0)
    for _ in range(1000):  # until nothing fades any more
        law = controller.compute_torque(state).copy()
    if known:
        controller.disturbance.frozen = True
        assert abs(controller.disturbance.rejected['l_hand']).max() > 0.1
        law = controller.compute_torque(state).copy()
    numbers = NUMBERS | {'slip_velocity': 30.0}  # so that the sign is smooth here
    friction = controller.drive_friction = DriveFriction(model, **numbers)
    for _ in range(150):  # until the filter of the motion has followed
        tau = controller.compute_torque(state)
    np.testing.assert_allclose(tau - friction.effort, law, atol=1e-9)
    if held:
        a, _ = closed_chain_dynamics(model, state, law, [Closure('r_hand')])
    else:
        a = model.forward_dynamics(state, law)
    assert abs(np.tanh(0.4 * a / 30.0)).max() > 0.1
    np.testing.assert_allclose(friction.effort, overcome(state.v, a, numbers), atol=1e-6)


def test_the_motion_is_filtered():
    """Noise of the velocity gives friction no other sign; a filter of 200/s, from zero on."""
    model = sample('dual_arm').model
    state = random_state(model, 1, speed=0.1)
    controller = OperationalSpaceController(
        model, [], limits=JointLimits(model, acceleration=1e3), effort_limits=np.inf)
    law = controller.compute_torque(state)
    friction = controller.drive_friction = DriveFriction(
        model, coulomb=2.0, slip_velocity=30.0, horizon=0.4)
    motion = state.v + 0.4 * model.forward_dynamics(state, law)
    for k in range(1, 20):
        controller.compute_torque(state, dt=2e-3)
        left = 1.0 / (1.0 + 200.0 * 2e-3)**k
        np.testing.assert_allclose(
            friction.effort, 2.0 * np.tanh((1.0 - left) * motion / 30.0), atol=1e-9)
    friction.dofs['motion'][0] = np.nan
    for _ in range(2):
        controller.compute_torque(state)
    assert np.isfinite(friction.effort).all()


def test_efforts_of_law_and_friction_are_within_the_limits():
    limits = np.where(FREE, 15.0, np.inf)
    controller = OperationalSpaceController(
        PANDA, [PoseTask(TCP)], limits=JointLimits(PANDA, acceleration=1e3),
        effort_limits=limits, gravity_compensation=False)
    state = RobotState(PANDA, BENT, np.zeros(PANDA.nv))
    controller.drive_friction = DriveFriction(PANDA, coulomb=4.0)
    goal = PANDA.forward_kinematics(state, TCP)[TCP].copy()
    goal[0, 3] += 0.3
    controller.tasks[TCP].set_target(goal)
    tau = controller.compute_torque(state)
    assert (abs(tau) <= limits).all()
    law = abs(tau - controller.drive_friction.effort)
    np.testing.assert_allclose(law.max(), 11.0, rtol=1e-3)  # what friction leaves is used


@pytest.mark.parametrize('viscous', [0.0, 30.0])
def test_friction_beyond_an_effort_limit_is_cut_there(viscous):
    """Viscous friction of a fast joint, and dry friction that was set later."""
    limits = np.where(FREE, 15.0, np.inf)
    controller = OperationalSpaceController(
        PANDA, [PoseTask(TCP)], limits=JointLimits(PANDA), effort_limits=limits)
    state = RobotState(PANDA, BENT, np.where(FREE, 2.0, 0.0))
    friction = controller.drive_friction = DriveFriction(PANDA, viscous=viscous)
    friction.set(coulomb=0.0 if viscous else 40.0)
    for _ in range(100):  # of the filter of the motion
        tau = controller.compute_torque(state)
    assert (abs(tau) <= limits).all()
    assert tau[FREE] == pytest.approx(friction.effort[FREE])  # the law has nothing
    assert (abs(friction.effort[FREE]) == 15.0).sum() > 5


@pytest.mark.parametrize('quantity', ['coulomb', 'breakaway'])
def test_dry_friction_beyond_an_effort_limit_is_refused(quantity):
    limits = np.full(PANDA.nv, 50.0)
    limits[2] = 0.0  # no drive: it has no effort for friction either
    controller = OperationalSpaceController(
        PANDA, [PoseTask(TCP)], limits=JointLimits(PANDA), effort_limits=limits)
    friction = DriveFriction(
        PANDA, **{quantity: {'panda_joint3': 1.0, 'panda_joint4': 50.0, 'panda_joint5': 50.1}})
    with pytest.raises(ModelError, match=rf"{quantity} of 'panda_joint5' is 50.1.*limit, 50"):
        controller.drive_friction = friction
    assert controller.drive_friction is None
    friction.set(**{quantity: {'panda_joint5': 49.0}})
    controller.drive_friction = friction
    state = RobotState(PANDA, BENT, np.where(FREE, 2.0, 0.0))
    assert controller.compute_torque(state)[2] == 0.0


def reach(known, actual, seconds, rate=0.0):
    """
    Send a Panda 0.2 m and back with drives of ``actual`` Coulomb friction, in parts of efforts.

    Return the errors (k, 2) of the hand from arrival on, m and rad, and the largest changes of an
    effort in a ms of the last 0.2 s, in parts of its limit. The controller overcomes ``known``.
    """
    plant = SimulatedRobot(with_friction(actual), timestep=1e-3, locked_joints=BRAKED)
    plant.reset(positions=dict(zip(PANDA.dof_names, BENT, strict=True)))
    task = PoseTask(TCP, max_linear_velocity=0.4, max_angular_velocity=1.5)
    controller = OperationalSpaceController(PANDA, [task], limits=JointLimits(PANDA))
    controller.drive_friction = DriveFriction(
        PANDA, coulomb=known * np.where(FREE, PANDA.effort_limits, 0.0))
    if rate:
        controller.disturbance = DisturbanceObserver(rate, max_force=60.0, max_moment=20.0)
    state = RobotState(PANDA, plant.positions, plant.velocities)
    goal = PANDA.forward_kinematics(state, TCP)[TCP].copy()
    goal[:3, 3] += [0.1, 0.15, -0.1]
    task.set_target(goal)
    errors, efforts = [], []
    for _ in range(round(seconds / 1e-3)):
        state.update(plant.positions, plant.velocities)
        efforts.append(controller.compute_torque(state))
        plant.set_effort(efforts[-1])
        plant.step()
        errors.append((np.linalg.norm(task.error[:3]), np.linalg.norm(task.error[3:])))
    steps = abs(np.diff(efforts[-200:], axis=0))[:, FREE] / PANDA.effort_limits[FREE]
    return np.array(errors), steps.max()


def with_friction(part):
    """Return the Panda's URDF with Coulomb friction in every joint, in parts of its effort."""
    import xml.etree.ElementTree as ET
    robot = ET.fromstring(PATH.read_text())
    for joint in robot.iter('joint'):
        for dynamics in joint.findall('dynamics'):
            joint.remove(dynamics)
        limit = joint.find('limit')
        if limit is not None:
            ET.SubElement(joint, 'dynamics', damping='0',
                          friction=repr(part * float(limit.get('effort'))))
    return ET.tostring(robot, encoding='unicode')


@pytest.mark.parametrize('rate', [0.0, 20.0], ids=['no observer', 'observer'])
def test_a_hand_arrives_as_without_friction(rate):
    """3 % of the efforts: the bare law stays centimetres away."""
    bare, _ = reach(0.0, 0.03, 2.5)
    assert bare[-1, 0] > 0.01
    errors, step = reach(0.03, 0.03, 2.5, rate)
    assert (errors[-100:] < (1e-4 if rate else 1e-3, np.radians(0.1))).all()
    assert step < 1e-3


@pytest.mark.parametrize('actual', [0.0, 0.02, 0.025])
def test_friction_that_is_less_than_assumed_makes_no_oscillation(actual):
    errors, _ = reach(0.03, actual, 2.5)
    assert (errors[-100:] < (1e-3, np.radians(0.1))).all()


def test_numbers_change_at_any_time_and_none_removes_it():
    controller = OperationalSpaceController(
        PANDA, [PoseTask(TCP)], limits=JointLimits(PANDA))
    state = RobotState(PANDA, BENT, np.where(FREE, 0.2, 0.0))
    bare = controller.compute_torque(state).copy()
    controller.drive_friction = friction = DriveFriction(PANDA, horizon=0.0)
    np.testing.assert_array_equal(controller.compute_torque(state), bare)
    friction.set(viscous={'panda_joint2': 3.0})
    np.testing.assert_allclose(
        controller.compute_torque(state) - bare, [0.0, 0.6, 0, 0, 0, 0, 0, 0], atol=1e-12)
    controller.drive_friction = None
    np.testing.assert_array_equal(controller.compute_torque(state), bare)


def test_friction_of_the_urdf():
    model = RobotModel.from_urdf(with_friction(0.05))
    found = DriveFriction.from_urdf(model).dofs
    np.testing.assert_allclose(found['coulomb'], 0.05 * model.effort_limits)


def test_what_is_refused():
    for name, value in (('coulomb', -1.0), ('viscous', np.nan), ('slip_velocity', 0.0),
                        ('horizon', [1.0, 2.0]), ('breakaway', {'panda_joint9': 1.0})):
        with pytest.raises(ModelError, match=r'drive friction|panda_joint9'):
            DriveFriction(PANDA, **{name: value})
    bare = OperationalSpaceController(PANDA, [PoseTask(TCP)])
    with pytest.raises(ControlError, match='limits'):
        bare.drive_friction = DriveFriction(PANDA)
    limited = OperationalSpaceController(PANDA, [PoseTask(TCP)], limits=JointLimits(PANDA))
    with pytest.raises(ModelError, match='another model'):
        limited.drive_friction = DriveFriction(sample('dual_arm').model)
    assert limited.drive_friction is None

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The centre of mass, of a robot and of parts of it: where it is, and as a task."""

import numpy as np
import pinocchio
import pytest
from closed_chains import consistent, dense_chain
from lockstep import LockStep
from robots import TALOS, robot_file
from samples import URDF, random_state

from opspace_control import (
    CenterOfMassTask,
    Closure,
    Contact,
    ControlError,
    ModelError,
    OperationalSpaceController,
    PassiveForces,
    Payload,
    PoseTask,
    PositionTask,
    PostureTask,
    RobotModel,
    RobotState,
    center_of_mass,
)
from opspace_control.cli.robots import demo_robot

PATH = URDF / 'dual_arm.urdf'
TEXT = PATH.read_text()
MODEL = RobotModel.from_urdf(TEXT)
OPTIONS = {'effort_limits': np.inf, 'singularity_threshold': 1e-9}


def moving(model, state, frame=None, a=None, h=1e-4):
    """Return the velocity of a centre of mass, or its acceleration under a, by differences."""
    def at(t):
        v = state.v + (0.0 if a is None else 0.5 * t * a)
        return center_of_mass(model, RobotState(
            model, model.integrate(state.q, v, t), state.v), frame)[0]
    if a is None:
        return (at(h) - at(-h)) / (2.0 * h)
    return (at(h) - 2.0 * at(0.0) + at(-h)) / (h * h)


@pytest.mark.parametrize('seed', range(3))
def test_it_is_pinocchios(seed):
    state = random_state(MODEL, seed)
    theirs = pinocchio.buildModelFromXML(TEXT)
    data = theirs.createData()
    order = [MODEL.dof_names.index(name) for name in theirs.names[1:]]
    J = pinocchio.jacobianCenterOfMass(theirs, data, state.q[order])
    position, jacobian = center_of_mass(MODEL, state)
    np.testing.assert_allclose(position, data.com[0], atol=1e-12)
    np.testing.assert_allclose(jacobian[:, order], J, atol=1e-12)
    np.testing.assert_allclose(moving(MODEL, state), jacobian @ state.v, atol=1e-7)


def test_of_a_part():
    state = random_state(MODEL, 4)
    position, jacobian = center_of_mass(MODEL, state, 'l_hand')
    hand = MODEL.forward_kinematics(state, ['l_hand'])['l_hand'][:3, 3]
    assert np.linalg.norm(position - hand) < 0.2
    assert not jacobian[:, [MODEL.dof_index('r_elbow')]].any()
    np.testing.assert_allclose(moving(MODEL, state, 'l_hand'), jacobian @ state.v, atol=1e-7)
    with pytest.raises(ModelError, match='l_hand'):
        center_of_mass(MODEL, state, 'l_hnad')


CASES = {
    'whole': ({}, None), 'an arm': ({}, 'l_shoulder_pitch_link'), 'a brake': (
        {'locked_joints': ['l_shoulder_roll', 'torso_yaw']}, None), 'dead drives': (
        {'passive_joints': ['r_shoulder_yaw', 'torso_roll']}, None)}


@pytest.mark.parametrize('case', CASES)
def test_its_acceleration_is_that_of_the_law_and_that_of_the_hand_too(case):
    """Together with a hand, which it is coupled with, and a second level below both."""
    status, frame = CASES[case]
    if frame is not None:
        frame = next(name for name in MODEL.frame_names if name.startswith('l_upper'))
    model = RobotModel.from_urdf(TEXT, **status)
    state = random_state(model, 7)
    state.update(state.q, np.where(model.locked, 0.0, state.v))
    center = CenterOfMassTask(frame, kp=40.0, kd=9.0, axes='x y')
    hand = PoseTask('r_hand', kp=30.0, kd=8.0)
    low = PositionTask('l_hand', kp=10.0, priority=1)
    controller = OperationalSpaceController(
        model, [center, hand, low], PostureTask(kp=5.0), passive_forces=PassiveForces(model),
        **OPTIONS)
    position, jacobian = center_of_mass(model, state, frame)
    center.set_target(position + np.array([0.03, -0.02, 0.5]), [0.1, 0.2, 0.3], [0.5, 0.4, 0.3])
    tau = controller.compute_torque(state)
    assert not tau[model.passive | model.locked].any()
    np.testing.assert_allclose(center.pose[:3], position, atol=1e-12)
    a = model.forward_dynamics(state, tau)
    expected = ([0.5, 0.4] + 40.0 * np.array([0.03, -0.02])
                + 9.0 * ([0.1, 0.2] - (jacobian @ state.v)[:2]))
    np.testing.assert_allclose(moving(model, state, frame, a)[:2], expected, atol=2e-5)
    reached = (model.jacobian(state, 'r_hand') @ a + model.bias_acceleration(state, 'r_hand'))
    np.testing.assert_allclose(
        reached, 30.0 * hand.error - 8.0 * model.jacobian(state, 'r_hand') @ state.v, atol=1e-7)


def test_a_payload_counts():
    state = random_state(MODEL, 2, 0.0)
    center = CenterOfMassTask()
    controller = OperationalSpaceController(MODEL, [center], **OPTIONS)
    controller.payloads.put('tool', 'l_hand', Payload(5.0))
    controller.compute_torque(state)
    bare, _ = center_of_mass(MODEL, state)
    hand = MODEL.forward_kinematics(state, ['l_hand'])['l_hand'][:3, 3]
    mass = MODEL.nodes['mass'].sum()
    np.testing.assert_allclose(center.pose[:3], (mass * bare + 5.0 * hand) / (mass + 5.0),
                               atol=1e-12)


def test_dense_force():
    """``Jᵀ f`` of its wrench, at rest and alone, is what it adds to gravity."""
    state = random_state(MODEL, 3, 0.0)
    center = CenterOfMassTask(kp=20.0)
    controller = OperationalSpaceController(MODEL, [center], PostureTask(kp=0.0), **OPTIONS)
    position, jacobian = center_of_mass(MODEL, state)
    center.set_target(position + 0.02)
    added = controller.compute_torque(state) - MODEL.gravity(state)
    A = MODEL.mass_matrix(state)
    f = np.linalg.solve(jacobian @ np.linalg.solve(A, jacobian.T), np.full(3, 0.4))
    np.testing.assert_allclose(added, jacobian.T @ f, atol=1e-9)
    np.testing.assert_allclose(center.wrench[:3], f, rtol=1e-9)
    np.testing.assert_allclose(center.joint_force(MODEL, state), added, atol=1e-9)


def test_it_moves_while_both_hands_hold():
    robot = demo_robot('dual_arm')
    center = CenterOfMassTask(axes='x y', priority=1)
    hands = [PoseTask(hand) for hand in robot.hands]
    scene = LockStep(PATH, [*hands, center], start=robot.start)
    scene.run(scene.robot.timestep)
    goal = center.pose[:3]
    center.set_target(goal + np.array([0.02, 0.015, 0.0]))
    course = scene.run(1.5)
    assert np.linalg.norm(center.error[:2]) < 1e-4
    assert np.linalg.norm(np.ptp(course.paths[:, 2], axis=0)) > 0.02
    assert abs(course.errors[:, :2]).max() < 2e-4


@pytest.fixture(scope='module')
def talos():
    text = robot_file(TALOS).read_text()
    return text, RobotModel.from_urdf(text, floating_base=True, passive_joints=('base',))


def test_a_robot_on_its_feet_moves_its_centre_of_mass(talos):
    """Talos floating, both feet on the ground: against the dense equations of the closed chain."""
    text, model = talos
    feet = ('left_sole_link', 'right_sole_link')
    q = model.neutral()
    for side in ('left', 'right'):
        for number, value in ((3, -0.4), (4, 0.8), (5, -0.4)):
            q[model.q_index[model.dof_index(f'leg_{side}_{number}_joint')]] = value
    state = random_state(model, 0, 0.2)
    state.update(q, state.v)
    closures = [Closure(foot) for foot in feet]
    state = RobotState(model, q, consistent(model, text, state, closures))
    center = CenterOfMassTask(kp=25.0, kd=10.0)
    contacts = [Contact(foot) for foot in feet]
    controller = OperationalSpaceController(
        model, [center, PoseTask('base_link', axes='rx ry rz', kp=25.0)],
        PostureTask(kp=10.0, kd=5.0), constraints=contacts, passive_forces=PassiveForces(model),
        **OPTIONS)
    for contact in contacts:
        contact.engage(state)
    position, jacobian = center_of_mass(model, state)
    center.set_target(position + np.array([0.02, 0.03, -0.02]))
    tau = controller.compute_torque(state)
    a, _ = dense_chain(model, text, state, feet, closures).accelerations(tau)
    expected = 25.0 * np.array([0.02, 0.03, -0.02]) - 10.0 * jacobian @ state.v
    np.testing.assert_allclose(moving(model, state, None, a), expected, atol=1e-4)


def test_a_robot_in_the_air_cannot_and_lets_go(talos):
    _, model = talos
    state = random_state(model, 1, 0.0)
    center = CenterOfMassTask()
    controller = OperationalSpaceController(model, [center], effort_limits=np.inf)
    position, _ = center_of_mass(model, state)
    center.set_target(position + 0.1)
    tau = controller.compute_torque(state)
    assert np.isfinite(tau).all() and abs(tau).max() < 200.0
    assert controller.least_eigenvalue == 0.0


def test_one_at_most():
    with pytest.raises(ControlError, match="'one' and 'other'"):
        OperationalSpaceController(MODEL, [CenterOfMassTask(name='one'),
                                           CenterOfMassTask('l_hand', name='other')])

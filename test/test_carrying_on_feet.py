# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A humanoid on two feet that holds an object with both hands: bounds of contacts are kept."""

import numpy as np
import pytest
from apart import apart
from carrying import as_transform
from contact_optimum import Dense, Held, held_against_optimum
from robots import TALOS
from test_contact_forces import FEET, HANDS, SOLE, robot
from test_grasp import weld
from test_standing import TALOS_STANDING, Standing, loaded, posture

from opspace_control import (
    Contact,
    Grasp,
    JointLimits,
    OperationalSpaceController,
    Payload,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.dynamics.passive_forces import PassiveForces
from opspace_control.simulation import Box

BOX = Payload.of_box(2.0, (0.2, 0.4, 0.3), (0.02, -0.05, 0.03))
FORCE = 15.0  # N, between the hands


def made(seed, arms=1.0):
    """Return a controller, a state of the robot with the box, and what it holds, box engaged."""
    model, text, home = robot(TALOS)
    home = home.copy()
    for side, angle in (('left', 0.4), ('right', -0.4)):
        home[model.q_index[model.dof_index(f'arm_{side}_2_joint')]] = angle
    rng = np.random.default_rng(seed)
    contacts = [Contact(foot, friction=0.4, sole=SOLE) for foot in FEET]
    grasp = Grasp(HANDS, name='box', payload=BOX, grasp_force=FORCE, priority=1)
    tasks = [PoseTask('base_link', priority=0), *(PoseTask(hand, priority=1) for hand in HANDS)]
    limits = np.where([name.startswith('arm_') for name in model.dof_names], arms, 1.0)
    controller = OperationalSpaceController(
        model, tasks, PostureTask(target=home, kp=10.0, kd=5.0), constraints=contacts,
        grasps=[grasp], passive_forces=PassiveForces(model), limits=JointLimits(model),
        effort_limits=limits * model.effort_limits)
    controller._limits.records['slow'] = -1.0
    controller._limits.records['gravity_torque'] = np.inf
    turn = np.concatenate([rng.uniform(-0.05, 0.05, 6), rng.uniform(-0.2, 0.2, model.nv - 6)])
    state = RobotState(model, model.integrate(home, turn, 1.0), np.zeros(model.nv))
    for contact in contacts:
        contact.close()
    controller.compute_torque(state)
    grasp.engage(state)
    controller.compute_torque(state)
    carrier = model.forward_kinematics(state, HANDS[0])[HANDS[0]]
    loaded = RobotModel.from_urdf(
        weld(text, HANDS[0], BOX, np.linalg.inv(carrier) @ as_transform(grasp.task.pose)),
        floating_base=True, passive_joints=('base',))
    held, v = Held(grasp), rng.uniform(-0.05, 0.05, model.nv)
    J = Dense.of(controller, RobotState(loaded, state.q, v), held).J_c
    v -= np.linalg.pinv(J) @ (J @ v)
    state = RobotState(model, state.q, v)
    records = controller._limits.records
    records['active_side'] = 0
    controller._limits.memory.bound_active[:] = 0
    return controller, state, RobotState(loaded, state.q, v), held, rng


@pytest.mark.parametrize('reach', [0.02, 0.3])
@pytest.mark.parametrize('arms', [1.0, 0.5])
def test_forces_are_within_bounds_and_grips_as_planned(reach, arms):
    """
    Of the dense equations of the robot with the box, and nothing is lost.

    With goals far away, and with weak arms: limits of their efforts know what grips exert.
    """
    given_way, at_limits = 0, set()
    for seed in range(8):
        controller, state, loaded, held, rng = made(seed, arms)
        for task in controller.tasks.values():
            if task.enabled:
                goal = as_transform(task.pose)
                goal[:3, 3] += rng.uniform(-reach, reach, 3)
                task.set_target(goal)
        tau = controller.compute_torque(state)
        at_limits |= {limit.limit for limit in controller.active_limits}
        given_way += sum(held_against_optimum(controller, loaded, tau, held=held))
    assert reach < 0.1 or (given_way > 4 and 'friction' in at_limits)
    assert arms == 1.0 or reach < 0.1 or 'effort' in at_limits


class Carrying(Standing):
    """Talos with a box of 3 kg between its hands."""

    def __init__(self):
        model, size, mass = loaded(TALOS_STANDING)[1], (0.2, 0.3, 0.2), 3.0
        poses = model.forward_kinematics(
            RobotState(model, posture(), np.zeros(model.nv)), HANDS)
        middle = np.mean([poses[hand][:3, 3] for hand in HANDS], axis=0)
        self.box = Box('box', size, mass, (*middle, 0.0, 0.0, 0.0, 1.0))
        self.grasp = Grasp(HANDS, name='carry', payload=Payload.of_box(mass, size),
                           grasp_force=FORCE, priority=3, kp=40.0, kd=12.0,
                           max_linear_velocity=0.3)
        super().__init__([self.box], [self.grasp])

    @property
    def squeeze(self):
        """Force between the hands in the simulator, N, without the box's weight and inertia."""
        places = np.array([self.simulated.frame_pose(hand)[:3] for hand in HANDS])
        line = (places[1] - places[0]) / np.linalg.norm(places[1] - places[0])
        left, right = (self.simulated.grip_wrench(hand, 'box')[:3] @ line for hand in HANDS)
        return 0.5 * (left - right)


@pytest.fixture(scope='module')
def carrying():
    return Carrying()


@apart
def test_it_carries_a_box_and_is_pushed(carrying):
    """Bounds of contacts hold in every cycle, those of efforts, too; the box is squeezed."""
    robot = carrying
    assert robot.squeeze == pytest.approx(FORCE, abs=0.5)
    start = robot.grasp.task.pose
    for shift in ((0.1, 0.05, 0.1), (0.0, 0.0, 0.0)):
        goal = start.copy()
        goal[:3] += shift
        robot.grasp.task.set_target(goal)
        robot.run(2.0)
        assert abs(robot.grasp.task.error[:3]).max() < 2e-3
        assert robot.squeeze == pytest.approx(FORCE, abs=0.5)
    force = 0.2 * robot.controller.model.nodes['mass'].sum() / 0.1
    for angle in np.radians([0.0, 120.0, 240.0]):
        robot.run(0.1, (force * np.cos(angle), force * np.sin(angle), 0.0))
        assert np.linalg.norm(robot.balance.error[:2]) > 5e-3
        robot.run(1.4)
        assert np.linalg.norm(robot.balance.error[:2]) < 0.01
    assert robot.feet_moved < 0.01 and not robot.grasp.slips
    assert robot.squeeze == pytest.approx(FORCE, abs=0.5)


@pytest.mark.parametrize('reach', [
    (0.5, -0.5, 0.3), (0.3, 0.4, -0.5), (0.6, 0.0, 0.0), (0.7, 0.4, 0.2), (0.5, 0.0, -0.6)])
@apart
def test_a_reach_with_a_box_that_the_arms_cannot_hold_is_given_up(carrying, reach):
    """Gravity torques are bounded, those of arms with their shares of the box and the squeeze."""
    robot = carrying
    goal = robot.grasp.task.pose
    goal[:3] += reach
    robot.grasp.task.set_target(goal)
    robot.run(2.5)
    assert np.linalg.norm(robot.grasp.task.error[:3]) > 0.1
    assert np.linalg.norm(robot.balance.error[:2]) < 2e-3
    assert robot.feet_moved < 2e-3
    assert robot.squeeze == pytest.approx(FORCE, abs=0.5)

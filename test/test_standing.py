# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A humanoid on two flat feet, on a floor that only pushes: it gives up the reach, not balance."""

from functools import cache

import numpy as np
import pytest
from apart import apart
from robots import TALOS, robot_file

from opspace_control import (
    CenterOfMassTask,
    Contact,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PositionTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.simulation import Shape, SimulatedRobot

FEET = ('left_sole_link', 'right_sole_link')
HANDS = ('gripper_left_base_link', 'gripper_right_base_link')
SOLE = np.array([[-0.1, -0.06, 0.0], [0.1, 0.06, 0.0]])
SAFE = 0.9       # part of the sole that the centre of pressure may use
FRICTION = 0.7   # of the floor; the controller counts on 0.5
TIMESTEP = 1e-3  # s


@cache
def talos():
    """Return the URDF and the model."""
    text = robot_file(TALOS).read_text()
    return text, RobotModel.from_urdf(text, floating_base=True, passive_joints=('base',))


def posture():
    """Return where it begins to stand, with bent knees and elbows, (nq,)."""
    model = talos()[1]
    q = model.neutral()
    for side, sign in (('left', 1.0), ('right', -1.0)):
        for joint, angle in (('leg_{}_3', -0.4), ('leg_{}_4', 0.8), ('leg_{}_5', -0.4),
                             ('arm_{}_4', -1.2), ('arm_{}_2', 0.3 * sign)):
            q[model.q_index[model.dof_index(f'{joint.format(side)}_joint')]] = angle
    state = RobotState(model, q, np.zeros(model.nv))
    q[2] -= model.forward_kinematics(state, FEET[:1])[FEET[0]][2, 3]
    return q


class Standing:
    """
    Talos on the floor: balance first, then trunk and height, then the hands, or a grasp.

    ``objects`` are in the hands if there are ``grasps``; else hands touch them, with tips of their
    own, ``shapes``, and contacts, ``others``, which are open at first.
    """

    def __init__(self, objects=(), grasps=(), shapes=(), others=()):
        text, self.model = talos()
        self.simulated = SimulatedRobot(
            text, floating_base=True, floor=True, friction=FRICTION, joint_friction=False,
            timestep=TIMESTEP, objects=objects, contacts=bool(shapes), shapes=[
                *(Shape(foot, (0.2, 0.12, 0.02), (0.0, 0.0, 0.01)) for foot in FEET), *shapes])
        self._dofs = [self.model.dof_index(name) for name in self.simulated.joint_names]
        q = posture()
        self.simulated.reset({name: q[self.model.q_index[dof]] for name, dof in zip(
            self.simulated.joint_names, self._dofs, strict=True)}, base_pose=q[:7])
        self.state = RobotState(self.model, q, np.zeros(self.model.nv))
        self.contacts = [Contact(foot, friction=0.5, sole=SAFE * SOLE, normal_force=(20.0, np.inf))
                         for foot in FEET]
        self.balance = CenterOfMassTask(axes='x y', kp=20.0, kd=9.0, priority=0)
        self.height = PositionTask('torso_2_link', axes='z', kp=30.0, kd=11.0, priority=2)
        self.hands = [PositionTask(hand, kp=40.0, kd=12.0, priority=3, max_linear_velocity=0.5)
                      for hand in HANDS]
        trunk = PoseTask('base_link', axes='rx ry rz', kp=50.0, kd=14.0, priority=1)
        self.controller = OperationalSpaceController(
            self.model, [self.balance, trunk, self.height, *self.hands],
            PostureTask(target=q, kp=20.0, kd=9.0), constraints=[*self.contacts, *others],
            grasps=grasps, limits=JointLimits(self.model))
        self.controller.compute_torque(self.state)
        for contact in self.contacts:
            contact.set_gains(100.0)
            contact.close()
        for thing in objects if grasps else ():
            for hand in HANDS:
                self.simulated.grip(hand, thing.name)
        for grasp in grasps:
            grasp.engage(self.state)
        self._places = self._feet()
        goal = self.balance.pose
        goal[:2] = self._places[:, :2].mean(axis=0)
        self.balance.set_target(goal)
        self.run(1.0)

    def _feet(self):
        poses = self.model.forward_kinematics(self.state, FEET)
        return np.array([poses[foot][:3, 3] for foot in FEET])

    @property
    def feet_moved(self):
        """How far the feet are from where they stood, m."""
        return np.linalg.norm(self._feet() - self._places, axis=1).max()

    def push(self, direction):
        """Push the pelvis towards a direction, degrees: 0.2 m/s times the mass within 0.1 s."""
        force, angle = 0.2 * self.model.nodes['mass'].sum() / 0.1, np.radians(direction)
        self.run(0.1, (force * np.cos(angle), force * np.sin(angle), 0.0))

    def run(self, seconds, push=(0.0, 0.0, 0.0)):
        """Go on with a force at the pelvis; efforts and velocities are within limits all along."""
        self.simulated.apply_wrench('base_link', [*push, 0.0, 0.0, 0.0])
        for _ in range(round(seconds / TIMESTEP)):
            q, v = self.state.q.copy(), self.state.v.copy()
            q[:7], v[:6] = self.simulated.base_pose, self.simulated.base_twist
            q[self.model.q_index[self._dofs]] = self.simulated.positions
            v[self._dofs] = self.simulated.velocities
            self.state.update(q, v)
            tau = self.controller.compute_torque(self.state, dt=TIMESTEP)
            assert (abs(tau) <= self.controller.effort_limits).all()
            assert all(19.9 < contact.load < 2000.0 and contact.slip < 1.001
                       for contact in self.contacts)
            self.simulated.set_effort(tau[self._dofs])
            self.simulated.step()
            self.stepped()

    def stepped(self):
        """Look at the robot after a step."""


@pytest.fixture(scope='module')
def robot():
    return Standing()


@apart
def test_squats(robot):
    start = robot.height.pose
    for lower in (0.3, 0.0):
        goal = start.copy()
        goal[2] -= lower
        robot.height.set_target(goal)
        robot.run(2.0)
        assert abs(robot.height.error[2]) < 1e-3
    assert robot.feet_moved < 5e-3


@apart
def test_reaches_beyond_balance_are_given_up(robot):
    """Both hands to random places, most out of reach: the feet stay, and balance is kept."""
    rng, missed = np.random.default_rng(0), 0
    for _ in range(5):
        for hand, side in zip(robot.hands, (1.0, -1.0), strict=True):
            hand.set_target(
                [rng.uniform(0.0, 0.9), side * rng.uniform(-0.1, 0.7), rng.uniform(0.4, 1.7)])
        robot.run(1.5)
        missed += max(np.linalg.norm(hand.error[:3]) for hand in robot.hands) > 0.05
        assert np.linalg.norm(robot.balance.error[:2]) < 0.01
    assert robot.feet_moved < 5e-3
    assert 1 <= missed < 5


@pytest.mark.parametrize('direction', range(0, 360, 60))
@apart
def test_a_push_at_the_pelvis_from_any_side(robot, direction):
    """An impulse of 0.2 m/s times the mass within 0.1 s."""
    robot.push(direction)
    assert np.linalg.norm(robot.balance.error[:2]) > 5e-3
    robot.run(1.4)
    assert np.linalg.norm(robot.balance.error[:2]) < 0.01
    assert robot.feet_moved < 0.01

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Humanoids on two flat feet, on a floor that only pushes: they give up the reach, not balance."""

from dataclasses import dataclass
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

HANDS = ('gripper_left_base_link', 'gripper_right_base_link')
SAFE = 0.9       # part of the sole that the centre of pressure may use
FRICTION = 0.7   # of the floor; the controller counts on 0.5
TIMESTEP = 1e-3  # s


@dataclass(frozen=True, eq=False)
class Humanoid:
    """A robot that stands: links, two corners of a sole, m, bent joints, rad, and its size."""

    file: str
    feet: tuple
    sole: tuple
    hands: tuple
    trunk: str
    chest: str  # whose height is controlled
    bends: dict  # by joints of either side; those after a minus sign are mirrored
    least: float  # normal force of each foot, N
    squat: float  # m
    reach: tuple  # places of hands: ahead, to the side, above the floor, the greatest, m
    moved: float  # greatest distance that the feet may move while the hands reach, m

    @property
    def corners(self):
        """The two corners, (2, 3)."""
        return np.array(self.sole)


TALOS_STANDING = Humanoid(
    TALOS, ('left_sole_link', 'right_sole_link'), ((-0.1, -0.06, 0.0), (0.1, 0.06, 0.0)), HANDS,
    'base_link', 'torso_2_link', {
        'leg_{}_3_joint': -0.4, 'leg_{}_4_joint': 0.8, 'leg_{}_5_joint': -0.4,
        'arm_{}_4_joint': -1.2, '-arm_{}_2_joint': 0.3}, 20.0, 0.3, (0.9, 0.7, 1.7),
    5e-3)
# Of a third of that weight, on soles a third as large. With 10 N as the least normal force a push
# from the side lifts a foot, which the law still counts on.
G1 = Humanoid(
    'g1_29dof_with_hand_rev_1_0.urdf', ('left_ankle_roll_link', 'right_ankle_roll_link'),
    ((-0.05, -0.025, -0.035), (0.12, 0.025, -0.035)),
    ('left_hand_palm_link', 'right_hand_palm_link'), 'pelvis', 'torso_link', {
        '{}_hip_pitch_joint': -0.35, '{}_knee_joint': 0.7, '{}_ankle_pitch_joint': -0.35,
        '{}_elbow_joint': 0.3, '-{}_shoulder_roll_joint': 0.25}, 20.0, 0.15, (0.55, 0.5, 1.2),
    0.01)


@cache
def loaded(humanoid):
    """Return the URDF and the model."""
    text = robot_file(humanoid.file).read_text()
    return text, RobotModel.from_urdf(text, floating_base=True, passive_joints=('base',))


def posture(humanoid=TALOS_STANDING):
    """Return where it begins to stand, with bent knees and elbows, (nq,)."""
    model, foot = loaded(humanoid)[1], humanoid.feet[0]
    q = model.neutral()
    for side, sign in (('left', 1.0), ('right', -1.0)):
        for joint, angle in humanoid.bends.items():
            dof = model.dof_index(joint.removeprefix('-').format(side))
            q[model.q_index[dof]] = sign * angle if joint.startswith('-') else angle
    state = RobotState(model, q, np.zeros(model.nv))
    q[2] -= model.forward_kinematics(state, [foot])[foot][2, 3] + humanoid.sole[0][2]
    return q


class Standing:
    """
    A humanoid on the floor: balance first, then trunk and height, then the hands, or a grasp.

    ``objects`` are in the hands if there are ``grasps``; else hands touch them, with tips of their
    own, ``shapes``, and contacts, ``others``, which are open at first.
    """

    def __init__(self, objects=(), grasps=(), shapes=(), others=(), humanoid=TALOS_STANDING):
        text, self.model = loaded(humanoid)
        self.humanoid, feet = humanoid, humanoid.feet
        x, y, z = middle = humanoid.corners.mean(axis=0)
        length, width, _ = np.ptp(humanoid.corners, axis=0)
        self.simulated = SimulatedRobot(
            text, floating_base=True, floor=True, friction=FRICTION, joint_friction=False,
            timestep=TIMESTEP, objects=objects, contacts=bool(shapes), shapes=[
                *(Shape(foot, (length, width, 0.02), (x, y, z + 0.01)) for foot in feet), *shapes])
        self._dofs = [self.model.dof_index(name) for name in self.simulated.joint_names]
        q = posture(humanoid)
        self.simulated.reset({name: q[self.model.q_index[dof]] for name, dof in zip(
            self.simulated.joint_names, self._dofs, strict=True)}, base_pose=q[:7])
        self.state = RobotState(self.model, q, np.zeros(self.model.nv))
        self.contacts = [
            Contact(foot, friction=0.5, sole=middle + SAFE * (humanoid.corners - middle),
                    normal_force=(humanoid.least, np.inf)) for foot in feet]
        self.balance = CenterOfMassTask(axes='x y', kp=20.0, kd=9.0, priority=0)
        self.height = PositionTask(humanoid.chest, axes='z', kp=30.0, kd=11.0, priority=2)
        self.hands = [PositionTask(hand, kp=40.0, kd=12.0, priority=3, max_linear_velocity=0.5)
                      for hand in humanoid.hands]
        trunk = PoseTask(humanoid.trunk, axes='rx ry rz', kp=50.0, kd=14.0, priority=1)
        self.controller = OperationalSpaceController(
            self.model, [self.balance, trunk, self.height, *self.hands],
            PostureTask(target=q, kp=20.0, kd=9.0), constraints=[*self.contacts, *others],
            grasps=grasps, limits=JointLimits(self.model))
        self.controller.compute_torque(self.state)
        for contact in self.contacts:
            contact.set_gains(100.0)
            contact.close()
        for thing in objects if grasps else ():
            for hand in humanoid.hands:
                self.simulated.grip(hand, thing.name)
        for grasp in grasps:
            grasp.engage(self.state)
        self._places = self._feet()
        goal = self.balance.pose
        goal[:2] = self._places[:, :2].mean(axis=0) + middle[:2]
        self.balance.set_target(goal)
        self.run(1.0)

    def _feet(self):
        poses = self.model.forward_kinematics(self.state, self.humanoid.feet)
        return np.array([poses[foot][:3, 3] for foot in self.humanoid.feet])

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
        self.simulated.apply_wrench(self.humanoid.trunk, [*push, 0.0, 0.0, 0.0])
        for _ in range(round(seconds / TIMESTEP)):
            q, v = self.state.q.copy(), self.state.v.copy()
            q[:7], v[:6] = self.simulated.base_pose, self.simulated.base_twist
            q[self.model.q_index[self._dofs]] = self.simulated.positions
            v[self._dofs] = self.simulated.velocities
            self.state.update(q, v)
            tau = self.controller.compute_torque(self.state, dt=TIMESTEP)
            assert (abs(tau) <= self.controller.effort_limits).all()
            # In few cycles beyond 1, where G1 is pushed from ahead, no motion keeps the limits of
            # joints and efforts, too. Which cycles these are changes with rounding.
            assert all(self.humanoid.least - 0.12 < contact.load < 2000.0
                       and contact.slip < 1.003 for contact in self.contacts)
            self.simulated.set_effort(tau[self._dofs])
            self.simulated.step()
            self.stepped()

    def stepped(self):
        """Look at the robot after a step."""


@pytest.fixture(scope='module', params=[TALOS_STANDING, G1], ids=['talos', 'g1'])
def robot(request):
    return Standing(humanoid=request.param)


@apart
def test_squats(robot):
    start = robot.height.pose
    for lower in (robot.humanoid.squat, 0.0):
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
    ahead, aside, above = robot.humanoid.reach
    for _ in range(5):
        for hand, side in zip(robot.hands, (1.0, -1.0), strict=True):
            hand.set_target(
                [rng.uniform(0.0, ahead), side * rng.uniform(-0.1, aside),
                 rng.uniform(0.4, above)])
        robot.run(1.5)
        missed += max(np.linalg.norm(hand.error[:3]) for hand in robot.hands) > 0.05
        assert np.linalg.norm(robot.balance.error[:2]) < 0.01
    assert robot.feet_moved < robot.humanoid.moved
    assert 1 <= missed < 5


@pytest.fixture(scope='module')
def squatting():
    """Return a Talos half-way down, both hands on their way to places beyond its balance."""
    robot = Standing()
    goal, (ahead, _, above) = robot.height.pose, robot.humanoid.reach
    goal[2] -= 0.5 * robot.humanoid.squat
    robot.height.set_target(goal)
    for hand, side in zip(robot.hands, (0.2, -0.2), strict=True):
        hand.set_target([1.2 * ahead, side, 0.6 * above])
    robot.run(1.0)
    return robot


@pytest.mark.parametrize('direction', range(0, 360, 45))
@apart
def test_a_push_while_it_squats_and_reaches(squatting, direction):
    squatting.push(direction)
    squatting.run(1.4)
    assert min(np.linalg.norm(hand.error[:3]) for hand in squatting.hands) > 0.3
    assert np.linalg.norm(squatting.balance.error[:2]) < 0.01
    assert squatting.feet_moved < 0.01


@pytest.mark.parametrize('direction', range(0, 360, 60))
@apart
def test_a_push_at_the_pelvis_from_any_side(robot, direction):
    """An impulse of 0.2 m/s times the mass within 0.1 s."""
    robot.push(direction)
    assert np.linalg.norm(robot.balance.error[:2]) > 5e-3
    robot.run(1.4)
    assert np.linalg.norm(robot.balance.error[:2]) < 0.01
    assert robot.feet_moved < 0.01

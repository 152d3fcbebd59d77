# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Hands on a table and on a wall of MuJoCo: forces keep the cone and the least normal force."""

import numpy as np
import pytest

from opspace_control import (
    Contact,
    JointLimits,
    OperationalSpaceController,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.simulation import Box, Shape, SimulatedRobot
from opspace_control.spatial.rotations import matrix_from_quaternion

RADIUS, TIMESTEP = 0.02, 1e-3  # m, of the hands' tips; s
FRICTION = 0.5                 # that the controller counts on; MuJoCo's is 1
LEAST, GREATEST = 10.0, 60.0   # N
LEFT = np.array([0.0, 0.0, 1.0])    # of the table, upwards
RIGHT = np.array([-1.0, 0.0, 0.0])  # of the wall, towards the robot
PRESSING = 25.0  # N


class Leaning:
    """A robot of two arms whose left hand is on a table, and its right one on a wall."""

    def __init__(self):
        demo = demo_robot('dual_arm')
        text = demo.path().read_text()
        self.model = RobotModel.from_urdf(text)
        q = self.model.neutral()
        for joint, angle in demo.start.items():
            q[self.model.q_index[self.model.dof_index(joint)]] = angle
        self.state = RobotState(self.model, q, np.zeros(self.model.nv))
        poses = self.model.forward_kinematics(self.state, ['l_hand', 'r_hand'])
        size, normals = np.full(3, 0.3), {'l_hand': LEFT, 'r_hand': RIGHT}
        places = {hand: poses[hand][:3, 3] - normal * (RADIUS + 0.5 * size[0])
                  for hand, normal in normals.items()}
        self.robot = SimulatedRobot(
            text, contacts=True, joint_friction=False, timestep=TIMESTEP,
            shapes=[Shape(hand, (RADIUS,)) for hand in normals],
            objects=[Box(f'at_{hand}', tuple(size), 1.0, (*place, 0.0, 0.0, 0.0, 1.0), fixed=True)
                     for hand, place in places.items()])
        self.robot.reset(demo.start)
        self.contacts = [
            Contact(hand, kind='point', friction=FRICTION, normal=normal,
                    normal_force=(LEAST, GREATEST)) for hand, normal in normals.items()]
        self.posture = PostureTask(target=q, kp=25.0)
        self.controller = OperationalSpaceController(
            self.model, [], self.posture, constraints=self.contacts,
            limits=JointLimits(self.model))
        self.controller.compute_torque(self.state)
        for contact in self.contacts:
            contact.close()

    def run(self, seconds):
        """Go on; return the forces (k, 2, 3) of MuJoCo on the hands, world axes, N."""
        seen = []
        for _ in range(round(seconds / TIMESTEP)):
            self.state.update(self.robot.positions, self.robot.velocities)
            self.robot.set_effort(self.controller.compute_torque(self.state, dt=TIMESTEP))
            self.robot.step()
            seen.append([matrix_from_quaternion(self.robot.frame_pose(contact.frame)[3:])
                         @ self.robot.contact_wrench(contact.frame)[:3]
                         for contact in self.contacts])
        return np.array(seen)


def within_bounds(forces, normal, slack):
    """Return whether forces (k, 3) are within the bounds, but for a part of them."""
    along = forces @ normal
    sideways = np.linalg.norm(forces - along[:, None] * normal, axis=1)
    assert along.min() > LEAST * (1.0 - slack)
    assert along.max() < GREATEST * (1.0 + slack)
    assert (sideways < FRICTION * along * (1.0 + slack) + slack * LEAST).all()


@pytest.fixture
def leaning():
    leaning = Leaning()
    assert leaning.robot.joint_names == leaning.model.dof_names
    leaning.run(0.5)
    return leaning


def test_hands_press_with_the_least_force_if_none_is_commanded(leaning):
    forces = leaning.run(0.1)
    for k, normal in enumerate((LEFT, RIGHT)):
        within_bounds(forces[:, k], normal, 0.02)
        assert np.median(forces[:, k] @ normal) == pytest.approx(LEAST, rel=0.02)


@pytest.mark.parametrize('asked', [0.0, 5.0, 40.0])
def test_commanded_forces_are_cut_at_the_cone(leaning, asked):
    """A force along the surface is exerted as far as friction allows, and a pull is not."""
    for contact, normal in zip(leaning.contacts, (LEFT, RIGHT), strict=True):
        contact.internal_wrench = [*(-PRESSING * normal + [0.0, asked, 0.0]), 0.0, 0.0, 0.0]
    leaning.run(0.5)
    forces = leaning.run(0.1)
    for k, normal in enumerate((LEFT, RIGHT)):
        within_bounds(forces[:, k], normal, 0.02)
        if asked < FRICTION / np.sqrt(2.0) * PRESSING:
            wanted = PRESSING * normal - [0.0, asked, 0.0]
            np.testing.assert_allclose(np.median(forces[:, k], axis=0), wanted, atol=1.0)
        else:  # the pyramid is inside the cone
            used = -forces[:, k, 1] / (forces[:, k] @ normal)
            assert leaning.contacts[k].slip == pytest.approx(1.0 / np.sqrt(2.0), rel=1e-3)
            assert np.median(used) == pytest.approx(FRICTION / np.sqrt(2.0), rel=0.15)
    for contact, normal in zip(leaning.contacts, (LEFT, RIGHT), strict=True):
        contact.internal_wrench = [*(30.0 * normal), 0.0, 0.0, 0.0]
    leaning.run(0.5)
    for k, normal in enumerate((LEFT, RIGHT)):
        assert np.median(leaning.run(0.1)[:, k] @ normal) == pytest.approx(LEAST, rel=0.03)


def test_hands_stay_pressed_while_the_torso_rocks(leaning):
    """No hand lets go while elbows and torso move by the posture; MuJoCo's friction creeps."""
    places = [leaning.robot.frame_pose(contact.frame)[:3].copy() for contact in leaning.contacts]
    target = np.array(leaning.posture.target)
    moved = [leaning.model.q_index[leaning.model.dof_index(joint)]
             for joint in ('torso_yaw', 'torso_pitch')]
    for angle in (0.1, -0.1):
        goal = target.copy()
        goal[moved] += angle
        leaning.posture.set_target(goal)
        forces = leaning.run(0.8)
        for k, normal in enumerate((LEFT, RIGHT)):
            within_bounds(forces[:, k], normal, 0.1)
    for contact, place in zip(leaning.contacts, places, strict=True):
        here = leaning.robot.frame_pose(contact.frame)[:3]
        assert np.linalg.norm(here - place) < 8e-3
    assert abs(leaning.state.q[moved] - target[moved]).max() > 0.02

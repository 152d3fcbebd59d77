# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""[K87] VIII in lock-step with MuJoCo: into singularities, through them, out of them, beyond."""

import numpy as np
import pytest
from lockstep import LockStep
from robots import robot_file

from opspace_control import PoseTask, PostureTask, RobotModel
from opspace_control.share import share_directory

URDF = share_directory() / 'urdf'
UR5_BENT = (0.0, -1.2, 1.6, -1.9, -1.57, 0.0)
PANDA_BENT = (0.0, -0.3, 0.0, -2.0, 0.0, 1.7, 0.78)
WRIST = (0.0, -1.2, 1.6, -1.9)


class Scene(LockStep):
    """A robot of the issue's list at a posture, and what was seen of it."""

    def __init__(self, name, start, *, speed=0.3, **options):
        path, frame, axes = {
            'planar_2r': (URDF / 'planar_2r.urdf', 'hand', 'x z'),
            'planar_3r': (URDF / 'planar_3r.urdf', 'hand', 'x z'),
            'ur5': (robot_file('ur5_robot.urdf'), 'tool0', 'x y z rx ry rz'),
            'panda': (robot_file('panda.urdf'), 'panda_link8', 'x y z rx ry rz')}[name]
        self.task = PoseTask(frame, axes=axes, max_linear_velocity=speed, max_angular_velocity=1.5)
        joints = RobotModel.from_urdf_file(path).dof_names
        super().__init__(path, [self.task], start=dict(zip(joints, start, strict=False)), **options)
        self.name = name
        self.run(self.robot.timestep)

    def go(self, seconds, *, by=None, like=None, posture=None):
        """Send the hand ``by`` a way (3,), m, or to where a posture has it; return the course."""
        goal = self.task.pose
        if by is not None:
            goal[:3] += by
        if like is not None:
            goal = Scene(self.name, like).task.pose
        self.task.set_target(goal)
        if posture is not None:
            self.controller.posture.set_target(posture)
        return self.run(seconds)

    def judge(self, course, *, rate):
        """Efforts within the limits, uncut, their rate bounded: N·m from one ms to the next."""
        limits = self.model.effort_limits
        assert course.limited == 0
        assert (abs(course.efforts) <= limits).all()
        assert abs(np.diff(course.efforts[1:], axis=0)).max() < rate


OUT = [('planar_2r', (0.6, -1.2), (1.5, 0.0, 0.0)), ('planar_2r', (0.6, -1.2), (0.5, 0.0, 1.0)),
       ('planar_3r', (0.6, -1.2, 0.5), (1.5, 0.0, 0.0)), ('ur5', UR5_BENT, (0.8, 0.0, 0.1)),
       ('ur5', UR5_BENT, (0.1, 0.1, 1.1)), ('panda', PANDA_BENT, (0.8, 0.1, 0.1))]


@pytest.mark.parametrize(('name', 'start', 'way'), OUT)
@pytest.mark.parametrize('speed', [0.3, 0.6])
def test_beyond_reach_an_arm_stretches_out_and_stays_still(name, start, way, speed):
    scene = Scene(name, start, speed=speed)
    course = scene.go(8.0, by=way)
    scene.judge(course, rate=10.0)
    limits = np.where(scene.model.velocity_limits > 0.0, scene.model.velocity_limits, np.inf)
    assert (abs(course.velocities) / limits).max() < (1.2 if speed < 0.5 else 2.0)
    assert abs(course.velocities[-1000:]).max() < 0.06
    gone = np.linalg.norm(course.errors[:, 0, :3], axis=1)
    assert gone[-1] < gone.min() + 2e-3  # as near as it gets
    # What the arm can still do it does: the hand is on the line to the goal, seen from its centre.
    assert scene.controller.least_eigenvalue < 2.5e-2


@pytest.mark.parametrize('speed', [0.3, 1.0])
@pytest.mark.parametrize('turn', [0.0, 0.3])
def test_through_a_wrist_singularity(turn, speed):
    """Axes 4 and 6 of the UR5 in line on the way; the position never feels it."""
    scene = Scene('ur5', (*WRIST, -0.6, 0.0), speed=speed)
    course = scene.go(6.0, like=(turn, *WRIST[1:], 0.6, turn))
    scene.judge(course, rate=5.0)
    assert abs(course.velocities).max() < 6.0
    np.testing.assert_allclose(course.errors[-1, 0], 0.0, atol=1e-4)


@pytest.mark.parametrize('speed', [0.3, 1.0])
def test_over_the_shoulder(speed):
    """The wrist of the UR5 goes straight through the axis of its first joint."""
    scene = Scene('ur5', UR5_BENT, speed=speed)
    pose = scene.task.pose
    course = scene.go(6.0, by=(-2.0 * pose[0], 0.0, 0.0))
    scene.judge(course, rate=10.0)
    np.testing.assert_allclose(course.errors[-1, 0], 0.0, atol=1e-3)


STRAIGHT = [('planar_2r', (0.0, 0.0), (-0.4, 0.0, 0.0)),
            ('planar_3r', (0.0, 0.0, 0.0), (-0.4, 0.0, 0.0)),
            ('ur5', (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (-0.2, 0.1, 0.3)),
            ('ur5', (0.0, -1.57, 0.0, -1.57, 0.0, 0.0), (0.2, 0.1, -0.3)),
            ('ur5', (*WRIST, 0.0, 0.0), (0.0, 0.1, 0.1))]


@pytest.mark.parametrize(('name', 'start', 'way'), STRAIGHT)
def test_out_of_an_exact_singularity(name, start, way):
    """Nothing tells the arm which way to fold, nor does noise: it must not stay stuck."""
    scene = Scene(name, start)
    course = scene.go(6.0, by=way)
    scene.judge(course, rate=20.0)
    selected = [0, 2] if name.startswith('planar') else range(6)
    np.testing.assert_allclose(course.errors[-1, 0, selected], 0.0, atol=2e-3)
    assert abs(course.velocities[-200:]).max() < 0.01


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_two_postures_on_the_way_out(side):
    """[K87] Fig. 5: into the singularity with the elbow down, out of it as the posture says."""
    scene = Scene('planar_2r', (0.9, -1.2), speed=0.5)
    into = scene.go(3.0, by=(1.0, 0.0, 0.0))
    scene.judge(into, rate=10.0)
    assert abs(into.positions[-1, 1]) < 0.05
    out = scene.go(4.0, by=(-0.4, 0.0, 0.0), posture={'elbow': side})
    scene.judge(out, rate=10.0)
    assert side * out.positions[-1, 1] > 0.5
    np.testing.assert_allclose(out.errors[-1, 0, [0, 2]], 0.0, atol=1e-4)


def test_free_directions_do_not_feel_a_lost_one():
    """Stretched out, a goal beyond reach and to the side: across the arm the hand goes to it."""
    shoulder = np.array([0.0, -0.1, 1.0])
    across = []
    for start, beyond in (((0.3, 0.0), 0.02), ((1.0, -1.4), 0.0)):
        scene = Scene('planar_2r', start)
        out = scene.task.pose[:3] - shoulder
        out /= np.linalg.norm(out)
        course = scene.go(2.0, by=beyond * out + 0.05 * np.array([-out[2], 0.0, out[0]]))
        scene.judge(course, rate=10.0)
        arm = course.paths[:, 0] - shoulder
        arm /= np.linalg.norm(arm, axis=1)[:, None]
        error = course.errors[:, 0, :3]
        across.append(abs(arm[:, 0] * error[:, 2] - arm[:, 2] * error[:, 0]))
    stretched, bent = across
    at = np.arange(100, 2000, 100)
    assert (stretched[at] < np.maximum(2.0 * bent[at], 5e-4)).all()  # m


def test_posture_may_be_left_to_itself():
    """Without any posture gain an exactly stretched arm folds, too."""
    scene = Scene('planar_2r', (0.0, 0.0), posture=PostureTask(kp=0.0, kd=10.0))
    course = scene.go(5.0, by=(-0.3, 0.0, 0.0))
    np.testing.assert_allclose(course.errors[-1, 0, [0, 2]], 0.0, atol=1e-3)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""[K87] VIII in lock-step with MuJoCo: into singularities, through them, out of them, beyond."""

import numpy as np
import pytest
from lockstep import LockStep
from robots import TALOS, robot_file

from opspace_control import (
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.control.diagnosis.freedom import task_freedom
from opspace_control.share import share_directory

ALL = 'x y z rx ry rz'
ROBOTS = {'planar_2r': (share_directory() / 'urdf' / 'planar_2r.urdf', 'hand', 'x z'),
          'ur5': (robot_file('ur5_robot.urdf'), 'tool0', ALL),
          'panda': (robot_file('panda.urdf'), 'panda_link8', ALL),
          'xarm7': (robot_file('xarm7.urdf'), 'link7', ALL)}
WRIST = (0.0, -1.2, 1.6, -1.9)
BENT = {'planar_2r': (0.6, -1.2), 'ur5': (*WRIST, -1.57, 0.0),
        'panda': (0.0, -0.3, 0.0, -2.0, 0.0, 1.7, 0.78)}
LENGTH = 0.3  # m, that a radian counts for


class Scene(LockStep):
    """A robot at a posture that keeps the limits of its joints, and what was seen of it."""

    def __init__(self, name, start, *, speed=0.6, **options):
        path, frame, axes = ROBOTS[name]
        self.name = name
        self.task = PoseTask(frame, axes=axes, max_linear_velocity=speed, max_angular_velocity=1.5)
        joints = RobotModel.from_urdf_file(path).dof_names
        super().__init__(path, [self.task], start=dict(zip(joints, start, strict=False)),
                         keep_limits=True, **options)
        self.goal = self.task.pose

    def go(self, seconds, *, by=(0.0, 0.0, 0.0), like=None, posture=None):
        """Send the hand ``by`` a way (3,), m, or to where a posture has it; return the course."""
        goal = self.goal.copy() if like is None else Scene(self.name, like).goal
        goal[:3] += by
        self.task.set_target(goal)
        if posture is not None:
            self.controller.posture.set_target(posture)
        return self.run(seconds)

    def judge(self, course):
        """Efforts and speeds within their limits, and efforts that change by little in a ms."""
        limits = self.model.effort_limits
        assert course.limited == 0
        assert (abs(course.velocities) <= 1.01 * self.model.velocity_limits).all()
        assert (abs(np.diff(course.efforts[1:], axis=0)) <= 0.1 * limits).all()

    def rests(self, course):
        """Nothing moves in the last half second."""
        assert abs(course.velocities[-500:]).max() < 0.06  # rad/s


@pytest.mark.parametrize(('name', 'way'), [
    ('planar_2r', (0.5, 0.0, 1.0)), ('ur5', (0.8, 0.0, 0.1)), ('panda', (0.1, 0.3, 1.0))])
def test_beyond_reach_an_arm_stretches_out_and_stays_still(name, way):
    scene = Scene(name, BENT[name])
    course = scene.go(6.5, by=way)
    scene.judge(course)
    scene.rests(course)
    left = np.linalg.norm(course.errors[:, 0, :3], axis=1)
    assert 0.3 < left[-1] < left.min() + 2e-3  # as near as it gets
    assert scene.controller.least_eigenvalue == 0.0


def test_axes_that_are_not_controlled_are_no_singular_directions():
    """Four of six rows are not active; the goal is so far that the direction might be singular."""
    scene = Scene('planar_2r', (0.6, -0.3))
    scene.go(1e-3, by=-0.02 * scene.goal[:3])
    state = RobotState(scene.model, [0.6, -0.3], np.zeros(2))
    least = task_freedom(scene.model, state, [scene.task]).least_eigenvalue
    assert least > 2.0 * scene.controller.singularity_threshold
    assert scene.controller.least_eigenvalue == pytest.approx(least)


def test_a_posture_far_away_leaves_no_error_near_a_singularity():
    """The goal is at half of the truncation threshold: the posture may move nothing along it."""
    scene = Scene('xarm7', (0.0, 0.0, 0.0, 1.0, 0.0, 0.8, 0.0),
                  world={'joint_friction': False})
    course = scene.go(6.0, like=(4.41, -1.57, -3.84, 1.41, -4.09, 1.11, -2.41))
    scene.judge(course)
    assert scene.controller.least_eigenvalue == 0.0
    assert abs(course.errors[-1, 0]).max() < 1e-4  # m, rad


def send_talos(moving, way, speed, seconds):
    """Send the left hand of a Talos of which only some joints move; return scene, goal, course."""
    path, hands = robot_file(TALOS), demo_robot('talos').hands
    joints = RobotModel.from_urdf_file(path).dof_names
    tasks = [PoseTask(hand, max_linear_velocity=speed, max_angular_velocity=1.5) for hand in hands]
    scene = LockStep(path, tasks, start=demo_robot('talos').start, keep_limits=True,
                     world={'joint_friction': False},
                     locked_joints=[name for name in joints if not name.startswith(moving)])
    goal = tasks[0].pose
    goal[:3] += way
    tasks[0].set_target(goal)
    course = scene.run(seconds)
    assert course.limited == 0
    assert (abs(course.velocities) <= 1.01 * scene.model.velocity_limits).all()
    return scene, goal, course


def reach_out(moving, way):
    """Do so at 0.6 m/s, and see that it rests soon."""
    scene, goal, course = send_talos(moving, way, 0.6, 6.0)
    assert (abs(np.diff(course.efforts[1:], axis=0)) <= 0.1 * scene.model.effort_limits).all()
    assert abs(course.velocities[-500:]).max() < 0.06  # rad/s
    return scene, goal, course


def test_an_arm_of_talos_stretches_out_beyond_reach_and_the_other_does_not_feel_it():
    """Seven joints: three pairs of axes come into line, and the arm might swivel for ever."""
    _, _, course = reach_out('arm_', (0.3, 0.1, -0.5))
    assert abs(course.errors[:, 1]).max() < 1e-4
    left = np.linalg.norm(course.errors[:, 0, :3], axis=1)
    assert 0.3 < left[-1] < left.min() + 2e-3


@pytest.mark.parametrize(('way', 'speed', 'other'), [
    ((0.1, 0.6, -0.4), 0.3, 1e-3), ((0.2, 0.4, -0.6), 0.3, 1e-3), ((0.1, 0.6, -0.4), 0.6, 1e-3),
    ((0.3, 0.1, -0.5), 0.6, 0.03), ((0.4, 0.2, -0.3), 0.3, 0.03)])
def test_elbow_and_torso_do_not_swing_in_turns(way, speed, other):
    """Now one of them moves the hand outwards, now the other; nor does the torso carry too much."""
    _, _, course = send_talos(('arm_', 'torso_'), way, speed, 10.5)
    assert abs(course.velocities[-500:]).max() < 0.02  # rad/s
    assert abs(course.errors[-1, 1, :3]).max() < other
    assert other > 0.01 or abs(course.errors[-1, 1]).max() < other


@pytest.mark.parametrize(('moving', 'way', 'speed'), [
    (('arm_', 'torso_'), (0.397, -0.484, 0.413), 0.3),   # the posture pulls with all it can
    ('arm_', (0.252, 0.024, 0.468), 0.3),                # likewise
    ('arm_', (0.041, -0.341, -0.25), 0.6),               # its first joint stands at its end,
    ('arm_', (0.546, -0.232, -0.327), 0.6),              # and would be led away from there
    (('arm_', 'torso_'), (0.628, 0.197, -0.451), 0.6)])  # several stand
def test_what_pulls_for_good_does_not_make_an_arm_swing(moving, way, speed):
    """Neither a posture that cannot be had, nor a goal that joints at their ends do not reach."""
    _, _, course = send_talos(moving, way, speed, 10.0)
    assert abs(course.velocities[-500:]).max() < 0.02  # rad/s


def test_a_torso_bent_all_the_way_is_none_and_takes_part_again():
    """The arm is singular because the torso is at its end; not, if the hand can do with less."""
    scene, goal, course = reach_out(('arm_', 'torso_'), (-0.31, 0.52, -0.1))
    assert 'torso_2_joint' in {held.name for held in scene.controller.active_limits}
    assert abs(course.errors[:, 1, :3]).max() < 2e-3
    goal[:3] -= (-0.31, 0.52, -0.1)
    next(iter(scene.controller.tasks.values())).set_target(goal)
    course = scene.run(3.0)
    assert not scene.controller.active_limits
    np.testing.assert_allclose(course.errors[-1], 0.0, atol=1e-3)


@pytest.mark.parametrize(('name', 'start', 'way'), [
    ('planar_2r', (0.0, 0.0), (-0.4, 0.0, 0.0)),
    ('ur5', (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (-0.2, 0.1, 0.3)),
    ('ur5', (0.0, -np.pi / 2, 0.0, -np.pi / 2, 0.0, 0.0), (0.2, 0.1, -0.3)),
    ('ur5', (*WRIST, 0.0, 0.0), (0.0, 0.1, 0.1)),
    ('panda', (0.0, -0.3, 0.0, -2.0, 0.0, 0.0, 0.78), (0.0, 0.1, 0.1))])
def test_out_of_an_exact_singularity(name, start, way):
    """Nothing says which way to fold, not even noise: the arm must not stay stuck."""
    scene = Scene(name, start)
    course = scene.go(5.0, by=way)
    scene.judge(course)
    scene.rests(course)
    selected = [0, 2] if name == 'planar_2r' else range(6)
    np.testing.assert_allclose(course.errors[-1, 0, selected], 0.0, atol=2e-3)


@pytest.mark.parametrize(('name', 'start', 'like', 'way'), [
    ('ur5', (*WRIST, -0.6, 0.0), (0.3, *WRIST[1:], 0.6, 0.3), (0.0, 0.0, 0.0)),
    ('ur5', BENT['ur5'], None, (-1.02, 0.0, 0.0)),
    ('panda', (0.0, -0.3, 0.0, -2.0, 0.0, 0.5, 0.78), (0.0, -0.3, 0.0, -2.0, 0.5, 0.3, 0.78),
     (0.0, 0.0, 0.0))], ids=['wrist', 'shoulder', 'wrist of seven joints'])
def test_straight_through_a_singularity(name, start, like, way):
    """Axes in line on the way, or the hand over the axis of the first joint."""
    scene = Scene(name, start)
    course = scene.go(4.5, like=like, by=way)
    scene.judge(course)
    scene.rests(course)
    np.testing.assert_allclose(course.errors[-1, 0], 0.0, atol=1e-3)


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_two_postures_on_the_way_out(side):
    """[K87] Fig. 5: into the singularity with the elbow down, out of it as the posture says."""
    scene = Scene('planar_2r', (0.9, -1.2))
    into = scene.go(2.5, by=(1.0, 0.0, 0.0))
    scene.judge(into)
    assert abs(into.positions[-1, 1]) < 0.01
    scene.goal = scene.task.pose
    out = scene.go(3.0, by=(-0.4, 0.0, 0.0), posture={'elbow': side})
    scene.rests(out)
    assert side * out.positions[-1, 1] > 1.0
    np.testing.assert_allclose(out.errors[-1, 0, [0, 2]], 0.0, atol=1e-4)


def swing(name, start, beyond, across, lost):
    """
    Return how far the hand is off in the free directions while its goal swings along them.

    The goal is ``beyond`` reach, (3,) m, and swings ``across``, (3,) m; ``lost`` is a posture at
    which the free directions are all but the one that is lost there.
    """
    _, frame, axes = ROBOTS[name]
    scene = Scene(name, start)
    rows = [ALL.split().index(axis) for axis in axes.split()]
    units = np.where(np.array(rows) < 3, 1.0, LENGTH)
    model = scene.model
    J = model.jacobian(RobotState(model, np.array(lost), np.zeros(model.nv)), [frame])[rows]
    direction = np.linalg.svd(units[:, None] * J)[0][:, -1]
    start_goal = scene.goal

    def move(time):
        goal = start_goal.copy()
        goal[:3] += beyond
        goal[:3] += 0.5 * (1.0 - np.cos(2.0 * np.pi * time)) * np.array(across)
        scene.task.set_target(goal)

    course = scene.run(2.0, move)
    scene.judge(course)
    errors = units * course.errors[1000:, 0, rows]
    return np.linalg.norm(errors - np.outer(errors @ direction, direction), axis=1).max()


@pytest.mark.parametrize(('name', 'singular', 'away', 'beyond', 'across'), [
    ('planar_2r', (0.0, 0.0), (0.6, -1.2), (0.02, 0.0, 0.0), (0.0, 0.0, 0.05)),
    ('ur5', (*WRIST, 0.0, 0.0), (*WRIST, -0.8, 0.0), (0.0, 0.0, 0.0), (0.05, 0.0, 0.05))])
def test_free_directions_are_as_good_as_elsewhere(name, singular, away, beyond, across):
    """Within a factor of two, the goal swinging along them; the other direction is lost."""
    here = swing(name, singular, beyond, across, singular)
    there = swing(name, away, (0.0, 0.0, 0.0), across, singular)
    assert here < 2.0 * there + 1e-4  # m


def test_a_posture_without_gains_folds_too():
    """There is nothing to lean on: the least advice of all decides."""
    scene = Scene('planar_2r', (0.0, 0.0), posture=PostureTask(kp=0.0, kd=10.0))
    course = scene.go(3.0, by=(-0.3, 0.0, 0.0))
    scene.judge(course)
    np.testing.assert_allclose(course.errors[-1, 0, [0, 2]], 0.0, atol=1e-3)


def test_the_bound_of_the_posture_follows_the_share_of_singular_direction_control():
    """Were it as low where the share is small, arms would go in and out of the region for good."""
    path, frame, axes = ROBOTS['planar_2r']
    model = RobotModel.from_urdf_file(path)
    task = PoseTask(frame, axes=axes)
    controller = OperationalSpaceController(model, [task], limits=JointLimits(model))
    cycle, between = controller._cycle[0], 0
    for elbow in np.linspace(0.05, 0.6, 23):
        state = RobotState(model, np.array([0.4, elbow]), np.zeros(2))
        goal = model.forward_kinematics(state, [frame])[frame]
        goal[:3, 3] *= 0.97
        task.set_target(goal)
        for _ in range(50):
            controller.compute_torque(state, dt=1e-3)
        assert cycle['singular_share'] == pytest.approx(cycle['singular_part'], abs=1e-12)
        assert cycle['singular_active'] == (cycle['singular_part'] > 0.0)
        between += 0.02 < cycle['singular_part'] < 0.98
    assert between >= 2

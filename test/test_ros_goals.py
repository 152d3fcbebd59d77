# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Goals that move and tasks that are switched, over DDS: the test plays the robot and its time."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import ros_nodes
from controller_bench import (
    MODEL,
    PARAMETERS,
    START,
    Bench,
    GoalBench,
    close,
    moved,
    pose_message,
    reference,
    robot_state,
    torque,
)
from geometry_msgs.msg import AccelStamped, PoseStamped, Transform, Twist, TwistStamped
from rclpy.qos import QoSProfile
from ros_nodes import CONTROLLER, robot_text
from std_msgs.msg import Header
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from opspace_control import JerkLimits
from opspace_control.ros.middleware.conversions import fill_message
from opspace_control.spatial.rotations import matrix_from_vector
from opspace_control.tasks.trajectory import PoseTrajectory

GOAL = (0.45, 0.3, 1.1, 0.0, 0.0, 0.0, 1.0)
SIX = np.array([0.1, -0.2, 0.3, 0.2, -0.1, 0.4])
LIMITS = {'max_linear_velocity': 2.0, 'max_angular_velocity': 2.0}


@pytest.fixture(scope='module')
def running():
    with GoalBench.around(
            PARAMETERS | {f'left.{name}': value for name, value in LIMITS.items()}) as bench:
        yield bench


@pytest.fixture
def node(running):
    """Return the one bench of all tests, its robot at the start and nothing on its way."""
    running.begin_anew()
    return running


@pytest.fixture
def expected():
    """Return a controller that holds the start posture."""
    controller = reference(**LIMITS)
    torque(controller, START)
    return controller


def motion(kind, values, frame=''):
    """Return a TwistStamped or AccelStamped."""
    message = kind()
    message.header.frame_id = frame
    fill_message(message.twist if kind is TwistStamped else message.accel,
                 np.asarray(values, float))
    return message


class TestFeedForward:

    KINDS = pytest.mark.parametrize(('kind', 'topic', 'part'), [
        (TwistStamped, 'target_twist', 'twist'), (AccelStamped, 'target_accel', 'acceleration')])

    @KINDS
    def test_acts_and_fades(self, node, expected, kind, topic, part):
        node.send(topic, motion(kind, SIX))
        begin = node.now
        for age, left in ((50, 1.0), (100, 1.0), (150, 0.5), (200, 0.0), (300, 0.0)):
            expected.tasks['left'].set_feed_forward(**{part: left * SIX})
            assert close(node.after(begin + age - node.now), torque(expected, START))

    @KINDS
    def test_in_the_axes_of_a_frame(self, node, expected, kind, topic, part):
        R = MODEL.forward_kinematics(robot_state(START), ['l_hand'])['l_hand'][:3, :3]
        assert abs(R - np.eye(3)).max() > 0.1
        expected.tasks['left'].set_feed_forward(**{part: np.concatenate([R @ SIX[:3],
                                                                         R @ SIX[3:]])})
        node.send(topic, motion(kind, SIX, 'l_hand'))
        assert close(node.after(1), torque(expected, START))

    @pytest.mark.parametrize(('message', 'complaint'), [
        (motion(TwistStamped, [9, 0, 0, 0, 0, 0]), 'moves at 9 m/s'),
        (motion(TwistStamped, [0, 0, 0, 0, 7, 0]), 'moves at 7 rad/s'),
        (motion(TwistStamped, [math.nan, 0, 0, 0, 0, 0]), 'not finite'),
        (motion(TwistStamped, [1, 0, 0, 0, 0, 0], 'kitchen'), "'kitchen'"),
    ])
    def test_is_refused_with_the_reason(self, node, expected, message, complaint):
        node.refused('target_twist', message, complaint)
        assert close(node.after(1), torque(expected, START))

    def test_a_new_pose_keeps_it(self, node, expected):
        expected.tasks['left'].set_target(GOAL, twist=SIX)
        node.send('target_twist', motion(TwistStamped, SIX))
        node.send('target_pose', pose_message(GOAL))
        assert close(node.after(1), torque(expected, START))

    def test_hold_ends_it(self, node, expected):
        node.send('target_twist', motion(TwistStamped, SIX))
        node.hold()
        assert close(node.after(1), torque(expected, START))


class TestTrajectory:

    TIMES = (1.0, 2.0)
    # In the left hand's own frame: x, y, z, and an angle about z.
    WAY = ((0.0, 0.1, 0.05, 0.3), (0.05, 0.1, 0.1, 0.0))
    TWISTS = ((0.05, 0.02, 0.03, 0.0, 0.0, 0.1), (0.0,) * 6)

    def message(self, frame='l_hand', times=TIMES, way=WAY, twists=TWISTS, names=('left',)):
        message = MultiDOFJointTrajectory(joint_names=list(names))
        message.header.frame_id = frame
        for time, (x, y, z, angle), six in zip(times, way, twists, strict=True):
            point, transform, twist = MultiDOFJointTrajectoryPoint(), Transform(), Twist()
            p, o = transform.translation, transform.rotation
            p.x, p.y, p.z, o.z, o.w = x, y, z, math.sin(angle / 2), math.cos(angle / 2)
            fill_message(twist, np.array(six))
            point.transforms, point.velocities = [transform], [twist]
            point.time_from_start.sec = int(time)
            point.time_from_start.nanosec = round((time - int(time)) * 1e9)
            message.points.append(point)
        return message

    def trajectory(self, start):
        """Return what the message says, in the base frame."""
        hand = MODEL.forward_kinematics(robot_state(START), ['l_hand'])['l_hand']
        poses = []
        for x, y, z, angle in self.WAY:
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = matrix_from_vector(np.array([0, 0, angle])), (x, y, z)
            poses.append(hand @ pose)
        twists = [(np.reshape(twist, (2, 3)) @ hand[:3, :3].T).reshape(6) for twist in self.TWISTS]
        return PoseTrajectory(self.TIMES, poses, twists, start=start)

    def check(self, node, expected, begin, seconds):
        """Go on to so long after the beginning, and compare."""
        task = expected.tasks['left']
        while node.now < begin + round(1e3 * seconds):
            commanded = node.after(min(90, begin + round(1e3 * seconds) - node.now))
        task.set_target(*self.trajectory(self.start).sample(seconds))
        assert close(commanded, torque(expected, START))

    @pytest.fixture(autouse=True)
    def _start(self, expected):
        self.start = expected.tasks['left'].target

    def test_is_followed_with_feed_forward_and_ends_at_rest(self, node, expected):
        node.send('target_trajectory', self.message())
        begin = node.now
        for seconds in (0.5, 1.0, 1.37, 1.9, 2.5):
            self.check(node, expected, begin, seconds)

    def test_begins_at_its_time_stamp(self, node, expected):
        message = self.message()
        begin = 100 * (node.now // 100) - 500
        message.header.stamp.sec, message.header.stamp.nanosec = (
            begin // 1000, begin % 1000 * 1_000_000)
        node.send('target_trajectory', message)
        self.check(node, expected, begin, 0.9)

    @pytest.mark.parametrize(('stamp', 'complaint'), [(10, 'ended'), (10**9, 'begins in')])
    def test_of_another_time_is_refused(self, node, expected, stamp, complaint):
        message = self.message()
        message.header.stamp.sec = stamp
        node.refused('target_trajectory', message, complaint)
        assert close(node.after(1), torque(expected, START))

    @pytest.mark.parametrize(('change', 'complaint'), [
        ({'names': ['right']}, "for 'left' only"),
        ({'times': (1.0, 0.5)}, 'Point 1'),
        ({'times': (0.01, 0.02)}, 'above the limit'),
        ({'way': ((math.nan, 0, 0, 0), (0, 0, 0, 0))}, 'point 0'),
        ({'twists': ((9.0, 0, 0, 0, 0, 0), (0.0,) * 6)}, 'moves at 9 m/s'),
        ({'frame': 'cellar'}, "'cellar'"),
        ({'times': (), 'way': (), 'twists': ()}, 'no points'),
    ])
    def test_is_refused_with_the_reason(self, node, expected, change, complaint):
        node.refused('target_trajectory', self.message(**change), complaint)
        assert close(node.after(1), torque(expected, START))

    def test_a_pose_takes_over(self, node, expected):
        node.send('target_trajectory', self.message())
        node.send('target_pose', pose_message(GOAL))
        expected.tasks['left'].set_target(GOAL)
        for _ in range(3):
            assert close(node.after(90), torque(expected, START))

    def test_an_older_pose_that_had_to_wait_does_not(self, node, expected):
        for topic in ('target_pose', 'target_trajectory'):
            node.publisher(topic, PoseStamped if topic == 'target_pose' else
                           MultiDOFJointTrajectory)
        assert node.change(limits__goal_rate=1.0).successful
        node.network.spin(1.1)  # whatever came before is no reason to wait
        far = pose_message(np.add(GOAL, (0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0)))
        here = pose_message(self.start)
        node.send('target_pose', here)
        node.send('target_pose', far)
        node.send('target_trajectory', self.message())
        begin = node.now
        self.check(node, expected, begin, 0.5)
        node.network.spin(1.1)
        self.check(node, expected, begin, 1.0)
        assert node.change(limits__goal_rate=1000.0).successful

    def test_a_twist_does_not(self, node, expected):
        node.send('target_trajectory', self.message())
        begin = node.now
        node.refused('target_twist', motion(TwistStamped, SIX), 'follows a trajectory')
        self.check(node, expected, begin, 0.5)

    def test_hold_ends_it(self, node, expected):
        node.send('target_trajectory', self.message())
        node.after(90)
        node.hold()
        for _ in range(3):
            assert close(node.after(90), torque(expected, START))


class TestSwitch:

    def test_off_leaves_the_axes_to_the_posture(self, node, expected):
        node.send('target_pose', pose_message(GOAL))
        node.switch(False)
        expected.tasks['left'].enabled = False
        assert close(node.after(1), torque(expected, START))
        node.switch(True)

    def test_on_again_begins_where_the_robot_is(self, node):
        there = moved()
        node.send('target_pose', pose_message(GOAL))
        node.switch(False)
        node.after(1, there)
        node.switch(True)
        controller = reference(**LIMITS)
        controller.posture.set_target(START)
        torque(controller, START)
        controller.tasks['left'].clear_target()
        assert close(node.after(1, there), torque(controller, there))

    def test_on_again_before_it_is_off_begins_where_the_robot_is(self, node):
        errors = node.network.listen(TwistStamped, f'{CONTROLLER}/left/error')
        assert node.change(safety__ramp_time=10.0).successful
        there = moved()
        node.send('target_pose', pose_message(GOAL))
        node.network.expect(lambda: node.after(1, there).any() and errors
                            and abs(errors[-1].twist.linear.z) > 0.01)
        node.switch(False)
        node.after(1, there)
        node.switch(True)
        del errors[:]
        node.network.expect(lambda: node.after(1, there).any() and errors)
        assert abs(errors[-1].twist.linear.z) < 1e-9
        assert node.change(safety__ramp_time=0.0).successful
        node.switch(False)  # over at once, as everything in the other tests
        node.switch(True)

    def test_on_when_it_is_on_changes_nothing(self, node, expected):
        node.send('target_pose', pose_message(GOAL))
        node.switch(True)
        expected.tasks['left'].set_target(GOAL)
        assert close(node.after(1), torque(expected, START))


def test_a_robot_that_rests_short_of_its_goal_says_by_what(node, expected):
    """The test plays a robot that friction holds: the drives push, and nothing moves."""
    pose = expected.tasks['left'].pose
    goal = pose.copy()
    goal[:3] += 0.06, 0.0, -0.08
    expected.tasks['left'].set_target(goal)
    unknown = torque(expected, START) - MODEL.gravity(robot_state(START))
    told = "'left' rests 100.0 mm and 0.000 rad away from its goal."
    node.send('target_pose', pose_message(goal))
    node.network.expect(lambda: node.after(1) is not None and told in node.process.said())
    said = next(line for line in node.process.said().splitlines() if told in line)
    k = np.argmax(abs(unknown) / MODEL.effort_limits)
    assert f'{MODEL.dof_names[k]} {unknown[k]:+.3g}' in said
    for _ in range(150):
        node.after(10)
    assert node.process.said().count(told) == 1  # once for each goal


def test_a_robot_does_not_rest_because_a_simulation_pauses(node, expected):
    goal = expected.tasks['left'].pose.copy()
    goal[:3] += 0.06, 0.0, -0.07
    node.send('target_pose', pose_message(goal))
    expected.tasks['left'].set_target(goal)
    node.network.expect(lambda: close(node.after(1), torque(expected, START)))
    node.network.spin(1.6)  # no state, and no time
    assert 'rests 92.2 mm' not in node.process.said()
    node.network.expect(lambda: node.after(10) is not None
                        and 'rests 92.2 mm' in node.process.said())


def test_no_goal_can_move_before_the_first_state():
    with Bench.around(PARAMETERS) as bench:
        network = bench.network
        goals = network.publisher(TwistStamped, f'{CONTROLLER}/left/target_twist')
        network.send(goals, motion(TwistStamped, SIX),
                     lambda: 'before the first joint state' in bench.process.said())
        poses = network.publisher(PoseStamped, f'{CONTROLLER}/left/target_pose')
        network.send(poses, pose_message(GOAL, 'r_hand'),
                     lambda: "The pose of 'r_hand' is unknown" in bench.process.said())


def test_feed_forward_leaves_no_lag():
    """A simulated hand is where its goal is while the goal moves 0.15 m in 1.5 s."""
    posture = {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6}
    robot = {'robot_description': robot_text('planar_3r')}
    with ros_nodes.network() as network:
        errors = network.listen(TwistStamped, f'{CONTROLLER}/hand/error', QoSProfile(depth=1000))
        poses = network.listen(PoseStamped, f'{CONTROLLER}/hand/current_pose')
        network.start('controller', robot | {
            'tasks': ['hand'], 'hand.axes': 'x z', 'publish_rate': 1000.0,
            'safety.state_timeout': 0.0})
        network.start('simulator', robot | {
            'pace': 'lock_step', 'timestep': 0.002,
            **{f'initial_positions.{joint}': value for joint, value in posture.items()}})
        network.expect(lambda: errors, ros_nodes.COMPILING)

        def seconds():
            return errors[-1].header.stamp.sec + 1e-9 * errors[-1].header.stamp.nanosec
        network.expect(lambda: seconds() > 2.0, 240.0)
        message = MultiDOFJointTrajectory(header=Header(frame_id='hand'))
        for time, z in ((0.0, 0.0), (1.5, 0.15)):
            point = MultiDOFJointTrajectoryPoint(
                transforms=[Transform()], velocities=[Twist()], accelerations=[Twist()])
            point.transforms[0].translation.z = z
            point.time_from_start.sec, point.time_from_start.nanosec = divmod(
                round(time * 1e9), 10**9)
            message.points.append(point)
        goals = network.publisher(
            MultiDOFJointTrajectory, f'{CONTROLLER}/hand/target_trajectory')
        network.spin(0.2)
        start, begin = seconds(), poses[-1].pose.position
        del errors[:-1]
        goals.publish(message)
        network.expect(lambda: seconds() > start + 2.0, 240.0)
        end = poses[-1].pose.position
        assert math.hypot(end.x - begin.x, end.z - begin.z) == pytest.approx(0.15, abs=2e-3)
        off = [math.hypot(error.twist.linear.x, error.twist.linear.z) for error in errors]
        # Without feed-forward it would lag by kd / kp times its speed: 37 mm.
        assert max(off) < 3e-3


class TestTravellingGoals:

    @pytest.fixture(autouse=True)
    def _travel(self, node):
        pytest.importorskip('ruckig', reason='ruckig is not installed')
        assert node.change(left__trajectory='ruckig').successful
        yield
        assert node.change(left__trajectory='direct').successful

    def test_they_leave_without_a_jump_and_go_by_the_time_of_the_states(self, node, expected):
        expected.tasks['left'].trajectory = JerkLimits(velocity=2.0, angular_velocity=2.0)
        before = node.after(1)
        node.send('target_pose', pose_message(GOAL))
        expected.tasks['left'].set_target(GOAL)
        for _ in range(5):
            commanded = node.after(1)
            assert close(commanded, torque(expected, START))
            assert abs(commanded - before).max() < 0.05  # N m
            before = commanded
        assert abs(torque(reference_at(GOAL), START) - before).max() > 2.0  # at once

    def test_other_limits_hold_from_then_on(self, node, expected):
        task = expected.tasks['left']
        task.trajectory = JerkLimits(velocity=2.0, angular_velocity=2.0)
        node.send('target_pose', pose_message(GOAL))
        task.set_target(GOAL)
        assert close(node.after(1), torque(expected, START))
        assert node.change(left__max_linear_jerk=5.0).successful
        task.trajectory = task.trajectory.changed(jerk=5.0)
        try:
            for _ in range(3):
                assert close(node.after(1), torque(expected, START))
        finally:
            assert node.change(left__max_linear_jerk=20.0).successful


def reference_at(goal):
    """Return a controller that goes to a goal at once."""
    controller = reference(**LIMITS)
    torque(controller, START)
    controller.tasks['left'].set_target(goal)
    return controller

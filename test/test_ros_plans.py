# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Plans sent to a running controller: followed by a simulated robot, refused, interrupted."""

import re

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped
from lifecycle_msgs.msg import Transition
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_lockstep import STEP, LockStepRobot
from ros_nodes import CONTROLLER, LATCHED
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    RobotState,
    plan_motion,
)
from opspace_control.ros.middleware.conversions import fill_message
from opspace_control.ros.middleware.joint_messages import write_joint_trajectory
from opspace_control.ros.topics.plans import LARGEST
from opspace_control.tasks.trajectory import PoseTrajectory

START = {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6}
JOINTS = list(START)
PARAMETERS = {'tasks': ['palm'], 'palm.axes': 'x z', 'palm.frame': 'palm'}
DURATION = 0.5  # s
EVERY_STATUS = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class PlanBench(LockStepRobot):
    """A robot whose controller gets plans, and what it tells of them."""

    def __init__(self, network):
        super().__init__(network, 'planar_3r', PARAMETERS, START)
        self.model = RobotModel.from_urdf(ros_nodes.robot_text('planar_3r'))
        self.plans = network.publisher(JointTrajectory, f'{CONTROLLER}/joint_trajectory')
        # Two plans are told of at the same time: with a depth of 1 the first may be gone.
        self.told = network.listen(
            DiagnosticStatus, f'{CONTROLLER}/joint_trajectory/status', EVERY_STATUS)
        self.number = 0
        self.middle = self.physics.frame_pose('palm')[0] + 0.03
        self.run(0.3)  # until everything is ramped in

    @property
    def q(self):
        return self.physics.positions.copy()

    def plan(self, dx=0.08):
        """Return a plan from where the robot is: ahead, or back again."""
        dx = -dx if self.physics.frame_pose('palm')[0] > self.middle else dx
        state = RobotState(self.model, self.q, np.zeros(3))
        controller = OperationalSpaceController(self.model, [PoseTask('palm', axes='x z')])
        start = self.model.forward_kinematics(state, 'palm')['palm']
        goal = start.copy()
        goal[0, 3] += dx
        rest = np.zeros((2, 6))
        return plan_motion(controller, state, {
            'palm': PoseTrajectory([0.0, 0.8 * DURATION], [start, goal], rest, rest)}, DURATION)

    def send(self, message):
        """Send a plan with a tag of its own; return it when the controller tells of it."""
        self.number += 1
        message.header.frame_id = f'plan {self.number}'
        for _ in range(50):
            self.plans.publish(message)
            for _ in range(10):
                self.network.spin(0.01)
                if self.state(message.header.frame_id):
                    return message.header.frame_id
                self.run(2 * STEP)
        return self.network.fail()

    def state(self, tag=None):
        """Return the joint state; or what was last told of a plan, by key, {} for nothing."""
        if tag is None:
            return super().state()
        status = [status for status in self.told if status.hardware_id == tag]
        return status and {value.key: value.value for value in status[-1].values} | {
            'message': status[-1].message, 'level': status[-1].level}

    def until(self, tag, state, seconds=2.0):
        """Go on until a plan is in a state; return what is told of it."""
        for _ in range(round(seconds / 0.01)):
            if self.state(tag).get('state') == state:
                return self.state(tag)
            self.run(0.01)
            self.network.spin(0.002)
        raise AssertionError(f'{self.state(tag)}\n{self.process.said()}')


@pytest.fixture(scope='module')
def bench():
    with ros_nodes.network() as network:
        yield PlanBench(network)


@pytest.fixture
def ready(bench):
    """Return a bench whose robot rests where its goals are."""
    bench.network.call(Trigger, f'{CONTROLLER}/hold')
    bench.run(0.3)
    return bench


def test_a_plan_is_followed(ready):
    """To 2 mrad on its way, 8 mrad where a joint creeps at last; then it is told to be over."""
    plan, away = ready.plan(), []
    tag = ready.send(write_joint_trajectory(plan.joint_trajectory()))
    began = ready.q
    while ready.state(tag)['state'] in ('waiting', 'following'):
        away.append(abs(ready.q - plan.q).max(axis=1).min())
        ready.run(0.01)
        ready.network.spin(0.002)
        assert len(away) < 200
    told = ready.state(tag)
    assert told['state'] == 'succeeded', told
    assert told['level'] == DiagnosticStatus.OK
    assert float(told['duration [s]']) == pytest.approx(DURATION)
    assert max(away) < 2e-3
    assert abs(ready.q - plan.q[-1]).max() < 8e-3
    assert abs(plan.q[-1] - began).max() > 0.05
    ready.run(0.3)
    assert abs(ready.q - plan.q[-1]).max() < 8e-3
    ready.check()


def changed(message, point, **fields):
    for name, value in fields.items():
        setattr(message.points[point], name, value)
    return message


def wrong_plans():
    """Yield what makes a good message wrong, and what is told then."""
    yield lambda m: changed(m, 3, positions=[0.0, float('nan'), 0.0]), "'elbow' at 0.* s is nan"
    yield lambda m: changed(m, 2, positions=[0.0]), 'point 2 has not 3 positions'
    yield lambda m: changed(m, 2, time_from_start=m.points[1].time_from_start), 'increasing times'
    yield lambda m: changed(m, 4, effort=[0.0, 1e5, 0.0]), "'elbow' takes 1e.05 .* Take more time"
    yield lambda m: changed(m, 0, positions=[m.points[0].positions[0] + 0.2,
                                             *m.points[0].positions[1:]]), "r' is 0.2.* away"
    yield lambda m: setattr(m, 'joint_names', ['shoulder', 'elbow', 'fist']) or m, "joint 'fist'"
    yield lambda m: setattr(m, 'points', []) or m, 'has not 3 positions|no points'
    yield lambda m: setattr(m, 'points', m.points * (LARGEST // 1000)) or m, 'Send fewer points'


@pytest.mark.parametrize(('spoil', 'reason'), list(wrong_plans()))
def test_a_wrong_plan_is_refused_and_moves_nothing(ready, spoil, reason):
    message = spoil(write_joint_trajectory(ready.plan().joint_trajectory(), 'wrong'))
    before = ready.q
    count = len(ready.told)
    ready.plans.publish(message)
    ready.network.expect(lambda: len(ready.told) > count)
    told = ready.told[-1]
    assert told.level == DiagnosticStatus.ERROR
    assert told.hardware_id == 'wrong'
    assert re.search(reason, told.message), told.message
    ready.run(0.05)
    assert abs(ready.q - before).max() < 1e-3


def halfway(bench):
    """Send a plan, and return its tag when the robot is on its way."""
    tag = bench.send(write_joint_trajectory(bench.plan().joint_trajectory()))
    before = bench.q
    bench.run(0.15)
    assert abs(bench.q - before).max() > 0.01
    return tag


def test_another_goal_interrupts_it(ready):
    tag = halfway(ready)
    goal = ready.physics.frame_pose('palm')
    goal[2] += 0.02
    message = PoseStamped()
    fill_message(message.pose, goal)
    publisher = ready.network.publisher(PoseStamped, f'{CONTROLLER}/palm/target_pose')
    publisher.publish(message)
    told = ready.until(tag, 'interrupted')
    assert 'another goal has come' in told['message']
    assert told['level'] == DiagnosticStatus.WARN
    ready.run(1.0)
    assert np.linalg.norm(ready.physics.frame_pose('palm')[[0, 2]] - goal[[0, 2]]) < 2e-3
    ready.check()


def test_a_goal_out_of_reach_does_not(ready):
    tag = halfway(ready)
    message = PoseStamped()
    fill_message(message.pose, np.array([50.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]))
    publisher = ready.network.publisher(PoseStamped, f'{CONTROLLER}/palm/target_pose')
    publisher.publish(message)
    ready.until(tag, 'succeeded')


def test_what_the_plan_does_not_move_does_not_interrupt_it(ready):
    """A task that is off leaves its axes to the posture, which follows; switched on it holds."""
    tag = halfway(ready)
    switch = f'{CONTROLLER}/palm/enable'
    assert ready.network.call(SetBool, switch, data=False).success
    ready.run(0.05)
    assert ready.state(tag)['state'] == 'following'
    assert ready.network.call(SetBool, switch, data=True).success
    assert "'palm' is switched on" in ready.until(tag, 'interrupted')['message']


def test_hold_interrupts_it(ready):
    tag = halfway(ready)
    ready.network.call(Trigger, f'{CONTROLLER}/hold')
    there = ready.q
    assert 'the robot holds' in ready.until(tag, 'interrupted')['message']
    ready.run(1.5)
    assert abs(ready.q - there).max() < 0.1
    assert abs(ready.physics.velocities).max() < 2e-2


def test_a_newer_plan_takes_over(ready):
    tag = ready.send(write_joint_trajectory(ready.plan(0.0).joint_trajectory()))
    second = ready.send(write_joint_trajectory(ready.plan(0.04).joint_trajectory()))
    assert 'another plan has come' in ready.until(tag, 'interrupted')['message']
    ready.until(second, 'succeeded')


def test_a_plan_that_comes_twice_is_followed_once(ready):
    """A sender that hears nothing sends it again; it neither restarts nor is it refused then."""
    message = write_joint_trajectory(ready.plan().joint_trajectory())
    tag = ready.send(message)
    ready.run(0.15)
    ready.plans.publish(message)
    ready.network.spin(0.2)
    ready.until(tag, 'succeeded')
    told = {value.value for status in ready.told if status.hardware_id == tag
            for value in status.values if value.key == 'state'}
    assert told <= {'waiting', 'following', 'succeeded'}


@pytest.mark.parametrize(('velocity', 'by_hand'), [(100.0, True), (float('nan'), False)])
def test_a_trip_drops_it_and_the_robot_holds(ready, velocity, by_hand):
    """Where it trips for too high a speed it waits for ~/hold; a bad state is over by itself."""
    tag = halfway(ready)
    tripping = ready.state()
    tripping.velocity[0] = velocity
    count = len(ready.commands)
    while len(ready.commands) == count:
        ready.states.publish(tripping)
        ready.network.spin(0.02)
    assert 'trips' in ready.until(tag, 'interrupted')['message']
    ready.run(0.2)
    if by_hand:
        ready.network.call(Trigger, f'{CONTROLLER}/hold')
    ready.run(0.1)
    there = ready.q
    ready.run(0.7)
    assert abs(ready.q - there).max() < 0.05
    assert abs(ready.physics.velocities).max() < 2e-2
    assert ready.state(tag)['state'] == 'interrupted'


def test_opspace_execute(ready, tmp_path):
    """The verb sends the file, tells how it goes, and its exit code says how it went."""
    path = tmp_path / 'plan.csv'
    ready.plan().save(path)
    for code, said in ((0, 'The joints are at its end'),
                       (1, r"' is .* rad or m away .*, at 0.000 s. Bring")):
        process = ready.network.start('execute', {'use_sim_time': False}, ['--', str(path)])
        while process.exit_code() is None:
            ready.run(0.02)
        assert process.exit_code() == code, process.said()
        assert re.search(said, process.said())


def test_opspace_execute_notices_that_the_controller_has_gone(ready, tmp_path):
    path = tmp_path / 'plan.csv'
    ready.plan().save(path)
    plans = ready.network.listen(JointTrajectory, 'gone/joint_trajectory')
    status = ready.network.node.create_publisher(
        DiagnosticStatus, 'gone/joint_trajectory/status', LATCHED)
    process = ready.network.start('execute', {'use_sim_time': False}, [
        '--', str(path), '--controller', 'gone'])
    ready.network.expect(lambda: plans)
    facts = {'state': 'following', 'time [s]': '0.0', 'duration [s]': '0.5',
             'furthest joint': 'wrist', 'distance [rad or m]': '0'}
    status.publish(DiagnosticStatus(
        hardware_id=plans[0].header.frame_id,
        values=[KeyValue(key=key, value=value) for key, value in facts.items()]))
    ready.network.expect(lambda: process.exit_code() is not None)
    assert process.exit_code() == 1
    assert 'tells nothing of the plan any more' in process.said()


def test_deactivation_ends_it(ready):
    tag = halfway(ready)
    assert ready.network.transition(CONTROLLER, Transition.TRANSITION_DEACTIVATE)
    ready.network.expect(lambda: ready.state(tag)['state'] == 'interrupted')
    assert 'no longer active' in ready.state(tag)['message']
    ready.number += 1
    ready.plans.publish(write_joint_trajectory(ready.plan().joint_trajectory(), 'late'))
    ready.network.expect(lambda: ready.state('late'))
    assert 'is not controlled' in ready.state('late')['message']

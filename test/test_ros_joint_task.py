# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A group of joints as a task of the node, beside a hand: goals, gains, feedback, switches."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from controller_bench import MODEL, PARAMETERS, ROBOT, START, Bench, moved, torque
from diagnostic_msgs.msg import DiagnosticArray
from ros_nodes import CONTROLLER, joint_state
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from visualization_msgs.msg import MarkerArray

from opspace_control import (
    JointTask,
    OperationalSpaceController,
    OpspaceError,
    PoseTask,
    PostureTask,
)
from opspace_control.ros.parameters.controller_parameters import table_of
from opspace_control.ros.parameters.robot import make_controller

JOINTS = ['r_elbow', 'torso_yaw', 'r_shoulder_pitch']
GOAL = {'r_elbow': -1.2, 'torso_yaw': 0.2}
ARM = PARAMETERS | {
    'tasks': ['left', 'arm'], 'arm.type': 'joint', 'arm.joints': JOINTS, 'arm.kp': 60.0,
    'arm.priority': 1, 'publish_rate': 1000.0, 'broadcast_targets': False}
del ARM['right.frame'], ARM['right.max_linear_velocity'], ARM['right.max_angular_velocity']


def like_the_nodes(**options):
    """Return a controller in this process, its tasks where they begin, and its joint task."""
    arm = JointTask(JOINTS, name='arm', priority=1, **{'kp': 60.0, 'max_velocity': 1.0} | options)
    controller = OperationalSpaceController(
        MODEL, [PoseTask('l_hand', name='left'), arm], PostureTask())
    torque(controller, START)
    return controller, arm


class ArmBench(Bench):

    def start(self, parameters):
        super().start(parameters)
        self.goals = self.network.publisher(JointState, f'{CONTROLLER}/arm/target_joint')
        self.errors = self.network.listen(JointState, f'{CONTROLLER}/arm/joint_error')
        self.command(joint_state(START))

    def becomes(self, controller, positions=START):
        """Wait until the node commands what this controller would."""
        expected = torque(controller, positions)
        for _ in range(100):
            if np.allclose(self.command(joint_state(positions)), expected, atol=1e-8):
                return
        np.testing.assert_allclose(self.command(joint_state(positions)), expected, atol=1e-8)


@pytest.fixture(scope='module')
def bench():
    with ArmBench.around(ARM) as bench:
        yield bench


@pytest.fixture
def sent(bench):
    """A bench whose joints have a goal, and a controller that has the same."""
    bench.command(joint_state(START))
    controller, arm = like_the_nodes()
    arm.set_target(GOAL)
    expected = torque(controller, START)
    bench.network.send(bench.goals, JointState(name=list(GOAL), position=list(GOAL.values())),
                       lambda: np.allclose(bench.command(joint_state(START)), expected, atol=1e-8))
    return bench, controller, arm


def test_some_of_its_joints_get_a_goal(sent):
    bench, controller, arm = sent
    bench.becomes(controller, moved())
    expected = arm.error, arm.force
    assert abs(expected[0]).max() > 0.1
    bench.network.expect(lambda: bench.errors and np.allclose(
        bench.errors[-1].position, expected[0], atol=1e-9))
    assert bench.errors[-1].name == JOINTS
    np.testing.assert_allclose(bench.errors[-1].effort, expected[1], atol=1e-6)


def test_gains_and_speed_change_live(sent):
    bench, controller, arm = sent
    assert bench.change(arm__kp=90.0, arm__max_velocity=0.05).successful
    arm.set_gains(kp=90.0)
    arm.max_velocity = 0.05
    bench.becomes(controller, moved())
    assert not bench.change(arm__kd=0.0).successful  # a limit of speed needs damping
    assert bench.change(arm__kp=60.0, arm__max_velocity=1.0).successful


def test_is_switched_off_and_on(sent):
    bench, controller, arm = sent
    name = f'{CONTROLLER}/arm/enable'
    assert bench.network.call(SetBool, name, data=False).success
    arm.enabled = False
    bench.becomes(controller)
    assert bench.network.call(SetBool, name, data=True).success
    arm.enabled = True
    arm.clear_target()  # it holds where it is
    bench.becomes(controller)


@pytest.mark.parametrize(('goal', 'complaint'), [
    ({'l_elbow': 0.1}, "has no joint 'l_elbow'"), ({'r_elbow': 100.0}, 'beyond its limits')])
def test_goals_that_do_not_fit_are_refused(sent, goal, complaint):
    bench, controller, _ = sent
    bench.network.send(bench.goals, JointState(name=list(goal), position=list(goal.values())),
                       lambda: complaint in bench.process.said())
    bench.becomes(controller)


def test_what_is_told_of_tasks_goes_on_beside_it(sent):
    bench, _, _ = sent
    health = bench.network.listen(DiagnosticArray, '/diagnostics')
    markers = bench.network.listen(MarkerArray, f'{CONTROLLER}/markers')
    bench.network.send(bench.states, joint_state(START), lambda: health and markers)
    values = {item.key: item.value for item in health[-1].status[0].values}
    assert values['active tasks'] == 'left, arm'
    assert float(values['condition number']) > 1.0
    assert {marker.ns for marker in markers[-1].markers} == {'left'}
    assert 'arm (r_elbow torso_yaw r_shoulder_pitch)' in bench.process.said()
    topics = {name for name, _ in bench.network.node.get_topic_names_and_types()}
    assert not {f'{CONTROLLER}/arm/{name}' for name in ('target_pose', 'error')} & topics


@pytest.mark.parametrize(('parameters', 'complaint'), [
    ({'arm.joints': []}, 'Name one or more joints'),
    ({'arm.joints': ['r_elbov']}, "'r_elbow'"),
    ({'arm.kp': [1.0] * 6}, 'kp'),
    ({'left.joints': ['l_elbow']}, 'Set left.type to joint')])
def test_what_does_not_fit_has_a_reason(parameters, complaint):
    values = {row.name: row.default for row in table_of(ARM)} | ARM | parameters
    with pytest.raises(OpspaceError, match=complaint):
        make_controller(ROBOT, values)

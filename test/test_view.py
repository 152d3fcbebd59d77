# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The view as a user runs it: beside a controller and a robot, with viewers that steer."""

import contextlib
import math
import re

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip('viser', reason='viser is not installed')

import rclpy
import ros_nodes
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rcl_interfaces.msg import Parameter
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.parameter import Parameter as RosParameter
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from viewer import Viewer
from viser.transforms import SO3

from opspace_control.cli.parameters import controller_values, simulator_values
from opspace_control.cli.robots import demo_robot
from opspace_control.ros.clients.remote import Remote, controllers, look_for_offer
from opspace_control.ros.middleware.endpoints import NEWEST

ROBOT = demo_robot('dual_arm')
TEXT = ROBOT.path().read_text()
GOAL = '/robot/goal of left_hand'


class Stage:
    """A controller, its robot, and a view of both."""

    def __init__(self, network):
        self.network = network
        self.errors = network.listen(TwistStamped, f'{ros_nodes.CONTROLLER}/left_hand/error',
                                     NEWEST)
        self.poses = network.listen(
            PoseStamped, f'{ros_nodes.CONTROLLER}/left_hand/current_pose', NEWEST)
        # Now: a viewer sets a position once, and the view has to know by then who listens.
        self.postures = network.listen(JointState, f'{ros_nodes.CONTROLLER}/target_joint')
        self.start_controller()
        network.start('simulator', {
            'robot_description': TEXT, **simulator_values(ROBOT), 'pace': 'patient',
            'objects': ['box'], 'box.size': [0.1, 0.2, 0.3], 'box.fixed': True,
            'box.pose': [5.0, 6.0, 0.15, 0.0, 0.0, 0.0, 1.0]})
        self.view = network.start('view', {}, ['--', '--port', '18100'])
        network.expect(lambda: 'http://' in self.view.said())
        self.url = re.search(r'http://\S+', self.view.said()).group()
        network.expect(lambda: self.poses, ros_nodes.COMPILING)

    def start_controller(self):
        self.controller = self.network.start('controller', {
            'robot_description': TEXT, **controller_values(ROBOT), 'safety.state_timeout': 0.0})

    def value(self, name):
        values = self.network.call(GetParameters, f'{ros_nodes.CONTROLLER}/get_parameters',
                                   names=[name]).values
        return RosParameter.from_parameter_msg(Parameter(name=name, value=values[0])).value

    def hand(self):
        """Return where the left hand is now, m."""
        del self.poses[:]
        self.network.expect(lambda: self.poses)
        p = self.poses[-1].pose.position
        return np.array([p.x, p.y, p.z])

    def error(self):
        """Return the length of the left hand's error now, m."""
        del self.errors[:]
        self.network.expect(lambda: self.errors)
        e = self.errors[-1].twist.linear
        return math.hypot(e.x, e.y, e.z)


@pytest.fixture(scope='module')
def stage():
    with ros_nodes.network() as network:
        yield Stage(network)


@pytest.fixture
def viewer(stage):
    viewer = Viewer(stage.url)
    viewer.expect(lambda: viewer.has('Hold') and GOAL in viewer.nodes
                  and viewer.nodes[GOAL].get('visible'))
    yield viewer
    viewer.close()
    assert stage.view.exit_code() is None, stage.view.said()


def test_shows_how_robot_and_controller_are(stage, viewer):
    viewer.expect(lambda: 'Active.' in viewer.text() and 'condition number' in viewer.text())
    viewer.expect(lambda: 'l_shoulder_pitch' in viewer.text())
    heard = stage.network.listen(JointState, 'joint_states', NEWEST)
    stage.network.expect(lambda: heard)
    positions = dict(zip(heard[-1].name, heard[-1].position, strict=True))
    elbow = next(name for name in viewer.nodes if name.endswith('/l_elbow'))
    still = (1.0, 0.0, 0.0, 0.0)
    viewer.expect(lambda: abs(angle(viewer.nodes[elbow].get('wxyz', still))
                              - abs(positions['l_elbow'])) < 0.01)


def test_dragged_handle_moves_the_hand(stage, viewer):
    at = np.array(viewer.nodes[GOAL]['position'])
    np.testing.assert_allclose(at, stage.hand(), atol=2e-3)
    goal = at + np.array([0.02, 0.03, 0.04])
    viewer.drag(GOAL, goal.tolist(), viewer.nodes[GOAL]['wxyz'])
    stage.network.expect(lambda: np.linalg.norm(stage.hand() - goal) < 1e-3, 240.0)


def test_a_task_shows_goal_error_and_gains_and_more_where_it_is_asked_for(stage, viewer):
    def is_goal_shown():
        found = re.search(
            r'goal (\S+) (\S+) (\S+) m, quaternion .*, in \w+<br>error', viewer.text())
        return found and np.allclose(
            [float(x) for x in found.groups()], viewer.nodes[GOAL]['position'], atol=2e-3)
    viewer.expect(is_goal_shown)

    def folder(label):
        return viewer.controls[viewer.controls[viewer.control(label)]['within']]
    for gain in ('kp', 'kd', 'max_linear_velocity'):
        assert folder(gain)['label'] == 'left_hand'
    assert folder('max_angular_velocity')['label'] == 'more'
    assert not folder('max_angular_velocity')['expand_by_default']
    angular = viewer.controls[viewer.control('max_angular_velocity')]
    assert angular['label'] == 'max_angular_velocity, rad/s'
    assert len(angular['hint']) > 20


def test_goal_out_of_reach_is_refused_and_the_handle_comes_back(stage, viewer):
    at = np.array(viewer.nodes[GOAL]['position'])
    viewer.drag(GOAL, [9.0, 0.0, 0.0], viewer.nodes[GOAL]['wxyz'])
    viewer.expect(lambda: any('A goal is refused' in notice for notice in viewer.notices))
    viewer.expect(lambda: np.linalg.norm(viewer.nodes[GOAL]['position'] - at) < 2e-3)
    viewer.expect(lambda: 'A goal is refused' in viewer.text())


def test_slider_changes_the_gain_for_all_viewers(stage, viewer):
    other = Viewer(stage.url)
    other.expect(lambda: other.has('kp'))
    for value in (110.0, 120.0, 130.0):
        viewer.set(viewer.control('kp'), value)
    stage.network.expect(lambda: stage.value('left_hand.kp') == 130.0)
    other.expect(lambda: other.controls[other.control('kp')]['value'] == 130.0)
    other.close()


def test_refused_change_shows_the_reason_and_is_undone(stage, viewer):
    name = 'limits.workspace_lower'
    before = viewer.controls[viewer.control(name)]['value']
    viewer.set(viewer.control(name), '[0.1, 0.2]')
    viewer.expect(lambda: any('must have 3 values, not 2' in notice for notice in viewer.notices))
    viewer.expect(lambda: viewer.controls[viewer.control(name)]['value'] == before)
    viewer.set(viewer.control(name), '[0.1, x]')
    viewer.expect(lambda: any('cannot be understood' in notice for notice in viewer.notices))
    viewer.set(viewer.control(name), '[-3, -3, -3]')
    stage.network.expect(lambda: stage.value(name).tolist() == [-3.0] * 3)


def test_change_by_somebody_else_is_followed(stage, viewer):
    stage.network.call(
        SetParameters, f'{ros_nodes.CONTROLLER}/set_parameters',
        parameters=[RosParameter('right_hand.kp', value=90.0).to_parameter_msg()])
    viewer.expect(lambda: viewer.controls[viewer.control('kp', 1)]['value'] == 90.0)


def test_task_is_switched(stage, viewer):
    viewer.set_until(viewer.control('enabled', 1), False,
                     lambda: re.search('active tasks</td><td>left_hand<', viewer.text()))
    viewer.expect(lambda: not viewer.nodes['/robot/goal of right_hand']['visible'])
    viewer.set(viewer.control('enabled', 1), True)
    viewer.expect(lambda: re.search('active tasks</td><td>left_hand, right_hand<',
                                    viewer.text()))
    viewer.expect(lambda: viewer.nodes['/robot/goal of right_hand']['visible'])


def test_posture_and_hold(stage, viewer):
    viewer.set(viewer.control('torso_yaw'), 0.1)
    stage.network.expect(lambda: stage.postures)
    assert [(told.name, list(told.position)) for told in stage.postures] == [(['torso_yaw'], [0.1])]
    goal = np.array(viewer.nodes[GOAL]['position']) + np.array([0.0, 0.0, 0.1])
    viewer.drag(GOAL, goal.tolist(), viewer.nodes[GOAL]['wxyz'])
    stage.network.expect(lambda: stage.error() > 0.02)
    viewer.set(viewer.control('Hold'), True)
    stage.network.expect(lambda: stage.error() < 2e-3)
    assert np.linalg.norm(stage.hand() - goal) > 0.01


def test_survives_the_restart_of_the_controller(stage, viewer):
    # Nobody carries the robot in the meantime.
    stage.network.call(SetBool, f'{ros_nodes.SIMULATOR}/pause', data=True)
    # What is asked in the meantime comes to nothing, and does no harm.
    asked = [(viewer.control('kp'), 150.0), (viewer.control('torso_yaw'), 0.2),
             (viewer.control('enabled'), False), (viewer.control('Hold'), True)]
    for uuid, value in asked:
        viewer.set(uuid, value)
    stage.controller.end()
    for uuid, value in asked:
        viewer.set(uuid, value)
    viewer.expect(lambda: 'Connecting… Waiting for /opspace_controller' in viewer.text())
    viewer.expect(lambda: not viewer.has('kp') and GOAL not in viewer.nodes
                  and viewer.controls[viewer.control('Hold')]['disabled'])
    stage.network.call(Trigger, f'{ros_nodes.SIMULATOR}/reset')
    stage.start_controller()
    stage.network.expect(lambda: 'Active' in stage.controller.said(), ros_nodes.COMPILING)
    stage.network.call(SetBool, f'{ros_nodes.SIMULATOR}/pause', data=False)
    viewer.expect(lambda: viewer.has('kp') and GOAL in viewer.nodes)
    assert viewer.controls[viewer.control('kp')]['value'] == 100.0
    viewer.look(0.5)  # nobody is as fast as to drag it now
    goal = np.array(viewer.nodes[GOAL]['position']) - [0.02, 0.0, 0.02]
    viewer.drag(GOAL, goal.tolist(), viewer.nodes[GOAL]['wxyz'])
    stage.network.expect(lambda: np.linalg.norm(stage.hand() - goal) < 1e-3, 240.0)


def test_simulation_is_paused_and_has_its_boxes(stage, viewer):
    box = '/objects/box'
    viewer.expect(lambda: viewer.nodes.get(box, {}).get('visible'))
    np.testing.assert_allclose(viewer.nodes[box]['position'], [5.0, 6.0, 0.15])
    np.testing.assert_allclose(viewer.nodes[box]['dimensions'], [0.1, 0.2, 0.3])
    heard = stage.network.listen(JointState, 'joint_states', NEWEST)

    def time():
        del heard[:]
        stage.network.expect(lambda: heard)
        return heard[-1].header.stamp
    viewer.set(viewer.control('paused'), True)
    stage.network.expect(lambda: time() == time())
    viewer.set(viewer.control('paused'), False)
    stage.network.expect(lambda: time() != time())


def test_offer_is_what_the_graph_shows(stage):
    network = stage.network
    offer = look_for_offer(network.node, ros_nodes.CONTROLLER)
    assert offer.tasks == offer.movable == offer.optional == ('left_hand', 'right_hand')
    assert set(offer.tasks) <= set(offer.wrenches)
    assert offer.estimated == offer.tasks
    remote = Remote(network.node, ros_nodes.CONTROLLER, offer)
    network.expect(lambda: {(what, frame) for what, frame, _, kind in remote.wrenches()
                            if kind == 'estimated'} == {('left_hand', 'l_hand'),
                                                        ('right_hand', 'r_hand')})
    # Of markers the view shows contacts and collision shapes, which this controller has.
    assert remote.markers() is None
    assert [each.node_name for each in network.node.get_subscriptions_info_by_topic(
        f'{ros_nodes.CONTROLLER}/markers')] == ['opspace_view']
    remote.destroy()
    assert look_for_offer(network.node, '/nobody') is None
    # Whatever else a controller may offer is found by the form of its topics and services.
    network.node.create_publisher(JointState, '/test/controller_state', 1)
    network.node.create_subscription(PoseStamped, '/test/hand/target_pose', print, 1)
    for task in ('hand', 'press'):
        network.node.create_subscription(WrenchStamped, f'/test/{task}/target_wrench', print, 1)
    network.node.create_subscription(WrenchStamped, '/test/wrist/wrench', print, 1)
    for owner in ('', 'neck/'):  # the posture's is no task
        network.node.create_subscription(JointState, f'/test/{owner}target_joint', print, 1)
    network.node.create_service(SetBool, '/test/box/engage', lambda request, response: response)
    network.node.create_service(Trigger, '/test/wrist/zero', lambda request, response: response)
    network.expect(lambda: '/test' in controllers(network.node))
    assert look_for_offer(network.node, '/test') is not None
    offer = look_for_offer(network.node, '/test')
    assert (offer.tasks, offer.movable, offer.optional, offer.forces) == (
        ('hand', 'press'), ('hand',), (), ('hand', 'press'))
    assert (offer.switches, offer.measured, offer.sensors) == (('box',), ('wrist',), ('wrist',))
    assert offer.groups == ('neck',)


def test_offer_of_a_controller_whose_namesake_is_in_the_graph_too():
    """One that has left, say: by a name the graph tells of the first participant that has it."""
    with ros_nodes.network() as network, contextlib.ExitStack() as stack:
        for _ in range(5):  # in any order
            context = rclpy.Context()
            rclpy.init(context=context, domain_id=int(network.environment['ROS_DOMAIN_ID']))
            stack.callback(context.try_shutdown)
            node = rclpy.create_node('twin', context=context)
            stack.callback(node.destroy_node)
        node.create_publisher(JointState, '/twin/controller_state', 1)
        node.create_subscription(PoseStamped, '/twin/hand/target_pose', print, 1)
        node.create_service(SetBool, '/twin/hand/enable', print)

        def is_complete():
            offer = look_for_offer(network.node, '/twin')
            return offer is not None and offer.tasks == offer.optional == ('hand',)
        network.expect(is_complete, 10.0)


def angle(wxyz):
    """Return the angle of a rotation, rad."""
    return float(np.linalg.norm(SO3(np.array(wxyz)).log()))

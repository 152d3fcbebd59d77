# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The controller node, in a process of its own, spoken to over DDS."""

import math
import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import ros_nodes
from controller_bench import (
    MODEL,
    PARAMETERS,
    ROBOT,
    START,
    Bench,
    moved,
    pose_message,
    reference,
    torque,
)
from geometry_msgs.msg import PoseStamped, TwistStamped
from lifecycle_msgs.msg import State, Transition
from ros_nodes import CONTROLLER, joint_state
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)


@pytest.fixture
def network():
    with ros_nodes.network() as network:
        yield network


@pytest.fixture
def node(network):
    """Return a test bench around a controller that is active and waits for states."""
    bench = Bench(network)
    bench.start(PARAMETERS)
    return bench


@pytest.fixture(scope='module')
def steady():
    """Return such a bench for tests after which the controller is as before."""
    with Bench.around(PARAMETERS) as bench:
        yield bench


class TestCycle:

    def test_commands_the_law_in_the_order_of_the_drives(self, node):
        controller = reference()
        np.testing.assert_allclose(node.command(joint_state(START)), torque(controller, START),
                                   rtol=1e-9, atol=1e-9)
        there = moved()
        np.testing.assert_allclose(node.command(joint_state(there)), torque(controller, there),
                                   rtol=1e-9, atol=1e-9)

    def test_any_order_and_further_joints(self, node):
        controller = reference()
        torque(controller, START)
        node.command(joint_state(START))
        there = moved()
        shuffled = dict(reversed(there.items())) | {'gripper': 3.0}
        np.testing.assert_allclose(node.command(joint_state(shuffled)),
                                   torque(controller, there), rtol=1e-9, atol=1e-9)

    def test_command_joints_say_the_order(self, network):
        wanted = [name for name in reversed(MODEL.dof_names) if not name.startswith('torso')]
        bench = Bench(network)
        bench.start(PARAMETERS | {'command_joints': wanted})
        held = [name for name in MODEL.dof_names if name not in wanted]
        model = RobotModel.from_urdf(ROBOT, locked_joints=held)
        controller = OperationalSpaceController(
            model, [PoseTask('l_hand'), PoseTask('r_hand')], PostureTask())
        expected = controller.compute_torque(
            RobotState(model, [START[name] for name in model.dof_names], np.zeros(model.nv)))
        np.testing.assert_allclose(
            bench.command(joint_state(START)),
            [expected[model.dof_index(name)] for name in wanted], rtol=1e-9, atol=1e-9)
        bench.log('; locked: ')

    def test_update_rate_bounds_the_cycle(self, node):
        node.command(joint_state(START))
        assert node.change(update_rate=20.0).successful
        node.network.spin(0.2)
        del node.heard[:]
        start = time.perf_counter()
        for _ in range(100):
            node.states.publish(joint_state(START))
            node.network.spin(0.005)
        elapsed = time.perf_counter() - start
        assert 1 < len(node.heard) <= 20.0 * elapsed + 3


class TestGoals:

    GOAL = (0.45, 0.3, 1.1, 0.0, 0.0, 0.0, 1.0)

    def compare(self, node, goal_message, goal_pose):
        """Send a goal; the torque must become that of a controller with this goal."""
        controller = reference()
        torque(controller, START)
        controller.tasks['left'].set_target(goal_pose)
        expected = torque(controller, START)
        before = node.command(joint_state(START))
        assert abs(before - expected).max() > 0.1
        goals = node.network.publisher(PoseStamped, f'{CONTROLLER}/left/target_pose')
        node.network.send(goals, goal_message, lambda: np.allclose(
            node.command(joint_state(START)), expected, rtol=1e-6, atol=1e-6))

    @pytest.mark.parametrize('frame', ['', 'base_link', '/base_link'])
    def test_in_the_base_frame(self, node, frame):
        self.compare(node, pose_message(self.GOAL, frame), self.GOAL)

    def test_in_a_frame_of_the_robot(self, node):
        state = RobotState(MODEL, [START[name] for name in MODEL.dof_names], np.zeros(MODEL.nv))
        hand = MODEL.forward_kinematics(state, ['r_hand'])['r_hand']
        ahead = np.eye(4)
        ahead[:3, 3] = 0.1, 0.2, 0.3
        self.compare(node, pose_message((0.1, 0.2, 0.3, 0, 0, 0, 1), 'r_hand'), hand @ ahead)

    @pytest.mark.parametrize(('message', 'complaint'), [
        (pose_message(GOAL, 'kitchen'), 'kitchen'),
        (pose_message((math.nan, *GOAL[1:])), 'finite'),
        (pose_message((*GOAL[:3], 0, 0, 0, 0)), 'zero quaternion'),
    ])
    def test_bad_ones_are_refused_once_a_second_and_change_nothing(
            self, node, message, complaint):
        before = node.command(joint_state(START))
        goals = node.network.publisher(PoseStamped, f'{CONTROLLER}/left/target_pose')
        node.network.send(goals, message, lambda: complaint in node.process.said())
        for _ in range(20):
            goals.publish(message)
            node.network.spin(0.01)
        np.testing.assert_allclose(node.command(joint_state(START)), before)
        assert node.process.said().count('A goal is refused') <= 3

    def test_posture_by_name(self, node):
        controller = reference()
        torque(controller, START)
        controller.posture.set_target({'torso_yaw': 0.3})
        expected = torque(controller, START)
        node.command(joint_state(START))
        goals = node.network.publisher(JointState, f'{CONTROLLER}/target_joint')
        node.network.send(goals, joint_state({'torso_yaw': 0.3}), lambda: np.allclose(
            node.command(joint_state(START)), expected, rtol=1e-6, atol=1e-6))

    def test_posture_of_an_unknown_joint_is_refused(self, node):
        node.command(joint_state(START))
        goals = node.network.publisher(JointState, f'{CONTROLLER}/target_joint')
        node.network.send(goals, joint_state({'torso_yav': 0.3}),
                          lambda: 'torso_yav' in node.process.said())

    def test_hold_makes_the_present_pose_the_goal(self, node):
        node.command(joint_state(START))
        there = moved()
        pulled = node.command(joint_state(there))
        answer = node.network.call(Trigger, f'{CONTROLLER}/hold')
        assert answer.success
        expected = torque(reference(), there)
        assert abs(pulled - expected).max() > 0.1
        np.testing.assert_allclose(node.command(joint_state(there)), expected, atol=1e-9)


def test_feedback_topics(node):
    poses = node.network.listen(PoseStamped, f'{CONTROLLER}/left/current_pose')
    errors = node.network.listen(TwistStamped, f'{CONTROLLER}/left/error')
    message = joint_state(START)
    message.header.stamp.sec = 42
    node.network.send(node.states, message, lambda: poses and errors)
    assert poses[-1].header.stamp.sec == 42
    assert poses[-1].header.frame_id == 'base_link'
    state = RobotState(MODEL, [START[name] for name in MODEL.dof_names], np.zeros(MODEL.nv))
    expected = MODEL.forward_kinematics(state, ['l_hand'])['l_hand'][:3, 3]
    position = poses[-1].pose.position
    np.testing.assert_allclose([position.x, position.y, position.z], expected, atol=1e-9)
    there = moved()
    message = joint_state(there)
    message.header.stamp.sec = 43
    for _ in range(5):
        node.command(message)
    state = RobotState(MODEL, [there[name] for name in MODEL.dof_names], np.zeros(MODEL.nv))
    error = expected - MODEL.forward_kinematics(state, ['l_hand'])['l_hand'][:3, 3]
    linear = errors[-1].twist.linear
    np.testing.assert_allclose([linear.x, linear.y, linear.z], error, atol=1e-9)


class TestParameters:

    def test_gains_change_live(self, node):
        node.command(joint_state(START))
        assert node.change(left__kp=400.0, left__kd=10.0).successful
        controller = reference(kp=400.0, kd=10.0)
        torque(controller, START)
        there = moved()
        np.testing.assert_allclose(node.command(joint_state(there)), torque(controller, there),
                                   rtol=1e-9, atol=1e-9)

    def test_gain_of_each_axis(self, node):
        assert node.change(left__kp=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).successful
        assert list(node.value('left.kp')) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]

    @pytest.mark.parametrize(('values', 'complaint'), [
        ({'left__kp': -1.0}, 'left.kp'),
        ({'left__kp': math.nan}, 'left.kp'),
        ({'left__kp': [1.0, 2.0]}, '6 numbers'),
        ({'left__max_linear_velocity': 0.0}, 'max_linear_velocity'),
        ({'left__max_linear_velocity': 1.0, 'left__kd': 0.0}, 'damping'),
        ({'left__kp': 50.0, 'right__kp': -1.0}, 'right.kp'),
        ({'tasks': ['left']}, 'read-only'),
        ({'left__frame': 'r_hand'}, 'read-only'),
        ({'left__kP': 1.0}, "There is no parameter left.kP. Did you mean 'left.kp'"),
        ({'left__kp': 50.0, 'hand__kp': 1.0}, "If 'hand' is one, name it in tasks"),
    ])
    def test_refused_changes_change_nothing(self, steady, values, complaint):
        steady.command(joint_state(START))
        there = moved()
        before = steady.command(joint_state(there))
        result = steady.change(**values)
        assert not result.successful
        assert complaint in result.reason
        np.testing.assert_allclose(steady.command(joint_state(there)), before)
        assert steady.value('left.kp') == 100.0

    @pytest.mark.parametrize(('parameters', 'complaint'), [
        ({'tasks': ['left'], 'left.frame': 'l_hnad'}, 'l_hand'),
        ({'tasks': ['left'], 'left.kd': 0.0}, 'damping'),
        ({'taks': ['left']}, "Did you mean 'tasks'"),
        ({'tasks': ['left'], 'left.frame': 'l_hand', 'left.kpp': 1.0}, "'left.kp'"),
        ({'tasks': ['left'], 'left.frame': 'l_hand', 'lefd.kp': 1.0}, "'left.kp'"),
        ({'kp': 1.0}, "'posture.kp'"),
        ({'robot_description': '<robot/>'}, 'no link'),
        ({'command_joints': ['l_elbow', 'l_elbow']}, 'l_elbow'),
        ({'passive_joints': ['l_elbov']}, "'l_elbow'"),
        ({'tasks': ['posture']}, 'No task'),
    ])
    def test_bad_ones_end_the_node_with_the_reason(self, network, parameters, complaint):
        process = network.start('controller', {'robot_description': ROBOT} | parameters)
        network.expect(lambda: process.exit_code() is not None, ros_nodes.COMPILING)
        assert process.exit_code() == 1
        assert complaint in process.said()
        assert 'Traceback' not in process.said()


class TestSafety:

    VELOCITY = 0.2

    def moving(self, node):
        """Let the robot move, so that there is something to damp; return its damping torque."""
        velocities = np.full(MODEL.nv, self.VELOCITY)
        node.command(joint_state(START))
        node.command(joint_state(START, velocities))
        state = RobotState(MODEL, [START[name] for name in MODEL.dof_names], velocities)
        return reference().damping_torque(state)

    def test_stale_state_damps_then_releases_and_recovers(self, node):
        assert node.change(safety__state_timeout=0.1, safety__release_time=0.2).successful
        damping = self.moving(node)
        node.network.spin(0.5)
        commands = np.array([message.data for message in node.heard])
        assert node.process.said().count('state_timeout: No new joint state') == 1
        braking = commands[1:-1]
        assert len(braking) > 5
        # Against the velocity, never more than it takes, less and less, and then nothing.
        assert (abs(braking) <= abs(damping) + 1e-6).all()
        assert (np.diff(abs(braking[-10:, 0])) <= 1e-9).all()
        np.testing.assert_array_equal(commands[-1], 0.0)
        node.network.spin(0.1)
        assert len(node.heard) == len(commands)
        node.recover()
        np.testing.assert_allclose(node.command(joint_state(START)), torque(reference(), START),
                                   atol=1e-6)

    def bad_messages():
        lacking = {name: value for name, value in START.items() if name != 'l_elbow'}
        short = joint_state(START)
        short.velocity = short.velocity[:-1]
        return [
            pytest.param(joint_state(START | {'l_elbow': math.nan}), 'l_elbow', id='nan'),
            pytest.param(joint_state(START | {'l_elbow': math.inf}), 'l_elbow', id='infinite'),
            pytest.param(joint_state(START, [math.nan] * MODEL.nv), 'torso', id='nan-velocity'),
            pytest.param(joint_state(lacking), 'l_elbow', id='missing'),
            pytest.param(short, 'velocities', id='short'),
            pytest.param(JointState(), 'lacks', id='empty'),
        ]

    @pytest.mark.parametrize(('bad', 'complaint'), bad_messages())
    def test_bad_state_damps_and_recovers(self, node, bad, complaint):
        damping = self.moving(node)
        first = node.command(bad)
        node.log(complaint)
        assert np.isfinite(first).all()
        assert (abs(first) <= abs(damping) + 1e-6).all()
        for _ in range(20):
            node.states.publish(bad)
            node.network.spin(0.005)
        assert node.process.said().count('The robot is damped') == 1
        node.recover()
        np.testing.assert_allclose(node.command(joint_state(START)), torque(reference(), START),
                                   atol=1e-6)

    def test_bad_state_when_nothing_is_known_is_no_effort(self, node):
        np.testing.assert_array_equal(node.command(JointState()), 0.0)

    @pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
    def test_signal_damps_then_commands_zero(self, node, number):
        damping = self.moving(node)
        del node.heard[:]
        assert node.process.end(number) == 0
        node.network.expect(lambda: node.heard and not any(node.heard[-1].data))
        braking = np.array([message.data for message in node.heard])
        assert len(braking) > 5
        assert (abs(braking) <= abs(damping) + 1e-6).all()
        assert abs(braking[0]).max() > 0.1
        assert 'released' in node.process.said()


def own_names(network):
    """Return the topics and services that the controller node has."""
    node = network.node
    return [name for ask in (
        node.get_publisher_names_and_types_by_node, node.get_subscriber_names_and_types_by_node,
        node.get_service_names_and_types_by_node)
        for name, _ in ask(CONTROLLER.lstrip('/'), '/')]


class TestLifecycle:

    def test_by_hand(self, network):
        bench = Bench(network)
        bench.process = network.start('controller', PARAMETERS | {'autostart': False})
        assert bench.lifecycle_state() == State.PRIMARY_STATE_UNCONFIGURED
        assert bench.transition(Transition.TRANSITION_CONFIGURE)
        assert not network.call(Trigger, f'{CONTROLLER}/hold').success
        for _ in range(2):
            assert bench.transition(Transition.TRANSITION_ACTIVATE)
            bench.states = network.publisher(JointState, 'joint_states', ros_nodes.LATCHED)
            expected = torque(reference(), START)
            np.testing.assert_allclose(bench.command(joint_state(START)), expected, atol=1e-9)
            assert bench.transition(Transition.TRANSITION_DEACTIVATE)
            network.expect(lambda: not any(bench.heard[-1].data))
            count = len(bench.heard)
            bench.states.publish(joint_state(START))
            network.spin(0.2)
            assert len(bench.heard) == count
        assert bench.transition(Transition.TRANSITION_CLEANUP)
        assert bench.lifecycle_state() == State.PRIMARY_STATE_UNCONFIGURED
        assert bench.transition(Transition.TRANSITION_CONFIGURE)
        assert bench.transition(Transition.TRANSITION_INACTIVE_SHUTDOWN)

    def test_what_cannot_be_configured_leaves_nothing_behind(self, network):
        """A robot whose states no JointState carries: that is found out late."""
        bench = Bench(network)
        robot = ROBOT.replace('<joint name="torso_yaw" type="revolute">',
                              '<joint name="torso_yaw" type="floating">')
        assert robot != ROBOT
        bench.process = network.start(
            'controller', PARAMETERS | {'robot_description': robot, 'autostart': False})
        network.expect(lambda: bench.lifecycle_state() == State.PRIMARY_STATE_UNCONFIGURED)
        for _ in range(2):
            assert not bench.transition(Transition.TRANSITION_CONFIGURE)
        bench.log('cannot be given by a JointState')
        assert bench.lifecycle_state() == State.PRIMARY_STATE_UNCONFIGURED
        network.expect(lambda: not [name for name in own_names(network) if any(
            part in name for part in ('commands', 'left', 'hold', 'markers', 'diagnostics'))])

    def test_cannot_be_configured_without_a_robot(self, network):
        bench = Bench(network)
        bench.process = network.start('controller', {'autostart': False})
        assert not bench.transition(Transition.TRANSITION_CONFIGURE)
        bench.log('not known yet')
        assert bench.lifecycle_state() == State.PRIMARY_STATE_UNCONFIGURED

    def test_description_by_topic_starts_it(self, network):
        bench = Bench(network)
        parameters = {key: value for key, value in PARAMETERS.items() if key != 'robot_description'}
        bench.process = network.start('controller', parameters)
        network.publisher(String, 'robot_description', ros_nodes.LATCHED).publish(
            String(data=ROBOT))
        bench.states = network.publisher(JointState, 'joint_states', ros_nodes.LATCHED)
        assert len(bench.command(joint_state(START))) == MODEL.nv


class Older(ros_nodes.Node):
    """As with an rclpy that has no events executor."""

    program = ('-c', 'import sys; sys.modules["rclpy.experimental"] = None\n'
               'from opspace_control.cli.main import main\nsys.exit(main())')


def test_goes_without_the_events_executor(network):
    bench = Bench(network)
    bench.process = network.start('controller', PARAMETERS, kind=Older)
    bench.states = network.publisher(JointState, 'joint_states', ros_nodes.LATCHED)
    np.testing.assert_allclose(
        bench.command(joint_state(START)), torque(reference(), START), atol=1e-9)
    assert network.call(Trigger, f'{ros_nodes.CONTROLLER}/hold').success
    assert bench.process.end() == 0


def test_hardware_that_carries_the_weight_itself(network):
    bench = Bench(network)
    bench.start(PARAMETERS | {'gravity_compensation': False})
    expected = reference()
    expected.gravity_compensation = False
    assert abs(torque(reference(), START)).max() > 1.0
    np.testing.assert_allclose(
        bench.command(joint_state(START)), torque(expected, START), atol=1e-9)


def test_the_parameter_of_the_description_wins_over_the_topic(network):
    network.node.create_publisher(String, 'robot_description', ros_nodes.LATCHED).publish(
        String(data=ros_nodes.robot_text('planar_3r')))
    bench = Bench(network)
    bench.start(PARAMETERS)
    bench.log(f'{MODEL.name}: {MODEL.nv} joints commanded')
    assert len(bench.command(joint_state(START))) == MODEL.nv


def test_names_follow_the_namespace(network):
    heard = network.listen(
        ros_nodes.Float64MultiArray, '/robot_1/effort_controller/commands', ros_nodes.NEWEST)
    network.start('controller', PARAMETERS, ['--remap', '__ns:=/robot_1'])
    states = network.publisher(JointState, '/robot_1/joint_states', ros_nodes.LATCHED)
    network.send(states, joint_state(START), lambda: heard)
    network.publisher(PoseStamped, '/robot_1/opspace_controller/left/target_pose')

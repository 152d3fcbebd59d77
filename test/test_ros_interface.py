# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The whole interface of the controller as the network sees it: names, types, QoS, namespaces."""

import re

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import ros_nodes
from controller_bench import PARAMETERS, START, Bench
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, TwistStamped
from legged_nodes import given
from lifecycle_msgs.msg import State, Transition
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from reference_topics import NODES
from ros_nodes import joint_state, robot_text
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from opspace_control.cli.robots import demo_robot
from opspace_control.control.split import SOURCES
from opspace_control.identification.residual_parts import PARTS

NODE, NAMESPACE = 'opspace_controller', '/robot_1'
OWN = f'{NAMESPACE}/{NODE}'

RELIABLE = (ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE)
BEST_EFFORT = (ReliabilityPolicy.BEST_EFFORT, DurabilityPolicy.VOLATILE)
LATCHED = (ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL)

SUBSCRIBED = {
    f'{NAMESPACE}/joint_states': ('sensor_msgs/msg/JointState', BEST_EFFORT),
    f'{OWN}/target_joint': ('sensor_msgs/msg/JointState', RELIABLE),
    f'{OWN}/contact_schedule': ('trajectory_msgs/msg/JointTrajectory', RELIABLE),
    f'{OWN}/heel/normal': ('geometry_msgs/msg/Vector3Stamped', RELIABLE),
    f'{OWN}/heel/bounds': ('std_msgs/msg/Float64MultiArray', RELIABLE),
    f'{OWN}/joint_trajectory': ('trajectory_msgs/msg/JointTrajectory', RELIABLE),
    f'{OWN}/wrist/wrench': ('geometry_msgs/msg/WrenchStamped', BEST_EFFORT),
    f'{OWN}/neck/target_joint': ('sensor_msgs/msg/JointState', RELIABLE),
    f'{OWN}/carry/internal_force': ('std_msgs/msg/Float64MultiArray', RELIABLE),
    f'{OWN}/collision_objects': ('visualization_msgs/msg/MarkerArray', RELIABLE),
}
PUBLISHED = {
    f'{NAMESPACE}/effort_controller/commands': ('std_msgs/msg/Float64MultiArray', RELIABLE),
    f'{OWN}/controller_state': ('sensor_msgs/msg/JointState', RELIABLE),
    f'{OWN}/contact_state': ('sensor_msgs/msg/JointState', RELIABLE),
    f'{OWN}/joint_trajectory/status': ('diagnostic_msgs/msg/DiagnosticStatus', LATCHED),
    f'{OWN}/external_effort': ('sensor_msgs/msg/JointState', RELIABLE),
    **{f'{OWN}/external_effort/{part}': ('sensor_msgs/msg/JointState', RELIABLE)
       for part in PARTS},
    f'{OWN}/markers': ('visualization_msgs/msg/MarkerArray', RELIABLE),
    '/diagnostics': ('diagnostic_msgs/msg/DiagnosticArray', RELIABLE),
    f'{OWN}/left/measured_wrench': ('geometry_msgs/msg/WrenchStamped', RELIABLE),
    f'{OWN}/neck/joint_error': ('sensor_msgs/msg/JointState', RELIABLE),
    f'{OWN}/carry/engaged': ('std_msgs/msg/Bool', LATCHED),
    f'{OWN}/carry/current_internal_force': ('std_msgs/msg/Float64MultiArray', RELIABLE),
}
SERVICES = {
    f'{OWN}/hold': 'std_srvs/srv/Trigger', f'{OWN}/wrist/zero': 'std_srvs/srv/Trigger',
    f'{OWN}/neck/enable': 'std_srvs/srv/SetBool', f'{OWN}/carry/engage': 'std_srvs/srv/SetBool',
    f'{OWN}/heel/engage': 'std_srvs/srv/SetBool'}
# One of each kind that has topics or services, but for legs.
EVERYTHING = PARAMETERS | {
    'tasks': ['left', 'right', 'neck'], 'neck.type': 'joint', 'neck.joints': ['torso_yaw'],
    'sensors': ['wrist'], 'wrist.frame': 'l_palm', 'left.sensor': 'wrist',
    'grasps': ['carry'], 'carry.effectors': ['r_hand', 'l_hand'],
    'contacts': ['heel'], 'heel.frame': 'torso',
    'shapes': ['ground'], 'ground.kind': 'half_space',
    'ground.pose': [0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0]}
for _source in SOURCES:
    PUBLISHED[f'{OWN}/controller_state/{_source}'] = ('sensor_msgs/msg/JointState', RELIABLE)
for _task in ('left', 'right', 'carry'):
    for _topic, _kind in (('target_pose', 'geometry_msgs/msg/PoseStamped'),
                          ('target_twist', 'geometry_msgs/msg/TwistStamped'),
                          ('target_accel', 'geometry_msgs/msg/AccelStamped'),
                          ('target_wrench', 'geometry_msgs/msg/WrenchStamped'),
                          ('target_trajectory', 'trajectory_msgs/msg/MultiDOFJointTrajectory')):
        SUBSCRIBED[f'{OWN}/{_task}/{_topic}'] = (_kind, RELIABLE)
    for _topic, _kind in (('current_pose', 'geometry_msgs/msg/PoseStamped'),
                          ('error', 'geometry_msgs/msg/TwistStamped'),
                          ('wrench', 'geometry_msgs/msg/WrenchStamped')):
        PUBLISHED[f'{OWN}/{_task}/{_topic}'] = (_kind, RELIABLE)
    if _task != 'carry':
        PUBLISHED[f'{OWN}/{_task}/estimated_wrench'] = (
            'geometry_msgs/msg/WrenchStamped', RELIABLE)
        SERVICES[f'{OWN}/{_task}/enable'] = 'std_srvs/srv/SetBool'

# What every node of rclpy has, and what is the same for all robots.
COMMON = {'/parameter_events', '/rosout', '/tf', '/tf_static', '/clock',
          f'{OWN}/transition_event', f'{NAMESPACE}/robot_description'}


@pytest.fixture(scope='module')
def running():
    """Return a network with an active controller in a namespace."""
    with ros_nodes.network() as network:
        network.start('controller', EVERYTHING, ['--remap', f'__ns:={NAMESPACE}'])
        network.publisher(JointState, f'{NAMESPACE}/joint_states', ros_nodes.LATCHED)
        # The interface is complete: discovery tells of everything in order.
        # Endpoints may be known before the node that they belong to.
        network.expect(lambda: (NODE, NAMESPACE) in network.node.get_node_names_and_namespaces())
        network.expect(lambda: network.node.count_publishers('/diagnostics') and set(PUBLISHED) <= {
            name for name, _ in network.node.get_topic_names_and_types()})
        yield network


def names(network, what, namespace=NAMESPACE):
    """Return name -> type of the node's own endpoints of a sort."""
    ask = getattr(network.node, f'get_{what}_names_and_types_by_node')
    return {name: kinds[0] for name, kinds in ask(NODE, namespace)}


@pytest.mark.parametrize(('what', 'expected'), [
    ('subscriber', {name: kind for name, (kind, _) in SUBSCRIBED.items()}),
    ('publisher', {name: kind for name, (kind, _) in PUBLISHED.items()})])
def test_names_and_types(running, what, expected):
    running.expect(lambda: set(expected) <= set(names(running, what)))
    found = {name: kind for name, kind in names(running, what).items() if name not in COMMON}
    assert found == expected


def test_services(running):
    running.expect(lambda: set(SERVICES) <= set(names(running, 'service')))
    found = {name: kind for name, kind in names(running, 'service').items()
             if kind.startswith('std_srvs')}
    assert found == SERVICES


@pytest.fixture(scope='module')
def with_legs():
    """Return a network with the controller of a robot on legs, whose base is free."""
    with ros_nodes.network() as network:
        network.start('controller', {
            **given('b1', NODE), 'robot_description': demo_robot('b1').path().read_text(),
            'legs.gait': 'stand'})
        network.expect(lambda: (NODE, '/') in network.node.get_node_names_and_namespaces())
        network.expect(lambda: {'/cmd_vel', '/odom'} <= set(names(network, 'subscriber', '/')),
                       ros_nodes.COMPILING)
        yield network


def test_legs_have_topics_of_their_own(with_legs):
    subscribed = names(with_legs, 'subscriber', '/')
    assert subscribed['/cmd_vel'] == 'geometry_msgs/msg/Twist'
    assert subscribed['/odom'] == 'nav_msgs/msg/Odometry'
    assert f'/{NODE}/FL_foot/normal' in subscribed
    check_qos(with_legs.node.get_subscriptions_info_by_topic('/cmd_vel'), RELIABLE)
    assert names(with_legs, 'publisher', '/')[f'/{NODE}/contact_state'] == (
        'sensor_msgs/msg/JointState')


def test_the_reference_has_what_nodes_have_and_nothing_else(running, with_legs):
    """
    Of the controllers with everything and with legs, which are given their robot.

    Where tf2_msgs is not installed there is no /tf.
    """
    patterns = {told: re.compile(re.sub(r'<\w+>', '[^/]+', told)) for told in NODES[NODE]}
    seen = set()
    for network, namespace in ((running, NAMESPACE), (with_legs, '')):
        own = f'{namespace}/{NODE}/'
        found = {name for what in ('subscriber', 'publisher') for name in names(
            network, what, namespace or '/')}
        found |= {name for name, kind in names(network, 'service', namespace or '/').items()
                  if kind.startswith('std_srvs')}
        for name in found - {'/parameter_events', '/rosout', '/clock', '/tf_static',
                             f'{own}transition_event'}:
            short = name.replace(own, '~/') if name.startswith(own) else (
                name if name in NODES[NODE] else name.removeprefix(f'{namespace}/'))
            told = [each for each, pattern in patterns.items() if pattern.fullmatch(short)]
            assert told, name
            seen.update(told)
    assert set(NODES[NODE]) - seen <= {'/tf', 'robot_description'}


@pytest.mark.parametrize(('topic', 'qos'), [
    *((topic, qos) for topic, (_, qos) in PUBLISHED.items())])
def test_qos_of_publishers(running, topic, qos):
    check_qos(running.node.get_publishers_info_by_topic(topic), qos)


@pytest.mark.parametrize(('topic', 'qos'), [
    *((topic, qos) for topic, (_, qos) in SUBSCRIBED.items())])
def test_qos_of_subscriptions(running, topic, qos):
    check_qos(running.node.get_subscriptions_info_by_topic(topic), qos)


def check_qos(endpoints, qos):
    endpoint, = (endpoint for endpoint in endpoints if endpoint.node_name == NODE)
    profile = endpoint.qos_profile
    assert (profile.reliability, profile.durability) == qos
    # Fast DDS tells depth and history of one's own endpoints alone.
    assert profile.history in (HistoryPolicy.UNKNOWN, HistoryPolicy.KEEP_LAST)
    assert profile.depth in (0, 1)


def test_robot_description_is_latched():
    with ros_nodes.network() as network:
        network.start('controller', {'tasks': ['left'], 'left.frame': 'l_hand'})
        network.expect(lambda: network.node.count_subscribers('/robot_description'))
        endpoint, = network.node.get_subscriptions_info_by_topic('/robot_description')
        profile = endpoint.qos_profile
        assert (profile.reliability, profile.durability) == LATCHED


def test_reference_has_every_topic_and_service():
    told = NODES[NODE]
    parts = told['~/controller_state/<source>']
    assert all(f'`{source}`' in parts for source in SOURCES)
    parts = told['~/external_effort/<part>']
    assert all(f'`{part}`' in parts for part in PARTS)
    assert told.keys() >= {'odom', 'robot_description', '/tf'}
    for name, kind in {**SUBSCRIBED, **PUBLISHED, **SERVICES}.items():
        short = name.replace(f'{OWN}/', '~/').replace(f'{NAMESPACE}/', '')
        short = re.sub('/carry/(?=.*(engage|internal))', '/<grasp>/', short)
        short = re.sub('/(left|right|neck|carry)/', '/<task>/', short)
        short = short.replace('/wrist/', '/<sensor>/').replace('/heel/', '/<contact>/')
        short = re.sub('controller_state/.*', 'controller_state/<source>', short)
        short = re.sub('external_effort/.*', 'external_effort/<part>', short)
        assert short in told, short
        type_name = kind if isinstance(kind, str) else kind[0]
        assert re.sub('/(msg|srv)/', '/', type_name) in told[short], short


class TestTwoRobots:
    """On one machine, in one domain, in lock-step: each hears its own controller alone."""

    ROBOT = robot_text('planar_3r')
    POSTURE = (('shoulder', 0.9), ('elbow', -1.2), ('wrist', -0.6))

    def start(self, network, namespace, remaps=()):
        arguments = [part for remap in (f'__ns:=/{namespace}', *remaps)
                     for part in ('--remap', remap)]
        network.start('controller', {
            'robot_description': self.ROBOT, 'tasks': ['hand'], 'hand.axes': 'x z',
            'publish_rate': 500.0, 'safety.state_timeout': 0.0}, arguments)
        network.start('simulator', {
            'robot_description': self.ROBOT, 'pace': 'lock_step', 'timestep': 0.002,
            'publish_clock': False,
            **{f'initial_positions.{joint}': value for joint, value in self.POSTURE}},
            arguments)

    def test_move_independently(self):
        with ros_nodes.network() as network:
            self.start(network, 'a')
            self.start(network, 'b', ['joint_states:=arm/joint_states',
                                      'effort_controller/commands:=arm/efforts'])
            states = {
                'a': network.listen(JointState, '/a/joint_states'),
                'b': network.listen(JointState, '/b/arm/joint_states')}
            errors = {name: network.listen(TwistStamped, f'/{name}/{NODE}/hand/error')
                      for name in states}
            poses = network.listen(PoseStamped, f'/a/{NODE}/hand/current_pose')
            network.expect(lambda: all(heard and heard[-1].header.stamp.nanosec > 0
                                       for heard in states.values()), ros_nodes.COMPILING)
            network.expect(lambda: poses and all(errors.values()))
            goal = poses[-1]
            before = goal.pose.position.z
            goal.pose.position.z += 0.1
            goals = network.publisher(PoseStamped, f'/a/{NODE}/hand/target_pose')
            network.send(goals, goal, lambda: any(
                abs(error.twist.linear.z) > 0.05 for error in errors['a']))
            begin = {name: stamp(heard[-1]) for name, heard in states.items()}
            network.expect(lambda: all(stamp(heard[-1]) > begin[name] + 2.0
                                       for name, heard in states.items()), 120.0)
            assert abs(poses[-1].pose.position.z - before - 0.1) < 1e-3
            assert abs(errors['a'][-1].twist.linear.z) < 1e-3
            assert abs(errors['b'][-1].twist.linear.z) < 1e-3
            assert max(abs(error.twist.linear.z) for error in errors['b']) < 0.05
            for name in ('a', 'b'):
                # One command for each step, and only by its own controller.
                topic = '/a/effort_controller/commands' if name == 'a' else '/b/arm/efforts'
                endpoint, = network.node.get_publishers_info_by_topic(topic)
                assert endpoint.node_namespace == f'/{name}'


def stamp(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def test_use_sim_time():
    with Bench.around(PARAMETERS | {'use_sim_time': True}) as bench:
        network = bench.network
        clock = network.publisher(Clock, '/clock')
        message = Clock()
        message.clock.sec = 4242
        heard = network.listen(DiagnosticArray, '/diagnostics')
        bench.command(joint_state(START))
        network.send(clock, message, lambda: heard and heard[-1].header.stamp.sec == 4242)
        # Diagnostics come by the steady clock: a simulation that stands still is told of.
        count = len(heard)
        network.expect(lambda: len(heard) > count)


class TestLifecycle:
    """Beyond a controller's daily life, which test_ros_controller.py has."""

    @pytest.fixture
    def bench(self):
        with ros_nodes.network() as network:
            bench = Bench(network)
            bench.process = network.start('controller', PARAMETERS | {'autostart': False})
            yield bench

    def test_topics_come_and_go(self, bench):
        node = bench.network.node
        topic = '/opspace_controller/left/target_pose'
        for _ in range(2):
            assert not node.count_subscribers(topic)
            assert bench.transition(Transition.TRANSITION_CONFIGURE)
            bench.network.expect(lambda: node.count_subscribers(topic) == 1)
            bench.network.expect(lambda: node.count_publishers('/diagnostics') == 1)
            assert bench.transition(Transition.TRANSITION_CLEANUP)
            bench.network.expect(lambda: not node.count_subscribers(topic)
                                 and not node.count_publishers('/diagnostics'))

    def test_says_when_it_is_inactive(self, bench):
        heard = bench.network.listen(DiagnosticArray, '/diagnostics')
        assert bench.transition(Transition.TRANSITION_CONFIGURE)
        bench.network.expect(lambda: heard)
        assert heard[-1].status[0].message == 'Inactive.'

    @pytest.mark.parametrize(('steps', 'shutdown'), [
        ((), Transition.TRANSITION_UNCONFIGURED_SHUTDOWN),
        ((Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE),
         Transition.TRANSITION_ACTIVE_SHUTDOWN)])
    def test_shutdown(self, bench, steps, shutdown):
        for step in steps:
            assert bench.transition(step)
        if steps:
            bench.states = bench.network.publisher(
                JointState, 'joint_states', ros_nodes.LATCHED)
            assert any(bench.command(joint_state(START)))
        assert bench.transition(shutdown)
        assert bench.lifecycle_state() == State.PRIMARY_STATE_FINALIZED
        if steps:
            bench.network.expect(lambda: not any(bench.heard[-1].data))
        assert bench.process.end() == 0


def test_latched_joint_states_are_compatible():
    """The real broadcaster's offer, and a bare driver's, both reach the subscription."""
    with ros_nodes.network() as network:
        heard = network.commands()
        network.start('controller', PARAMETERS)
        for qos in (ros_nodes.LATCHED, QoSProfile(
                depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)):
            states = network.publisher(JointState, 'joint_states', qos)
            del heard[:]
            network.send(states, joint_state(START), lambda: heard)
            network.node.destroy_publisher(states)

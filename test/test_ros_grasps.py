# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A grasp over ROS 2: controller and simulator in processes of their own, in lock-step."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes
from controller_bench import MODEL, Bench, pose_message, robot_state
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.qos import QoSProfile
from ros_nodes import CONTROLLER
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import SetBool

from opspace_control.cli.robots import demo_robot
from opspace_control.ros.middleware.conversions import six_from_message

ROBOT = ros_nodes.robot_text('dual_arm')
START = {f'initial_positions.{joint}': value
         for joint, value in demo_robot('dual_arm').start.items()}
SIZE = [0.2, 0.58, 0.2]
INERTIA = [*(3.0 / 12.0 * np.array([0.58 ** 2 + 0.04, 0.08, 0.58 ** 2 + 0.04])), 0.0, 0.0, 0.0]
BOX = {'objects': ['box', 'table'], 'grasps': ['carry'], 'box.size': SIZE, 'box.mass': 3.0,
       'box.pose': [0.3764, 0.0, 1.1004, 0.0, 0.0, 0.0, 1.0], 'table.size': [0.6, 0.6, 0.02],
       'table.pose': [0.3764, 0.0, 0.99, 0.0, 0.0, 0.0, 1.0], 'table.fixed': True,
       'carry.effectors': ['r_hand', 'l_hand'], 'carry.object': 'box'}
CONTROL = {'robot_description': ROBOT, 'tasks': ['left', 'right'], 'left.frame': 'l_hand',
           'right.frame': 'r_hand', 'grasps': ['carry'], 'contacts': ['elbow'],
           'carry.effectors': ['r_hand', 'l_hand'], 'carry.mass': 3.0, 'carry.inertia': INERTIA,
           'carry.squeeze': 20.0, 'elbow.frame': 'l_forearm', 'safety.state_timeout': 0.0,
           'safety.ramp_time': 0.2}
ALL = QoSProfile(depth=1000)


@pytest.fixture
def network():
    with ros_nodes.network() as network:
        yield network


class Scene:
    """Both nodes, running freely in lock-step, and what they say of the grasp."""

    def __init__(self, network, **parameters):
        self.network = network
        self.simulator = network.start('simulator', {
            'robot_description': ROBOT, 'pace': 'lock_step', 'timestep': 0.002,
            **START, **BOX})
        self.controller = network.start('controller', {**CONTROL, **parameters})
        self.poses = network.listen(PoseStamped, f'{CONTROLLER}/carry/current_pose', ALL)
        self.box = network.listen(PoseStamped, 'opspace_simulator/box/pose', ALL)
        self.forces = network.listen(
            Float64MultiArray, f'{CONTROLLER}/carry/current_internal_force', ALL)
        network.expect(lambda: self.box and seconds_of(self.box[-1]) > 0.0, ros_nodes.COMPILING)

    def engage(self, on, node='opspace_controller', name='carry'):
        return self.network.call(SetBool, f'{node}/{name}/engage', data=on)

    def grasp(self):
        assert self.engage(True, 'opspace_simulator').success
        response = self.engage(True)
        assert response.success, response.message

    def run(self, seconds):
        """Wait until so much time of the robot has passed."""
        end = seconds_of(self.box[-1]) + seconds
        self.network.expect(lambda: seconds_of(self.box[-1]) > end, 120.0)


def seconds_of(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def position(message):
    p = message.pose.position
    return np.array([p.x, p.y, p.z])


def test_lifts_and_squeezes_a_box_and_sets_it_down(network):
    scene = Scene(network)
    targets = network.publisher(PoseStamped, f'{CONTROLLER}/carry/target_pose')
    internal = network.publisher(Float64MultiArray, f'{CONTROLLER}/carry/internal_force')
    diagnostics = network.listen(DiagnosticArray, '/diagnostics', ALL)
    scene.run(0.3)
    start = position(scene.box[-1])
    scene.grasp()
    scene.run(0.5)
    raised = np.array([*position(scene.poses[-1]), 0.0, 0.0, 0.0, 1.0])
    raised[[0, 2]] += 0.05, 0.12
    targets.publish(pose_message(raised))
    scene.run(2.0)
    np.testing.assert_allclose(position(scene.box[-1]) - start, [0.05, 0.0, 0.12], atol=2e-3)
    assert scene.forces[-1].data[0] == pytest.approx(-20.0, rel=0.01)
    internal.publish(Float64MultiArray(data=[-10.0]))
    scene.run(0.5)
    assert scene.forces[-1].data[0] == pytest.approx(-30.0, rel=0.01)
    internal.publish(Float64MultiArray(data=[1.0, 2.0]))
    scene.network.expect(lambda: 'is refused' in scene.controller.said())
    del diagnostics[:]
    network.expect(lambda: diagnostics)
    values = {value.key: value.value for value in diagnostics[-1].status[0].values}
    assert values['carry: engaged'] == 'yes'
    assert float(values['carry: internal tensions [N]']) == pytest.approx(-30.0, rel=0.01)
    assert float(values['carry: closure residual [mm]']) < 0.1
    shares = [float(share) for share in values['carry: load shares'].split()]
    assert sum(shares) == pytest.approx(1.0, abs=0.01)
    raised[2] -= 0.12
    targets.publish(pose_message(raised))
    scene.run(2.0)
    assert scene.engage(False).success
    scene.run(0.5)
    assert scene.engage(False, 'opspace_simulator').success
    scene.run(0.5)
    assert position(scene.box[-1])[2] == pytest.approx(start[2], abs=2e-3)


def up(message, state):
    """Return the vertical part of a wrench that is told along the axes of a link."""
    assert message.header.frame_id == 'r_hand'
    hand = MODEL.forward_kinematics(robot_state(dict(zip(state.name, state.position, strict=True))),
                                    ['r_hand'])['r_hand']
    return hand[2, :3] @ six_from_message(message.wrench)[:3]


def test_grips_follow_the_controller(network):
    """One service does it: the box is held at once, and let go when nobody squeezes any more."""
    scene = Scene(network, **{'carry.squeeze': 40.0, 'safety.ramp_time': 0.4})
    targets = network.publisher(PoseStamped, f'{CONTROLLER}/carry/target_pose')
    wrenches = network.publisher(WrenchStamped, f'{CONTROLLER}/carry/target_wrench')
    pressed = network.listen(WrenchStamped, f'{CONTROLLER}/carry/wrench', ALL)
    states = network.listen(JointState, 'joint_states', ALL)
    scene.run(0.3)
    start = position(scene.box[-1])
    assert scene.engage(True).success
    network.expect(lambda: scene.forces[-1].data[0] == pytest.approx(-40.0, rel=0.01), 240.0)
    # Pressed on the table, which bears it: [K87] (5.4), for an object.
    wrench = WrenchStamped()
    wrench.wrench.force.z = -12.0
    wrenches.publish(wrench)
    network.expect(lambda: 'No axis' in scene.controller.said())
    bench = Bench.__new__(Bench)
    bench.network = network
    assert bench.change(carry__force_axes='z').successful
    assert not bench.change(carry__axes_frame='nowhere').successful
    wrenches.publish(wrench)
    network.expect(lambda: up(pressed[-1], states[-1]) == pytest.approx(-12.0, abs=0.2), 120.0)
    assert position(scene.box[-1])[2] == pytest.approx(start[2], abs=1e-3)
    assert bench.change(carry__force_axes='').successful
    raised = np.array([*position(scene.poses[-1]), 0.0, 0.0, 0.0, 1.0])
    raised[2] += 0.1
    targets.publish(pose_message(raised))
    network.expect(lambda: position(scene.box[-1])[2] > start[2] + 0.098, 240.0)
    raised[2] -= 0.1
    targets.publish(pose_message(raised))
    network.expect(lambda: position(scene.box[-1])[2] < start[2] + 5e-4, 240.0)
    scene.run(0.5)
    # The grips open when the squeeze is out: at once, 40 N would throw the hands aside.
    held = network.listen(Bool, f'{CONTROLLER}/carry/engaged', ros_nodes.LATCHED)
    network.expect(lambda: held and held[-1].data)
    del states[:]
    assert scene.engage(False).success
    network.expect(lambda: not held[-1].data, 240.0)
    scene.run(0.3)
    assert max(max(map(abs, state.velocity)) for state in states) < 0.1  # rad/s
    away = network.publisher(PoseStamped, f'{CONTROLLER}/left/target_pose')
    hand = network.listen(PoseStamped, f'{CONTROLLER}/left/current_pose', ALL)
    network.expect(lambda: hand)
    goal = np.array([*position(hand[-1]), 0.0, 0.0, 0.0, 1.0])
    goal[3:] = [getattr(hand[-1].pose.orientation, axis) for axis in 'xyzw']
    goal[1] += 0.1
    away.publish(pose_message(goal))
    network.expect(lambda: position(hand[-1])[1] > goal[1] - 2e-3, 240.0)
    np.testing.assert_allclose(position(scene.box[-1]), start, atol=5e-3)  # it stays behind


def test_refusals_have_reasons(network):
    """Hands that are not where the object's grasp poses say; parameters that cannot be."""
    poses = [0.0, -0.29, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.29, 0.0, 0.0, 0.0, 0.0, 1.0]
    scene = Scene(network, **{'carry.grasp_poses': poses})
    scene.run(0.05)
    response = scene.engage(True)
    assert not response.success
    assert "'l_hand' is" in response.message and 'Bring it within' in response.message
    bench = Bench.__new__(Bench)
    bench.network = network
    for values in ({'carry__squeeze': 300.0}, {'carry__mass': -1.0},
                   {'carry__inertia': [-1.0] + [0.0] * 5}, {'carry__kp': -1.0}):
        result = bench.change(**values)
        assert not result.successful
        assert result.reason
    assert bench.change(carry__squeeze=5.0, carry__mass=2.0).successful


def test_a_contact_holds_a_link(network):
    scene = Scene(network)
    scene.run(0.1)
    assert scene.engage(True, name='elbow').success
    diagnostics = network.listen(DiagnosticArray, '/diagnostics', ALL)
    network.expect(lambda: diagnostics)
    values = {value.key: value.value for value in diagnostics[-1].status[0].values}
    assert values['elbow: engaged'] == 'yes'
    assert scene.engage(False, name='elbow').success

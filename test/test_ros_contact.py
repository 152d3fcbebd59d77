# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Two nodes in lock-step: a simulated arm with a wrist sensor is told on topics to press."""

import array

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes
from contact_bench import BALL, HOME, MODEL, TOOL_CENTER, TOOL_MASS, panda_text
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from ros_nodes import CONTROLLER
from std_srvs.srv import Trigger

from opspace_control import RobotState
from opspace_control.ros.middleware.conversions import fill_message, six_from_message

WANTED, GAP = 20.0, 0.01
ARM = {'robot_description': panda_text(), 'command_joints': list(HOME)}


class Rig:
    """Simulator and controller, and what is heard of them."""

    def __init__(self, network):
        self.network = network
        state = RobotState(MODEL, [HOME.get(name, 0.0) for name in MODEL.dof_names],
                           np.zeros(MODEL.nv))
        x, y, z = MODEL.forward_kinematics(state, ['tip'])['tip'][:3, 3]
        network.start('simulator', ARM | {
            'pace': 'lock_step', 'timestep': 0.002, 'contacts': True, 'objects': ['plate'],
            'plate.fixed': True,
            'plate.size': [0.4, 0.4, 0.1], 'plate.friction': 0.1,
            'plate.pose': [x, y, z - BALL - GAP - 0.05, 0.0, 0.0, 0.0, 1.0],
            'wrench_sensors': ['sensor'], 'contact_sensors': ['sensor'],
            **{f'initial_positions.{joint}': position for joint, position in HOME.items()}})
        self.controller = network.start('controller', ARM | {
            'tasks': ['tip'], 'tip.force_axes': 'z', 'tip.kp': 400.0, 'sensors': ['wrist'],
            'tip.sensor': 'wrist', 'wrist.frame': 'sensor', 'wrist.tool_mass': TOOL_MASS,
            'wrist.tool_center': list(TOOL_CENTER), 'safety.state_timeout': 0.0},
            ['-r', '~/wrist/wrench:=sensor/wrench'])
        self.touch = network.listen(WrenchStamped, 'sensor/contact_wrench')
        self.measured = network.listen(WrenchStamped, f'{CONTROLLER}/tip/measured_wrench')
        self.poses = network.listen(PoseStamped, f'{CONTROLLER}/tip/current_pose')
        self.goals = network.publisher(WrenchStamped, f'{CONTROLLER}/tip/target_wrench')
        network.expect(lambda: self.poses and self.measured, ros_nodes.COMPILING)

    def want(self, force, frame='panda_link0'):
        message = WrenchStamped()
        message.header.frame_id = frame
        fill_message(message.wrench, np.array([0.0, 0.0, force, 0.0, 0.0, 0.0]))
        self.goals.publish(message)

    def pressed(self):
        """Return the newest force between tool and plate, N."""
        return np.linalg.norm(six_from_message(self.touch[-1].wrench)[:3]) if self.touch else 0.0

    def run(self, seconds):
        """Let simulated time go on."""
        begin = _seconds(self.touch[-1]) if self.touch else 0.0
        self.network.expect(lambda: self.touch and _seconds(self.touch[-1]) > begin + seconds, 120)

    def set(self, name, value):
        answer = self.network.call(
            SetParametersAtomically, f'{CONTROLLER}/set_parameters_atomically',
            parameters=[Parameter(name, value=value).to_parameter_msg()])
        assert answer.result.successful, answer.result.reason


def _seconds(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


@pytest.fixture(scope='module')
def rig():
    with ros_nodes.network() as network:
        yield Rig(network)


def test_it_finds_the_plate_and_presses_as_told_by_its_sensor(rig):
    rig.run(0.8)  # until it has come in
    assert rig.pressed() == 0.0
    rig.want(-WANTED)
    rig.run(1.5)
    assert rig.pressed() == pytest.approx(WANTED, rel=0.01)
    measured = six_from_message(rig.measured[-1].wrench)  # in the tip's axes: z is down
    assert measured[2] == pytest.approx(WANTED, rel=0.02)
    for wanted in (10.0, 15.0):
        rig.want(-wanted)
        rig.run(0.8)
        assert rig.pressed() == pytest.approx(wanted, rel=0.01)


def test_it_leaves_when_told_to_pull_and_to_move(rig):
    rig.want(-WANTED)
    rig.run(1.5)
    rig.set('tip.force_axes', '')
    rig.run(0.8)
    assert rig.pressed() < 1.5 * WANTED  # it holds where it was
    here = rig.poses[-1]
    goals = rig.network.publisher(PoseStamped, f'{CONTROLLER}/tip/target_pose')
    here.pose.position.z += 0.03
    rig.network.send(goals, here, lambda: rig.poses[-1] is not here and abs(
        rig.poses[-1].pose.position.z - here.pose.position.z) < 1e-3)
    rig.run(0.1)
    assert rig.pressed() == 0.0
    rig.set('tip.force_axes', 'z')
    rig.want(-WANTED)
    rig.run(2.0)
    assert rig.pressed() == pytest.approx(WANTED, rel=0.01)


def test_to_hold_is_to_let_go(rig):
    rig.want(-WANTED)
    rig.run(1.0)
    assert rig.network.call(Trigger, f'{CONTROLLER}/hold').success
    rig.run(2.0)
    assert rig.pressed() < 0.5


def test_a_yielding_task_is_pushed_by_what_presses_it(rig):
    """In impedance the plate is a hindrance like any other: K e is what it feels."""
    rig.set('tip.force_axes', '')
    rig.set('tip.stiffness', array.array('d', [400.0] * 3 + [30.0] * 3).tolist())
    rig.set('tip.mode', 'impedance')
    rig.run(0.8)
    goals = rig.network.publisher(PoseStamped, f'{CONTROLLER}/tip/target_pose')
    goal = rig.poses[-1]
    surface = goal.pose.position.z
    goal.pose.position.z = surface - 0.03
    rig.network.send(goals, goal, rig.pressed)
    rig.run(2.0)
    depth = rig.poses[-1].pose.position.z - goal.pose.position.z
    assert depth > 0.01
    assert rig.pressed() == pytest.approx(400.0 * depth, rel=0.02)

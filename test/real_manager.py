# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A real controller manager with the plug-in of native/ros2_control, where both are sourced."""

import contextlib
import math
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import rclpy
import yaml
from builtin_interfaces.msg import Duration
from controller_manager_msgs.srv import (
    ConfigureController,
    ListControllers,
    LoadController,
    SwitchController,
)
from geometry_msgs.msg import PoseStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from opspace_control import RobotState, library
from opspace_control.cli.main import main
from opspace_control.model import KinematicTree
from opspace_control.model.urdf import urdf_text
from opspace_control.ros.middleware.conversions import (
    fill_message,
    nanoseconds,
    pose_from_message,
)
from opspace_control.ros.parameters.controller_parameters import table_of
from opspace_control.ros.parameters.parameter_file import ParameterFile
from opspace_control.ros.parameters.robot import make_controller
from opspace_control.share import prefixes, share_directory

NAME = 'opspace_controller'
PLUGIN_TYPE = 'opspace_controller/OperationalSpaceController'
RATE = 500  # Hz
DOMAIN = 100 + os.getpid() % 100
URDF = share_directory() / 'urdf/dual_arm.urdf'
# Of hardware that stands still, with the commanded efforts as states.
STILL = urdf_text(URDF).replace(
    '<command_interface name="effort"/>',
    '<command_interface name="effort"/><state_interface name="effort"/>')
GIVEN = {**ParameterFile(share_directory() / 'config/dual_arm.yaml').of_node(NAME),
         # No observer of disturbances: a robot that does not move is one, and efforts increase.
         'disturbance.max_force': 0.0, 'disturbance.max_moment': 0.0}
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
TYPES = {'joint_state_broadcaster': 'joint_state_broadcaster/JointStateBroadcaster',
         'holder': 'forward_command_controller/ForwardCommandController',
         'goals': 'forward_command_controller/MultiInterfaceForwardCommandController'}


def find(path):
    """Return a file of one of the prefixes of ROS 2, or None."""
    return next((file for file in (Path(prefix, path) for prefix in prefixes())
                 if file.is_file()), None)


def find_plugin(kind, name):
    """Return the marker of a package with a plug-in, or None."""
    return find(f'share/ament_index/resource_index/{kind}__pluginlib__plugin/{name}')


NODE = find('lib/controller_manager/ros2_control_node')


needs_plugin = pytest.mark.skipif(
    not (NODE and find_plugin('controller_interface', 'opspace_controller')
         and library.is_there()),
    reason='needs ros2_control_node, the plug-in of native/ros2_control and the library of kernels')
needs_topic_hardware = pytest.mark.skipif(
    not find_plugin('hardware_interface', 'joint_state_topic_hardware_interface'),
    reason='needs topic-based hardware')


def controller_of(given):
    """Return the controller of the robot that stands still for parameters of the node."""
    values = {row.name: row.default for row in table_of(given)} | given
    return make_controller(STILL, values, floating_base=values['floating_base'])[0]


def export(folder):
    """Export the robot that stands still to a folder; return parameters of a plug-in for it."""
    (folder / 'robot.urdf').write_text(STILL)
    (folder / 'robot.yaml').write_text(yaml.safe_dump({NAME: {'ros__parameters': GIVEN}}))
    assert main(['export', str(folder / 'robot.urdf'), str(folder / 'robot.yaml'),
                 '-o', str(folder)]) == 0
    return {'block': str(folder / 'robot.block'), 'library': str(folder / 'libopspace_kernels.so')}


def goal_of(controller, *offset):
    """Return the pose of a controller's left hand, (7,), moved by an offset, m."""
    return controller.tasks['left_hand'].pose + np.r_[offset, np.zeros(4)]


def axes(part, names='xyz'):
    """Return the names of the interfaces of a part, such as position.x to position.z."""
    return [f'{part}.{name}' for name in names]


def sensor(name, values):
    """Return the XML of a sensor whose state interfaces, by name, begin with these values."""
    states = ''.join(f'<state_interface name="{each}"><param name="initial_value">{value}</param>'
                     '</state_interface>' for each, value in values.items())
    return f'<sensor name="{name}">{states}</sensor>'


def with_sensors(text, *sensors):
    """Return the URDF text of a robot whose hardware has sensors, too."""
    return text.replace('</ros2_control>', f'{"".join(sensors)}</ros2_control>')


class Manager:
    """
    A process of ros2_control_node with a broadcaster of joint states, and a client of it.

    There are types of the controllers 'holder', which gives all ``joints`` efforts, and 'goals',
    which precedes the ``plugin`` and gives the left hand goals. Efforts, (n,), are in the order of
    ``joints``; those of all joint states so far are in ``seen``, their times, ns, in ``stamps``.
    """

    def __init__(self, folder, text, plugin, parameters=None, environment=None):
        self.folder, self.log, self.processes = folder, folder / 'manager.log', []
        self.joints = KinematicTree.from_urdf(text).effort_joints
        self._environment = {**os.environ, 'ROS_DOMAIN_ID': str(DOMAIN),
                             'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=DOMAIN)
        self.node = rclpy.create_node('plugin_test', context=self._context)
        self.executor = rclpy.executors.SingleThreadedExecutor(context=self._context)
        self.executor.add_node(self.node)
        self.efforts, self.positions, self.seen, self.stamps = {}, {}, [], []
        # As many as may come while a test computes.
        self.node.create_subscription(JointState, 'joint_states', self._on_states, 1000)
        publisher = self.node.create_publisher(String, 'robot_description', LATCHED)
        publisher.publish(String(data=text))
        file = folder / 'manager.yaml'
        file.write_text(yaml.safe_dump(self._parameters(plugin, parameters or {})))
        self.command_line = [NODE, '--ros-args', '--params-file', file]
        self.process = self.start(self.command_line, environment)

    def _parameters(self, plugin, parameters):
        types = {name: {'type': kind} for name, kind in (TYPES | {plugin: PLUGIN_TYPE}).items()}
        own = {'controller_manager': {'update_rate': RATE, **types},
               'holder': {'joints': [*self.joints], 'interface_name': 'effort'},
               'goals': {'joint': f'{plugin}/left_hand', 'interface_names': [
                   *axes('position'), *axes('orientation', 'xyzw')]}}
        return {name: {'ros__parameters': own.get(name, {}) | parameters.get(name, {})}
                for name in {**own, **parameters}}

    def start(self, command, environment=None):
        """Return a process of the manager's domain, whose output goes to the log."""
        with self.log.open('ab') as log:
            self.processes.append(subprocess.Popen(
                [*map(str, command)], env=self._environment | (environment or {}), stdout=log,
                stderr=log))
        return self.processes[-1]

    def _on_states(self, message):
        self.efforts = dict(zip(message.name, message.effort, strict=False))
        self.positions = dict(zip(message.name, message.position, strict=False))
        self.seen.append([self.efforts.get(joint, math.nan) for joint in self.joints])
        self.stamps.append(nanoseconds(message.header.stamp))

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)

    def spin(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)

    def wait_until(self, condition, seconds=20.0):
        """Wait until a condition, or fail with the manager's log."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(self.said()[-4000:])
            self.executor.spin_once(timeout_sec=0.02)

    def said(self):
        """Return the log of all processes so far."""
        return self.log.read_text()

    def wait_for_words(self, *words, seconds=40.0):
        """Wait until a process has said any of some words."""
        self.wait_until(lambda: any(one in self.said() for one in words), seconds)

    def call(self, kind, service, again=math.inf, **fields):
        """Return the answer of a service; ask again after so many seconds without one."""
        client = self.node.create_client(kind, service)
        self.wait_until(client.service_is_ready, 40.0)
        futures, end = [], time.monotonic() + 40.0
        while not any(future.done() for future in futures) and time.monotonic() < end:
            futures.append(client.call_async(kind.Request(**fields)))
            due = min(time.monotonic() + again, end)
            while not futures[-1].done() and time.monotonic() < due:
                self.executor.spin_once(timeout_sec=0.02)
        self.wait_until(lambda: any(future.done() for future in futures), 0.0)
        self.node.destroy_client(client)
        return next(future.result() for future in futures if future.done())

    def load(self, name=NAME):
        assert self.call(LoadController, 'controller_manager/load_controller', name=name).ok
        return self.call(ConfigureController, 'controller_manager/configure_controller',
                         name=name).ok

    def switch(self, activate=(), deactivate=()):
        """Switch controllers between two cycles; without activate_asap another thread does it."""
        return self.call(SwitchController, 'controller_manager/switch_controller',
                         activate_controllers=[*activate], deactivate_controllers=[*deactivate],
                         strictness=SwitchController.Request.STRICT, activate_asap=True,
                         timeout=Duration(sec=20)).ok

    def begin(self, *names):
        """Have states of the joints, and load others, inactive."""
        for name in ('joint_state_broadcaster', *names):
            assert self.load(name)
        assert self.switch(['joint_state_broadcaster'])

    def states(self):
        return {each.name: each.state for each in self.call(
            ListControllers, 'controller_manager/list_controllers', again=2.0).controller}

    def state(self, name=NAME):
        return self.states().get(name)

    def effort(self):
        return np.array([self.efforts.get(joint, math.nan) for joint in self.joints])

    def wait_for_efforts(self, efforts, seconds=20.0):
        """Wait until the efforts are these."""
        self.wait_until(lambda: np.allclose(self.effort(), efforts, atol=1e-5), seconds)

    def seen_since(self, first):
        """Return the efforts since a first joint state, (k, n)."""
        return np.reshape(self.seen[first:], (-1, len(self.joints)))

    def assert_constant(self, efforts, first):
        """Check that these are the efforts since a first joint state, of a hundred and more."""
        self.wait_until(lambda: len(self.seen) > first + 100)
        seen = self.seen_since(first)
        np.testing.assert_allclose(seen, np.broadcast_to(efforts, seen.shape), atol=1e-5)

    def fastest_change(self, first):
        """Return the fastest change of efforts since a first joint state, N m/s."""
        changes = abs(np.diff(self.seen_since(first), axis=0)).max(axis=1)
        return (changes / np.diff(self.stamps[first:])).max() * 1e9

    def resting_state(self, controller):
        """Return the state of the joints, at rest."""
        self.wait_until(lambda: self.positions)
        q = np.array([self.positions[joint] for joint in controller.model.dof_names])
        return RobotState(controller.model, q, np.zeros(controller.model.nv))

    def wanted_efforts(self, controller, goal=None):
        """Return the efforts at rest where the robot is, its pose being the goals, or another."""
        state = self.resting_state(controller)
        controller.hold()
        controller.compute_torque(state, dt=0.0)
        if goal is not None:
            controller.tasks['left_hand'].set_target(goal)
        return controller.compute_torque(state, dt=0.0).copy()

    def send_goal(self, goal):
        """Send the left hand a goal (7,)."""
        message = PoseStamped()
        fill_message(message.pose, goal)
        publisher = self.node.create_publisher(PoseStamped, f'{NAME}/left_hand/target_pose', 1)
        self.wait_until(lambda: publisher.get_subscription_count() > 0)
        for _ in range(3):  # the other end may find the publisher later, and misses what was before
            publisher.publish(message)
            self.spin(0.05)

    def command(self, controller, numbers, seconds=0.4):
        """Have a forward controller command numbers for a time."""
        publisher = self.node.create_publisher(Float64MultiArray, f'{controller}/commands', 1)
        self.wait_until(publisher.get_subscription_count)
        for _ in range(round(seconds / 0.02)):
            publisher.publish(Float64MultiArray(data=[*map(float, numbers)]))
            self.spin(0.02)

    def listen_to_pose(self):
        """Return the list of the poses of the left hand, (7,), that come, once there is one."""
        poses = []
        self.node.create_subscription(
            PoseStamped, f'{NAME}/left_hand/current_pose',
            lambda message: poses.append(pose_from_message(message.pose)), 10)
        self.wait_until(lambda: poses)
        return poses


@contextlib.contextmanager
def managers(make):
    """Return ``make``, a function that returns a Manager, which is closed at the end."""
    with contextlib.ExitStack() as stack:
        def made(*arguments, **options):
            manager = make(*arguments, **options)
            stack.callback(manager.close)
            return manager
        yield made

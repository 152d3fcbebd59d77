# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A real controller manager with the plug-in of native/ros2_control, where both are sourced."""

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
from controller_manager_msgs.srv import (
    ConfigureController,
    ListControllers,
    LoadController,
    SwitchController,
)
from geometry_msgs.msg import PoseStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from opspace_control import RobotState, library
from opspace_control.model.urdf import urdf_text
from opspace_control.ros.middleware.conversions import fill_message, nanoseconds
from opspace_control.ros.parameters.controller_parameters import table_of
from opspace_control.ros.parameters.parameter_file import ParameterFile
from opspace_control.ros.parameters.robot import make_controller
from opspace_control.share import prefixes, share_directory

NAME = 'opspace_controller'
URDF = share_directory() / 'urdf/dual_arm.urdf'
# Of hardware that stands still, with the commanded efforts as states.
STILL = urdf_text(URDF).replace(
    '<command_interface name="effort"/>',
    '<command_interface name="effort"/><state_interface name="effort"/>')
GIVEN = {**ParameterFile(share_directory() / 'config/dual_arm.yaml').of_node(NAME),
         # No observer of disturbances: a robot that does not move is one, and efforts increase.
         'disturbance.max_force': 0.0, 'disturbance.max_moment': 0.0}
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def find(path):
    """Return a file of one of the prefixes of ROS 2, or None."""
    return next((file for file in (Path(prefix, path) for prefix in prefixes())
                 if file.is_file()), None)


NODE = find('lib/controller_manager/ros2_control_node')
PLUGIN = find('share/ament_index/resource_index/controller_interface__pluginlib__plugin/'
              'opspace_controller')


needs_plugin = pytest.mark.skipif(
    not (NODE and PLUGIN and library.is_there()),
    reason='needs ros2_control_node, the plug-in of native/ros2_control and the library of kernels')


def controller_of(given):
    """Return the controller of the robot that stands still for parameters of the node."""
    values = {row.name: row.default for row in table_of(given)} | given
    return make_controller(STILL, values, floating_base=values['floating_base'])[0]


class Manager:
    """A process of ros2_control_node, and a node that is its client."""

    def __init__(self, folder, text, parameters, domain):
        self.folder, self.joints = folder, []
        self._environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain),
                             'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
        self.log = folder / 'manager.log'
        self.processes = []
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=domain)
        self.node = rclpy.create_node('plugin_test', context=self._context)
        self.executor = rclpy.executors.SingleThreadedExecutor(context=self._context)
        self.executor.add_node(self.node)
        self.efforts, self.positions, self.seen, self.trips = {}, {}, [], []
        self.stamps = []  # ns, of what was seen
        # As many as may come while a test computes.
        self.node.create_subscription(JointState, 'joint_states', self._on_states, 1000)
        self.node.create_subscription(
            String, f'{NAME}/trip', lambda message: self.trips.append(message.data), LATCHED)
        publisher = self.node.create_publisher(String, 'robot_description', LATCHED)
        publisher.publish(String(data=text))
        file = folder / 'manager.yaml'
        file.write_text(yaml.safe_dump(parameters))
        self.process = self.start([NODE, '--ros-args', '--params-file', file])

    def start(self, command):
        """Return a process of the manager's domain, whose output goes to the log."""
        with self.log.open('ab') as log:
            self.processes.append(subprocess.Popen(
                [*map(str, command)], env=self._environment, stdout=log, stderr=log))
        return self.processes[-1]

    def _on_states(self, message):
        self.efforts = dict(zip(message.name, message.effort, strict=False))
        self.positions = dict(zip(message.name, message.position, strict=False))
        self.seen.append(self.efforts)
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
                raise AssertionError(self.log.read_text()[-4000:])
            self.executor.spin_once(timeout_sec=0.02)

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
        return self.call(SwitchController, 'controller_manager/switch_controller',
                         activate_controllers=[*activate], deactivate_controllers=[*deactivate],
                         strictness=SwitchController.Request.STRICT).ok

    def states(self):
        return {each.name: each.state for each in self.call(
            ListControllers, 'controller_manager/list_controllers', again=2.0).controller}

    def state(self, name=NAME):
        return self.states().get(name)

    def effort(self, joints):
        return np.array([self.efforts.get(joint, math.nan) for joint in joints])

    def wanted_efforts(self, controller, goal=None):
        """Return the efforts at rest where the robot is, its pose being the goals, or another."""
        self.wait_until(lambda: self.positions)
        q = np.array([self.positions[joint] for joint in controller.model.dof_names])
        state = RobotState(controller.model, q, np.zeros(controller.model.nv))
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
        publisher.publish(message)

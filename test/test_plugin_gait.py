# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A quadruped on a MuJoCo floor trots with its cycles in the plug-in, in a real controller manager.

Runs where ros2_control, the plug-in of native/ros2_control and test/stepped_hardware are built and
sourced.
"""

import socket
import threading
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip(
    'controller_manager_msgs',
    reason='needs ros2_control and the plug-in of native/ros2_control, built and sourced')

import rclpy
from geometry_msgs.msg import Twist
from legged_nodes import STEP, given, steps
from legged_nodes import Robot as Legged
from plugin_robot import PLUG, ROUTE, Robot
from real_manager import DOMAIN, axes, find_plugin, managers, needs_plugin, sensor
from rosgraph_msgs.msg import Clock

from opspace_control.ros.middleware.conversions import time_message

pytestmark = [needs_plugin, pytest.mark.skipif(
    not find_plugin('hardware_interface', 'opspace_stepped_hardware'),
    reason='needs the hardware of test/stepped_hardware, built and sourced')]
_NODE_WAIT = 2.0  # s, for a node


class Simulation(Legged):
    """
    The robot of hardware whose states the manager reads: a step for each of its cycles.

    Its time is that of the manager, by /clock. The robot stands still until its first effort. From
    `wait_for_node` on a step waits until the node has seen the cycle before and has answered it, so
    that what the robot does depends on no processor.
    """

    def __init__(self, name, path):
        super().__init__(name)
        self.text = self.text.replace('</robot>', f'{self._hardware(path)}</robot>')
        self._frame = None
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=DOMAIN)
        self._node = rclpy.create_node('simulation', context=self._context)
        self._clock = self._node.create_publisher(Clock, 'clock', 10)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.bind(str(path))
        self._socket.listen(1)
        self._count, self._requests, self._ended = 0, 0, False
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _hardware(self, path):
        joints = ''.join(
            f'<joint name="{joint}"><command_interface name="effort"/>'
            '<state_interface name="position"/><state_interface name="velocity"/></joint>'
            for joint in self.order)
        base = dict.fromkeys([*axes('position'), *axes('linear_velocity')], 0.0)
        imu = dict.fromkeys([*axes('orientation', 'xyzw'), *axes('angular_velocity')], 0.0)
        return ('<ros2_control name="robot" type="system"><hardware>'
                '<plugin>opspace_stepped_hardware/SteppedHardware</plugin>'
                f'<param name="socket">{path}</param></hardware>'
                f'{joints}{sensor("base", base)}{sensor("imu", imu)}</ros2_control>')

    def wait_for_node(self, frame):
        """From now on wait for the node that is attached to the memory of this FRAME."""
        self._frame = frame

    def close(self):
        self._ended = True
        self._thread.join()
        self._socket.close()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def _serve(self):
        manager = self._receive(lambda: self._socket.accept()[0], self._socket)
        while not self._ended:
            sent = self._receive(lambda: manager.recv(4096), manager)
            if not sent:
                break
            self._requests += 1
            self._efforts[self._driven] = np.nan_to_num(np.frombuffer(sent)[1:])
            if self.efforts or self._efforts.any():
                self._wait()
                self._step()
            else:
                time.sleep(STEP)
            self._count += 1
            manager.sendall(self._states().tobytes())
            self._tell_time()
        if manager:
            manager.close()

    def _receive(self, receive, source):
        """Return what comes; until then tell the time, which goes on before the first request."""
        source.settimeout(0.1 if self._requests else 0.01)
        while not self._ended:
            try:
                return receive()
            except TimeoutError:  # what was told before may have been lost
                self._count += not self._requests
                self._tell_time()
        return None

    def _tell_time(self):
        self._clock.publish(Clock(clock=time_message(round(1e9 * (10.0 + STEP * self._count)))))

    def _wait(self):
        """Wait for two signs of life of the node: between them it answers."""
        end = time.monotonic() + _NODE_WAIT
        beat = time.monotonic_ns()
        for _ in range(2):
            while self._frame is not None and self._beat() <= beat and time.monotonic() < end:
                time.sleep(1e-4)
            beat = self._beat()

    def _beat(self):
        return 0 if self._frame is None else self._frame['beat'].item()

    def _states(self):
        """Return all states in the order of the URDF."""
        physics, pose, twist = self.physics, self.physics.base_pose, self.twist
        return np.r_[
            np.c_[physics.positions, physics.velocities][self._driven].reshape(-1),
            pose[:3], twist[:3], pose[3:], twist[3:]]


@pytest.fixture
def robot(tmp_path):
    """Return the simulation of a quadruped and its manager, once the plug-in is active."""
    simulation = Simulation('b1', tmp_path / 'socket')
    try:
        with managers(Robot) as make:
            robot = make(tmp_path, simulation.text, parameters={
                'controller_manager': {'use_sim_time': True}})
            robot.run_node(given={
                **given('b1', 'opspace_controller'), **ROUTE, 'use_sim_time': True,
                'plugin.base': 'base', 'plugin.imu': 'imu', 'plugin.rate': 2000.0,
                'safety.node_timeout': 5.0, 'safety.state_timeout': 0.0})
            robot.wait_for('active')
            simulation.wait_for_node(robot.memory()[1])
            yield robot, simulation
    finally:
        simulation.close()


def run(robot, simulation, seconds, command=None):
    """Go on for some seconds of the simulation, with a velocity ahead, m/s, if there is one."""
    cmd_vel, twist = robot.node.create_publisher(Twist, 'cmd_vel', 1), Twist()
    for _ in range(round(10.0 * seconds)):
        if command is not None:
            twist.linear.x = command
            cmd_vel.publish(twist)
        end = len(simulation.heights) + steps(0.1)
        robot.wait_until(lambda end=end: len(simulation.heights) >= end, 60.0)
    robot.node.destroy_publisher(cmd_vel)


def test_it_trots_and_stands(robot):
    """As on the route of topics; its attitude comes from an IMU."""
    robot, simulation = robot
    run(robot, simulation, 0.5)
    assert np.ptp(simulation.heights) < 0.01
    assert np.max(simulation.speeds) < 0.05 and max(simulation.efforts) < 0.5
    run(robot, simulation, 1.2, 0.5)
    start = simulation.position.copy()
    run(robot, simulation, 1.0, 0.5)
    assert simulation.position[0] - start[0] == pytest.approx(0.5, abs=0.05)
    assert abs(simulation.position[1] - start[1]) < 0.02
    assert np.max(simulation.speeds[-steps(0.5):]) > 0.1  # it steps
    assert simulation.tilt < 0.1
    run(robot, simulation, 0.5 + 0.5 + 0.8)
    assert np.max(simulation.speeds[-steps(0.1):]) < 0.03
    assert simulation.position[2] == pytest.approx(0.566, abs=0.01)
    assert robot.state(PLUG) == 'active'
    assert robot.reports['message'] == 'Active.'

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A controller node in lock-step with a robot on legs, on a MuJoCo floor in the test."""

import array
import copy
import math

import mujoco
import numpy as np
import ros_nodes
from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.task import Future
from ros_nodes import CONTROLLER
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from opspace_control.cli.robots import demo_robot
from opspace_control.model import KinematicTree
from opspace_control.ros.middleware.conversions import fill_message, time_message
from opspace_control.ros.parameters.joints import command_joints
from opspace_control.ros.parameters.parameter_file import ParameterFile
from opspace_control.share import share_directory
from opspace_control.simulation import Shape, SimulatedRobot
from opspace_control.spatial.rotations import matrix_from_quaternion

STEP = 0.002  # s
_START = 10.0  # s, of the stamps: a stamp of zero is none


def given(name, node):
    """Return the parameters of a node in config/<name>.yaml."""
    return ParameterFile(share_directory() / 'config' / f'{name}.yaml').of_node(node)


def steps(seconds):
    """Return how many steps of the robot some seconds have."""
    return round(seconds / STEP)


def fastest_fall(heights):
    """Return the greatest speed, m/s, averaged over 20 ms, at which heights, m, decrease."""
    over = steps(0.02)
    return np.convolve(-np.diff(heights) / STEP, np.full(over, 1.0 / over), 'valid').max()


class Robot:
    """
    A robot on legs, on a MuJoCo floor; drives cut efforts at their limits.

    ``speeds`` are those of the joints in each step, (12,), in parts of their limits; ``efforts``
    the greatest that is commanded to any joint, likewise; ``heights`` those of the trunk, m.
    """

    def __init__(self, name):
        robot, simulated = demo_robot(name), given(name, 'opspace_simulator')
        self.text, self.feet = robot.path().read_text(), robot.feet
        tree = KinematicTree.from_urdf(self.text)
        self.order = command_joints(tree, simulated['command_joints'])
        self.physics = SimulatedRobot(
            self.text, floating_base=True, floor=True, friction=simulated['friction'],
            locked_joints=[joint for joint in tree.joint_names if joint not in self.order],
            joint_friction=simulated['joint_friction'],
            shapes=[Shape(link, size) for link, size in robot.shapes.items()])
        self._steps = round(STEP / self.physics.timestep)
        names = self.physics.joint_names
        self._driven = [names.index(joint) for joint in self.order]
        self._fastest = tree.velocity_limits[
            [tree.dof_index(joint) for joint in names]]
        self.physics.reset(robot.start, base_pose=simulated['initial_base_pose'])
        self._efforts = np.zeros(len(names))
        self.speeds, self.efforts, self.heights = [], [], []

    time = property(lambda self: _START + self.physics.time)
    position = property(lambda self: self.physics.base_pose[:3])
    velocity = property(lambda self: self.physics.base_twist[:3])

    @property
    def tilt(self):
        """Tilt of the trunk, rad."""
        x, y = self.physics.base_pose[3:5]
        return math.acos(1.0 - 2.0 * (x * x + y * y))

    @property
    def twist(self):
        """Twist of the trunk in its own axes, (6,), m/s and rad/s."""
        R = matrix_from_quaternion(self.physics.base_pose[3:])
        return (self.physics.base_twist.reshape(2, 3) @ R).reshape(6)

    def _step(self):
        physics = self.physics
        physics.set_effort(self._efforts)
        physics.step(self._steps)
        self.speeds.append(abs(physics.velocities) / self._fastest)
        self.efforts.append((abs(self._efforts) / physics.effort_limits).max())
        self.heights.append(physics.base_pose[2])


class Legged(Robot):
    """500 steps a second, each for a command of the node."""

    def __init__(self, network, name, parameters):
        super().__init__(name)
        self.network = network
        self.process = network.start('controller', {
            **given(name, 'opspace_controller'), 'robot_description': self.text,
            'safety.state_timeout': 0.0, **parameters})
        self._answer = Future()
        network.node.create_subscription(
            Float64MultiArray, ros_nodes.COMMANDS, self._on_command, QoSProfile(depth=1000))
        self._states = network.publisher(JointState, 'joint_states', ros_nodes.LATCHED)
        self._odom = network.publisher(Odometry, 'odom', ros_nodes.LATCHED)
        self._stamped = parameters.get('legs.cmd_vel_stamped', False)
        self._cmd_vel = network.publisher(
            TwistStamped if self._stamped else Twist, 'cmd_vel') if self.feet else None

    def run(self, seconds, *, odometry=True):
        """Go on, a step for each command."""
        for _ in range(steps(seconds)):
            self._exchange(odometry)
            self._step()

    def put(self, positions, pose):
        """Put the robot somewhere, at rest, joints at positions, rad, by name."""
        time = self.physics.time
        self.physics.reset(positions, base_pose=pose)
        self.physics.data.time = time

    def live(self, seconds, *, states):
        """Go on as time passes, under the last efforts, with or without telling states."""
        for _ in range(steps(seconds)):
            if states:
                self._tell(True)
            self.network.spin(STEP)
            self._step()

    def fall(self, seconds=1.0):
        """
        Return the greatest speeds of a fall from the present state that nothing damps.

        They are that of a joint, in parts of its limit, and of the sinking trunk, m/s.
        """
        physics, before = self.physics, copy.copy(self.physics.data)
        speeds, heights = [], []
        physics.set_effort(np.zeros_like(self._efforts))
        for _ in range(steps(seconds)):
            physics.step(self._steps)
            speeds.append(abs(physics.velocities) / self._fastest)
            heights.append(physics.base_pose[2])
        mujoco.mj_copyData(physics.data, physics.model, before)
        return np.max(speeds), fastest_fall(heights)

    def command(self, vx, stamp=None):
        """Send a velocity ahead, m/s, if stamped with the present time or another one, s."""
        twist = Twist()
        twist.linear.x = vx
        message = TwistStamped(twist=twist) if self._stamped else twist
        if self._stamped:
            stamp = self.time if stamp is None else stamp
            message.header.stamp = time_message(round(1e9 * stamp))
        self._cmd_vel.publish(message)
        self.network.spin(0.02)

    def go(self, seconds, vx):
        """Go on with a velocity ahead, m/s, which is sent every 0.1 s."""
        for _ in range(round(seconds / 0.1)):
            self.command(vx)
            self.run(0.1)

    def change(self, **parameters):
        """Change parameters of the node; return the reason of a refusal, '' without one."""
        result = self.network.call(
            SetParametersAtomically, f'{CONTROLLER}/set_parameters_atomically',
            parameters=[Parameter(name.replace('__', '.'), value=value).to_parameter_msg()
                        for name, value in parameters.items()]).result
        return '' if result.successful else result.reason

    def hold(self):
        """Call ~/hold."""
        assert self.network.call(Trigger, f'{CONTROLLER}/hold').success

    def said(self, text):
        """Return whether the node has said something."""
        return text in self.process.said()

    def _exchange(self, odometry):
        self._answer = Future()
        for _ in range(100):
            self._tell(odometry)
            if self.network.wait(self._answer, 0.2):
                return
        self.network.fail()

    def _tell(self, odometry):
        """Publish the state of base and joints."""
        stamp = time_message(round(1e9 * self.time))
        base = Odometry(child_frame_id=self.physics.link_names[0])
        base.header.frame_id, base.header.stamp = 'odom', stamp
        fill_message(base.pose.pose, self.physics.base_pose)
        fill_message(base.twist.twist, self.twist)
        joints = JointState(
            name=list(self.physics.joint_names), position=array.array('d', self.physics.positions),
            velocity=array.array('d', self.physics.velocities))
        joints.header.stamp = stamp
        if odometry:
            self._odom.publish(base)
        self._states.publish(joints)

    def _on_command(self, message):
        self._efforts[self._driven] = message.data
        if not self._answer.done():
            self._answer.set_result(None)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A controller node in lock-step with a simulated robot of any kind, floating or fixed."""

import array

import numpy as np
import ros_nodes
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.task import Future
from ros_nodes import COMMANDS, LATCHED
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control.model import KinematicTree
from opspace_control.ros.middleware.conversions import fill_message
from opspace_control.ros.parameters.joints import command_joints
from opspace_control.simulation import SimulatedRobot
from opspace_control.spatial.rotations import matrix_from_quaternion

RATE, STEP = 20.0, 0.002  # 1/s, s
PARAMETERS = {
    'limits.effort_rate': RATE, 'safety.ramp_time': 0.1, 'safety.release_time': 0.5,
    'safety.state_timeout': 0.0}  # in lock-step the robot waits for the controller


class LockStepRobot:
    """
    500 steps a second, each for a command; odometry, if its base floats, before each joint state.

    Parameters
    ----------
    network : Network
    name : str
        Of one of our robots.
    parameters : dict
        Of the controller node.
    start : dict of str to float
        Positions of joints, rad or m.
    twist : (6,) array_like, optional
        Of a floating base at the start.
    **options
        Of the SimulatedRobot.

    """

    def __init__(self, network, name, parameters, start, twist=None, **options):
        self.network = network
        text = ros_nodes.robot_text(name)
        self.physics = SimulatedRobot(text, **options)
        floating = self.physics.floating_base
        self.physics.reset(start, **({'base_twist': twist} if floating else {}))
        tree = KinematicTree.from_urdf(text)
        self.order = command_joints(tree)
        self._limits = tree.effort_limits[[tree.dof_index(joint) for joint in self.order]]
        self.commands = []  # (joints,) in this order, all ever
        self._answer = Future()
        network.node.create_subscription(
            Float64MultiArray, COMMANDS, self._on_command, QoSProfile(depth=1000))
        self.process = network.start(
            'controller', {'robot_description': text, **PARAMETERS, **parameters})
        self.states = network.publisher(JointState, 'joint_states', LATCHED)
        self.odom = network.publisher(Odometry, 'odom', LATCHED) if floating else None

    def run(self, seconds, odometry=lambda message, k: message):
        """Go on for some time; what is sent instead of each odometry may be None: nothing."""
        for k in range(round(seconds / STEP)):
            odom = odometry(self.odometry(), k) if self.odom else None
            self._answer = Future()
            for _ in range(100):
                if odom is not None:
                    self.odom.publish(odom)
                self.states.publish(self.state())
                if self.network.wait(self._answer, 0.2):
                    break
            else:
                self.network.fail()
            self.physics.set_effort(dict(zip(self.order, self.commands[-1], strict=True)))
            self.physics.step(round(STEP / self.physics.timestep))

    def state(self):
        """Return the joint state as it is measured, without delay."""
        seen = self.physics.measured
        return self._stamped(JointState(
            name=list(self.physics.joint_names), position=array.array('d', seen.positions),
            velocity=array.array('d', seen.velocities)))

    def odometry(self):
        """Return the odometry as it is."""
        message = self._stamped(Odometry(child_frame_id=self.physics.link_names[0]))
        message.header.frame_id = 'odom'
        pose = self.physics.base_pose
        fill_message(message.pose.pose, pose)
        R = matrix_from_quaternion(pose[3:])
        fill_message(message.twist.twist, (self.physics.base_twist.reshape(2, 3) @ R).reshape(6))
        return message

    def send_goal(self, task, link, offset):
        """Send a hand elsewhere, (3,) m; return the goal (7,) when the hand is on its way."""
        start = self.physics.frame_pose(link)
        goal = start.copy()
        goal[:3] += offset
        message = PoseStamped()
        fill_message(message.pose, goal)
        publisher = self.network.publisher(
            PoseStamped, f'{ros_nodes.CONTROLLER}/{task}/target_pose')
        for _ in range(50):
            publisher.publish(message)
            self.run(0.02)
            if np.linalg.norm(self.physics.frame_pose(link)[:3] - start[:3]) > 2e-4:
                return goal
        self.network.fail()

    def change(self, **values):
        """Set parameters of the controller, numbers or lists of names; return the result."""
        return self.network.call(
            SetParametersAtomically, f'{ros_nodes.CONTROLLER}/set_parameters_atomically',
            parameters=[Parameter(
                name.replace('__', '.'), Parameter.Type.STRING_ARRAY if isinstance(value, list)
                else None, value).to_parameter_msg() for name, value in values.items()]).result

    def off(self, link, goal):
        """Return how far a link is from a goal (7,), m."""
        return np.linalg.norm(self.physics.frame_pose(link)[:3] - goal[:3])

    def said(self, text):
        """Return whether the node has said something."""
        return text in self.process.said()

    def check(self):
        """Every command is finite, within the limits, and as near to the last as it must be."""
        efforts = np.array(self.commands)
        assert np.isfinite(efforts).all()
        assert (abs(efforts) <= self._limits * (1.0 + 1e-12)).all()
        assert (abs(np.diff(efforts, axis=0)) <= RATE * 0.01 * self._limits * (1.0 + 1e-9)).all()

    def _stamped(self, message):
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = divmod(round(1e9 * (1.0 + self.physics.time)), 1_000_000_000)
        return message

    def _on_command(self, message):
        self.commands.append(np.array(message.data))
        if not self._answer.done():
            self._answer.set_result(None)

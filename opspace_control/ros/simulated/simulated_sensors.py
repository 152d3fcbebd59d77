# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Odometry, wrenches and contacts of a simulated robot, on the topics of a real one."""

import time
from functools import partial

import numpy as np
from geometry_msgs.msg import TransformStamped, WrenchStamped
from nav_msgs.msg import Odometry
from std_msgs.msg import Bool

from opspace_control.ros.middleware.conversions import TFMessage, fill_pose, fill_twist, fill_wrench
from opspace_control.ros.middleware.qos import LATCHED, RELIABLE, TF
from opspace_control.spatial.rotations import matrix_from_quaternion

_TF_PERIOD = 0.02  # s


class SimulatedSensors:
    """
    Publishers of ``odom`` and its transform, and of the wrenches at links and of their contacts.

    Odometry is that of the root link, its twist in the link's own axes, as in nav_msgs/Odometry.
    The others are computed only for subscribers.

    Parameters
    ----------
    node : rclpy.node.Node
    robot : SimulatedRobot
        With sensors at the links of ``wrench_sensors``.
    parameters : mapping
        Values of the simulator node's parameters.

    """

    def __init__(self, node, robot, parameters):
        self._robot = robot
        self._outlets = []
        self._odometry = self._tf = None
        if robot.floating_base:
            self._odometry = Odometry(child_frame_id=robot.link_names[0])
            self._odometry.header.frame_id = parameters['odom_frame']
            self._odom = node.create_publisher(Odometry, 'odom', LATCHED)
            if parameters['broadcast_base'] and TFMessage is not None:
                self._tf = node.create_publisher(TFMessage, '/tf', TF)
                self._told = np.inf, -np.inf  # when, s of the robot and of a steady clock
        for link in parameters['wrench_sensors']:
            self._add_wrench(node, f'{link}/wrench', link, robot.wrench)
        for link in parameters['contact_sensors']:
            self._add_wrench(node, f'{link}/contact_wrench', link, robot.contact_wrench)
            flag = Bool()
            self._add(node, f'{link}/in_contact', flag, partial(self._fill_flag, flag, link))

    def publish(self, stamp):
        """Publish the sensor values of the present state, with this time stamp."""
        if self._odometry:
            self._fill_odometry(self._odometry, stamp)
            self._odom.publish(self._odometry)
        if self._tf and self._is_tf_due():
            self._tf.publish(_transform(self._odometry))
        for publisher, message, fill in self._outlets:
            if publisher.get_subscription_count():
                fill(stamp)
                publisher.publish(message)

    def _add(self, node, topic, message, fill):
        publisher = node.create_publisher(type(message), topic, RELIABLE)
        self._outlets.append((publisher, message, fill))

    def _add_wrench(self, node, topic, link, measure):
        message = WrenchStamped()
        message.header.frame_id = link
        measure(link)  # unknown links are refused now
        self._add(node, topic, message, partial(_fill_wrench, message, partial(measure, link)))

    def _fill_odometry(self, message, stamp):
        pose = self._robot.base_pose
        message.header.stamp = stamp
        fill_pose(message.pose.pose, pose)
        R = matrix_from_quaternion(pose[3:])
        fill_twist(message.twist.twist, (self._robot.base_twist.reshape(2, 3) @ R).reshape(6))

    def _is_tf_due(self):
        """Return whether a period has passed in simulated or in steady time."""
        now = self._robot.time, time.perf_counter()
        if all(0.0 <= t - told < _TF_PERIOD for t, told in zip(now, self._told, strict=True)):
            return False
        self._told = now
        return True

    def _fill_flag(self, message, link, _stamp):
        message.data = bool(np.any(self._robot.contact_wrench(link)))


def _transform(odometry):
    """Return the transform of an Odometry, as a TFMessage."""
    stamped = TransformStamped(header=odometry.header, child_frame_id=odometry.child_frame_id)
    p, moved = odometry.pose.pose.position, stamped.transform.translation
    moved.x, moved.y, moved.z = p.x, p.y, p.z
    stamped.transform.rotation = odometry.pose.pose.orientation
    return TFMessage(transforms=[stamped])


def _fill_wrench(message, measure, stamp):
    message.header.stamp = stamp
    fill_wrench(message.wrench, measure())

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The client of the demo for a grasp: it engages, moves and disengages the object."""

import math

import numpy as np
import rclpy
from geometry_msgs.msg import PoseStamped
from std_srvs.srv import SetBool

from opspace_control.cli.showcase.client import CONTROLLER, SIMULATOR, Client
from opspace_control.errors import OpspaceError
from opspace_control.ros.middleware.conversions import fill_pose
from opspace_control.ros.middleware.qos import RELIABLE

_TIMEOUT = 10.0  # s, for an answer


class CarryClient(Client):
    """
    A client whose goals are those of two hands that hold one object between them.

    With the first goals the object is grasped; with those after the last move the controller lets
    it go, which takes its ramp time, and only with the next ones the grips open.

    Parameters
    ----------
    grasp : str
        Name of the grasp, in both nodes.
    tasks, command_topic
        As of `Client`.
    moves : int
        How many goals there are in between.

    """

    def __init__(self, grasp, tasks, command_topic, moves):
        super().__init__(tasks, command_topic)
        self._engage = {name: self._node.create_client(SetBool, f'{name}/{grasp}/engage')
                        for name in (SIMULATOR, CONTROLLER)}
        self._object = self._node.create_publisher(
            PoseStamped, f'{CONTROLLER}/{grasp}/target_pose', RELIABLE)
        self._left = moves
        self._still = [CONTROLLER, SIMULATOR]  # to be told to let go
        self._home = None

    def send_goals(self, poses):
        """Engage the grasp, move the object with the hands (2, 7), or disengage."""
        if self._home is None:
            self._home = poses
            self._switch(True, SIMULATOR, CONTROLLER)
        elif self._left:
            self._left -= 1
            message = PoseStamped()
            half = 0.5 * (_heading(poses) - _heading(self._home))
            fill_pose(message.pose, np.array([
                *poses[:, :3].mean(axis=0), 0.0, 0.0, math.sin(half), math.cos(half)]))
            self._object.publish(message)
        else:
            self._switch(False, self._still.pop(0))

    def _switch(self, on, *nodes):
        for name in nodes:
            future = self._engage[name].call_async(SetBool.Request(data=on))
            rclpy.spin_until_future_complete(self._node, future, timeout_sec=_TIMEOUT)
            if not (future.done() and future.result().success):
                raise OpspaceError(f'{name} does not {"grasp" if on else "let go"}: '
                                   f'{future.result().message if future.done() else "no answer"}.',
                                   cure='Its log says more.')


def _heading(poses):
    """Return the direction from the second hand to the first in the plane, rad."""
    way = np.asarray(poses)[0, :3] - np.asarray(poses)[1, :3]
    return math.atan2(way[1], way[0])

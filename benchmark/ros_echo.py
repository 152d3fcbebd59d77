# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A node that answers each joint state and does nothing else, with messages as rclpy has them."""

import gc
import sys

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control.ros.middleware.endpoints import NEWEST, RELIABLE
from opspace_control.ros.middleware.executor import run


class Echo(Node):
    """Send the efforts of each joint state back as commands."""

    def __init__(self, _stop):
        super().__init__('echo')
        self._message = Float64MultiArray()
        self._publisher = self.create_publisher(
            Float64MultiArray, 'effort_controller/commands', RELIABLE)
        self.create_subscription(JointState, 'joint_states', self._answer, NEWEST)
        gc.collect()
        gc.freeze()

    def _answer(self, state):
        self._message.data = state.effort
        self._publisher.publish(self._message)

    def leave(self):
        """Nothing has to be left at rest."""


if __name__ == '__main__':
    sys.exit(run(Echo, sys.argv))

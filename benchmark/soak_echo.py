# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The echo that the soak measures against: it hears and serves what the controller does, idly."""

import sys

from geometry_msgs.msg import PoseStamped
from ros_echo import Echo
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from opspace_control.ros.middleware.endpoints import RELIABLE
from opspace_control.ros.middleware.executor import run


class AskedEcho(Echo):
    """
    An echo with the topics, services and parameters that the soak's user calls.

    What a goal or a change of parameters costs any node of rclpy is not the controller's fault.
    """

    def __init__(self, stop):
        super().__init__(stop)
        for hand in self.declare_parameter('tasks', ['']).value:
            self.declare_parameter(f'{hand}.kp', 100.0)
            self.create_subscription(PoseStamped, f'~/{hand}/target_pose', _ignore, RELIABLE)
            self.create_service(SetBool, f'~/{hand}/enable', _agree)
        self.declare_parameter('posture.kp', 25.0)
        self.create_subscription(JointState, '~/target_joint', _ignore, RELIABLE)
        self.create_service(Trigger, '~/hold', _agree)


def _ignore(_message):
    pass


def _agree(_request, response):
    response.success = True
    return response


if __name__ == '__main__':
    sys.exit(run(AskedEcho, sys.argv))

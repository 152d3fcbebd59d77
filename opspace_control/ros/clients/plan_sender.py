# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The node that sends a plan to a controller and receives its status."""

import time
import uuid

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.endpoints import LATCHED, RELIABLE
from opspace_control.ros.middleware.joint_messages import write_joint_trajectory

OVER = ('succeeded', 'outside_tolerance', 'refused', 'interrupted')
_MATCHING = 0.5  # s, for the controller to discover this node
_ANSWER = 3.0    # s, until the first status of a plan, and between two
_TIMES = 3       # how often a plan without status is sent


class PlanSender(Node):
    """
    The node ``opspace_execute``; its JointTrajectory is sent when `look` finds the controller.

    ``timeout``, s, is that of this search. The last ``status`` has ``state``, ``message``, and
    facts.
    """

    def __init__(self, trajectory, controller, timeout):
        super().__init__('opspace_execute')
        self._controller = controller
        self._message = write_joint_trajectory(trajectory, f'opspace execute {uuid.uuid4().hex}')
        topic = f'{controller}/joint_trajectory'
        self._publisher = self.create_publisher(JointTrajectory, topic, RELIABLE)
        self._hold = self.create_client(Trigger, f'{controller}/hold')
        self.create_subscription(DiagnosticStatus, f'{topic}/status', self._on_status, LATCHED)
        self._end, self._due, self._sent = time.monotonic() + timeout, None, 0
        self._heard = None
        self.status = {}

    @property
    def sent(self):
        """Whether the controller may have the plan."""
        return self._sent > 0

    @property
    def over(self):
        """Whether the status is that of the end of the plan."""
        return self.status.get('state') in OVER

    def look(self):
        """
        Send the plan when it is time for that; to be called now and then.

        Without a subscriber, or without a status in time, a RosInterfaceError is raised.
        """
        now = time.monotonic()
        if self.status:
            if now - self._heard > _ANSWER and not self.over:
                raise RosInterfaceError(
                    'The controller tells nothing of the plan any more.',
                    cure='See where the robot is: the controller may have ended. Look at its log.')
            return
        if self._due is None and self._publisher.get_subscription_count():
            self._due = now + _MATCHING
        if self._due is None and now > self._end:
            raise RosInterfaceError(
                f'No controller listens to {self._publisher.topic_name}.',
                cure='Start it, on this ROS_DOMAIN_ID, or give its name: --controller NAME.')
        if self._due is not None and now >= self._due:
            if self._sent == _TIMES:
                raise RosInterfaceError('The controller does not tell what it does with the plan.',
                                        cure='Look at its log.')
            self._publisher.publish(self._message)
            self._sent, self._due = self._sent + 1, now + _ANSWER

    def hold(self):
        """Let the robot hold where it is; return the future of the answer."""
        return self._hold.call_async(Trigger.Request())

    def _on_status(self, message):
        if message.hardware_id == self._message.header.frame_id and not self.over:
            self._heard = time.monotonic()
            self.status = {value.key: value.value for value in message.values} | {
                'message': message.message}

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a controller manager tells unasked: which controllers and which hardware are active."""

from lifecycle_msgs.msg import State

from opspace_control.ros.middleware.qos import LATCHED

try:
    from controller_manager_msgs.msg import ControllerManagerActivity
except ImportError:  # before March 2025, or there is none of these messages
    ControllerManagerActivity = None


class Activity:
    """
    Knows which controllers and which hardware are active, as far as the manager tells.

    Parameters
    ----------
    node : rclpy.node.Node
        No executor needs to spin it.
    manager : str
        Name of the controller manager's node.

    Attributes
    ----------
    hardware : collection of str
        Names of the components that matter.

    """

    def __init__(self, node, manager):
        self.hardware = ()
        self._active = self._known = None  # names of active controllers: told, and asked for
        self._idle = []  # all hardware that is not active
        self._subscription = ControllerManagerActivity and node.create_subscription(
            ControllerManagerActivity, f'{manager}/activity', self._on_activity, LATCHED)

    def news(self):
        """Return whether other controllers are active than when this was asked last."""
        if self._subscription:
            with self._subscription.handle:
                taken = self._subscription.handle.take_message(ControllerManagerActivity, False)
            if taken:
                self._on_activity(taken[0])
        known, self._known = self._known, self._active
        return known != self._active

    @property
    def idle(self):
        """Names of the hardware that is not active, as far as was told when `news` was asked."""
        if self._idle and not self._subscription.get_publisher_count():
            self._idle = []  # the manager that said so is gone
        return [name for name in self._idle if name in self.hardware]

    def _on_activity(self, message):
        self._active = {each.name for each in message.controllers
                        if each.state.id == State.PRIMARY_STATE_ACTIVE}
        self._idle = [each.name for each in message.hardware_components
                      if each.state.id != State.PRIMARY_STATE_ACTIVE]

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The activity topic of a controller manager: active controllers and hardware."""

from lifecycle_msgs.msg import State

from opspace_control.ros.middleware.qos import LATCHED

try:
    from controller_manager_msgs.msg import ControllerManagerActivity
except ImportError:  # before March 2025, or the messages are not installed
    ControllerManagerActivity = None


class Activity:
    """
    The active controllers and hardware that the manager publishes.

    Parameters
    ----------
    node : rclpy.node.Node
        No executor needs to spin it.
    manager : str
        Name of the controller manager's node.

    Attributes
    ----------
    hardware : collection of str
        Names of the components of interest.

    """

    def __init__(self, node, manager):
        self.hardware = ()
        self._active = self._known = None  # active controllers: published, and at the last `news`
        self._idle = []  # all hardware that is not active
        self._subscription = ControllerManagerActivity and node.create_subscription(
            ControllerManagerActivity, f'{manager}/activity', self._on_activity, LATCHED)

    def news(self):
        """Return whether the active controllers have changed since the last call."""
        if self._subscription:
            with self._subscription.handle:
                taken = self._subscription.handle.take_message(ControllerManagerActivity, False)
            if taken:
                self._on_activity(taken[0])
        known, self._known = self._known, self._active
        return known != self._active

    @property
    def idle(self):
        """Names of the hardware of interest that was not active at the last `news`."""
        if self._idle and not self._subscription.get_publisher_count():
            self._idle = []  # the manager is gone
        return [name for name in self._idle if name in self.hardware]

    def _on_activity(self, message):
        self._active = {each.name for each in message.controllers
                        if each.state.id == State.PRIMARY_STATE_ACTIVE}
        self._idle = [each.name for each in message.hardware_components
                      if each.state.id != State.PRIMARY_STATE_ACTIVE]

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The controllers of ros2_control that commanded the joints before ours, and get them back."""

from opspace_control.ros.commands.switching import (
    Switch,
    commanded_joints,
    give_back,
    take_over,
    upstream,
)


class PreviousControllers:
    """
    Records the controllers that commanded our joints before our forward controller did.

    The previous controllers of a take-over are those that are active then and command one of our
    joints. They stay due until they have their joints back: a switch that the controller manager
    refuses, such as with inactive hardware, follows after the next take-over. A controller is no
    longer due once another one commands one of its joints at a take-over: that one, which the user
    activated in between, gets the joints back.

    A process that does not switch itself calls `note` whenever controllers have changed.

    Parameters
    ----------
    name : str
        Our forward controller.

    """

    def __init__(self, name):
        self._name = name
        self.forget()

    @property
    def undo(self):
        """The `Switch` that returns the joints if nothing has changed since the last take-over."""
        return Switch(self._due.deactivate, self._due.activate)

    def note(self, controllers):
        """
        Record the present controllers of our joints; nothing while ours is not loaded.

        Parameters
        ----------
        controllers : sequence of controller_manager_msgs/ControllerState
            All loaded controllers.

        Returns
        -------
        Switch
            Activates our controller; see `take_over`.

        """
        loaded = {controller.name: controller for controller in controllers}
        if self._name not in loaded:
            return Switch([], [])
        switch = take_over(controllers, self._name)
        ours = [link for link in self._due.activate
                if link in loaded and loaded[link].state == 'active']
        due = _without(self._due.deactivate, switch.deactivate, loaded)
        self._due = Switch([*switch.activate, *(link for link in ours
                                                if link not in switch.activate)],
                           [*switch.deactivate, *due])
        return switch

    def hand_back(self, controllers):
        """Return the `Switch` that returns the joints, unless another controller has them."""
        return give_back(controllers, self._name, self._due)

    def forget(self):
        """Make no controller due."""
        self._due = Switch([], [])


def _without(names, newer, loaded):
    """Return the names of loaded controllers that newer ones do not replace."""
    joints = commanded_joints(loaded[name] for name in newer)
    replaced = [name for name in names if name not in loaded or name in newer
                or joints & commanded_joints([loaded[name]])]
    lost = upstream([loaded[name] for name in names if name in loaded], replaced)
    return [name for name in names if name not in lost]

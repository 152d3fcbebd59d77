# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The switches of controllers of ros2_control by which one gets its joints and returns them."""

from typing import NamedTuple


class Switch(NamedTuple):
    """Names of controllers to activate and to deactivate at once."""

    activate: list
    deactivate: list


def activation_of(controllers, name, preceded=False):
    """
    Return the `Switch` that activates a controller with the controllers it needs, and no rival.

    It may command references of another controller (``controller/joint/interface``), which is then
    activated, too. Controllers that command references of one of its `rivals` are deactivated with
    that rival, as the controller manager requires. Both lists are empty if nothing has to change,
    or the controller is not loaded. ``controllers`` are the states of all loaded controllers, a
    sequence of controller_manager_msgs/ControllerState. ``preceded`` is that of `rivals`.
    """
    loaded = {controller.name: controller for controller in controllers}
    if name not in loaded:
        return Switch([], [])
    return Switch([link for link in _downstream(loaded, name) if not _active(loaded[link])],
                  upstream(filter(_active, controllers), rivals(controllers, name, preceded)))


def rivals(controllers, name, preceded=False):
    """
    Return the active controllers that command the same joints, each with its interfaces, sorted.

    Any interface of a joint counts: position and effort of a joint cannot both be commanded. A
    controller that commands references of the named one counts, too: references replace its topic.
    It does not where the named one may be ``preceded`` by others. Parameters are those of
    `activation_of`; the named controller is loaded.
    """
    loaded = {controller.name: controller for controller in controllers}
    chain = _downstream(loaded, name)
    joints = commanded_joints(loaded[link] for link in chain)
    found = {other.name: sorted(
        interface for interface in _commanded(other)
        if joint_of(interface) in joints
        or (interface.startswith(f'{name}/') and not preceded))
        for other in controllers if _active(other) and other.name not in chain}
    return {other: interfaces for other, interfaces in found.items() if interfaces}


def reversal_of(controllers, name, done, preceded=False):
    """
    Return the switch that undoes ``done``, for controllers that have not changed since.

    Controllers that may precede ours are deactivated with it. If another controller has the joints,
    or a controller is gone, that part is left out. Parameters are those of `activation_of`, and its
    result.
    """
    loaded = {controller.name: controller for controller in controllers}
    if name not in loaded:
        return Switch([], [])
    ours = [link for link in done.activate if link in loaded and _active(loaded[link])]
    if preceded:
        ours = upstream(filter(_active, controllers), ours)
    foreign = rivals(controllers, name, preceded).keys() - set(done.deactivate)
    theirs = [] if foreign else [link for link in done.deactivate
                                 if link in loaded and loaded[link].state == 'inactive']
    return Switch(theirs, ours)


def joint_of(interface):
    """Return the joint of a command interface: its name without the last part."""
    return interface.rpartition('/')[0]


def without_controller(joint):
    """Return a joint's name without the controller whose reference interfaces it belongs to."""
    return joint.rpartition('/')[2]


def _active(controller):
    return controller.state == 'active'


def _commanded(controller):
    """
    Return the command interfaces of an active controller.

    The controller manager reports claimed interfaces only of requested switches. A fallback
    controller, which it activates itself, has none, so required ones are included.
    """
    return {*controller.claimed_interfaces, *controller.required_command_interfaces}


def commanded_joints(controllers):
    """Return the joints that controllers command, or require."""
    return {joint_of(interface) for controller in controllers
            for interface in _commanded(controller)}


def _downstream(loaded, name):
    """Return a controller and the chain of controllers whose references it commands."""
    chain = [name]
    for link in chain:
        for interface in loaded[link].required_command_interfaces:
            owner = interface.partition('/')[0]
            if owner in loaded and loaded[owner].is_chainable and owner not in chain:
                chain.append(owner)
    return chain


def upstream(candidates, names):
    """Return these names and those of the candidates that command their references."""
    candidates, found = list(candidates), list(names)
    for follower in found:
        found += [other.name for other in candidates if other.name not in found
                  and any(interface.startswith(f'{follower}/')
                          for interface in _commanded(other))]
    return found


class PreviousControllers:
    """
    Records the controllers that commanded our joints before our forward controller, ``name``, did.

    The previous controllers of an activation of ours are those that are active then and command one
    of our joints. They stay due until they have their joints back: a switch that the controller
    manager refuses, such as with inactive hardware, follows after the next activation. A controller
    is no longer due once another one commands one of its joints at an activation: that one, which
    the user activated in between, gets the joints back.

    A process that does not switch itself calls `note` whenever controllers have changed.
    ``preceded`` is that of `rivals`.
    """

    def __init__(self, name, preceded=False):
        self._name, self._preceded = name, preceded
        self.forget()

    @property
    def undo(self):
        """The `Switch` that returns the joints if nothing has changed since the last activation."""
        return Switch(self._due.deactivate, self._due.activate)

    def note(self, controllers):
        """Record the controllers of our joints if ours is loaded; return its `activation_of`."""
        loaded = {controller.name: controller for controller in controllers}
        if self._name not in loaded:
            return Switch([], [])
        switch = activation_of(controllers, self._name, self._preceded)
        ours = [link for link in self._due.activate
                if link in loaded and loaded[link].state == 'active']
        due = _without(self._due.deactivate, switch.deactivate, loaded)
        self._due = Switch([*switch.activate, *(link for link in ours
                                                if link not in switch.activate)],
                           [*switch.deactivate, *due])
        return switch

    def hand_back(self, controllers):
        """Return the `Switch` that returns the joints, unless another controller has them."""
        return reversal_of(controllers, self._name, self._due, self._preceded)

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

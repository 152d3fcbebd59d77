# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Which controllers of ros2_control must change state so that one of them gets its joints."""

from typing import NamedTuple


class Switch(NamedTuple):
    """Names of controllers to activate and to deactivate at once."""

    activate: list
    deactivate: list


def take_over(controllers, name):
    """
    Return the switch that makes a controller active, with all that it needs and no rival.

    What it commands may be another controller's references (``controller/joint/interface``): that
    one is needed too. What commands one of its `rivals` through references is switched off with it,
    as the controller manager demands.

    Parameters
    ----------
    controllers : sequence of controller_manager_msgs/ControllerState
        All that are loaded.
    name : str
        The controller that is to be active.

    Returns
    -------
    Switch
        Empty lists where nothing has to change, or the controller is not loaded.

    """
    loaded = {controller.name: controller for controller in controllers}
    if name not in loaded:
        return Switch([], [])
    return Switch([link for link in _downstream(loaded, name) if not _active(loaded[link])],
                  upstream(filter(_active, controllers), rivals(controllers, name)))


def rivals(controllers, name):
    """
    Return the active controllers that command the same joints, and by which interfaces.

    Any interface of a joint counts: position and effort of a joint cannot both be obeyed. So does a
    controller that commands the references of the one that is named: it would obey them instead of
    its topic.

    Parameters
    ----------
    controllers : sequence of controller_manager_msgs/ControllerState
        All that are loaded; ``name`` among them.
    name : str
        The controller whose joints they are.

    Returns
    -------
    dict of str to list of str
        Name of a controller -> command interfaces, in alphabetical order.

    """
    loaded = {controller.name: controller for controller in controllers}
    chain = _downstream(loaded, name)
    joints = commanded_joints(loaded[link] for link in chain)
    found = {other.name: sorted(
        interface for interface in _commanded(other)
        if joint_of(interface) in joints or interface.startswith(f'{name}/'))
        for other in controllers if _active(other) and other.name not in chain}
    return {other: interfaces for other, interfaces in found.items() if interfaces}


def give_back(controllers, name, taken):
    """
    Return the switch that undoes ``taken``, as far as the controllers are still as it left them.

    Where somebody else's controller has the joints by now, or a controller is gone, that part
    stays as it is. Parameters are those of `take_over`, and what it returned.
    """
    loaded = {controller.name: controller for controller in controllers}
    if name not in loaded:
        return Switch([], [])
    ours = [link for link in taken.activate if link in loaded and _active(loaded[link])]
    foreign = rivals(controllers, name).keys() - set(taken.deactivate)
    theirs = [] if foreign else [link for link in taken.deactivate
                                 if link in loaded and loaded[link].state == 'inactive']
    return Switch(theirs, ours)


def joint_of(interface):
    """Return the joint of a command interface: its name without the last part."""
    return interface.rpartition('/')[0]


def _active(controller):
    return controller.state == 'active'


def _commanded(controller):
    """
    Return the command interfaces of an active controller.

    The controller manager notes who has claimed what only where somebody has asked it to switch: a
    fallback controller, which it makes active by itself, has claimed nothing as far as it says.
    """
    return {*controller.claimed_interfaces, *controller.required_command_interfaces}


def commanded_joints(controllers):
    """Return the joints that controllers command, or would if they were active."""
    return {joint_of(interface) for controller in controllers
            for interface in _commanded(controller)}


def _downstream(loaded, name):
    """Return a controller and those whose references it commands, down to the hardware."""
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

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Topic and joint order of the effort commands, from parameters or the controller manager."""

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.endpoints import Endpoints

_LOOK_PERIOD = 0.2  # s


def command_topic(parameters):
    """Return the topic of the effort commands."""
    return parameters['command_topic'] or command_end(parameters)


def command_end(parameters):
    """Return the topic of the forward controller, in the namespace of its manager."""
    namespace, slash, _ = parameters['controller_manager'].rpartition('/')
    return f'{namespace}{slash}{parameters["effort_controller"]}/commands'


def ready_topic(commands):
    """Return the topic on which the receiver of commands publishes whether it relays them."""
    return f'{commands.rpartition("/")[0]}/ready'


def command_order(parameters, manager, heed):
    """
    Return the joints in the order of the receiver of the command; [] if it is not given.

    Parameters
    ----------
    parameters : mapping
        Values of the node's parameters.
    manager : ControllerManager or None
        Gives the order of the effort controller.
    heed : callable
        Raises a RosInterfaceError if the node is to stop, which ends the wait.

    Raises
    ------
    RosInterfaceError
        The manager does not answer, or the order of its controller is not that of the parameter.

    """
    wanted = parameters['command_joints']
    if manager is None:
        return wanted
    joints = manager.joints(heed)
    if wanted and wanted != joints:
        raise RosInterfaceError(
            f'command_joints is {", ".join(wanted)}, but {manager.controller} takes '
            f'{", ".join(joints)}.', cure='Leave command_joints empty, or give that order.')
    return joints


def when_there(node, manager, then):
    """Call ``then`` as soon as the controller manager is discovered, or at once without one."""
    if manager is None or manager.is_there:
        then()
        return

    def look():
        if manager.is_there:
            endpoints.withdraw()
            then()
    endpoints = Endpoints(node)
    endpoints.repeat(_LOOK_PERIOD, look)
    node.get_logger().info(f'Waiting for the controller manager {manager.name}.')

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Where the efforts go, and in which order: as the parameters say, or the controller manager."""

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.endpoints import Endpoints

_LOOK_PERIOD = 0.2  # s


def command_topic(parameters):
    """Return the topic that efforts are sent to."""
    return parameters['command_topic'] or command_end(parameters)


def command_end(parameters):
    """Return the topic of the forward controller: it lives in its manager's namespace."""
    namespace, slash, _ = parameters['controller_manager'].rpartition('/')
    return f'{namespace}{slash}{parameters["effort_controller"]}/commands'


def ready_topic(commands):
    """Return the topic on which what takes commands at a topic tells whether it passes them on."""
    return f'{commands.rpartition("/")[0]}/ready'


def command_order(parameters, manager, heed):
    """
    Return the joints in the order of the command, as its receiver has it; [] if nobody says.

    Parameters
    ----------
    parameters : mapping
        Values of the node's parameters.
    manager : ControllerManager or None
        The one to ask.
    heed : callable
        Raises a RosInterfaceError if the node is to stop, which ends the waiting.

    Raises
    ------
    RosInterfaceError
        The manager does not answer, or its controller takes another order than a parameter says.

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
    """Call ``then`` as soon as the controller manager, if there is to be one, is discovered."""
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

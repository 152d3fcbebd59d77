# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The topics and services of a controller, from the ROS graph."""

from dataclasses import dataclass

from rclpy.node import NodeNameNonExistentError

_STATE = 'controller_state'
_WRENCH = 'geometry_msgs/msg/WrenchStamped'


@dataclass(frozen=True)
class Offer:
    """
    What a running controller offers.

    Attributes
    ----------
    identity : bytes
        Another one after each start of the controller.
    tasks : tuple of str
        Take poses or forces as goals.
    movable : tuple of str
        Tasks that take poses.
    optional : tuple of str
        Tasks that are switched on and off.
    forces : tuple of str
        Tasks that take a force.
    groups : tuple of str
        Tasks of joints, which take their positions.
    switches : tuple of str
        Grasps, which may be tasks too, and contacts, which are engaged and disengaged.
    wrenches, measured : tuple of str
        What it publishes a wrench of, and listens to a wrench of.
    sensors : tuple of str
        What can be told that nothing touches it.

    """

    identity: bytes
    tasks: tuple
    movable: tuple
    optional: tuple
    forces: tuple
    groups: tuple
    switches: tuple
    wrenches: tuple
    measured: tuple
    sensors: tuple


def look_for_offer(node, controller):
    """
    Return the `Offer` of a controller, or None while it is not there or not configured.

    Parameters
    ----------
    node : rclpy.node.Node
        Who looks.
    controller : str
        Its full name.

    """
    # Another publisher of the state is another controller, or the same one configured anew.
    publishers = node.get_publishers_info_by_topic(f'{controller}/{_STATE}')
    if not publishers:
        return None
    try:
        heard, said, services = endpoints_of(node, controller)
    except NodeNameNonExistentError:
        return None

    def those(endpoints, ending, kind=None):
        return between(controller, endpoints, ending, kind)
    movable = those(heard, 'target_pose')
    forces = those(heard, 'target_wrench', _WRENCH)
    return Offer(
        identity=bytes(publishers[0].endpoint_gid),
        tasks=tuple(sorted({*movable, *forces})),
        movable=movable,
        optional=those(services, 'enable'),
        forces=forces,
        groups=those(heard, 'target_joint', 'sensor_msgs/msg/JointState'),
        switches=those(services, 'engage'),
        wrenches=those(said, 'wrench', _WRENCH),
        measured=those(heard, 'wrench', _WRENCH),
        sensors=those(services, 'zero'))


def endpoints_of(node, name):
    """
    Return subscribers, publishers and services of a node by its full name, with their types.

    A NodeNameNonExistentError tells that the graph has no such node.
    """
    namespace, _, short = name.rpartition('/')
    return [look(short, namespace or '/') for look in (
        node.get_subscriber_names_and_types_by_node, node.get_publisher_names_and_types_by_node,
        node.get_service_names_and_types_by_node)]


def between(name, endpoints, ending, kind=None):
    """Return the parts of endpoints, of a type if given, between a node's name and an ending."""
    prefix, ending = f'{name}/', f'/{ending}'
    return tuple(sorted(
        topic[len(prefix):-len(ending)] for topic, kinds in endpoints
        if topic.startswith(prefix) and topic.endswith(ending)
        and len(topic) > len(prefix) + len(ending) and kind in (None, *kinds)))


def controllers(node):
    """Return the full names of all controllers in the graph."""
    return sorted(topic.removesuffix(f'/{_STATE}')
                  for topic, kinds in node.get_topic_names_and_types()
                  if topic.endswith(f'/{_STATE}') and 'sensor_msgs/msg/JointState' in kinds)

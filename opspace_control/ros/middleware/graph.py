# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The ROS graph: publishers, subscribers and namesakes by full names, and types by name."""

import importlib

from rclpy.node import NodeNameNonExistentError

from opspace_control.errors import RosInterfaceError

# Of a node that discovery has not named yet: in words, and as rmw has it.
UNKNOWN, _UNKNOWN = 'a node of unknown name', '_NODE_NAME_UNKNOWN_'


def publishers(node, topic):
    """Return (full name of the node, gid) of each publisher of a topic, as far as is known."""
    return [(_full_name(each), bytes(each.endpoint_gid))
            for each in node.get_publishers_info_by_topic(topic)]


def subscribers(node, topic):
    """Return the full names of the nodes that subscribe to a topic, as far as is known."""
    return {_full_name(each) for each in node.get_subscriptions_info_by_topic(topic)}


def namesakes(node):
    """Return how many other nodes have the full name of this one, as far as is known."""
    own = (node.get_name(), node.get_namespace())
    return max(node.get_node_names_and_namespaces().count(own) - 1, 0)


def endpoints_of(node, name):
    """
    Return publishers, subscribers and services of a node: names to types; None without it.

    Of several nodes of the name it has the topics of all. The graph may keep a node that has left,
    where the last word of it comes late, and by its name tells of that one alone: of no topic.
    """
    namespace, _, base = name.rpartition('/')
    if node.get_node_names_and_namespaces().count((base, namespace or '/')) > 1:
        published, subscribed = (
            {topic: kinds for topic, kinds in node.get_topic_names_and_types()
             if any(_full_name(each) == name for each in endpoints(topic))}
            for endpoints in (node.get_publishers_info_by_topic,
                              node.get_subscriptions_info_by_topic))
        return published, subscribed, {
            service: kinds for service, kinds in node.get_service_names_and_types()
            if service.startswith(f'{name}/')}
    try:
        return tuple(dict(names_and_types(base, namespace or '/')) for names_and_types in (
            node.get_publisher_names_and_types_by_node,
            node.get_subscriber_names_and_types_by_node,
            node.get_service_names_and_types_by_node))
    except NodeNameNonExistentError:
        return None


def in_words(names):
    """Return names of nodes as text, each once."""
    return ' and '.join(sorted(set(names))) or 'a node that is gone'


def _full_name(endpoint):
    if endpoint.node_name == _UNKNOWN:
        return UNKNOWN
    return f'{endpoint.node_namespace.rstrip("/")}/{endpoint.node_name}'


def message_type(kind):
    """Return the class of ``package/msg/Name``; a RosInterfaceError if it is not installed."""
    package, folder, name = kind.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.{folder}'), name)
    except (ModuleNotFoundError, AttributeError) as error:
        raise RosInterfaceError(f'{kind} is not installed here.',
                                cure=f'Install {package} and source its workspace.') from error

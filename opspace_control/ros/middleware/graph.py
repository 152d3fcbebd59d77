# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The nodes of a ROS 2 network: publishers, subscribers and namesakes by full names."""

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


def in_words(names):
    """Return names of nodes as text, each once."""
    return ' and '.join(sorted(set(names))) or 'a node that is gone'


def _full_name(endpoint):
    if endpoint.node_name == _UNKNOWN:
        return UNKNOWN
    return f'{endpoint.node_namespace.rstrip("/")}/{endpoint.node_name}'

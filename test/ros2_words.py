# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the `ros2` command does with the words of the documentation, where it is not installed."""

import importlib

import yaml
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter


def say(network, words):
    """
    Do what ``ros2 WORDS`` does: topic pub --once, param set, service call.

    Parameters
    ----------
    network : Network
        Whose node does it.
    words : sequence of str
        After ``ros2``.

    """
    match words:
        case ['topic', 'pub', '--once', topic, kind, *content]:
            publisher = network.publisher(_type(kind), topic)
            publisher.publish(message_of(kind, *content))
        case ['param', 'set', node, name, value]:
            result, = network.call(SetParameters, f'{node}/set_parameters', parameters=[
                Parameter(name, value=yaml.safe_load(value)).to_parameter_msg()]).results
            assert result.successful, result.reason
        case ['service', 'call', name, kind, *content]:
            request = _fill(_type(kind).Request(), *content)
            answer = network.call(_type(kind), name, **{
                field: getattr(request, field) for field in request.get_fields_and_field_types()})
            assert getattr(answer, 'success', True), answer
        case _:
            raise AssertionError(f'ros2 {" ".join(words)}: nobody here knows how to do that')


def _type(kind):
    """Return the class of ``package/msg/Name`` or ``package/srv/Name``."""
    package, room, name = kind.split('/')
    return getattr(importlib.import_module(f'{package}.{room}'), name)


def message_of(kind, content='{}'):
    """Return a message ``package/msg/Name`` with the fields of a text of YAML."""
    return _fill(_type(kind)(), content)


def _fill(message, content='{}'):
    _set(message, yaml.safe_load(content))
    return message


def _set(message, fields):
    for name, value in fields.items():
        if isinstance(value, dict):
            _set(getattr(message, name), value)
        else:
            setattr(message, name, value)  # which checks the type

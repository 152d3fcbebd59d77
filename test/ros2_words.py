# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the `ros2` command does with the words of the documentation, where it is not installed."""

import importlib

import yaml
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.parameter import Parameter, parameter_dict_from_yaml_file, parameter_value_to_python


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


def dump(network, node):
    """Return what ``ros2 param dump NODE`` prints: all values, asked for in one request."""
    names = sorted(network.call(ListParameters, f'{node}/list_parameters').result.names)
    values = network.call(GetParameters, f'{node}/get_parameters', names=names).values
    block = {}
    for name, value in zip(names, values, strict=False):
        *blocks, leaf = name.split('.')
        inner = block
        for outer in blocks:
            inner = inner.setdefault(outer, {})
        plain = parameter_value_to_python(value)
        inner[leaf] = list(plain) if hasattr(plain, 'tolist') else plain
    return yaml.dump({node: {'ros__parameters': block}}, default_flow_style=False)


def load(network, node, file):
    """Do what ``ros2 param load NODE FILE`` does; return the reasons for refusals, by name."""
    parameters = parameter_dict_from_yaml_file(str(file))
    results = network.call(SetParameters, f'{node}/set_parameters',
                           parameters=list(parameters.values())).results
    return {name: result.reason for name, result in zip(parameters, results, strict=True)
            if not result.successful}


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

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A ROS 2 parameter file, read and checked by the tables as the nodes do, without ROS."""

import re
from pathlib import Path

import yaml

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.parameters.parameter_table import unknown_parameter


# libyaml's takes a tenth of the time.
class _Loader(getattr(yaml, 'CSafeLoader', yaml.SafeLoader)):
    """YAML as ROS 2 reads it: a bare y is a bool, except in a name, and 1e5 a number."""

    def construct_mapping(self, node, deep=False):
        self.flatten_mapping(node)
        return {str(key.value): self.construct_object(value, deep) for key, value in node.value}


_Loader.bool_values = {**yaml.SafeLoader.bool_values, 'y': True, 'n': False}
_Loader.add_implicit_resolver('tag:yaml.org,2002:bool', re.compile('[yYnN]$'), list('yYnN'))
_Loader.add_implicit_resolver(
    'tag:yaml.org,2002:float', re.compile(r'[-+]?[0-9]+[eE][-+]?[0-9]+$'), list('-+0123456789'))


class ParameterFile:
    """
    The content of a parameter file: node names, ``ros__parameters`` under each, nested blocks.

    A file that cannot be read, is not YAML, or has no parameters of a node is a RosInterfaceError.
    """

    def __init__(self, path):
        self.path = Path(path)
        try:
            content = yaml.load(self.path.read_text(), _Loader)
        except OSError as error:
            raise RosInterfaceError(f'The parameter file {str(path)!r} cannot be read: '
                                    f'{error.strerror}.', cure='Give the path of a YAML file.',
                                    path=str(path)) from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise RosInterfaceError(
                f"The parameter file {str(path)!r} is not YAML: {' '.join(str(error).split())}.",
                cure='Correct it there.', path=str(path)) from None
        self._blocks = list(_blocks(content, ''))
        if not self._blocks:
            raise RosInterfaceError(
                f'The parameter file {str(path)!r} has no parameters.', path=str(path),
                cure='Write NODE:, under it ros__parameters:, and under that the parameters.')

    @property
    def nodes(self):
        """Names of the nodes with a block, as in the file."""
        return tuple(dict.fromkeys(name for name, _ in self._blocks))

    def of_node(self, node):
        """Return name -> value, with dots for nested blocks, of a node in any namespace."""
        values = {}
        for pattern, block in self._blocks:
            if pattern.rpartition('/')[2] in (node, '*', '**'):
                values.update(_flat(block, ''))
        return values

    def start(self):
        """Return joint -> initial position, rad or m, of the simulator."""
        return {name.removeprefix('initial_positions.'): value
                for name, value in self.of_node('opspace_simulator').items()
                if name.startswith('initial_positions.')}


def refusals(values, table):
    """Yield a RosInterfaceError for each value, by name, that a node of this table refuses."""
    known = {parameter.name: parameter for parameter in table}
    for name, value in values.items():
        if name in known:
            reason, cure = known[name].refusal(value)
            if reason and value != []:  # which ROS 2 reads as no value
                yield RosInterfaceError(f'Parameter {reason}.', cure=cure, parameter=name)
        elif not name.startswith('qos_overrides.') and name != 'use_sim_time':
            yield unknown_parameter(name, known)


def _blocks(content, name):
    """Yield (node name, parameters) of a file's content; namespaces may be nested blocks."""
    if not isinstance(content, dict):
        return
    for key, value in content.items():
        if key == 'ros__parameters':
            if isinstance(value, dict) and name:
                yield name, value
        else:
            yield from _blocks(value, f'{name}/{key}' if name else str(key))


def _flat(block, prefix):
    for key, value in block.items():
        if isinstance(value, dict):
            yield from _flat(value, f'{prefix}{key}.')
        elif value is not None:
            yield f'{prefix}{key}', value

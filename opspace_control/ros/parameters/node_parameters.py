# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of a node: declared from its table, given by files and on the command line."""

import array
import contextlib
import math
from collections import ChainMap
from collections.abc import Mapping

from rcl_interfaces import msg
from rclpy import exceptions
from rclpy.parameter import Parameter as RosParameter

from opspace_control.arguments import make_parser
from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.model.urdf import urdf_text
from opspace_control.ros.middleware.executor import parse
from opspace_control.ros.parameters.parameter_file import ParameterFile, refusals
from opspace_control.ros.parameters.parameter_table import unknown_parameter


def _type_of(parameter):
    """Return the ROS 2 type of a parameter; None of a gain, a number or an array."""
    return None if parameter.type == 'gain' else RosParameter.Type[parameter.type.upper()]


class UnknownParameterError(exceptions.ParameterNotDeclaredException):
    """rclpy's error about undeclared parameters, with the text of `unknown_parameter`."""

    def __init__(self, names, known):
        super().__init__(names)
        self._reason = ' '.join(str(unknown_parameter(name, known)) for name in names)

    def __str__(self):
        return self._reason


class NodeParameters(Mapping):
    """
    The declared parameters of one node: a mapping from name to present value.

    A change by a client is first checked value by value against the table, then as a whole by
    ``check(values, names)``, with the new mapping and the names of the change, which raises an
    OpspaceError to refuse it. ``changed(names)`` is called after each change.
    """

    def __init__(self, node, check=lambda values, names: None, changed=lambda names: None):
        self._node = node
        self._table = {}
        self._values = {}  # rclpy takes ten times as long to return one
        self._check = check
        self._changed = changed

    def accept_changes(self):
        """
        Accept changes from now on; the objects that they change must exist.

        Given parameters of no table, which ROS would ignore, are a RosInterfaceError.
        """
        undeclared = {name: None for name in self.given if not self._node.has_parameter(name)}
        if wrong := list(refusals(undeclared, self._table.values())):
            raise RosInterfaceError(' '.join(map(str, wrong)), parameter=wrong[0].parameter)
        for name in self._table:  # clients may have changed them before
            self._read(name)
        self._node.add_pre_set_parameters_callback(self._prepare)
        self._node.add_on_set_parameters_callback(self._refuse_or_accept)
        self._node.add_post_set_parameters_callback(self._on_change)

    def declare(self, table):
        """
        Declare every parameter of a table that is not declared yet, with a value.

        A value is necessary: rclpy returns none of several parameters if one has no value. A value
        of a file or the command line that is among `refusals` is a RosInterfaceError.
        """
        new = {parameter.name: parameter for parameter in table
               if parameter.name not in self._table}
        self._table |= new
        given = {name: _plain(given.value) for name, given in self.given.items()
                 if name in new and given.value is not None}  # [] in a file is no value
        for error in refusals(given, new.values()):
            raise error
        for name, parameter in new.items():
            self._declare(parameter)
            self._read(name)
            if self[name] is None:
                raise RosInterfaceError(f'Parameter {parameter.refusal(None)[0]}.', parameter=name)

    @property
    def given(self):
        """The parameters of a file or the command line, declared or not, by name."""
        return self._node._parameter_overrides  # rclpy has no public access

    def __getitem__(self, name):
        return self._values[name]

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def _declare(self, parameter):
        """Declare one parameter; an empty list in a file or in the table gets its type."""
        name, default, kind = parameter.name, parameter.default, _type_of(parameter)
        # rclpy reads the default [] as an array of bytes, and [] in a file as no value. A value
        # cannot be set with a read-only descriptor.
        descriptor = _descriptor(parameter)
        descriptor.read_only = False
        self._node.declare_parameter(name, kind if default == [] else default, descriptor)
        if self._node.get_parameter_or(name).value is None:
            self._node.set_parameters([RosParameter(
                name, kind or RosParameter.Type.from_parameter_value(default), default)])
        if parameter.read_only:
            final = _descriptor(parameter)
            final.type = self._node.get_parameter(name).type_.value
            self._node.set_descriptor(name, final)

    def _prepare(self, changes):
        """Return the changes with the types of the table; raise what rclpy expects if unknown."""
        unknown = [change.name for change in changes if not self._node.has_parameter(change.name)]
        if unknown:
            raise UnknownParameterError(unknown, self._table)
        return [_as_declared(self._table[change.name], change) if change.name in self._table
                else change for change in changes]

    def _read(self, name):
        self._values[name] = _plain(self._node.get_parameter(name).value)

    def _on_change(self, changes):
        changes = [change for change in changes if change.name in self._table]
        for change in changes:
            self._values[change.name] = _plain(change.value)
        self._changed([change.name for change in changes])

    def _refuse_or_accept(self, changes):
        changes = {change.name: change.value for change in changes}
        try:
            for name, value in changes.items():
                if name in self._table:  # or it is rclpy's own
                    reason, cure = self._table[name].refusal(_plain(value))
                    if reason:
                        raise RosInterfaceError(f'Parameter {reason}.', cure=cure)
            self._check(ChainMap(changes, self), changes)
        except OpspaceError as error:
            return msg.SetParametersResult(successful=False, reason=str(error))
        return msg.SetParametersResult(successful=True)


def _plain(value):
    """Return the value of a parameter of rclpy, an array as a list."""
    return value.tolist() if hasattr(value, 'tolist') else value


def _as_declared(parameter, change):
    """
    Return a change with the type of its parameter if its text is unambiguous.

    ``ros2 param load`` writes each value of a file as Python does and reads that as YAML: there
    [] has no type, and inf and 1e-05 are texts.
    """
    kind, value = _type_of(parameter), change.value
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    if parameter.type in ('double', 'double_array', 'gain') and str in map(type, texts):
        with contextlib.suppress(ValueError):
            return RosParameter(change.name, value=_numbers(value))
    is_list = kind and kind.name.endswith('ARRAY')
    if is_list and isinstance(value, (list, array.array)) and not len(value):
        return RosParameter(change.name, kind, [])
    return change


def _numbers(value):
    """Return the number or the numbers of a text, or of a list of texts; may raise ValueError."""
    if isinstance(value, str) and not value.startswith('['):
        return float(value)
    return [float(one) for one in (
        value.strip('[]').split(',') if isinstance(value, str) else value)]


def _descriptor(parameter):
    """Return the ROS 2 description that `ros2 param describe` shows."""
    unit = f' [{parameter.unit}]' if parameter.unit else ''
    choices = f' One of: {", ".join(parameter.choices)}.' if parameter.choices else ''
    descriptor = msg.ParameterDescriptor(
        description=f'{parameter.description}{unit}{choices}', read_only=parameter.read_only,
        dynamic_typing=parameter.type == 'gain')
    if math.isfinite(parameter.minimum) and parameter.type in ('double', 'gain'):
        descriptor.floating_point_range = [
            msg.FloatingPointRange(from_value=parameter.minimum, to_value=parameter.maximum)]
    if parameter.type == 'integer':
        descriptor.integer_range = [
            msg.IntegerRange(from_value=parameter.minimum, to_value=parameter.maximum, step=1)]
    return descriptor


_EPILOG = """\
ROS 2 arguments follow --ros-args, and override the files:
  -p NAME:=VALUE  --params-file FILE  -r __ns:=/left  -r joint_states:=/robot/joint_states
`opspace parameters` prints the parameters of all nodes, and `opspace parameters --robot dual_arm`
a parameter file to copy."""


def node_arguments(verb, description, arguments):
    """
    Parse the arguments after an `opspace` verb that starts a node of a robot.

    They are a URDF or xacro file and a parameter file, both optional, and ROS arguments; for
    ``--help`` there is the node's description. Returns a list of arguments for
    `middleware.executor.run`: the files as ROS arguments, then the given ones. A file that cannot
    be read, or has the wrong content, is an OpspaceError; other errors are those of
    `middleware.executor.parse`.
    """
    parser = make_parser(verb, description, epilog=_EPILOG,
                         usage=f'opspace {verb} [-h] [URDF [PARAMS]] [--ros-args ...]')
    parser.add_argument('urdf', metavar='URDF', nargs='?',
                        help='the robot, a URDF or xacro file (default: the parameter '
                             'robot_description, or else the topic robot_description)')
    parser.add_argument('parameters', metavar='PARAMS', nargs='?',
                        help='a ROS 2 parameter file, which may have blocks for several nodes')
    options = parse(parser, arguments)
    given = []
    if options.parameters:
        given += ['--params-file', str(ParameterFile(options.parameters).path)]
    if options.urdf:
        given += ['-p', f'robot_description:={urdf_text(options.urdf)}']
    return ['--ros-args', *given, '--', *arguments]

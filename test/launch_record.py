# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
What a launch file declares, recorded without launch and launch_ros, of an installed ROS 2.

The classes bear the names of theirs, and take and keep what our launch files say to these. A file
is read as `ros2 launch` reads it, the files that it includes too; nothing is started.
"""

import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from unittest import mock

from opspace_control.share import share_directory

LAUNCH = Path(__file__).parents[1] / 'launch'
GENERATE = 'generate_launch_description'
COMMON = 'opspace_control.ros.launching'  # what launch files have in common
COMMON_FILE = Path(find_spec(COMMON).origin)


class LaunchDescription:
    def __init__(self, initial_entities=None):
        self.entities = list(initial_entities or [])


@dataclass(eq=False)
class DeclareLaunchArgument:
    name: str
    default_value: str = field(default=None, kw_only=True)
    description: str = field(default=None, kw_only=True)
    choices: list = field(default=None, kw_only=True)


@dataclass(eq=False)
class IncludeLaunchDescription:
    launch_description_source: object
    launch_arguments: tuple = field(default=(), kw_only=True)


@dataclass(eq=False, kw_only=True)
class OpaqueFunction:
    function: object
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)


@dataclass(eq=False, kw_only=True)
class LogInfo:
    msg: str


@dataclass(eq=False)
class RegisterEventHandler:
    event_handler: object


@dataclass(eq=False)
class SetLaunchConfiguration:
    name: str
    value: str


@dataclass(eq=False, kw_only=True)
class Shutdown:
    reason: str = 'reason not given'


@dataclass(eq=False, kw_only=True)
class OnProcessExit:
    on_exit: list
    target_action: object = None


@dataclass(eq=False)
class PythonLaunchDescriptionSource:
    launch_file_path: str


@dataclass(eq=False)
class LaunchConfiguration:
    variable_name: str

    def perform(self, context):
        """Return its value; a KeyError is what launch calls a SubstitutionFailure."""
        context.performed.add(self.variable_name)
        return context.configurations[self.variable_name]


@dataclass(eq=False, kw_only=True)
class Node:
    executable: str
    package: str = None
    name: str = None
    namespace: str = None
    exec_name: str = None
    parameters: list = ()
    remappings: list = ()
    ros_arguments: list = ()
    arguments: list = ()
    output: str = 'log'
    on_exit: object = None
    respawn: bool = False


@dataclass(eq=False)
class ParameterValue:
    value: object
    value_type: type = field(default=None, kw_only=True)


class PackageNotFoundError(KeyError):
    """Of ament_index_python."""


@dataclass
class Record:
    """What has been declared by a launch file and those it includes."""

    path: Path
    configurations: dict = field(default_factory=dict)
    declared: dict = field(default_factory=dict)
    shown: set = field(default_factory=set)  # arguments that `ros2 launch --show-args` shows
    written: set = field(default_factory=set)  # configurations that the file itself sets
    performed: set = field(default_factory=set)
    nodes: list = field(default_factory=list)
    awaited: list = field(default_factory=list)  # nodes whose end is awaited
    after: dict = field(default_factory=dict)  # node -> nodes that have exited before it starts
    included: list = field(default_factory=list)  # records of our own files, with what they got
    foreign: list = field(default_factory=list)  # (path, arguments) of others'
    said: list = field(default_factory=list)

    def everywhere(self, what):
        """Return a list of this record and of those of the included files, as one."""
        return getattr(self, what) + [
            each for record, _ in self.included for each in record.everywhere(what)]

    @property
    def arguments(self):
        """Names that ``name:=value`` may be said for."""
        return {*self.declared}.union(*(record.arguments for record, _ in self.included))

    @property
    def used(self):
        """Names whose values are looked at."""
        return self.performed.union(*(record.used for record, _ in self.included))

    def take(self, entity, exited=()):
        """Record what an entity does once these nodes have exited, and what comes after it."""
        match entity:
            case DeclareLaunchArgument():
                self.declared[entity.name] = entity
                self.configurations.setdefault(entity.name, entity.default_value)
            case OpaqueFunction():
                for each in entity.function(self, *entity.args, **entity.kwargs) or ():
                    self.take(each, exited)
            case SetLaunchConfiguration():
                self.configurations[entity.name] = entity.value
                self.written.add(entity.name)
            case Node():
                self.nodes.append(entity)
                self.after[entity] = exited
                if entity.on_exit is not None:
                    self.take(entity.on_exit, (*exited, entity))
            case RegisterEventHandler():
                awaited = entity.event_handler.target_action
                self.awaited.append(awaited)
                # A launch file names the handler of each exit after that of the one before it.
                for each in entity.event_handler.on_exit:
                    self.take(each, (*self.after.get(awaited, exited), awaited))
            case IncludeLaunchDescription():
                self._include(Path(entity.launch_description_source.launch_file_path),
                              dict(entity.launch_arguments))
            case LogInfo():
                self.said.append(entity.msg)
            case Shutdown():
                pass
            case _:
                raise TypeError(f'{self.path.name}: {entity!r} is nothing that can be launched.')

    def _include(self, path, arguments):
        if path.parent != share_directory() / 'launch':
            self.foreign.append((path, arguments))
            return
        # launch does not scope configurations: an included file sees those of who includes it.
        record = Record(path, {**self.configurations, **arguments})
        record.read(path.read_text())
        self.included.append((record, arguments))

    def read(self, text):
        """Record what the text of a launch file declares."""
        module = {'__name__': self.path.stem, '__file__': str(self.path)}
        exec(compile(text, self.path, 'exec'), module)
        for entity in module[GENERATE]().entities:
            before = self.arguments
            self.take(entity)
            if not isinstance(entity, OpaqueFunction):
                self.shown |= self.arguments - before


# Modules that launch files import from, with all that they may find there.
MODULES = {
    'launch': [LaunchDescription],
    'launch.actions': [DeclareLaunchArgument, IncludeLaunchDescription, LogInfo, OpaqueFunction,
                       RegisterEventHandler, SetLaunchConfiguration, Shutdown],
    'launch.event_handlers': [OnProcessExit],
    'launch.launch_description_sources': [PythonLaunchDescriptionSource],
    'launch.substitutions': [LaunchConfiguration],
    'launch_ros': [],
    'launch_ros.actions': [Node],
    'launch_ros.parameter_descriptions': [ParameterValue],
}


def read(file, *, installed=lambda package: True, text=None, common=None, **arguments):
    """
    Return the `Record` of a launch file with arguments, in a world with these packages installed.

    ``text`` stands for that of the file, ``common`` for that of COMMON.
    """
    def get_package_prefix(package):
        if not installed(package):
            raise PackageNotFoundError(package)
        return f'/opt/ros/{package}'

    def get_package_share_directory(package):
        return f'{get_package_prefix(package)}/share/{package}'

    modules = {name: ModuleType(name) for name in (
        *MODULES, 'ament_index_python', 'ament_index_python.packages')}
    for name, classes in MODULES.items():
        vars(modules[name]).update({each.__name__: each for each in classes})
    for each in (PackageNotFoundError, get_package_prefix, get_package_share_directory):
        setattr(modules['ament_index_python.packages'], each.__name__, each)
    record = Record(LAUNCH / file, dict(arguments))
    with mock.patch.dict(sys.modules, modules):
        sys.modules[COMMON] = ModuleType(COMMON)  # with these classes
        exec(compile(common or COMMON_FILE.read_text(), COMMON_FILE, 'exec'),
             vars(sys.modules[COMMON]))
        record.read(text or record.path.read_text())
    return record

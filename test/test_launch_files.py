# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
What the launch files name is there: executables, files, parameters, arguments.

This needs no launch: `launch_record` keeps what they declare. test_launch.py starts them, where
launch is installed.
"""

import importlib.util
import inspect
import re
import shlex
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

import launch_record
import pytest
from launch_record import COMMON_FILE, LAUNCH, ParameterValue

pytest.importorskip('xacro', reason='xacro is not installed')

from opspace_control import library
from opspace_control.cli.main import VERBS
from opspace_control.cli.robots import LEGGED, ROBOTS, demo_robot
from opspace_control.errors import ModelError, OpspaceError
from opspace_control.model import KinematicTree
from opspace_control.ros.parameters import simulator_parameters
from opspace_control.ros.parameters.controller_parameters import WATCHDOG, table_of
from opspace_control.ros.parameters.parameter_file import ParameterFile, refusals
from opspace_control.share import share_directory

ROOT = Path(__file__).parents[1]
FILES = sorted(name for path in LAUNCH.glob('*.launch.py')
               if (name := path.name.removesuffix('.launch.py')) != 'plugin'
               or library.is_there())  # it exports a controller
ALL_SHOWN = {'view': 'true', 'rviz': 'true', 'foxglove': 'true'}
# Everything that a file may do, one way and the other.
WAYS = [
    ('display', ALL_SHOWN),
    ('simulation', {}),
    ('simulation', {'urdf': str(ROOT / 'urdf' / 'planar_3r.urdf'),
                    'params': str(ROOT / 'config' / 'planar_3r.yaml')}),
    ('trot', {}),
    ('trot', {'robot': 'go2', **ALL_SHOWN}),
    ('ros2_control', {}),
    ('ros2_control', {'watchdog': 'true', 'namespace': 'left', **ALL_SHOWN}),
    ('ros2_control', {'hardware': 'topic'}),
    *(pytest.param('plugin', {'hardware': hardware}, marks=pytest.mark.skipif(
        not library.is_there(), reason='the library is not built'))
      for hardware in ('mock', 'topic')),
    ('gazebo', {}),
    ('gazebo', {'gui': 'false', 'watchdog': 'false', **ALL_SHOWN}),
]
# What others have, as far as it is used here: executables, their options with the number of values
# of each, and their parameters; arguments of launch files.
OTHERS = {
    ('controller_manager', 'ros2_control_node'): ({}, ()),
    ('controller_manager', 'spawner'): ({'--inactive': 0, '--controller-manager-timeout': 1}, ()),
    ('foxglove_bridge', 'foxglove_bridge'): ({}, ()),
    ('robot_state_publisher', 'robot_state_publisher'): ({}, ('robot_description',)),
    ('ros_gz_bridge', 'parameter_bridge'): ({}, ()),
    ('ros_gz_sim', 'create'): ({'-topic': 1, '-name': 1}, ()),
    ('rviz2', 'rviz2'): ({'-d': 1, '-f': 1}, ()),
}
# Controllers that a launch file itself tells the controller manager of.
PLUGINS = {'opspace_controller'}
OTHER_FILES = {'ros_gz_sim/launch/gz_sim.launch.py': ('gz_args', 'on_exit_shutdown')}
# Our nodes that have parameters: their tables, for values of which some may be missing.
TABLES = {
    'controller': table_of,
    'simulator': lambda values: [
        *simulator_parameters.simulator_table(values),
        *(simulator_parameters.INITIAL_POSITION.named(f'initial_positions.{joint}')
          for joint in KinematicTree.from_urdf(values['robot_description']).joint_names)],
    'command_watchdog': lambda values: WATCHDOG,
}


def read(file, **how):
    return launch_record.read(f'{file}.launch.py', **how)


@pytest.fixture(scope='module')
def installed():
    """Return the files that setup.py installs, below the prefix."""
    with mock.patch('setuptools.setup') as setup, pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        exec((ROOT / 'setup.py').read_text(), {})
    return {f'{folder}/{Path(file).name}' for folder, files in setup.call_args[1]['data_files']
            for file in files}


def source_of(executable):
    return Path(importlib.util.find_spec(f'opspace_control.{VERBS[executable][0]}').origin)


def name_of(executable):
    """Return the name that a node of ours gives itself."""
    name, = re.findall(r"super\(\).__init__\('(\w+)'",
                       source_of(executable).read_text())
    return name


def managed(file):
    """Return the controllers that a parameter file tells the controller manager of."""
    return {name.removesuffix('.type')
            for name in ParameterFile(file).of_node('controller_manager') if name.endswith('.type')}


def faults(record, installed):
    """Yield whatever a launch file, or one that it includes, names and nobody has."""
    for each, arguments in record.included:
        yield from (f'{each.path.name} has no argument {name}'
                    for name in arguments.keys() - each.declared.keys())
        yield from faults(each, installed)
    yield from (f'argument {name} is of no use'
                for name in record.declared.keys() - record.used)
    yield from (f'no file has an argument {name}' for name in record.written - record.arguments)
    for path, arguments in record.foreign:
        known = OTHER_FILES.get(str(path.relative_to(path.parents[2])))
        yield from [f'no {path}'] if known is None else (
            f'{path.name} has no argument {name}' for name in arguments if name not in known)
    for node in record.nodes:
        if node.package == 'opspace_control':
            if f'lib/opspace_control/{node.executable}' not in installed:
                yield f'no executable {node.executable}'
                continue
            options = dict.fromkeys(re.findall(r"add_argument\('(--[\w-]+)'",
                                               source_of(node.executable).read_text()), 1)
            yield from unknown_parameters(node)
        elif (node.package, node.executable) not in OTHERS:
            yield f'no executable {node.executable} of {node.package}'
            continue
        else:
            options, parameters = OTHERS[node.package, node.executable]
            yield from (f'{node.executable} has no parameter {name}' for name in given_to(node)
                        if name not in (*parameters, 'use_sim_time'))
        yield from unknown_words(
            node, options, managed(record.configurations['params']) | PLUGINS
            if node.executable == 'spawner' else ())
        yield from (f'no file {word}' for word in files_of(node) if word not in installed)
    yield from (f'{node} is awaited, but not launched'
                for node in record.awaited if node not in record.nodes)


def files_of(node):
    """Yield the files of this package that a node gets, by where they are installed."""
    for word in (*node.arguments, *node.parameters):
        if isinstance(word, str) and Path(word).is_relative_to(share_directory()):
            yield f'share/opspace_control/{Path(word).relative_to(share_directory())}'


def unknown_words(node, options, controllers):
    """Yield what a node gets on its command line and does not know."""
    rest = list(node.arguments)
    while rest:
        word = rest.pop(0)
        if word in options:
            del rest[:options[word]]
        elif word.startswith('-'):
            yield f'{node.executable} has no option {word}'
        elif controllers and word not in controllers:
            yield f'no controller {word}'


def given_to(node):
    """Return the parameters, name -> value, that a node gets beside those of files."""
    return {name: value.value if isinstance(value, ParameterValue) else value
            for given in node.parameters if isinstance(given, dict)
            for name, value in given.items()}


def unknown_parameters(node):
    """Yield parameters that a node of ours does not have, or would not take."""
    values = {}
    for file in (each for each in node.parameters if isinstance(each, str)):
        values |= ParameterFile(file).of_node(name_of(node.executable))
        if not values:
            yield f'{file} has no block for {node.executable}'
    table = TABLES.get(node.executable, lambda values: ())
    yield from map(str, refusals({**values, **given_to(node)}, table({**values, **given_to(node)})))


def texts(record, executable):
    return [given_to(node)['robot_description'] for node in record.nodes
            if node.executable == executable and 'robot_description' in given_to(node)]


@pytest.mark.parametrize(('file', 'arguments'), WAYS, ids=str)
def test_all_that_is_named_is_there(file, arguments, installed):
    record = read(file, **arguments)
    assert list(faults(record, installed)) == []
    assert record.everywhere('nodes')


@pytest.mark.parametrize('robot', [robot.name for robot in (*ROBOTS, *LEGGED)])
def test_every_robot_has_its_parameters(robot, installed):
    try:
        demo_robot(robot).path()
    except OpspaceError as error:
        pytest.skip(str(error))
    assert list(faults(read('simulation', robot=robot), installed)) == []


@pytest.mark.parametrize('file', ['display', 'simulation'])
def test_what_is_not_installed_is_said(file, installed):
    """All but our own package may be missing."""
    record = read(file, installed=lambda package: package == 'opspace_control', **ALL_SHOWN)
    assert {node.package for node in record.everywhere('nodes')} == {'opspace_control'}
    said = ' '.join(record.everywhere('said'))
    assert all(f'{name} is not installed' in said for name in ('rviz2', 'foxglove_bridge'))
    assert ('robot_state_publisher is not installed' in said) == (file == 'simulation')
    assert list(faults(record, installed)) == []


@pytest.mark.parametrize('file', FILES)
def test_the_files_head_shows_arguments_that_there_are(file):
    text = (LAUNCH / f'{file}.launch.py').read_text()
    arguments = read(file).arguments
    head = text.split('"""')[1].replace('\\\n', ' ')
    shown = [shlex.split(line, comments=True) for line in head.splitlines()
             if line.strip().startswith('ros2 launch')]
    assert shown
    for _, _, package, name, *rest in shown:
        assert (package, name) == ('opspace_control', f'{file}.launch.py')
        assert {word.partition(':=')[0] for word in rest} <= arguments


@pytest.mark.parametrize('file', FILES)
def test_all_arguments_are_shown(file):
    """`ros2 launch --show-args` looks into included files, but not into what a function returns."""
    record = read(file)
    assert record.shown == record.arguments
    assert {'view', 'rviz', 'foxglove', 'host', 'frame'} <= record.shown


def test_fixed_frame_is_the_root_link_unless_another_is_given():
    for arguments, frame in (({}, 'base_link'), ({'frame': 'torso'}, 'torso')):
        rviz, = (node for node in read('simulation', rviz='true', **arguments).everywhere('nodes')
                 if node.executable == 'rviz2')
        assert rviz.arguments[-2:] == ['-f', frame]


def test_robot_gets_the_hardware_that_is_asked_for():
    """xacro says nothing of an argument that a file does not have."""
    for file, arguments, plugin, interfaces in (
            ('gazebo', {}, 'gz_ros2_control/GazeboSimSystem', {'effort'}),
            ('ros2_control', {'hardware': 'a/B', 'interfaces': 'effort position'}, 'a/B',
             {'effort', 'position'})):
        record = read(file, **arguments)
        text, = texts(record, 'robot_state_publisher')
        block, = ElementTree.fromstring(text).iterfind('ros2_control')
        assert block.findtext('hardware/plugin') == plugin
        assert {each.get('name') for each in block.iter('command_interface')} == interfaces
        for told in ElementTree.fromstring(text).iterfind('gazebo/plugin/parameters'):
            assert told.text == record.configurations['params']


def test_gazebo_refuses_a_robot_without_a_controller_manager():
    """Its spawners would wait for one for a minute each, and say nothing of the cause."""
    with pytest.raises(ModelError, match='has no plugin gz_ros2_control-system'):
        read('gazebo', urdf=str(ROOT / 'urdf' / 'arm_7r.urdf'))


def test_topics_are_those_of_the_other_end():
    record = read('ros2_control', hardware='topic', watchdog='true')
    simulator, = (node for node in record.nodes if node.executable == 'simulator')
    (ours, remapped), = simulator.remappings
    assert f"publisher(JointState, '{ours}'" in source_of('simulator').read_text()
    block, = ElementTree.fromstring(texts(record, 'simulator')[0]).iterfind('ros2_control/hardware')
    assert {each.get('name'): each.text for each in block.iter('param')}[
        'joint_states_topic'] == remapped


@pytest.mark.parametrize('file', ['ros2_control', 'gazebo'])
def test_commands_go_through_the_watchdog(file):
    record = read(file, watchdog='true')
    controller, = (node for node in record.nodes if node.executable == 'controller')
    node, _, topic = given_to(controller)['command_topic'].rpartition('/')
    assert node == name_of('command_watchdog')
    assert f"'~/{topic}'" in source_of('command_watchdog').read_text()
    assert [each.executable for each in record.nodes].count('command_watchdog') == 1
    for given in [{'watchdog': 'false'}, *([{'route': 'plugin'}] if file == 'gazebo' else [])]:
        assert 'command_watchdog' not in [each.executable for each in read(file, **given).nodes]


@pytest.mark.parametrize(('file', 'arguments'), [
    ('simulation', {}), ('gazebo', {'watchdog': 'true'})], ids=str)
def test_controllers_of_simulations_go_by_their_clock(file, arguments):
    """A pause is no fault then."""
    ours = [node for node in read(file, **arguments).nodes
            if node.executable in ('controller', 'command_watchdog')]
    assert len(ours) == 1 + len(arguments)
    assert all(given_to(node)['use_sim_time'] is True for node in ours)


@pytest.mark.parametrize(('file', 'arguments'), [
    ('gazebo', {}), ('ros2_control', {}), ('ros2_control', {'watchdog': 'true'})], ids=str)
def test_controller_starts_when_all_spawners_have_exited(file, arguments):
    """A controller that a spawner activates later would command the joints beside ours."""
    record = read(file, **arguments)
    spawners = {node for node in record.nodes if node.executable == 'spawner'}
    # That of the plug-in is loaded by our controller itself.
    assert {word for node in spawners for word in node.arguments} >= managed(
        record.configurations['params']) - {'opspace_plugin'}
    controller, = (node for node in record.nodes if node.executable == 'controller')
    assert spawners <= set(record.after[controller])


@pytest.mark.parametrize(('file', 'arguments', 'word', 'wrong'), [
    ('simulation', {}, "executable='simulator'", "executable='simulater'"),
    ('simulation', {}, "'robot_description'", "'robot_descripton'"),
    ('simulation', {}, "SetLaunchConfiguration('frame',", "SetLaunchConfiguration('fixed_frame',"),
    ('simulation', {}, "'use_sim_time': True", "'use_simtime': True"),
    ('display', ALL_SHOWN, "'opspace.rviz'", "'opspace.rvis'"),
    ('display', ALL_SHOWN, "'--host'", "'--hots'"),
    ('display', ALL_SHOWN, "'goal_markers'", "'goal_marker'"),
    ('ros2_control', {'watchdog': 'true'}, "'command_topic'", "'command_topik'"),
    ('ros2_control', {}, "spawner('effort_controller'", "spawner('effort_controler'"),
    ('ros2_control', {}, "'--inactive'", "'--inactiv'"),
    ('ros2_control', {}, "executable='ros2_control_node'", "executable='ros2_control'"),
    ('gazebo', {}, "'on_exit_shutdown'", "'on_exit_shut_down'"),
    ('gazebo', {}, "'world': (", "'wordl': ("),
    ('gazebo', {}, 'after(effort_controller,', "after(spawner('effort_controller'),"),
], ids=str)
def test_a_slip_is_found(file, arguments, word, wrong, installed):
    texts = {'text': (LAUNCH / f'{file}.launch.py').read_text(), 'common': COMMON_FILE.read_text()}
    where, = (name for name, text in texts.items() if word in text)
    slip = {where: texts[where].replace(word, wrong)}
    try:
        found = list(faults(read(file, **slip, **arguments), installed))
    except KeyError as error:  # as launch's SubstitutionFailure
        found = [str(error)]
    assert found


def test_what_is_recorded_can_be_said_to_launch():
    """Where it is installed: no class here takes what the real one would refuse."""
    pytest.importorskip('launch.actions', reason='launch is not installed')
    pytest.importorskip('launch_ros.actions', reason='launch_ros is not installed')
    for name, classes in launch_record.MODULES.items():
        for ours in classes:
            real = getattr(importlib.import_module(name), ours.__name__)
            known = {parameter for base in real.__mro__
                     for parameter in inspect.signature(base.__init__).parameters}
            assert set(inspect.signature(ours).parameters) <= known, ours

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The command line of verbs that start nodes: help, files, arguments of ROS 2."""

import json
import re

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip('viser', reason='viser is not installed')
pytest.importorskip('xacro', reason='xacro is not installed')

import rclpy
import robots
import ros_nodes
from rcl_interfaces.msg import ParameterDescriptor
from std_msgs.msg import String

from opspace_control.cli.main import VERBS, main
from opspace_control.errors import RosInterfaceError
from opspace_control.model.urdf import urdf_text
from opspace_control.ros.middleware.executor import initialize
from opspace_control.ros.parameters.node_parameters import node_arguments

NODES = ('controller', 'simulator', 'command_watchdog')
# No YAML: a comment, tabs, quotes, backslashes, letters that are not ASCII.
URDF = ('<?xml version="1.0"?>\n<!-- wrist: the "third" joint, ½ kg # \\n\t-->\n'
        + robots.chain('revolute', 'revolute'))


@pytest.fixture
def no_node(monkeypatch):
    """Let no node start."""
    def started(**_):
        pytest.fail('a node is started')
    monkeypatch.setattr(rclpy, 'init', started)


@pytest.fixture
def files(tmp_path):
    """Return a xacro file and a parameter file for several nodes."""
    xacro = tmp_path / 'mine.urdf.xacro'
    xacro.write_text(URDF.replace('<robot ', '<robot xmlns:xacro="http://ros.org/wiki/xacro" ', 1))
    parameters = tmp_path / 'mine.yaml'
    parameters.write_text(json.dumps({
        '/**/opspace_simulator': {'ros__parameters': {'initial_positions': {'j1': 0.5},
                                                      'timestep': 0.002}},
        '/**/opspace_controller': {'ros__parameters': {'tasks': ['hand']}}}))
    return str(xacro), str(parameters)


def told(arguments, name):
    """Return a parameter of a simulator that is given these arguments."""
    initialize(arguments)
    try:
        node = rclpy.create_node('opspace_simulator')
        node.declare_parameter(name, None, ParameterDescriptor(dynamic_typing=True))
        return node.get_parameter(name).value
    finally:
        rclpy.shutdown()


class TestHelp:

    @pytest.mark.parametrize('verb', VERBS)
    @pytest.mark.parametrize('option', ['-h', '--help'])
    def test_of_every_verb_starts_nothing(self, no_node, capsys, verb, option):
        with pytest.raises(SystemExit) as left:
            main([verb, option])
        assert left.value.code == 0
        assert capsys.readouterr().out.startswith(f'usage: opspace {verb} ')

    @pytest.mark.parametrize('verb', [*NODES, 'goal_markers', 'view', 'record'])
    def test_after_arguments_of_ros(self, no_node, capsys, verb):
        with pytest.raises(SystemExit) as left:
            main([verb, '--ros-args', '-r', '__ns:=/left', '--help'])
        assert left.value.code == 0
        assert capsys.readouterr().out.startswith(f'usage: opspace {verb} ')


class TestRefusals:

    @pytest.mark.parametrize('verb', [*NODES, 'goal_markers', 'view', 'record'])
    @pytest.mark.parametrize(('arguments', 'complaint'), [
        (['--ros-args', '--nonsense'], 'cannot use the arguments after --ros-args.*--nonsense'),
        (['--ros-args', '-p', 'tasks'], "cannot use the arguments.*'-p tasks'.*NAME:=VALUE"),
    ])
    def test_are_a_sentence(self, no_node, verb, arguments, complaint, capsys):
        assert main([verb, *arguments]) == 1
        said = capsys.readouterr().err
        assert re.search(complaint, said), said
        assert '/src/' not in said

    def test_of_what_is_known_only_when_ros_2_starts(self):
        with pytest.raises(RosInterfaceError, match=r'--params-file nowhere\.yaml'):
            initialize(['--ros-args', '--params-file', 'nowhere.yaml'])

    @pytest.mark.parametrize('verb', NODES)
    @pytest.mark.parametrize('wrong', [0, 1])
    def test_of_files(self, no_node, files, verb, wrong, capsys):
        names = list(files)
        names[wrong] = 'nowhere'
        assert main([verb, *names]) == 1
        assert "'nowhere' cannot be read" in capsys.readouterr().err

    def test_of_arguments_without_ros_args(self, no_node, capsys):
        with pytest.raises(SystemExit) as left:
            main(['controller', '-p', 'tasks:=[hand]'])
        assert left.value.code == 2
        assert '--ros-args' in capsys.readouterr().err


class TestFiles:

    def test_become_parameters(self, files):
        arguments = node_arguments('simulator', '', list(files))
        assert told(arguments, 'robot_description') == urdf_text(files[0])
        assert told(arguments, 'initial_positions.j1') == 0.5

    def test_count_less_than_arguments(self, files):
        arguments = node_arguments('simulator', '', [
            *files, '--ros-args', '-p', 'initial_positions.j1:=0.25'])
        assert told(arguments, 'initial_positions.j1') == 0.25
        assert told(arguments, 'timestep') == 0.002

    @pytest.mark.parametrize('node', ['', 'opspace_simulator:'])
    def test_may_be_text_in_an_argument(self, node):
        """As in -p robot_description:="$(cat my.urdf)"."""
        arguments = ['--ros-args', '-p', f'{node}robot_description:={URDF}']
        assert told(node_arguments('simulator', '', arguments), 'robot_description') == URDF

    def test_are_all_that_a_simulator_needs(self, files):
        with ros_nodes.network() as network:
            states = network.states()
            heard = network.listen(String, 'robot_description', ros_nodes.LATCHED)
            network.start('simulator', arguments=['--', *files])
            network.expect(lambda: states and heard)
            assert states[-1].position[0] == 0.5
            assert heard[0].data == urdf_text(files[0])

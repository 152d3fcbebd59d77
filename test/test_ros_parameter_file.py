# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Parameter files are read without ROS as ROS reads them, and judged as the nodes judge them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opspace_control import RosInterfaceError
from opspace_control.ros.parameters.controller_parameters import controller_table, table_of
from opspace_control.ros.parameters.parameter_file import ParameterFile, refusals
from opspace_control.ros.parameters.simulator_parameters import simulator_table

ROOT = Path(__file__).parents[1]
TRICKY = """\
/**:
  ros__parameters: {a: 1, b: 1.0, c: text, shared: 1, deep: {er: {still: .inf}}}
/opspace_controller:
  ros__parameters:
    a: 2
    switches: [yes, no, on, off, y, n, true, False]
    answer: y
    large: 1e3
    small: -1E-3
    numbers: [1.5, 1e3, .5]
    whole: [1, 2, 3]
    names: ['y', "1", z]
    quoted: 'true'
    y: {on: 1}
    empty: ''
    negative: -.inf
  # Another node's.
/other/node:
  ros__parameters: {a: 3}
/*:
  ros__parameters: {shared: 2}
"""
ASK_ROS = """\
import json, sys
import rclpy
from rclpy.node import Node
rclpy.init(args=['--ros-args', '--params-file', sys.argv[1]])
node = Node('opspace_controller', automatically_declare_parameters_from_overrides=True,
            start_parameter_services=False)
values = {name: parameter.value for name, parameter in node.get_parameters_by_prefix('').items()}
print(json.dumps({name: list(value) if hasattr(value, 'tolist') else value
                  for name, value in values.items() if name != 'use_sim_time'}))
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / 'parameters.yaml'
        path.write_text(text)
        return ParameterFile(path)
    return write


def test_reads_what_ros_reads(file, tmp_path):
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    ours = file(TRICKY).of_node('opspace_controller')
    said = subprocess.run([sys.executable, '-c', ASK_ROS, tmp_path / 'parameters.yaml'], check=True,
                          capture_output=True, text=True).stdout
    theirs = json.loads(said)
    theirs.pop('start_type_description_service', None)  # declared by every node
    assert ours == theirs
    assert {name: type(value) for name, value in ours.items()} == {
        name: type(value) for name, value in theirs.items()}


class TestNodes:

    @pytest.mark.parametrize('name', [
        'opspace_controller', '/opspace_controller', '/**/opspace_controller', '/left/*', '/**',
        '/left/opspace_controller'])
    def test_ours(self, file, name):
        text = f'{name}:\n  ros__parameters: {{a: 1}}'
        assert file(text).of_node('opspace_controller') == {'a': 1}

    @pytest.mark.parametrize('name', ['controller', '/opspace_controller/other', 'opspace'])
    def test_others(self, file, name):
        other = file(f'{name}:\n  ros__parameters: {{a: 1}}')
        assert other.of_node('opspace_controller') == {}
        assert other.nodes == (name,)

    def test_namespaces_may_be_blocks(self, file):
        text = 'left:\n  opspace_controller:\n    ros__parameters: {a: {b: 1}}'
        assert file(text).of_node('opspace_controller') == {'a.b': 1}

    def test_later_blocks_win(self, file):
        text = '/**:\n  ros__parameters: {a: 1, b: 1}\nn:\n  ros__parameters: {a: 2}'
        assert file(text).of_node('n') == {'a': 2, 'b': 1}

    def test_nothing_given_is_nothing_changed(self, file):
        assert file('n:\n  ros__parameters: {a: 1, b: , c: {d: }}').of_node('n') == {'a': 1}


@pytest.mark.parametrize('text', [
    '', '42', '[a]', 'n: {a: 1}', 'n:\n  ros__parameters: 3', 'ros__parameters: {a: 1}', '{', '\0',
    'a: !!python/object:os.system {}'])
def test_no_parameter_file(file, text):
    with pytest.raises(RosInterfaceError, match=r'parameters\.yaml'):
        file(text)


def test_missing_file(tmp_path):
    with pytest.raises(RosInterfaceError, match='No such file'):
        ParameterFile(tmp_path / 'nowhere.yaml')
    with pytest.raises(RosInterfaceError, match='directory'):
        ParameterFile(tmp_path)


class TestRefusals:

    @staticmethod
    def of(**values):
        table = controller_table(['hand'])
        return [str(error) for error in refusals(
            {name.replace('__', '.'): value for name, value in values.items()}, table)]

    @pytest.mark.parametrize('values', [
        {'update_rate': 500.0}, {'autostart': False}, {'tasks': ['hand']}, {'tasks': []},
        {'hand__kp': 100.0}, {'hand__kp': 100}, {'hand__kp': [1.0] * 6}, {'hand__kp': [1] * 6},
        {'hand__max_linear_velocity': float('inf')}, {'use_sim_time': True}])
    def test_good_values(self, values):
        assert self.of(**values) == []

    @pytest.mark.parametrize(('values', 'reason'), [
        ({'update_rate': 500}, 'decimal point: 500.0'), ({'update_rate': -1.0}, 'update_rate'),
        ({'update_rate': 'fast'}, 'is string, not double'), ({'autostart': 1}, 'not bool'),
        ({'tasks': 'hand'}, 'not string_array'), ({'tasks': [True]}, 'Put it in quotes'),
        ({'hand__kp': [1.0, 2]}, 'mixes types'), ({'hand__kp': [1.0] * 5}, '6 numbers'),
        ({'hand__kp': True}, 'is bool, not a number or 6 numbers'),
        ({'hand__kp': float('nan')}, 'not a number'),
        ({'hand__type': 'pse'}, 'one of pose'), ({'hand__frame': 3}, 'not string')])
    def test_bad_values(self, values, reason):
        refusal, = self.of(**values)
        assert next(iter(values)).replace('__', '.') in refusal
        assert reason in refusal

    @pytest.mark.parametrize(('name', 'cure'), [
        ('updaterate', "'update_rate'"), ('hand.kpp', "'hand.kp'"), ('kp', "'hand.kp'"),
        ('left.kp', "If 'left' is one, name it in tasks"), ('Tasks', "'tasks'")])
    def test_unknown_names(self, name, cure):
        refusal, = self.of(**{name: 1.0})
        assert f'There is no parameter {name}.' in refusal
        assert cure in refusal


@pytest.mark.parametrize('path', sorted((ROOT / 'config').glob('**/*.yaml')), ids=lambda p: p.stem)
def test_our_files_are_without_fault(path):
    file = ParameterFile(path)
    for node, table in ('opspace_controller', table_of), ('opspace_simulator', simulator_table):
        values = {name: value for name, value in file.of_node(node).items()
                  if not name.startswith('initial_positions.')}
        assert list(refusals(values, table(values))) == []

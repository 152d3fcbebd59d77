# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameter tables, the files made from them, and a real node that declares them."""

import math

import pytest
import yaml

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import rclpy
from rclpy.parameter import Parameter as RosParameter

from opspace_control.cli.parameters import parameter_file, tables
from opspace_control.cli.robots import ROBOTS
from opspace_control.errors import RosInterfaceError
from opspace_control.ros.parameters.controller_parameters import controller_table
from opspace_control.ros.parameters.documentation import yaml_value
from opspace_control.ros.parameters.node_parameters import NodeParameters
from opspace_control.ros.parameters.parameter_table import Parameter
from opspace_control.share import share_directory

TABLE = (
    Parameter('rate', 'double', 10.0, 'A rate.', 'Hz', 0.0, 100.0, read_only=False),
    Parameter('gain', 'gain', 1.0, 'A gain.', '', 0.0, 1e3, length=6, read_only=False),
    Parameter('names', 'string_array', [], 'Names.', read_only=False),
    Parameter('kind', 'string', 'a', 'A kind.', choices=('a', 'b'), read_only=False),
    Parameter('fixed', 'bool', True, 'Not to be changed.'),
    Parameter('maybe', 'double', None, 'Not given.'),
)


@pytest.fixture
def context():
    context = rclpy.Context()
    rclpy.init(context=context)
    yield context
    context.try_shutdown()


def declared(context, check=lambda values, names: None, changed=lambda names: None, **overrides):
    """Return a node and its parameters, as if a file had given some of them."""
    node = rclpy.create_node('node', context=context, parameter_overrides=[
        RosParameter(name, value=value) for name, value in overrides.items()])
    parameters = NodeParameters(node, check, changed)
    parameters.declare(TABLE)
    parameters.check_names()
    parameters.accept_changes()
    return node, parameters


def change(node, **values):
    return node.set_parameters_atomically(
        [RosParameter(name, value=value) for name, value in values.items()])


class TestDeclaration:

    def test_defaults(self, context):
        _, parameters = declared(context)
        assert dict(parameters) == {'rate': 10.0, 'gain': 1.0, 'names': [], 'kind': 'a',
                                    'fixed': True, 'maybe': None}

    def test_given_values(self, context):
        _, parameters = declared(context, rate=20.0, gain=[1, 2, 3, 4, 5, 6], names=['a', 'b'],
                                 maybe=1.5)
        assert parameters['rate'] == 20.0
        assert parameters['gain'] == [1, 2, 3, 4, 5, 6]
        assert parameters['names'] == ['a', 'b']
        assert parameters['maybe'] == 1.5

    @pytest.mark.parametrize(('given', 'complaint'), [
        ({'rate': 20}, 'decimal point'),
        ({'rate': 101.0}, 'rate'),
        ({'rate': math.nan}, 'rate'),
        ({'gain': [1.0, 2.0]}, '6 numbers, not 2'),
        ({'gain': [1.0] * 5 + [math.nan]}, 'gain is not a number'),
        ({'gain': 'stiff'}, 'stiff'),
        ({'kind': 'c'}, 'a, b'),
        ({'names': 'a'}, 'names'),
        ({'raet': 20.0}, "Did you mean 'rate'"),
        ({'raet': 20.0, 'gian': 1.0}, "'rate'.*'gain'"),
    ])
    def test_refuses_what_a_file_gives_wrongly(self, context, given, complaint):
        with pytest.raises(RosInterfaceError, match=complaint):
            declared(context, **given)

    def test_describes_itself(self, context):
        node, _ = declared(context)
        descriptor = node.describe_parameter('rate')
        assert descriptor.description == 'A rate. [Hz]'
        assert descriptor.floating_point_range[0].to_value == 100.0
        assert node.describe_parameter('fixed').read_only


class TestChanges:

    def test_good_ones_are_announced(self, context):
        heard = []
        node, parameters = declared(context, changed=lambda names: heard.append(parameters['rate']))
        assert change(node, rate=50.0).successful
        assert heard == [50.0]

    @pytest.mark.parametrize('values', [
        {'rate': math.nan}, {'rate': -1.0}, {'rate': 'fast'}, {'gain': [1.0, -1.0] * 3},
        {'gain': [True] * 6}, {'kind': 'c'}, {'fixed': False}, {'gain': 5.0, 'rate': math.inf},
    ])
    def test_bad_ones_change_nothing(self, context, values):
        heard = []
        node, parameters = declared(context, changed=lambda names: heard.append(1))
        before = dict(parameters)
        result = change(node, **values)
        assert not result.successful
        assert result.reason
        assert dict(parameters) == before
        assert not heard

    def test_are_checked_together(self, context):
        def check(values, names):
            if values['rate'] < values['gain']:
                raise RosInterfaceError('too slow')

        node, parameters = declared(context, check)
        assert change(node, gain=50.0).reason == 'too slow'
        assert change(node, gain=50.0, rate=60.0).successful
        assert parameters['gain'] == 50.0


@pytest.mark.parametrize('name', ['', 'left hand', '1', 'posture', 'a.b', 'hand/x'])
def test_tasks_need_usable_names(name):
    with pytest.raises(RosInterfaceError, match='No task'):
        controller_table([name])


@pytest.mark.parametrize('value', [
    True, 1.0, -0.5, 1e-5, math.inf, 'word', 'a/b c', '', 'y', 'off', ['a', 'b'], [], 'x y'])
def test_yaml_values_are_read_back(value):
    assert yaml.safe_load(yaml_value(value)) == value


@pytest.mark.parametrize('robot', ROBOTS, ids=lambda robot: robot.name)
def test_parameter_file_is_the_one_that_the_table_makes(robot):
    """Write it anew with: opspace parameters --robot NAME > config/NAME.yaml."""
    text = (share_directory() / 'config' / f'{robot.name}.yaml').read_text()
    assert text == parameter_file(robot)
    content = yaml.safe_load(text)
    given = content['/**/opspace_simulator']['ros__parameters']['initial_positions']
    assert given == pytest.approx(robot.start)


def test_readme_has_the_tables():
    """Write them anew with: opspace parameters."""
    readme = (share_directory() / 'README.md').read_text()
    between = readme.split('<!-- parameters:begin -->\n')[1].split('<!-- parameters:end -->')[0]
    assert between == tables()

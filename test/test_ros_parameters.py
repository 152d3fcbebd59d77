# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameter tables, the files made from them, and a real node that declares them."""

import math
import re
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import yaml

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import rclpy
import ros_nodes
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter as RosParameter
from ros2_words import dump, load

from opspace_control.cli.parameters import parameter_file, yaml_value
from opspace_control.cli.robots import LEGGED, ROBOTS
from opspace_control.errors import ControlError, RosInterfaceError
from opspace_control.ros.configuration import Configuration, Recorded
from opspace_control.ros.parameters import robot
from opspace_control.ros.parameters.controller_parameters import (
    controller_table,
)
from opspace_control.ros.parameters.node_parameters import NodeParameters
from opspace_control.ros.parameters.parameter_table import Parameter
from opspace_control.ros.parameters.task_blocks import make_contact
from opspace_control.share import share_directory

sys.path.insert(0, str(share_directory() / 'doc'))

from reference_pages import pages

TABLE = (
    Parameter('rate', 'double', 10.0, 'A rate.', 'Hz', 0.0, 100.0, read_only=False),
    Parameter('gain', 'gain', 1.0, 'A gain.', '', 0.0, 1e3, length=6, read_only=False),
    Parameter('names', 'string_array', [], 'Names.', read_only=False),
    Parameter('kind', 'string', 'a', 'A kind.', choices=('a', 'b'), read_only=False),
    Parameter('fixed', 'bool', True, 'Not to be changed.'),
    Parameter('lengths', 'double_array', [], 'Not to be changed, and empty.'),
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
    parameters.accept_changes()
    return node, parameters


def change(node, **values):
    return node.set_parameters_atomically(
        [RosParameter(name, value=value) for name, value in values.items()])


class TestDeclaration:

    def test_defaults(self, context):
        _, parameters = declared(context)
        assert dict(parameters) == {'rate': 10.0, 'gain': 1.0, 'names': [], 'kind': 'a',
                                    'fixed': True, 'lengths': []}

    def test_given_values(self, context):
        _, parameters = declared(context, rate=20.0, gain=[1, 2, 3, 4, 5, 6], names=['a', 'b'],
                                 lengths=[1.5])
        assert parameters['rate'] == 20.0
        assert parameters['gain'] == [1, 2, 3, 4, 5, 6]
        assert parameters['names'] == ['a', 'b']
        assert parameters['lengths'] == [1.5]

    def test_what_has_no_value_in_a_file_has_that_of_the_table(self, context):
        node, parameters = declared(context, names=None, gain=None, lengths=None)
        assert (parameters['names'], parameters['gain'], parameters['lengths']) == ([], 1.0, [])
        assert [parameter.type_ for parameter in node.get_parameters(
            ['names', 'gain', 'lengths'])] == [
                RosParameter.Type.STRING_ARRAY, RosParameter.Type.DOUBLE,
                RosParameter.Type.DOUBLE_ARRAY]
        assert node.describe_parameter('lengths').read_only

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
        {'gain': None}, {'names': None}, {'lengths': []}, {'rate': []},
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

    def test_an_empty_list_is_one_of_its_parameter(self, context):
        """Clients that read [] in a text cannot know what it is a list of."""
        node, parameters = declared(context, names=['a'])
        for kind in (RosParameter.Type.BOOL_ARRAY, RosParameter.Type.STRING_ARRAY):
            assert change(node, names=['a']).successful
            result, = node.set_parameters([RosParameter('names', kind, [])])
            assert result.successful, result.reason
            assert parameters['names'] == []
            assert node.get_parameter('names').type_ is RosParameter.Type.STRING_ARRAY

    def test_unknown_ones_are_refused_with_the_nearest_name(self, context):
        """Over the service of `ros2 param set`, which knows rclpy's exception alone."""
        node, parameters = declared(context)
        before = dict(parameters)
        service, = (each for each in node.services if each.srv_name.endswith('/set_parameters'))
        request = SetParameters.Request(parameters=[
            RosParameter(name, value=1.0).to_parameter_msg() for name in ('raTe', 'rate')])
        unknown, known = service.callback(request, SetParameters.Response()).results
        assert not unknown.successful
        assert unknown.reason == "There is no parameter raTe. Did you mean 'rate'?"
        assert known.successful
        assert dict(parameters) == {**before, 'rate': 1.0}

    def test_are_checked_together(self, context):
        def check(values, names):
            if values['rate'] < values['gain']:
                raise RosInterfaceError('too slow')

        node, parameters = declared(context, check)
        assert change(node, gain=50.0).reason == 'too slow'
        assert change(node, gain=50.0, rate=60.0).successful
        assert parameters['gain'] == 50.0


class TestApplication:
    """What a change of parameters reaches: `Configuration.apply`, its parts replaced."""

    @pytest.fixture
    def made(self, monkeypatch):
        """Return a configuration whose interface reads a tolerance of a task, if it is told to."""
        made, values = object.__new__(Configuration), {
            'safety.command_timeout': 0.1, 'hand.kp': 1.0, 'hand.tolerance': 0.0,
            'hand.told': True}
        made.applied = []

        def read(parameters):
            if parameters['hand.told']:
                made.applied.append(parameters['hand.tolerance'])

        monkeypatch.setattr(robot, 'apply_gains', lambda *_: None)
        made.values, made._parameters, made._recorded = values, values, Recorded(values)
        made.cycle = SimpleNamespace(
            ramps=SimpleNamespace(smoothly=nullcontext), apply=lambda _: None)
        made.commands, made.odometry, made._controller = SimpleNamespace(), None, None
        made.interface = SimpleNamespace(apply=read)
        made.apply(values)
        return made

    def test_what_a_part_reads_reaches_it_whatever_its_name(self, made):
        made.values['hand.tolerance'] = 0.5
        made.apply({'hand.tolerance'})
        assert made.applied == [0.0, 0.5]

    def test_what_no_part_reads_reaches_none(self, made):
        made.apply({'hand.kp'})
        assert made.applied == [0.0]

    def test_what_a_part_reads_later_reaches_it_then(self, made):
        made.values['hand.told'] = False
        made._recorded = Recorded(made.values)
        made.apply(made.values)
        made.apply({'hand.tolerance'})
        assert made.applied == [0.0]
        made.values['hand.told'] = True
        made.apply({'hand.told'})
        made.values['hand.tolerance'] = 0.5
        made.apply({'hand.tolerance'})
        assert made.applied == [0.0, 0.0, 0.5]


# rclpy, and `ros2 param load` with it, reads a text as YAML once more: no comment may have a colon.
ROBOT = {'robot_description': re.sub('<!--.*?-->', '', ros_nodes.robot_text('dual_arm'),
                                     flags=re.DOTALL)}


@pytest.mark.parametrize(('verb', 'given'), [
    ('controller', ROBOT | {
        'autostart': False, 'tasks': ['hand'], 'hand.kp': [1.0, 2.0, 3.0, 4.0, 5.0, 6e-5],
        'posture.kp': 1e-5, 'contacts': ['foot'], 'sensors': ['wrist'], 'payloads': ['tool'],
        'grasps': ['box'], 'box.effectors': ['l_hand', 'r_hand'], 'passive_joints': ['l_elbow']}),
    ('simulator', ROBOT | {
        'objects': ['cube'], 'grasps': ['box'], 'box.effectors': ['l_hand', 'cube'],
        'initial_positions.l_elbow': -0.5}),
    ('command_watchdog', {'hold_time': math.inf}),
    ('goal_markers', {})], ids=lambda value: value if isinstance(value, str) else '')
def test_what_is_dumped_can_be_loaded(tmp_path, verb, given):
    """At the start, and into the running node, by the services that `ros2 param` calls."""
    node = f'/opspace_{verb}'
    with ros_nodes.network() as network:
        process = network.start(verb, given)
        text = dump(network, node)
        values = dict(_leaves(yaml.safe_load(text)[node]['ros__parameters']))
        assert None not in values.values()
        assert [name for name in values if not documented(name)] == []
        assert {name: values[name] for name in given} == given
        process.end()
        file = tmp_path / 'dumped.yaml'
        file.write_text(text)
        again = network.start(verb, {}, ['--params-file', str(file)])
        assert dump(network, node) == text
        if 'passive_joints' in values:
            result, = network.call(SetParameters, f'{node}/set_parameters', parameters=[
                RosParameter('passive_joints', value=['r_elbow']).to_parameter_msg()]).results
            assert result.successful, result.reason
            assert dump(network, node) != text
        refusals = load(network, node, file).values()
        assert [reason for reason in refusals if 'read-only' not in reason] == []
        assert dump(network, node) == text
        assert again.exit_code() is None, again.said()


def documented(name):
    """Return whether the page of parameters has this one, or rclpy has it in every node."""
    page = (share_directory() / 'doc' / 'reference' / 'parameters.md').read_text()
    told = '|'.join(re.sub(r'<\w+>', r'\\w+', re.escape(each).replace(r'\<', '<'))
                    for each in re.findall(r'^- `([^`]+)`', page, re.MULTILINE))
    return bool(re.fullmatch(told, name)) or name.startswith('qos_overrides.') or name in (
        'use_sim_time', 'start_type_description_service')


def test_what_the_page_does_not_have_is_not_documented():
    assert documented('limits.keep') and documented('any.kp')
    assert not documented('limits.kept') and not documented('any.kq')


def _leaves(block, prefix=''):
    for name, value in block.items():
        if isinstance(value, dict):
            yield from _leaves(value, f'{prefix}{name}.')
        else:
            yield f'{prefix}{name}', value


def test_a_contact_is_what_its_block_says():
    values = {row.name: row.default for row in controller_table([], contacts=['foot'])}
    contact = make_contact('foot', values | {
        'foot.frame': 'sole', 'foot.kind': 'point', 'foot.friction': 0.5,
        'foot.normal': [0.0, -3.0, 4.0]})
    assert (contact.name, contact.frame, len(contact.axes)) == ('foot', 'sole', 3)
    assert contact.friction == 0.5
    assert contact.normal.tolist() == pytest.approx([0.0, -0.6, 0.8])
    with pytest.raises(ControlError, match='normal'):
        make_contact('foot', values | {'foot.normal': [0.0, 0.0, 0.0]})
    for kind in ('line', 'surface'):
        contact = make_contact('foot', values | {
            'foot.kind': kind, 'foot.sole': [-0.1, 0.02, 0.0, 0.1, 0.02, 0.0]})
        assert (contact.kind, len(contact.axes)) == ('line', 5)
        assert contact.place.tolist() == pytest.approx([0.0, 0.02, 0.0])
    with pytest.raises(ControlError, match='ends of a line'):
        make_contact('foot', values | {'foot.kind': 'line'})


@pytest.mark.parametrize('name', ['', 'left hand', '1', 'posture', 'a.b', 'hand/x'])
def test_tasks_need_usable_names(name):
    with pytest.raises(RosInterfaceError, match='No task'):
        controller_table([name])


@pytest.mark.parametrize('value', [
    True, 1.0, -0.5, 1e-5, math.inf, 'word', 'a/b c', '', 'y', 'off', ['a', 'b'], [], 'x y'])
def test_yaml_values_are_read_back(value):
    assert yaml.safe_load(yaml_value(value)) == value


@pytest.mark.parametrize('robot', (*ROBOTS, *LEGGED), ids=lambda robot: robot.name)
def test_parameter_file_is_the_one_that_the_table_makes(robot):
    """Write it anew with: opspace parameters --robot NAME > config/NAME.yaml."""
    text = (share_directory() / 'config' / f'{robot.name}.yaml').read_text()
    assert text == parameter_file(robot)
    content = yaml.safe_load(text)
    given = content['/**/opspace_simulator']['ros__parameters']['initial_positions']
    assert given == pytest.approx(robot.start)


@pytest.mark.parametrize('name', pages())
def test_reference_pages_are_those_that_the_tables_make(name):
    """Write them anew with: make reference."""
    assert (share_directory() / 'doc' / 'reference' / name).read_text() == pages()[name]



# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What RViz and Foxglove are set up to show is there, under the same names."""

import json
import re
from pathlib import Path

import pytest
import yaml

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes

from opspace_control.cli.parameters import controller_values, simulator_values
from opspace_control.cli.robots import demo_robot

CONFIG = Path(__file__).parents[1] / 'config'
ROBOT = demo_robot('dual_arm')


@pytest.fixture(scope='module')
def graph():
    """Return the names of the topics and services of a robot, its controller and its markers."""
    description = {'robot_description': ROBOT.path().read_text()}
    with ros_nodes.network() as network:
        network.start('controller', {**description, **controller_values(ROBOT)})
        network.start('simulator', {**description, **simulator_values(ROBOT)})
        network.start('goal_markers', {})
        names = set()

        def complete():
            for ask in (network.node.get_topic_names_and_types,
                        network.node.get_service_names_and_types):
                names.update(name for name, _ in ask())
            return {'/opspace_controller/hold', '/opspace_goal_markers/update',
                    '/joint_states'} <= names
        network.expect(complete, ros_nodes.COMPILING)
        network.until(lambda: complete() and False, 1.0)
        yield names


def values_of(tree, key):
    """Yield the values of a key anywhere in a tree."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            if name == key:
                yield value
            yield from values_of(value, key)
    elif isinstance(tree, list):
        for branch in tree:
            yield from values_of(branch, key)


def test_rviz_shows_topics_that_exist(graph):
    settings = yaml.safe_load((CONFIG / 'opspace.rviz').read_text())
    topics = [value['Value'] for key in ('Topic', 'Description Topic')
              for value in values_of(settings, key)]
    assert topics == ['opspace_controller/markers', 'robot_description']
    assert {f'/{topic}' for topic in topics} <= graph
    (markers,) = values_of(settings, 'Interactive Markers Namespace')
    assert {f'/{markers}/{name}' for name in (
        'update', 'feedback', 'get_interactive_markers')} <= graph


class TestFoxglove:

    @pytest.fixture
    def layout(self):
        return json.loads((CONFIG / 'foxglove.json').read_text())

    def test_every_panel_has_its_place(self, layout):
        def panels(tree):
            if isinstance(tree, str):
                return [tree]
            assert tree['direction'] in ('row', 'column')
            return panels(tree['first']) + panels(tree['second'])
        assert sorted(panels(layout['layout'])) == sorted(layout['configById'])

    def test_topics_exist(self, layout, graph):
        panels = layout['configById']
        topics = {*panels['3D!robot']['topics'], panels['3D!robot']['publish']['poseTopic'],
                  *values_of(layout, 'topicToRender'), *values_of(layout, 'topic'),
                  *values_of(layout, 'jointStatesTopic'), *values_of(layout, 'serviceName')}
        assert topics <= graph
        for plot in values_of(layout, 'paths'):
            for path in plot:
                assert re.match(r'/[\w/]+', path['value']).group() in graph

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What ros2_control reads of ours: hardware blocks made by xacro, and the parameter file."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

pytest.importorskip('xacro', reason='xacro is not installed')

from opspace_control.cli.robots import demo_robot
from opspace_control.model import KinematicTree
from opspace_control.model.urdf import urdf_text
from opspace_control.share import share_directory

sys.path.insert(0, str(Path(__file__).parents[1] / 'doc'))

from managed_files import files

LAUNCH = Path(__file__).parents[1] / 'launch'
URDF = share_directory() / 'urdf'
PLAIN = KinematicTree.from_urdf_file(URDF / 'dual_arm.urdf')


def dual_arm(**arguments):
    return ElementTree.fromstring(urdf_text(URDF / 'dual_arm.urdf.xacro', arguments))


def canonical(robot):
    return ElementTree.canonicalize(ElementTree.tostring(robot), strip_text=True)


def test_plain_file_is_the_xacro_file_with_its_defaults():
    assert canonical(dual_arm()) == canonical(ElementTree.parse(URDF / 'dual_arm.urdf').getroot())


@pytest.mark.parametrize(('hardware', 'plugin'), [
    ('mock', 'mock_components/GenericSystem'),
    ('gazebo', 'gz_ros2_control/GazeboSimSystem'),
    ('topic', 'joint_state_topic_hardware_interface/JointStateTopicSystem'),
    ('my_driver/MySystem', 'my_driver/MySystem'),
])
def test_one_argument_chooses_the_hardware(hardware, plugin):
    robot = dual_arm(hardware=hardware, interfaces='effort position')
    block, = robot.findall('ros2_control')
    assert block.findtext('hardware/plugin') == plugin
    assert [joint.get('name') for joint in block.findall('joint')] == list(PLAIN.joint_names)
    for joint in block.findall('joint'):
        assert [each.get('name') for each in joint.findall('command_interface')] == [
            'effort', 'position']
    tree = KinematicTree.from_urdf(ElementTree.tostring(robot))
    assert tree.effort_joints == PLAIN.effort_joints
    assert tree.root_link == ('world' if hardware == 'gazebo' else 'base_link')


def test_gazebo_is_told_where_the_parameters_are():
    plugin, = dual_arm(hardware='gazebo', controllers='/some/file.yaml').iterfind('gazebo/plugin')
    assert plugin.findtext('parameters') == '/some/file.yaml'
    assert dual_arm().find('gazebo') is None


def test_topic_based_hardware_sends_every_effort():
    """By default it sends commands only where a commanded position differs from the state."""
    hardware = dual_arm(hardware='topic').find('ros2_control/hardware')
    given = {each.get('name'): each.text for each in hardware.findall('param')}
    assert float(given['trigger_joint_command_threshold']) < 0.0
    content = yaml.safe_load((URDF.parent / 'config' / 'ros2_control.yaml').read_text())
    simulator = content['/**/opspace_simulator']['ros__parameters']
    assert simulator['command_topic'] == given['joint_commands_topic']
    assert simulator['command_type'] == 'JointState'


@pytest.mark.parametrize('name', ['ros2_control', 'gazebo'])
def test_parameter_file_is_the_one_that_the_tables_make(name):
    """Write it anew with: make reference."""
    text = (share_directory() / 'config' / f'{name}.yaml').read_text()
    assert text == files(demo_robot('dual_arm'))[f'{name}.yaml']
    assert f"'config', '{name}.yaml'" in (LAUNCH / f'{name}.launch.py').read_text()
    content = {key.rpartition('/')[2]: block['ros__parameters']
               for key, block in yaml.safe_load(text).items()}
    managed = {name for name, value in content['controller_manager'].items()
               if isinstance(value, dict)}
    # In Gazebo nothing else can have the joints once they have obeyed an effort.
    commanded = {'effort_controller'} | ({'position_controller'} if name != 'gazebo' else set())
    assert managed == {'joint_state_broadcaster', 'opspace_plugin', *commanded}
    for each in commanded:
        assert content[each]['joints'] == list(PLAIN.joint_names)
    assert content['effort_controller']['interface_name'] == 'effort'
    # Where it gets the joints back it holds them, and does not return to its old command.
    assert 'position_controller' not in commanded or content['position_controller'][
        'set_last_command_interface_value_as_state_on_activation'] is False
    assert content['opspace_controller']['controller_manager'] == 'controller_manager'
    sim_time = {each.get('use_sim_time', False) for key, each in content.items()
                if not key.startswith('opspace')}
    assert sim_time == {name == 'gazebo'}

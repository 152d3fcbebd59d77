# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The <ros2_control> blocks: which joints the hardware moves, and how."""

import pytest
from robots import chain, joint, link, robot, robot_file

from opspace_control.model import KinematicTree
from opspace_control.model.ros2_control import JointInterfaces, hardware_of

BLOCKS = """
<ros2_control name="left" type="system">
  <hardware><plugin>mock</plugin><param name="rate">oops</param></hardware>
  <joint name="j2">
    <command_interface name="effort"><param name="max">3</param></command_interface>
    <command_interface name="position"/>
    <state_interface name="position"/><state_interface name="velocity"/>
  </joint>
  <gpio name="lamp"><command_interface name="effort"/></gpio>
</ros2_control>
<ros2_control name="right" type="actuator">
  <joint name="j3"><command_interface name="velocity"/></joint>
  <joint name="j1"><command_interface name="effort"/></joint>
  <joint name="j2"><command_interface name="effort"/></joint>
</ros2_control>
"""


def with_blocks(blocks):
    text = chain('continuous', 'continuous', 'continuous', inner='<axis xyz="0 0 1"/>')
    return KinematicTree.from_urdf(text.replace('</robot>', blocks + '</robot>'))


def test_blocks_and_interfaces():
    left, right = with_blocks(BLOCKS).ros2_control
    assert (left.name, left.type) == ('left', 'system')
    assert left.joints == (
        JointInterfaces('j2', ('effort', 'position'), ('position', 'velocity')),)
    assert (right.name, right.type) == ('right', 'actuator')
    assert right.joints[0] == JointInterfaces('j3', ('velocity',), ())


def test_effort_joints_come_in_the_order_of_the_robot():
    assert with_blocks(BLOCKS).effort_joints == ('j1', 'j2')
    assert with_blocks('').effort_joints == ()


def test_hardware_that_takes_efforts_of_some_joints():
    blocks = with_blocks(BLOCKS).ros2_control
    assert hardware_of(blocks, ('j1', 'j2', 'j3'), 'effort') == ('left', 'right')
    assert hardware_of(blocks, ('j1',), 'effort') == ('right',)
    assert hardware_of(blocks, ('j3',), 'effort') == ()


def test_a_follower_is_no_effort_joint():
    text = robot(link('a'), link('b'), link('c'), joint('j', 'a', 'b', 'continuous'),
                 joint('m', 'b', 'c', 'continuous', '<mimic joint="j"/>'),
                 '<ros2_control name="hw"><joint name="m"><command_interface name="effort"/>'
                 '</joint></ros2_control>')
    assert KinematicTree.from_urdf(text).effort_joints == ()


@pytest.mark.parametrize(('entry', 'warned'), [
    ('<joint name="m"><command_interface name="effort"/></joint>', True),
    ('<joint name="m"><command_interface name="position"/></joint>', True),
    ('<joint name="m" mimic="true"><command_interface name="effort"/></joint>', True),
    ('<joint name="m" mimic="false"><command_interface name="effort"/></joint>', False),
    ('<joint name="m"><state_interface name="position"/></joint>', False)])
def test_a_follower_with_a_command_interface_is_told(entry, warned):
    """ros2_control refuses the whole description for it."""
    tree = KinematicTree.from_urdf(robot(
        link('a'), link('b'), link('c'), joint('j', 'a', 'b', 'continuous'),
        joint('m', 'b', 'c', 'continuous', '<mimic joint="j"/>'),
        f'<ros2_control name="h" type="system">{entry}</ros2_control>'))
    said = [text for text in tree.warnings if 'ros2_control refuses' in text]
    assert len(said) == warned
    assert all("'m'" in text and "'h'" in text for text in said)


def test_a_joint_the_robot_has_not_is_said():
    tree = with_blocks('<ros2_control name="hw"><joint name="j9"/></ros2_control>')
    assert tree.warnings == ("the ros2_control block 'hw' has a joint 'j9', the robot has not",)


def test_a_real_robot():
    tree = KinematicTree.from_urdf_file(robot_file('xarm7.urdf'))
    (block,) = tree.ros2_control
    assert block.type == 'system'
    assert [joint.name for joint in block.joints] == [f'joint{i}' for i in range(1, 8)]
    assert block.joints[0].command == ('position', 'velocity')
    assert tree.effort_joints == ()

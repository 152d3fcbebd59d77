# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The joints of the command topic and their order, without ROS."""

import pytest
import robots

from opspace_control import RosInterfaceError
from opspace_control.model import KinematicTree
from opspace_control.ros.joints import command_joints

ROBOT = robots.chain('revolute', 'prismatic', 'continuous')


def test_default_is_every_joint_of_one_degree_of_freedom():
    model = KinematicTree.from_urdf(robots.chain('revolute', 'planar', 'prismatic'),
                                    locked_joints=['j3'])
    assert command_joints(model) == ['j1']


def test_default_is_what_ros2_control_drives():
    block = ('<ros2_control name="drives" type="system"><joint name="j2">'
             '<command_interface name="effort"/></joint></ros2_control>')
    model = KinematicTree.from_urdf(ROBOT.replace('</robot>', block + '</robot>'))
    assert command_joints(model) == ['j2']
    assert command_joints(model, ['j3', 'j1']) == ['j3', 'j1']


@pytest.mark.parametrize('wanted', [['j1', 'j1'], ['j1', 'elbow']])
def test_refuses_what_is_not_there_or_twice(wanted):
    with pytest.raises(RosInterfaceError, match=wanted[1]):
        command_joints(KinematicTree.from_urdf(ROBOT), wanted)

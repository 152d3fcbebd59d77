# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The joints of the command topic and their order, without ROS."""

import pytest
import robots

from opspace_control import RosInterfaceError
from opspace_control.model import KinematicTree
from opspace_control.ros.parameters.joints import command_joints, joint_status

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


def hardware(**interfaces):
    """Return a robot of three joints whose hardware has these command interfaces, by joint."""
    joints = ''.join(
        f'<joint name="{name}">'
        + ''.join(f'<command_interface name="{one}"/>' for one in commands.split())
        + '<state_interface name="position"/></joint>' for name, commands in interfaces.items())
    block = f'<ros2_control name="drives" type="system">{joints}</ros2_control></robot>'
    return ROBOT.replace('</robot>', block)


class TestStatus:

    def status(self, text=ROBOT, commanded=(), floating_base=False, **lists):
        return joint_status(KinematicTree.from_urdf(text, floating_base=floating_base), commanded,
                            **lists)

    def test_what_nobody_moves_is_held(self):
        assert self.status(commanded=['j2']) == ([], ['j1', 'j3'])
        assert self.status(commanded=['j2'], passive=['j3']) == (['j3'], ['j1'])

    def test_what_hardware_only_sees_is_passive(self):
        text = hardware(j1='effort', j2='', j3='position velocity')
        assert self.status(text, ['j1']) == (['j2'], ['j3'])
        assert self.status(text, ['j1', 'j2']) == ([], ['j3'])
        assert self.status(text, ['j1'], locked=['j2']) == ([], ['j2', 'j3'])

    def test_one_block_with_a_command_is_enough(self):
        """As where one piece of hardware has the encoder, and another the drive."""
        text = hardware(j1='effort', j2='').replace('</robot>', (
            '<ros2_control name="b" type="actuator"><joint name="j2">'
            '<command_interface name="velocity"/></joint></ros2_control></robot>'))
        assert self.status(text, ['j1']) == ([], ['j2', 'j3'])

    def test_a_brake_holds_a_dead_drive(self):
        assert self.status(commanded=['j1', 'j2', 'j3'], passive=['j1', 'j2'],
                           locked=['j2']) == (['j1'], ['j2'])

    def test_nothing_drives_a_floating_base(self):
        everything = ['j1', 'j2', 'j3']
        assert self.status(commanded=everything, floating_base=True) == (['base'], [])
        assert self.status(commanded=everything, floating_base=True, locked=['base']) == (
            [], ['base'])

    def test_one_degree_of_freedom_speaks_for_its_joint(self):
        text = robots.chain('planar', 'revolute')
        assert self.status(text, ['j2'], passive=['j1/rz']) == (['j1/rz'], [])

    @pytest.mark.parametrize('which', ['passive', 'locked'])
    def test_unknown_names_are_refused(self, which):
        with pytest.raises(RosInterfaceError, match=f"{which}_joints: 'j4'"):
            self.status(**{which: ['j4']})


def test_a_dead_drive_keeps_its_place_in_the_command():
    """The order is that of the forward controller, which knows nothing of it."""
    text = hardware(j1='effort', j2='effort', j3='')
    for status in ({}, {'passive_joints': ['j1']}, {'locked_joints': ['j2']}):
        assert command_joints(KinematicTree.from_urdf(text, **status)) == ['j1', 'j2']

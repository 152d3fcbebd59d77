# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The <ros2_control> blocks of a URDF: joints of the hardware and their interfaces."""

from dataclasses import dataclass

from opspace_control.errors import ModelError


@dataclass(frozen=True)
class JointInterfaces:
    """A joint and the names of its interfaces, such as ('effort',), ('position', 'velocity')."""

    name: str
    command: tuple
    state: tuple
    mimic: bool = True  # whether it follows another joint, if the robot has it so


@dataclass(frozen=True)
class Hardware:
    """One <ros2_control> block: its name, its type (system, actuator, sensor) and its joints."""

    name: str
    type: str
    joints: tuple  # of JointInterfaces


def read_hardware(robot):
    """Return the `Hardware` blocks of a <robot> element, in document order."""
    return tuple(
        Hardware(block.get('name', ''), block.get('type', ''),
                 tuple(JointInterfaces(_name(joint, block),
                                       _interfaces(joint, 'command_interface'),
                                       _interfaces(joint, 'state_interface'),
                                       joint.get('mimic', '').strip().lower() != 'false')
                       for joint in block.findall('joint')))
        for block in robot.findall('ros2_control'))


def joints_with_command(hardware, interface):
    """Return the joints of all blocks that have this command interface, each once, in order."""
    return tuple(dict.fromkeys(joint.name for block in hardware for joint in block.joints
                               if interface in joint.command))


def hardware_of(hardware, joints, interface):
    """Return the names of the blocks with this command interface of any of these joints."""
    return tuple(block.name for block in hardware if any(
        joint.name in joints and interface in joint.command for joint in block.joints))


def unknown_joints(description):
    """Return a warning for every joint of a hardware block that the robot does not have."""
    return [f"the ros2_control block '{block.name}' has a joint '{joint.name}', the robot has not"
            for block in description.hardware for joint in block.joints
            if joint.name not in description.joints]


def refused_mimics(description):
    """Return a warning for every mimic joint for which ros2_control refuses the whole robot."""
    return [f"ros2_control refuses the robot: the mimic joint '{joint.name}' has a command "
            f"interface in the ros2_control block '{block.name}'; take it out, or write "
            'mimic="false" there if a drive of its own moves the joint'
            for block in description.hardware for joint in block.joints
            if joint.command and joint.mimic and joint.name in description.joints
            and description.joints[joint.name].mimic is not None]


def _name(joint, block):
    name = joint.get('name', '').strip()
    if not name:
        raise ModelError(
            f"A joint of the ros2_control block '{block.get('name', '')}' has no name.",
            cure='Give it the name of a joint of the robot.', element='ros2_control')
    return name


def _interfaces(joint, tag):
    return tuple(interface.get('name', '').strip() for interface in joint.findall(tag))

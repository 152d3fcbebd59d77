# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The files in config/ for the controller manager; `make reference` writes them.

They have its own parameters, those of its controllers, and all of our nodes' for dual_arm.
"""

from pathlib import Path

from opspace_control.cli.parameters import (
    controller_values,
    node_block,
    simulator_rows,
    simulator_values,
    task_names,
    yaml_block,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.model import KinematicTree
from opspace_control.ros.parameters import controller_parameters as controller
from opspace_control.ros.parameters.parameter_table import Parameter

# s, of the wall's clock, that are no reason to damp the robot.
_GAZEBO_PAUSES = 0.2

_SIM_TIME = """
    # There is one time, Gazebo's; gazebo.launch.py tells our nodes.
    use_sim_time: true\
"""

_MANAGED = """\
# {name} {where}: for the controller manager, its controllers and our nodes.
#
# {file}.launch.py gives it to all of them. Copy it for your own robot.
# Made by: make reference

/**/controller_manager:
  ros__parameters:{time}
    # Joint states come at this rate, and with each of them a control cycle. [Hz]
    update_rate: 1000
    joint_state_broadcaster:
      type: joint_state_broadcaster/JointStateBroadcaster
{others}
    # Takes our commands. Loaded inactive, since our controller switches it on and off.
    # effort_controllers/JointGroupEffortController, which needs no interface_name, serves as well.
    effort_controller:
      type: forward_command_controller/ForwardCommandController
    # Takes the place of the effort controller with route: plugin. Our controller loads it.
    opspace_plugin:
      type: opspace_controller/OperationalSpaceController

/**/effort_controller:
  ros__parameters:{time}
    # The order of the commands; our nodes ask for it.
{joints}
    interface_name: effort
{their_parameters}"""

# A controller that has the joints while ours is inactive, and its parameters.
_POSITION_CONTROLLER = ("""\
    # Has the joints by default: off while our controller is active, and on again when it leaves.
    position_controller:
      type: joint_trajectory_controller/JointTrajectoryController\
""", """
/**/position_controller:
  ros__parameters:
{joints}
    command_interfaces: [position]
    state_interfaces: [position, velocity]
    # It begins where the joints are. By default it would return to the position that it commanded
    # last, which the joints have left since.
    set_last_command_interface_value_as_state_on_activation: false
""")
_NO_POSITIONS = """\
    # No position controller: once a joint has obeyed an effort, gz_ros2_control neither obeys
    # positions nor holds the joint (ros-controls/gz_ros2_control #770). Gazebo holds the joints
    # until our controller is active; when it leaves, the command watchdog carries the robot.\
"""


def ros2_control_file(robot):
    """Return the text of config/ros2_control.yaml, for one of our robots."""
    return '\n'.join([
        _managed(robot, 'under ros2_control', 'ros2_control', *_POSITION_CONTROLLER),
        *node_block('controller', controller.controller_table(task_names(robot)),
                    controller_values(robot) | {'controller_manager': 'controller_manager'}),
        *_watchdog_block(),
        '# Only with hardware:=topic.',
        *node_block('simulator', simulator_rows(robot), simulator_values(robot) | {
            'command_topic': 'robot_joint_commands', 'command_type': 'JointState',
            'publish_clock': False}),
        ])


def gazebo_file(robot):
    """Return the text of config/gazebo.yaml, for one of our robots."""
    values = {'controller_manager': 'controller_manager', 'safety.state_timeout': _GAZEBO_PAUSES}
    return '\n'.join([
        _managed(robot, 'in Gazebo, by gz_ros2_control', 'gazebo', _NO_POSITIONS, time=_SIM_TIME),
        '# Gazebo runs by itself: states come late, and stop, when the machine is busy.',
        *node_block('controller', controller.controller_table(task_names(robot)),
                    controller_values(robot) | values),
        *_watchdog_block(deadline=_GAZEBO_PAUSES),
        ])


def _watchdog_block(**values):
    return ['# Only with watchdog:=true.', *node_block(
        'command_watchdog', controller.WATCHDOG,
        {'controller_manager': 'controller_manager', **values})]


def _managed(robot, where, file, others, their_parameters='', time=''):
    """Return the head of a file, and the parameters of the controller manager's own."""
    driven = KinematicTree.from_urdf_file(robot.path()).effort_joints
    joints = yaml_block([Parameter('joints', 'string_array', [], '')], {'joints': driven})
    return _MANAGED.format(
        name=robot.name, where=where, file=file, time=time, joints='\n'.join(joints), others=others,
        their_parameters=their_parameters.format(joints='\n'.join(joints)))


def files(robot):
    """Return the text of each file by its name, for one of our robots."""
    return {'ros2_control.yaml': ros2_control_file(robot), 'gazebo.yaml': gazebo_file(robot)}


if __name__ == '__main__':
    for name, text in files(demo_robot('dual_arm')).items():
        (Path(__file__).parents[1] / 'config' / name).write_text(text)

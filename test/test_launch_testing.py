# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Every launch file of a robot by launch_testing, ROS 2's own way: started, used, ended.

Each includes display.launch.py. test_launch.py has that by itself, and tells which of them cannot
run for lack of a package.
"""

import sys
import unittest
from pathlib import Path

import pytest

pytest.importorskip('launch_testing.actions',
                    reason='launch_testing is not installed: it is on no package index')
pytest.importorskip('launch_ros.actions', reason='launch_ros is not installed')

# `launch_test`, unlike pytest, does not look for modules beside the file that it runs.
sys.path.insert(0, str(Path(__file__).parent))

import launch_testing
import ros_nodes
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from geometry_msgs.msg import PoseStamped
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from std_srvs.srv import Trigger

LAUNCH = Path(__file__).parents[1] / 'launch'
ROS2_CONTROL = ('controller_manager', 'forward_command_controller', 'joint_state_broadcaster',
                'joint_trajectory_controller', 'robot_state_publisher', 'xacro')
GAZEBO = (*ROS2_CONTROL, 'gz_ros2_control', 'ros_gz_bridge', 'ros_gz_sim')
# Launch file, arguments, task, and what must be installed.
LAUNCHES = (
    ('simulation', {'robot': 'planar_3r'}, 'hand', ()),
    ('ros2_control', {}, 'left_hand', ROS2_CONTROL),
    ('ros2_control', {'watchdog': 'true'}, 'left_hand', ROS2_CONTROL),
    ('ros2_control', {'hardware': 'topic'}, 'left_hand',
     (*ROS2_CONTROL, 'joint_state_topic_hardware_interface')),
    ('ros2_control', {'route': 'plugin'}, 'left_hand', (*ROS2_CONTROL, 'opspace_controller')),
    ('gazebo', {'gui': 'false'}, 'left_hand', GAZEBO),
    ('gazebo', {'gui': 'false', 'route': 'plugin'}, 'left_hand', (*GAZEBO, 'opspace_controller')),
)


def installed(package):
    try:
        return bool(get_package_prefix(package))
    except PackageNotFoundError:
        return False


RUNNABLE = [(file, arguments, task) for file, arguments, task, packages in LAUNCHES
            if all(map(installed, ('opspace_control', *packages)))]
if not RUNNABLE:
    pytest.skip('opspace_control is not in the ament index: build and source a workspace',
                allow_module_level=True)


@pytest.mark.launch_test
@launch_testing.parametrize('file, arguments, task', RUNNABLE)
def generate_test_description(file, arguments, task):
    """Return the launch file with its arguments, in a domain of its own."""
    context = ros_nodes.network()
    network = context.__enter__()
    return LaunchDescription([
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(LAUNCH / f'{file}.launch.py')),
            launch_arguments=arguments.items()),
        ReadyToTest(),
    ]), {'context': context, 'network': network, 'task': task}


class TestRunning(unittest.TestCase):

    def test_tells_where_the_hand_is_and_holds_it_there(self, network, task):
        own = f'{ros_nodes.CONTROLLER}/{task}'
        poses = network.listen(PoseStamped, f'{own}/current_pose', ros_nodes.NEWEST)
        network.expect(lambda: poses, ros_nodes.COMPILING)
        self.assertTrue(network.call(Trigger, f'{ros_nodes.CONTROLLER}/hold').success)
        before = poses[-1].pose.position
        count = len(poses)
        network.expect(lambda: len(poses) > count + 20)
        after = poses[-1].pose.position
        for axis in 'xyz':
            self.assertAlmostEqual(getattr(after, axis), getattr(before, axis), delta=0.01)


@launch_testing.post_shutdown_test()
class TestEnded(unittest.TestCase):

    def test_our_nodes_leave_the_robot_at_rest(self, proc_info, proc_output, context):
        context.__exit__(None, None, None)
        ours = [name for name in proc_info.process_names()
                if name.split('-')[0] in ('controller', 'simulator', 'command_watchdog')]
        self.assertTrue(ours)
        for name in ours:
            self.assertEqual(proc_info[name].returncode, 0, name)
        said = ''.join(output.text.decode() for output in proc_output)
        self.assertIn('The robot is released', said)
        self.assertNotIn('Traceback', said)

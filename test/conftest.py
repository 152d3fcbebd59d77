# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The order of the files: those that take longest come first, so that workers end together."""

# By their time, most of it waiting for processes and for robots in real time.
LONGEST = (
    'test_docs', 'test_demo', 'test_ros_controller_manager', 'test_view_browser',
    'test_safety_states', 'test_check', 'test_ros_controller', 'test_ros_command_watchdog',
    'test_ros_force', 'test_runs', 'test_grasp_experiments', 'test_ros_goals',
    'test_safety_force', 'test_safety_odom', 'test_view', 'test_ros_dead_drives',
    'test_ros_simulator', 'test_safety_processes', 'test_ros_floating_base', 'test_safety_steps',
    'test_ros_interface', 'test_experiments', 'test_compiled', 'test_safety_goals',
    'test_ros_grasps', 'test_ros_contact', 'test_safety_watchdog', 'test_soak',
    'test_ros_simulated_objects', 'test_contact_experiments', 'test_ros_task_types',
)


def pytest_collection_modifyitems(items):
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
How the files are collected: in an order, and with launch_testing also where a file skips itself.

Those that take longest come first, so that workers end together. A fixture of several files.
"""

import os

import interface_package
import pytest

# Before NumPy is imported. Workers share the cores, and each idle thread of OpenBLAS waits busily:
# a QR factorization of 90 columns took a hundred times the CPU time.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

# By their time, most of it waiting for processes and for robots in real time.
LONGEST = (
    'test_docs', 'test_demo', 'test_ros_controller_manager', 'test_view_browser',
    'test_safety_states', 'test_check', 'test_ros_controller', 'test_ros_command_watchdog',
    'test_ros_force', 'test_runs', 'test_grasp_experiments', 'test_ros_goals',
    'test_safety_force', 'test_safety_odom', 'test_view', 'test_ros_dead_drives',
    'test_ros_simulator', 'test_safety_processes', 'test_ros_floating_base', 'test_safety_steps',
    'test_ros_interface', 'test_experiments', 'test_compiled', 'test_safety_goals',
    'test_ros_grasps', 'test_ros_contact', 'test_safety_watchdog', 'test_soak',
    'test_ros_simulated_objects', 'test_ros_task_types',
)


def pytest_collection_modifyitems(items):
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule(module_path, parent):
    """
    Let a file that skips itself skip itself alone.

    launch_testing's hook imports every file to find its entry point; the skip that a file raises
    then would leave the whole folder without collected tests.
    """
    try:
        return (yield)
    except pytest.skip.Exception:
        return pytest.Module.from_parent(parent, path=module_path)


@pytest.fixture(scope='session')
def messages(pytestconfig):
    """Return where controller_manager_msgs is installed; this process can import it."""
    try:
        prefix = interface_package.prefix(pytestconfig.cache.mkdir('interfaces'))
    except interface_package.NotHereError as error:
        pytest.skip(str(error))
    interface_package.use(prefix)
    return prefix

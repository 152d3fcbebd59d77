# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
How the files are collected: in an order, and with launch_testing also where a file skips itself.

Those that take longest come first, so that workers end together. A fixture of several files.
"""

import contextlib
import gc
import importlib
import os
from pathlib import Path

import interface_package
import pytest

# Before NumPy is imported. Workers share the cores, and each idle thread of OpenBLAS waits busily:
# a QR factorization of 90 columns took a hundred times the CPU time.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

# By their time on two cores; the shorter ones follow in the order of their names.
LONGEST = (
    'experiments', 'demo', 'trot', 'docs', 'grasp_experiments', 'ros_collision_objects', 'library',
    'benchmark', 'cli_new', 'cli_identify', 'ros_controller_manager', 'leaning', 'native',
    'overlaps', 'distance_limits', 'singularity_motion', 'giving_way', 'attached_gait',
    'ros_dead_drives', 'standing', 'safety_states', 'collision_fit', 'compiled', 'grasp_limits',
    'near_pairs', 'excitation', 'applied_forces', 'resolution', 'residual_parts', 'package',
    'jerk_limited', 'walking_optimum', 'underactuated_experiments', 'runs', 'ros_goals', 'ros_legs',
    'planning_closed', 'safety_watchdog', 'ros_contact_schedule', 'safety_legs', 'ros_plans',
    'ros_grasps', 'singularity', 'geometric_stiffness', 'identification', 'carrying_on_feet',
    'footing', 'safety_force', 'ros_plugin_cycle', 'oracles_random_robots', 'grasp_shapes',
    'solver_attainable', 'attached_servo', 'solver', 'force_of_a_real_arm', 'moving_shapes',
    'solver_robots', 'safety_processes', 'notebooks', 'joint_servo', 'check',
)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session):
    """
    Let the garbage collector leave alone what is collected.

    Modules and thousands of items stay to the end; to go through them takes half a second each time
    while tests run, and a third of the time of the collection.
    """
    gc.disable()
    try:
        import_in_turns(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def import_in_turns(config):
    """
    Import all test files if this is one of several workers, each of which begins elsewhere.

    pytest compiles the assertions of a file that no worker has compiled yet, which takes longer
    than to import it. What cannot be imported is told by the collection.
    """
    worker = getattr(config, 'workerinput', None)
    if worker and not any('.py' in argument for argument in config.args):
        names = sorted(path.stem for path in Path(__file__).parent.glob('test_*.py'))
        first = int(worker['workerid'].removeprefix('gw')) * len(names) // worker['workercount']
        for name in names[first:] + names[:first]:
            with contextlib.suppress(Exception, pytest.skip.Exception):
                importlib.import_module(name)


def pytest_collection_modifyitems(items):
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.stem.removeprefix('test_'), len(rank)))


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

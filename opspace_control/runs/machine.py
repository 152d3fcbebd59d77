# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Description of the machine of a run or a measurement."""

import os
import platform
from importlib import metadata
from pathlib import Path

import opspace_control

_PACKAGES = ('numpy', 'numba', 'mujoco', 'ros-jazzy-rclpy')


def machine():
    """Return what a reader of a measurement asks about the machine: names -> words."""
    facts = {
        'processor': _processor(),
        'cores': str(len(os.sched_getaffinity(0))),
        'memory': f'{os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30:.0f} GiB',
        'system': f'{platform.system()} {platform.release()}',
        'Python': platform.python_version(),
        'ROS 2': os.environ.get('ROS_DISTRO', 'wheels'),
        'opspace_control': opspace_control.__version__}
    for package in _PACKAGES:
        try:
            facts[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return facts


def _processor():
    for line in Path('/proc/cpuinfo').read_text().splitlines():
        if line.startswith('model name'):
            return line.partition(':')[2].strip()
    return platform.machine()

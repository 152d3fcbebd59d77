# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Install the package, its ament index marker, and what ROS 2 looks for in share/ and lib/."""

import sys
from glob import glob

from setuptools import find_packages, setup

NAME = 'opspace_control'

# Said here because colcon cannot read a setup file that says python_requires.
if sys.version_info < (3, 10):  # noqa: UP036
    sys.exit(f'{NAME} needs Python 3.10 or later, this is {sys.version.split()[0]}.')

setup(
    name=NAME,
    version='0.1.0',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
        (f'share/{NAME}/benchmark', sorted(glob('benchmark/*.py'))),
        (f'share/{NAME}/config', sorted(glob('config/*'))),
        (f'share/{NAME}/launch', sorted(glob('launch/*.launch.py'))),
        (f'share/{NAME}/urdf', sorted(glob('urdf/*'))),
        # `ros2 run` looks for executables here, whether pip or colcon installed the package.
        (f'lib/{NAME}', sorted(glob('scripts/*'))),
    ],
)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Install the package, its ament index marker, and what ROS 2 looks for in share/ and lib/."""

import os
import subprocess
import sys
from glob import glob

from setuptools import Distribution, find_packages, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

NAME = 'opspace_control'

# Said here because colcon cannot read a setup file that says python_requires.
if sys.version_info < (3, 10):  # noqa: UP036
    sys.exit(f'{NAME} needs Python 3.10 or later, this is {sys.version.split()[0]}.')


class BuildWithKernels(build_py):
    """Compile the kernels, and copy them with the package, unless that is used where it is."""

    def run(self):
        """Compile and copy; OPSPACE_KERNELS=jit leaves compilation to the first start."""
        if not self.editable_mode and os.environ.get('OPSPACE_KERNELS') != 'jit':
            built = subprocess.run([sys.executable, '-m', f'{NAME}.compilation'], check=False,
                                   cwd=os.path.dirname(os.path.abspath(__file__)))
            if built.returncode:
                sys.exit('The kernels cannot be compiled: see above. To install without them, so '
                         'that Numba compiles at the first start, set OPSPACE_KERNELS=jit.')
            self.__dict__.pop('data_files', None)  # looked for before there was a library
        # Of other sources, from an earlier build in this folder.
        for old in glob(os.path.join(self.build_lib, NAME, 'compilation', 'kernels-*')):
            os.remove(old)
        super().run()


class WheelWithKernels(bdist_wheel):
    """A wheel for every Python of this platform."""

    def get_tag(self):
        """Return interpreter, ABI and platform."""
        return 'py3', 'none', super().get_tag()[2]


class Platform(Distribution):
    """A distribution with machine code."""

    def has_ext_modules(self):
        """Return that it is for this platform alone."""
        return True


setup(
    name=NAME,
    version='0.1.0',
    distclass=Platform,
    cmdclass={'build_py': BuildWithKernels, 'bdist_wheel': WheelWithKernels},
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={f'{NAME}.compilation': ['kernels-*']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
        (f'share/{NAME}/benchmark', sorted(glob('benchmark/*.py'))),
        (f'share/{NAME}/config', sorted(glob('config/*.*'))),
        (f'share/{NAME}/config/robots', sorted(glob('config/robots/*'))),
        (f'share/{NAME}/launch', sorted(glob('launch/*.launch.py'))),
        (f'share/{NAME}/native/include', ['native/include/opspace.h']),
        (f'share/{NAME}/native/example', sorted(glob('native/example/*'))),
        *((f'share/{NAME}/{folder}', sorted(filter(os.path.isfile, glob(f'{folder}/*'))))
          for folder in ('native/test', 'native/ros2_control',
                         'native/ros2_control/include/opspace_controller',
                         'native/ros2_control/src', 'native/ros2_control/test')),
        (f'share/{NAME}/urdf', sorted(glob('urdf/*'))),
        # `ros2 run` looks for executables here, whether pip or colcon installed the package.
        (f'lib/{NAME}', sorted(glob('scripts/*'))),
    ],
)

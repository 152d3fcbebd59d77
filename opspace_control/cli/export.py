# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""`opspace export`: a controller for programs without Python and without ROS."""

import shutil
from pathlib import Path

from opspace_control import library
from opspace_control.arguments import make_parser
from opspace_control.errors import OpspaceError
from opspace_control.model.urdf import urdf_text
from opspace_control.ros.parameters.controller_parameters import table_of
from opspace_control.ros.parameters.parameter_file import ParameterFile, refusals
from opspace_control.ros.parameters.robot import make_controller, set_envelope
from opspace_control.safety.servo import Servo
from opspace_control.share import share_directory

_DESCRIPTION = """\
Write a controller as files for a C++17 program without Python and without ROS: its numbers, the
library of kernels, the header that runs both, and an example with its CMake file. The controller
and its safety envelope, with trips and ramps, are those that the controller node makes of the same
files."""

BLOCK, KERNELS = 'robot.block', 'libopspace_kernels.so'
_SOURCES = 'include/opspace.h', 'example/main.cpp', 'example/CMakeLists.txt'


def main(arguments=None):
    """Write the files; return 0."""
    options = _parser().parse_args(arguments)
    if not library.is_there():
        raise OpspaceError('There is no library of kernels to be exported.',
                           cure='Build it: python -m opspace_control.compilation.')
    servo = _servo(options.urdf, options.parameters)
    controller = servo.controller
    options.output.mkdir(parents=True, exist_ok=True)
    controller.save(options.output / BLOCK, servo)
    shutil.copyfile(library.library_path(), options.output / KERNELS)
    for name in _SOURCES:
        shutil.copy(share_directory() / 'native' / name, options.output)
    print(f'{options.output}: {controller.model.name}, tasks: '
          f'{", ".join(controller.tasks) or "none"}\n'
          f'  cd {options.output} && cmake -B build && cmake --build build\n'
          f'  build/loop {BLOCK} {KERNELS} {next(iter(controller.tasks), "")}'.rstrip())
    return 0


def _parser():
    parser = make_parser('export', _DESCRIPTION)
    parser.add_argument('urdf', metavar='URDF', type=Path, help='the robot, a URDF or xacro file')
    parser.add_argument('parameters', metavar='PARAMS', type=Path,
                        help='a ROS 2 parameter file of the controller node')
    parser.add_argument('-o', '--output', metavar='FOLDER', type=Path, default=Path('out'),
                        help='where the files go (default: %(default)s)')
    return parser


def _servo(urdf, path):
    """Return the servo of a robot's controller by a parameter file, or raise an OpspaceError."""
    given = ParameterFile(path).of_node('opspace_controller')
    table = table_of(given)
    for error in refusals(given, table):
        raise error
    values = {parameter.name: parameter.default for parameter in table} | given
    servo = Servo(make_controller(
        urdf_text(urdf), values, floating_base=values['floating_base'])[0])
    set_envelope(servo, values)
    servo.restart(0.0)
    return servo

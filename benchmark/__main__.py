# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Measure this package beside its peers: `opspace bench`, or `python benchmark`.

What is compared takes turns in one run, so that ratios hold on a noisy machine too.
"""

import argparse
import datetime
import importlib
import json
import os
import platform
import sys
import textwrap
from importlib import metadata
from pathlib import Path

# Small matrices lose by being shared out between threads; to be said before NumPy is imported.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

_SECTIONS = {
    'talos': 'a control cycle of Talos, 32 joints, beside Pinocchio and MuJoCo',
    'modes': 'Talos without a drive of its base, and with both hands on one object',
    'growth': 'serial chains of 25 to 400 joints',
    'points': 'the inertia of 2 to 32 points, beside Pinocchio',
    'contacts': 'robots on legs, their contact forces kept, beside Pinocchio, quadprog, daqp, TSID',
    'redundant_rows': 'more rows of tasks than joints, beside Pinocchio',
    'contact_models': 'contacts eliminated and as large inertias, beside Pinocchio',
    'beyond_limits': 'the slowest cycles with limits of joints, beside Pinocchio',
    'observer': 'what observers of unknown joint forces cost, beside Pinocchio',
    'distances': 'all pairs of shapes of Talos, beside Pinocchio and coal',
    'allocation': 'memory, and crossings into compiled code',
    'first_torque': 'from the start of a process, and of the demo, to the first torque',
    'library_build': 'the CPU time that the library of kernels takes to build',
    'native_loop': 'cycles of a saved controller in C++, beside Python',
    'ros_latency': 'joint state to effort command through ROS 2',
    'view_cost': 'what a view costs the controller that it shows',
}
_PACKAGES = ('numpy', 'numba', 'pin', 'mujoco', 'ros-jazzy-rclpy')
_ROOT = Path(__file__).resolve().parents[1]
_README, _PICTURE = _ROOT / 'README.md', _ROOT / 'doc' / 'growth.png'
_PAGE = _ROOT / 'doc' / 'measurements' / 'performance.md'
# Figures of the README.
_HEADLINE = ('talos.two_hands.aba', 'talos.two_hands.pinocchio', 'growth.joints_400', 'points.tip',
             'ros.p99')


def main():
    """Measure, print, and return the exit code: 1 if a target was missed or a section failed."""
    arguments = _arguments()
    from figures import markdown

    from opspace_control.errors import OpspaceError
    figures, skipped, succeeded = [], {}, True
    for number, name in enumerate(arguments.sections, 1):
        print(f'[{number}/{len(arguments.sections)}] {name}: {_SECTIONS[name]}', file=sys.stderr)
        try:
            figures += importlib.import_module(name).measure()
        except ImportError as error:
            skipped[name] = f'{error.name} is not installed'
        except OpspaceError as error:
            skipped[name], succeeded = str(error), False
    machine = _machine()
    report = '\n'.join([
        markdown(figures), '',
        textwrap.fill(f'Medians, quartiles in brackets; {", ".join(machine.values())}.', 120,
                      break_on_hyphens=False),
        *(f'Not measured: {_SECTIONS[name]} ({reason}).' for name, reason in skipped.items())])
    if arguments.json:
        print(json.dumps({'machine': machine, 'skipped': skipped,
                          'figures': [figure.as_dict() for figure in figures]}, indent=2))
    else:
        print(report)
    if arguments.write:
        _write(report, markdown([each for each in figures if each.key in _HEADLINE]))
        if 'growth' not in skipped:
            importlib.import_module('growth').plot(figures, _PICTURE)
    return 0 if succeeded and all(figure.met for figure in figures) else 1


def _arguments():
    parser = argparse.ArgumentParser(
        prog='opspace bench', description='Measure this package beside its peers.',
        epilog='\n'.join(f'{name:14}{what}' for name, what in _SECTIONS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('sections', nargs='*', metavar='SECTION',
                        help='what to measure; everything if not said:')
    parser.add_argument('--json', action='store_true', help='print everything as JSON')
    parser.add_argument('--write', action='store_true',
                        help='put the table into doc/measurements/performance.md with its picture, '
                             'and the headline figures into README.md')
    arguments = parser.parse_args()
    unknown = [name for name in arguments.sections if name not in _SECTIONS]
    if unknown:
        parser.error(f'there is no section {unknown[0]!r}')
    if arguments.write and (arguments.sections or not _README.is_file()):
        parser.error('pages are those of a checkout, and their tables have every section')
    arguments.sections = arguments.sections or list(_SECTIONS)
    return arguments


def _machine():
    """Return what the figures depend on."""
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = f'{package} {metadata.version(package)}'
        except metadata.PackageNotFoundError:
            continue
    from figures import processor_name
    return {'date': datetime.date.today().isoformat(), 'cpu': processor_name(),
            'cores': f'{os.cpu_count()} cores', 'python': f'Python {platform.python_version()}',
            **versions}


def _write(report, headline):
    """Put the report into its page, and the headline figures into the README."""
    from figures import put_into
    picture = f'![Time of a control cycle by number of joints](../{_PICTURE.name})'
    put_into(_PAGE, 'performance', f'{report}\n\n{picture}')
    put_into(_README, 'headline', headline)
    print(f'{_PAGE} and {_README} are up to date.', file=sys.stderr)


if __name__ == '__main__':
    sys.exit(main())

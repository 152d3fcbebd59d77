# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Fit collision shapes to the links of a robot, and write them in a file that may be edited.

Primitives are taken as they are, meshes are enclosed by spheres, capsules or boxes. Pairs of links
that need no distance are written down with the reason: adjacent ones, those that the SRDF disables,
and, from sampled configurations, those that always overlap or never come near each other.
"""

import sys
from pathlib import Path

from opspace_control.arguments import make_parser, refuse_existing, writing
from opspace_control.cli.preflight.collision import description_facts, summary
from opspace_control.collision import CollisionDescription
from opspace_control.collision.description import collision_file
from opspace_control.dynamics.robot_model import RobotModel
from opspace_control.model.urdf import urdf_text

# Of the shapes that are too fat, so many are named.
_MOST = 5


def main(arguments):
    """Write the file and print a summary; return the exit code 0."""
    parser = make_parser('collision', __doc__)
    parser.add_argument('urdf', metavar='URDF', type=Path, help='the robot, a URDF or xacro file')
    parser.add_argument('--srdf', metavar='SRDF', type=Path,
                        help='a file: the pairs of links that it disables are left out '
                             '(default: that beside URDF, if there is one)')
    parser.add_argument('-o', '--output', type=Path, metavar='YAML',
                        help='the file (default: beside URDF, ending in .collision.yaml)')
    parser.add_argument('--samples', type=int, default=2000, metavar='N',
                        help='number of sampled configurations (default: %(default)s)')
    parser.add_argument('--force', action='store_true', help='replace an existing file')
    options = parser.parse_args(arguments)
    if options.samples < 1:
        parser.error(f'--samples is {options.samples}, not a positive number.')
    output = options.output or collision_file(options.urdf)
    refuse_existing(output, options)
    description = CollisionDescription.from_urdf_file(
        options.urdf, srdf=options.srdf, samples=options.samples)
    robot = RobotModel.from_urdf(urdf_text(options.urdf))
    with writing(output):
        description.write(output, robot.name)
    for doubt in description.doubts:
        print(doubt, file=sys.stderr)
    facts = description_facts(description, description.model(robot))
    print('\n'.join([f'{output}: {summary(facts)}', *(
        f'  {fit["shape"]}: {fit["kind"]}, too fat by up to {1e3 * fit["too_fat"]:.0f} mm, '
        f'too thin by up to {1e3 * fit["too_thin"]:.0f} mm' for fit in facts['fits'][:_MOST])]))
    return 0

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Robots for the tests: the real ones of example-robot-data, and URDF text written by parts."""

from functools import cache
from importlib import metadata
from pathlib import Path

# Relative to the package's robots/ directory; what a test of a main job wants by name.
TALOS = 'talos_data/robots/talos_reduced.urdf'
TIAGO_DUAL = 'tiago_description/robots/tiago_dual.urdf'
PR2 = 'pr2_description/urdf/pr2.urdf'
BAXTER = 'baxter_description/urdf/baxter.urdf'


@cache
def robot_files():
    """Return the paths of all URDF files of example-robot-data, sorted."""
    return sorted(Path(file.locate()).resolve()
                  for file in metadata.files('example-robot-data')
                  if file.suffix == '.urdf' and 'robots' in file.parts)


@cache
def robot_file(name):
    """Return the path of the one file that ends in ``name``, such as ``TALOS`` or 'panda.urdf'."""
    found = [path for path in robot_files() if path.as_posix().endswith('/' + name)]
    if len(found) != 1:
        raise FileNotFoundError(f'{name}: {len(found)} files of example-robot-data')
    return found[0]


def robot_id(path):
    """Return a short name of a file for pytest: its robot's directory and its stem."""
    directory = path.parts[path.parts.index('example-robot-data') + 2]
    return f'{directory.removesuffix("_description")}-{path.stem}'


def robot(*parts):
    """Return the text of a URDF."""
    return f'<robot name="test">{"".join(parts)}</robot>'


def link(name, mass=1.0, moments=(0.1, 0.1, 0.1), inner=''):
    """Return a <link> with principal moments along its axes; mass=None is massless."""
    if mass is None:
        return f'<link name="{name}">{inner}</link>'
    ixx, iyy, izz = moments
    return (f'<link name="{name}"><inertial>{inner}<mass value="{mass}"/><inertia ixx="{ixx}" '
            f'iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial></link>')


def joint(name, parent, child, kind='revolute', inner=''):
    """Return a <joint>; ``inner`` is its further elements."""
    return (f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'{inner}</joint>')


def chain(*kinds, inner=''):
    """Return the text of a serial URDF: links l0, l1, ... and joints j1, j2, ... of these types."""
    return robot(link('l0'), *(
        link(f'l{i}') + joint(f'j{i}', f'l{i - 1}', f'l{i}', kind, inner)
        for i, kind in enumerate(kinds, 1)))

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Real robots for the tests: the URDF files of the example-robot-data package."""

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

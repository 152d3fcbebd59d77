# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The directories of ROS packages' files; of this one, for any installation."""

import contextlib
import os
import sys
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote

from opspace_control.errors import OpspaceError

# Resolved, since colcon build --symlink-install links the package into its own tree.
_CHECKOUT = Path(__file__).resolve().parents[1]


def share_directory():
    """
    Return the directory that holds ``config/``, ``launch/`` and ``urdf/``.

    A checkout (run in place, or installed editable) is its own share directory, so that an edited
    file is the one in use. Otherwise it is looked up in the ament index, then beside the
    interpreter, since a plain virtual environment is not on ``AMENT_PREFIX_PATH``. An OpspaceError
    tells that the package's files are in none of these places.
    """
    if (_CHECKOUT / 'package.xml').is_file():
        return _CHECKOUT
    for prefix in prefixes():
        share = Path(prefix, 'share', 'opspace_control')
        if (share / 'package.xml').is_file():
            return share
    raise OpspaceError(
        'The files of share/opspace_control are not installed.',
        cure="Install with pip install '.[ros,sim]' or colcon build, and source the workspace.",
        searched=list(prefixes()))


def prefixes():
    """Yield the prefixes with a share/ of ROS packages: of ROS 2, Python and the robots' wheel."""
    yield from filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep))
    yield sys.prefix
    with contextlib.suppress(metadata.PackageNotFoundError):
        yield str(metadata.distribution('example-robot-data').locate_file('cmeel.prefix'))


def package_file(uri):
    """
    Return the path of the file that ``package://package/path`` names, None if there is none.

    Packages are searched below `prefixes` and in the folders of ``ROS_PACKAGE_PATH``; this one is
    in `share_directory`.
    """
    package, _, inside = unquote(uri.partition('://')[2]).partition('/')
    return next((folder / inside for folder in _package_folders(package)
                 if (folder / inside).is_file()), None)


def _package_folders(package):
    """Yield where the files of a ROS package may be."""
    if package == 'opspace_control':
        yield share_directory()
    for prefix in prefixes():
        yield Path(prefix, 'share', package)
    for folder in filter(None, os.environ.get('ROS_PACKAGE_PATH', '').split(os.pathsep)):
        yield Path(folder, package)
        if Path(folder).name == package:
            yield Path(folder)

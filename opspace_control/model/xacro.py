# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Robot files, and the expansion of those that are written in xacro."""

from pathlib import Path
from tempfile import TemporaryDirectory

from opspace_control.errors import ModelError


def read_bytes(path):
    """Return the content of a file; a ModelError says why it cannot be read."""
    try:
        return Path(path).read_bytes()
    except (OSError, TypeError, ValueError) as error:
        raise ModelError(
            f'The robot file {str(path)!r} cannot be read: '
            f'{getattr(error, "strerror", None) or error}.',
            cure='Give the path of a URDF or xacro file.', path=str(path)) from None


def uses_xacro(robot, path=None):
    """Tell whether a <robot> element, of the file ``path`` if any, must be expanded by xacro."""
    if path is not None and Path(path).suffix == '.xacro':
        return True
    return any('xacro' in node.tag.partition('}')[0] for node in robot.iter())


def expand(text, path=None, arguments=None):
    """
    Return the URDF text of xacro text, str or bytes, or of the file ``path`` where it came from.

    Only a file can include others relative to itself. ``arguments`` is a dict for ``$(arg name)``.
    """
    try:
        import xacro
    except ImportError:
        raise ModelError(
            'The robot description is written in xacro, which is not installed.',
            cure="Install it ('pip install xacro', or apt's ros-<distro>-xacro), or expand the "
                 'description elsewhere and pass the URDF.', element='xacro') from None
    if path is None:
        with TemporaryDirectory() as directory:
            copy = Path(directory, 'robot.xacro')
            copy.write_bytes(text.encode() if isinstance(text, str) else text)
            return expand(text, copy, arguments)
    try:
        return xacro.process_file(str(path), mappings=arguments).toxml()
    except Exception as error:  # xacro lets through whatever the expressions in the text raise
        reason = ' '.join(str(error).split())
        raise ModelError(f'xacro cannot expand the robot description: {reason}.',
                         cure='Correct it; `xacro FILE` shows where it stops.',
                         element='xacro') from None

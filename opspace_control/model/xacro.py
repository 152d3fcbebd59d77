# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Files of robot descriptions, plain or in need of xacro."""

from pathlib import Path

from opspace_control.errors import ModelError


def read_text(path):
    """
    Return the URDF in a file, bytes, expanded first if it is a ``.xacro`` file.

    Raises
    ------
    ModelError
        The file cannot be read, xacro is not installed or cannot expand it.

    """
    path = Path(path)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ModelError(f"The robot file '{path}' cannot be read: {error.strerror}.",
                         cure='Give the path of a URDF or xacro file.', path=str(path)) from None
    return _expand(path) if path.suffix == '.xacro' else text


def _expand(path):
    try:
        import xacro
    except ImportError:
        raise ModelError(f"The robot file '{path}' needs xacro, which is not installed.",
                         cure="Install it ('pip install xacro', or ros-<distro>-xacro), or expand "
                              'the file elsewhere and pass the URDF.', path=str(path)) from None
    try:
        return xacro.process_file(str(path)).toxml()
    except Exception as error:  # xacro lets the errors of whatever it evaluates through
        raise ModelError(f"xacro cannot expand '{path}': {error}.",
                         cure='Correct the file; `xacro FILE` shows where it stops.',
                         path=str(path)) from None

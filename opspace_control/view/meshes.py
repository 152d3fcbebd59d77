# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Mesh files of a URDF: their paths and their triangles."""

import os
from pathlib import Path
from urllib.parse import unquote

import trimesh

from opspace_control.errors import OpspaceError
from opspace_control.share import prefixes

_PACKAGE_SCHEMES = ('package://', 'model://')


class MeshError(OpspaceError):
    """A mesh is not on this computer, or cannot be read."""


def find_mesh(uri):
    """
    Return the path of a mesh file.

    Parameters
    ----------
    uri : str
        ``package://package/path``, ``model://package/path``, ``file://path`` or an absolute path.
        Packages are looked up below the prefixes of ``AMENT_PREFIX_PATH``, in the folders of
        ``ROS_PACKAGE_PATH``, and among the Python packages that bring robots.

    Raises
    ------
    MeshError
        It is nowhere.

    """
    for scheme in _PACKAGE_SCHEMES:
        if uri.startswith(scheme):
            package, _, inside = unquote(uri.removeprefix(scheme)).partition('/')
            for folder in _package_folders(package):
                if (folder / inside).is_file():
                    return folder / inside
            raise MeshError(f'{uri} is not on this computer.', file=uri,
                            cure=f'Install {package} here, and source its workspace.')
    path = Path(unquote(uri.removeprefix('file://')))
    if path.is_absolute() and path.is_file():
        return path
    raise MeshError(f"There is no mesh '{uri}'.", file=uri,
                    cure='Say package://... in the URDF, or give its whole path.')


def load_mesh(path):
    """
    Return a mesh file's triangles as a trimesh.Trimesh, in metres, and in the axes of the file.

    Raises
    ------
    MeshError
        There is nothing in it that can be shown.

    """
    try:
        scene = trimesh.load_scene(path)
        # Collada says its unit; the scale in the URDF is what counts for the others.
        mesh = (scene.convert_units('meters') if scene.units else scene).to_mesh()
    except Exception as error:  # each format has its own ways to fail
        raise MeshError(f'{path} cannot be read: {error}', file=str(path),
                        cure="Collada needs pip install 'opspace_control[view]'.") from error
    if mesh.is_empty:
        raise MeshError(f'{path} has no triangles.', file=str(path), cure='Export it again.')
    return mesh


def _package_folders(package):
    """Yield where the files of a ROS package may be."""
    for prefix in prefixes():
        yield Path(prefix, 'share', package)
    for folder in filter(None, os.environ.get('ROS_PACKAGE_PATH', '').split(os.pathsep)):
        yield Path(folder, package)
        if Path(folder).name == package:
            yield Path(folder)

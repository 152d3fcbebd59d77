# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The shapes of the links of a URDF, and their mesh files; unknown shapes are left out."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from opspace_control.errors import OpspaceError
from opspace_control.model.cleaning import parse_xml
from opspace_control.share import package_file
from opspace_control.spatial.rotations import matrix_from_rpy, quaternion_from_matrix


@dataclass(frozen=True)
class UrdfShape:
    """A <visual> or <collision> of a link, in the link's frame."""

    kind: str
    # m: x, y, z of a box; radius and length, along z, of a cylinder; radius of a sphere; or the
    # scale (3,) of a mesh.
    size: tuple
    position: tuple = (0.0, 0.0, 0.0)
    wxyz: tuple = (1.0, 0.0, 0.0, 0.0)
    color: tuple | None = None  # red, green, blue from 0 to 255, if given
    file: str = ''              # of a mesh


@dataclass(frozen=True)
class Looks:
    """The shapes of a robot by link."""

    seen: dict     # of the <visual> elements
    touched: dict  # of the <collision> elements
    doubts: tuple  # sentences about what is left out


def read_looks(text):
    """Return the `Looks` of URDF text, or raise a ModelError if it is not that of a <robot>."""
    robot = parse_xml(text)
    doubts = []
    colors = {node.get('name'): _color(node) for node in robot.findall('material')}
    seen, touched = ({link.get('name', ''): _shapes(link, tag, colors, doubts)
                      for link in robot.findall('link')} for tag in ('visual', 'collision'))
    return Looks(seen, touched, tuple(doubts))


def _shapes(link, tag, colors, doubts):
    found = []
    for node in link.findall(tag):
        try:
            found.append(_shape(node, colors))
        except ValueError as reason:
            doubts.append(f"A <{tag}> of link '{link.get('name', '')}' is not shown: {reason}.")
    return found


def _shape(node, colors):
    """Return the shape of a <visual> or <collision>, or raise a ValueError with the reason."""
    geometry = node.find('geometry')
    if geometry is None or not len(geometry):
        raise ValueError('it has no geometry')
    body = geometry[0]
    read = _KINDS.get(body.tag)
    if read is None:
        raise ValueError(f'a <{body.tag}> is no shape of a URDF')
    material, color = node.find('material'), None
    if material is not None:
        # Its own, or that of the robot's material of this name.
        color = _color(material) or colors.get(material.get('name'))
    position, wxyz = _placement(node.find('origin'))
    return UrdfShape(body.tag, read(body), position, wxyz, color,
                     body.get('filename', '') if body.tag == 'mesh' else '')


_KINDS = {
    'box': lambda body: _numbers(body, 'size', 3),
    'cylinder': lambda body: _numbers(body, 'radius', 1) + _numbers(body, 'length', 1),
    'sphere': lambda body: _numbers(body, 'radius', 1),
    'mesh': lambda body: _numbers(body, 'scale', 3, '1 1 1'),
}


def _placement(origin):
    if origin is None:
        return UrdfShape.position, UrdfShape.wxyz
    x, y, z, w = quaternion_from_matrix(matrix_from_rpy(_numbers(origin, 'rpy', 3, '0 0 0')))
    return _numbers(origin, 'xyz', 3, '0 0 0'), (w.item(), x.item(), y.item(), z.item())


def _color(material):
    """Return the color of a <material>, or None."""
    node = material.find('color')
    try:
        rgba = _numbers(node, 'rgba', 4) if node is not None else None
    except ValueError:
        return None
    return rgba and tuple(round(255 * min(max(part, 0.0), 1.0)) for part in rgba[:3])


def _numbers(node, attribute, count, default=None):
    """Return an attribute of so many finite numbers as a tuple, or raise a ValueError."""
    value = node.get(attribute, default)
    try:
        numbers = tuple(float(word) for word in value.split())
    except (AttributeError, ValueError):
        numbers = ()
    if len(numbers) != count or not np.isfinite(numbers).all():
        raise ValueError(f'{attribute}="{value}" of its <{node.tag}> is not {count} numbers')
    return numbers


class MeshError(OpspaceError):
    """A mesh is not on this computer, or cannot be read."""


def find_mesh(uri):
    """
    Return the path of a mesh file, or raise a MeshError.

    ``uri`` is ``package://package/path``, ``model://package/path``, ``file://path`` or an absolute
    path. Packages are searched by `package_file`.
    """
    if uri.startswith(('package://', 'model://')):
        if path := package_file(uri):
            return path
        package = uri.split('/')[2]
        raise MeshError(f'{uri} is not on this computer.', file=uri,
                        cure=f'Install {package} here, and source its workspace.')
    path = Path(unquote(uri.removeprefix('file://')))
    if path.is_absolute() and path.is_file():
        return path
    raise MeshError(f"There is no mesh '{uri}'.", file=uri,
                    cure='Say package://... in the URDF, or give its whole path.')


def load_mesh(path):
    """
    Return a mesh file's trimesh.Trimesh, m, in the axes of the file.

    A MeshError tells why it cannot be read, an OpspaceError that trimesh is not installed.
    """
    try:
        import scipy.spatial  # noqa: F401, which encloses their points
        import trimesh
    except ImportError:
        raise OpspaceError('trimesh or scipy, which meshes need, is missing.', file=str(path),
                           cure="pip install 'opspace_control[collision]'.") from None
    try:
        scene = trimesh.load_scene(path)
        # A Collada file has a unit; for the others the scale in the URDF counts.
        mesh = (scene.convert_units('meters') if scene.units else scene).to_mesh()
    except Exception as error:  # each format has its own ways to fail
        raise MeshError(f'{path} cannot be read: {error}', file=str(path),
                        cure="Collada needs pip install 'opspace_control[collision]'.") from error
    if mesh.is_empty:
        raise MeshError(f'{path} has no triangles.', file=str(path), cure='Export it again.')
    return mesh

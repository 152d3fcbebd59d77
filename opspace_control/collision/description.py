# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The file of a robot's collision shapes and of the pairs of links that are left out."""

from dataclasses import dataclass, field
from itertools import chain
from numbers import Real
from pathlib import Path

import numpy as np
import yaml

from opspace_control.collision.exclusion import REASONS, excluded_pairs, read_srdf
from opspace_control.collision.fit import Fit, fit_shapes
from opspace_control.collision.model import CollisionModel
from opspace_control.collision.shapes import Shape
from opspace_control.errors import ModelError
from opspace_control.model import KinematicTree
from opspace_control.model.topology import nearest
from opspace_control.model.urdf import urdf_text
from opspace_control.share import package_file
from opspace_control.spatial.rotations import matrix_from_rpy, rpy_from_matrix

_HEADER = """\
# Collision shapes of {name}, made by `opspace collision`; may be edited.
# Each shape of a link: kind and size (sphere: radius; capsule and cylinder: radius and length along
# z; box: x, y, z), m; its pose in the link's frame, xyz in m, rpy in rad; what it was made of; and
# the largest distances by which it is too fat and too thin for that, m.
# Pairs of links under excluded_pairs have no distance, by reason:
{reasons}
"""
_KEYS = 'kind', 'size', 'xyz', 'rpy', 'source', 'too_fat', 'too_thin'


# libyaml's takes a tenth of the time.
class _Loader(getattr(yaml, 'CSafeLoader', yaml.SafeLoader)):
    """YAML that refuses a key which is there twice: the shapes under the first one were lost."""

    def construct_mapping(self, node, deep=False):
        known = set()
        for key, _ in node.value:
            if key.value in known:
                raise yaml.constructor.ConstructorError(
                    problem=f"'{key.value}' is there twice", problem_mark=key.start_mark)
            known.add(key.value)
        return super().construct_mapping(node, deep)


@dataclass(frozen=True)
class CollisionDescription:
    """Collision shapes of a robot, and pairs of links that are left out."""

    fits: tuple
    """The shapes, with the errors of their fits."""
    excluded: dict
    """Reason, a key of `REASONS`, by sorted names of two links."""
    doubts: tuple = ()
    """Sentences about what is doubtful; not in the file."""
    path: str = field(default='', compare=False)
    """Where it was read; '' if it was not."""

    @classmethod
    def from_urdf_file(cls, path, *, srdf=None, samples=2000):
        """
        Fit the shapes of a URDF or xacro file, and find the pairs that are left out.

        ``srdf`` is the path of an SRDF, by default of that beside the file, if there is one;
        ``samples`` is the number of configurations. A ModelError names what cannot be used of the
        files, an OpspaceError tells that a package is missing.
        """
        text = urdf_text(path)
        fits, doubts, surfaces = fit_shapes(text)
        robot = KinematicTree.from_urdf(text)
        beside = _beside(path, '.srdf')
        srdf = srdf or (beside if beside.is_file() else None)
        disabled, named = read_srdf(srdf, robot.frame_names) if srdf else (set(), set())
        for name in sorted(named.difference(robot.frame_names)):
            doubts.append(f"The SRDF {srdf} names a link '{name}', which the robot does not have. "
                          f'{nearest(name, robot.frame_names)}')
        return cls(tuple(fits), excluded_pairs(
            robot, [fit.shape for fit in fits], disabled, samples, surfaces=surfaces),
            tuple(doubts))

    @classmethod
    def read(cls, path):
        """
        Read a file, a path or ``package://package/path``.

        A ModelError names the link and the key that cannot be used.
        """
        try:
            content = yaml.load(_located(path).read_text(), _Loader)
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ModelError(
                f'The collision file {path} cannot be read: {" ".join(str(error).split())}.',
                cure='Make it by `opspace collision`.', path=str(path)) from None
        content = _dict(content, path, 'the file')
        _check_keys(content, ('shapes', 'excluded_pairs'), path, 'The file')
        fits = []
        for link, shapes in _dict(content.get('shapes'), path, 'shapes').items():
            if not isinstance(shapes, list):
                raise _error(path, f"The shapes of link '{link}' are no list", 'Write - {...}')
            fits += [_read_fit(path, str(link), number, shape)
                     for number, shape in enumerate(shapes, 1)]
        excluded = {}
        for reason, pairs in _dict(content.get('excluded_pairs'), path, 'excluded_pairs').items():
            if reason not in REASONS:
                raise _error(path, f"excluded_pairs has the key '{reason}'",
                             f'Use one of {", ".join(REASONS)}')
            if not isinstance(pairs, list | None):
                raise _error(path, f'excluded_pairs, {reason}: {pairs!r} is no list',
                             'Write - [link, link]')
            for pair in pairs or ():
                if not (isinstance(pair, list) and len(pair) == 2):
                    raise _error(path, f'excluded_pairs, {reason}: {pair!r} is no pair',
                                 'Write [link, link]')
                excluded[tuple(sorted(map(str, pair)))] = reason
        return cls(tuple(fits), excluded, path=str(path))

    def write(self, path, name):
        """Write the file of the robot ``name``."""
        lines = [_HEADER.format(name=name, reasons='\n'.join(
            f'#   {reason}: {words}' for reason, words in REASONS.items())), 'shapes:']
        links = dict.fromkeys(fit.shape.link for fit in self.fits)
        for link in links:
            lines.append(f'  {_quoted(link)}:')
            lines += [f'    - {_written(fit)}' for fit in self.fits if fit.shape.link == link]
        lines.append('excluded_pairs:')
        for reason in REASONS:
            pairs = sorted(pair for pair, why in self.excluded.items() if why == reason)
            lines.append(f'  {reason}:' + ('' if pairs else ' []'))
            lines += [f'    - [{_quoted(first)}, {_quoted(second)}]' for first, second in pairs]
        Path(path).write_text('\n'.join([*lines, '']))

    def model(self, robot, world=()):
        """
        Return the `CollisionModel` of a robot, with further shapes of its ``world``.

        Its pairs are all that move relative to each other and are not left out. A ModelError names
        a link that the robot does not have, and the file.
        """
        try:
            for link in (*(fit.shape.link for fit in self.fits), *chain(*self.excluded)):
                robot.frame_index(link)
        except ModelError as error:
            raise ModelError(
                f'{self.path or "Collision shapes"}: {error}', path=self.path,
                cure='Correct the name, or make the file of this robot by `opspace collision`.',
            ) from None
        shapes = [*(fit.shape for fit in self.fits), *world]
        links = {shape.name: shape.link for shape in shapes}
        return CollisionModel(robot, shapes, [
            (a, b) for a, b in CollisionModel(robot, shapes).pairs
            if None in (links[a], links[b])
            or tuple(sorted((links[a], links[b]))) not in self.excluded])


def collision_file(urdf):
    """Return the path of the collision file beside a robot's file."""
    return _beside(urdf, '.collision.yaml')


def _beside(urdf, ending):
    """Return the path of the file beside a robot's file that has its name and another ending."""
    urdf = Path(urdf)
    return urdf.with_name(urdf.name.split('.')[0] + ending)


def _located(path):
    """Return the Path of a file that a path or a URI of ROS names."""
    if not str(path).startswith('package://'):
        return Path(path)
    if found := package_file(path):
        return found
    raise _error(path, 'There is no such file on this computer',
                 'Install the package here, and source its workspace')


def _error(path, what, cure):
    return ModelError(f'{path}: {what}.', cure=cure if cure.endswith('?') else f'{cure}.',
                      path=str(path))


def _dict(content, path, what):
    if not isinstance(content, dict):
        raise _error(path, f'{what} has no keys', 'Make the file by `opspace collision`')
    return content


def _check_keys(content, known, path, what):
    for key in content:
        if key not in known:
            raise _error(path, f"{what} has the key '{key}'", nearest(key, known).rstrip('.'))


def _read_fit(path, link, number, content):
    """Return the `Fit` of one entry, or raise a ModelError with link and key."""
    what = f"Shape {number} of link '{link}'"
    _check_keys(_dict(content, path, what), _KEYS, path, what)
    numbers = {}
    for key, default in (('xyz', [0.0] * 3), ('rpy', [0.0] * 3), ('size', None)):
        value = content.get(key, default)
        if not (isinstance(value, list) and all(_is_number(each) for each in value)
                and len(value) == (len(value) if key == 'size' else 3)):
            raise _error(path, f"{what}: '{key}' is {value!r}", 'Give a list of numbers')
        numbers[key] = value
    for key in ('too_fat', 'too_thin'):
        value = content.get(key, 0.0)
        if value is not None and not _is_number(value):
            raise _error(path, f"{what}: '{key}' is {value!r}", 'Give a distance in m')
        numbers[key] = np.nan if value is None else value
    name = link if number == 1 else f'{link}/{number}'
    try:
        shape = Shape(name, link, content.get('kind', ''), numbers['size'], numbers['xyz'],
                      matrix_from_rpy(numbers['rpy']))
    except ModelError as error:
        raise ModelError(f'{path}: {what}: {error}', path=str(path)) from None
    return Fit(shape, str(content.get('source', '')), numbers['too_fat'], numbers['too_thin'])


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(value)


def _quoted(name):
    """Return a name as YAML reads it back."""
    return yaml.safe_dump(str(name), width=10 ** 6).removesuffix('\n').removesuffix('\n...')


def _written(fit):
    def number(value):
        text = f'{value + 0.0:.6g}'  # YAML reads 9e-09 as text
        return text if '.' in text else text.replace('e', '.0e')

    def numbers(values):
        return '[' + ', '.join(map(number, values)) + ']'

    def distance(value):
        return 'null' if np.isnan(value) else f'{value:.4f}'

    shape = fit.shape
    return (f'{{kind: {shape.kind.name.lower()}, size: {numbers(shape.size)}, '
            f'xyz: {numbers(shape.position)}, rpy: {numbers(rpy_from_matrix(shape.rotation))}, '
            f'source: {fit.source}, too_fat: {distance(fit.too_fat)}, '
            f'too_thin: {distance(fit.too_thin)}}}')

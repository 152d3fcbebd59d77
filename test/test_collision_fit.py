# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes fitted to the links of a URDF, the pairs that are left out, and the file of both."""

import builtins
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import robots

from opspace_control import CollisionDescription, RobotModel, Shape
from opspace_control.collision import Kind
from opspace_control.collision.enclosing import (
    distance_to,
    enclose,
    enclose_parts,
    misfits,
    surface_of,
)
from opspace_control.collision.exclusion import ALWAYS, APART, excluded_pairs, read_srdf
from opspace_control.collision.fit import Fit, fit_shapes
from opspace_control.collision.points import principal_axes
from opspace_control.errors import ModelError, OpspaceError
from opspace_control.model import KinematicTree
from opspace_control.share import share_directory
from opspace_control.spatial.rotations import (
    matrix_from_rpy,
    matrix_from_vector,
    rpy_from_matrix,
)

DUAL_ARM = share_directory() / 'urdf' / 'dual_arm.urdf'
PANDA = 'panda.urdf'


def points_of(shape, count=3000):
    """Return points on the surface of a shape."""
    random = np.random.default_rng(3)
    size = np.array(shape.size)
    if shape.kind == Kind.BOX:
        local = random.uniform(-0.5, 0.5, (count, 3))
        local[np.arange(count), random.integers(3, size=count)] = 0.5 * random.choice(
            [-1.0, 1.0], count)
        local = np.concatenate([local, np.array(np.meshgrid(*[[-0.5, 0.5]] * 3)).reshape(3, -1).T])
        local *= size
    else:
        local = random.normal(size=(count, 3))
        local *= size[0] / np.linalg.norm(local, axis=1)[:, None]
        if shape.kind == Kind.CAPSULE:
            local[:, 2] += np.sign(local[:, 2]) * size[1] / 2.0
            sides = random.normal(size=(count, 2))
            sides *= size[0] / np.linalg.norm(sides, axis=1)[:, None]
            local = np.concatenate([local, np.column_stack([
                sides, random.uniform(-0.5, 0.5, count) * size[1]])])
    return local @ np.array(shape.rotation).T + shape.position


@pytest.mark.parametrize(('kind', 'size'), [
    ('sphere', (0.1,)), ('capsule', (0.05, 0.3)), ('box', (0.1, 0.2, 0.3))])
def test_finds_the_shape_that_the_points_are_of(kind, size):
    shape = Shape('', None, kind, size, (0.3, -0.2, 0.1),
                  matrix_from_vector(np.array([0.3, -0.5, 0.2])))
    points = points_of(shape)
    fit = enclose(points)
    assert fit.kind == shape.kind
    np.testing.assert_allclose(np.sort(fit.size), np.sort(size), rtol=0.05)
    np.testing.assert_allclose(fit.position, shape.position, atol=0.01)
    assert distance_to(fit, points).max() < 1e-9
    (fat, thin), = misfits([fit], points)
    assert fat < 0.03
    assert thin < 1e-9


def test_distance_of_points_to_shapes():
    points = np.array([[0.0, 0.0, 0.0], [0.2, 0.0, 0.0], [0.2, 0.0, 0.3], [0.0, 0.0, 0.19]])
    for kind, size, expected in (
            ('sphere', (0.1,), [-0.1, 0.1, np.sqrt(0.13) - 0.1, 0.09]),
            ('capsule', (0.1, 0.4), [-0.1, 0.1, np.sqrt(0.05) - 0.1, -0.1]),
            ('cylinder', (0.1, 0.4), [-0.1, 0.1, np.sqrt(0.02), -0.01]),
            ('box', (0.2, 0.2, 0.4), [-0.1, 0.1, np.sqrt(0.02), -0.01])):
        np.testing.assert_allclose(distance_to(Shape('', None, kind, size), points), expected)


def test_what_is_bent_is_divided():
    leg = Shape('', None, 'capsule', (0.05, 0.4))
    points = np.concatenate([points_of(leg), points_of(Shape(
        '', None, 'capsule', (0.05, 0.4), (0.2, 0.0, 0.2),
        matrix_from_rpy([0.0, np.pi / 2, 0.0])))])
    parts = enclose_parts(points)
    assert len(parts) > 1
    whole, divided = (max(fat for fat, _ in misfits(shapes, points))
                      for shapes in ([enclose(points)], parts))
    assert divided < 0.8 * whole
    assert misfits(parts, points)[0][1] < 1e-9


def test_fits_do_not_depend_on_the_processor():
    """BLAS rounds differently on each kind of it, and a search took another path then."""
    fits = [subprocess.run(
        [sys.executable, '-c', 'import test_collision_fit; test_collision_fit.print_parts()'],
        env={**os.environ, 'OPENBLAS_CORETYPE': core}, cwd=Path(__file__).parent, text=True,
        capture_output=True, check=True).stdout for core in ('Prescott', 'Nehalem', 'Haswell')]
    assert fits[0]
    assert len(set(fits)) == 1


def print_parts():
    """Print the shapes that enclose the corners of bent and random things, digit by digit."""
    random = np.random.default_rng(0)
    for _ in range(4):
        corners = random.uniform(-0.1, 0.1, (60, 3)).round(3)
        leg = random.uniform(-0.02, 0.02, (60, 3)).round(3) + random.uniform(-0.2, 0.2, 3)
        for part in enclose_parts(np.concatenate([corners, leg])):
            print(part.kind.name, part.size, part.position.tolist(), part.rotation.tolist())


def test_principal_axes_are_those_of_lapack():
    for seed in range(20):
        random = np.random.default_rng(seed)
        points = random.normal(size=(50, 3)) * [1.0, 2.0, 3.0] @ random.normal(size=(3, 3))
        axes, moments = principal_axes(points), np.cov(points.T)
        assert np.linalg.det(axes) == pytest.approx(1.0)
        np.testing.assert_allclose(axes.T @ moments @ axes, np.diag(np.linalg.eigvalsh(moments)),
                                   atol=1e-12 * moments.max())
    np.testing.assert_array_equal(principal_axes(np.ones((5, 3))), np.eye(3))


@pytest.mark.parametrize('rpy', [(0.1, 0.2, 0.3), (-2.0, 1.5, 3.0), (0.0, np.pi / 2, 0.4),
                                 (0.5, -np.pi / 2, 0.4)])
def test_roll_pitch_yaw(rpy):
    R = matrix_from_rpy(np.array(rpy))
    np.testing.assert_allclose(matrix_from_rpy(rpy_from_matrix(R)), R, atol=1e-9)


class TestFit:

    def test_primitives_are_taken_as_they_are(self):
        fits, doubts, _ = fit_shapes(DUAL_ARM.read_text())
        assert not doubts
        torso = {fit.shape.name: fit for fit in fits if fit.shape.link == 'torso'}
        assert [fit.shape.kind for fit in torso.values()] == [Kind.BOX, Kind.CYLINDER, Kind.SPHERE]
        assert list(torso) == ['torso', 'torso/2', 'torso/3']
        assert torso['torso'].shape.size == (0.2, 0.28, 0.4)
        assert torso['torso'].shape.position == (0.0, 0.0, 0.27)
        assert {(fit.source, fit.too_fat, fit.too_thin) for fit in fits} == {('collision', 0, 0)}

    def test_meshes_are_enclosed(self):
        pytest.importorskip('trimesh')
        fits, doubts, _ = fit_shapes(robots.robot_file(PANDA).read_text())
        assert not doubts
        meshes = [fit for fit in fits if fit.source == 'collision mesh']
        assert {f'panda_link{k}' for k in range(8)} <= {fit.shape.link for fit in meshes}
        assert max(fit.too_thin for fit in meshes) < 1e-9
        assert 0.01 < max(fit.too_fat for fit in meshes) < 0.1

    def test_what_is_missing_is_replaced(self):
        text = robots.robot(
            robots.link('a').replace('</link>', (
                '<collision><geometry><mesh filename="package://none/a.stl"/></geometry></collision>'
                '<visual><geometry><sphere radius="0.1"/></geometry></visual></link>')),
            robots.link('b'), robots.link('c', mass=None),
            robots.joint('ab', 'a', 'b'),
            robots.joint('bc', 'b', 'c', inner='<origin xyz="0.3 0 0.4"/>'))
        fits, doubts, _ = fit_shapes(text)
        assert [(fit.shape.link, fit.source) for fit in fits] == [('a', 'visual'), ('b', 'joint')]
        capsule = fits[1].shape
        assert capsule.size == pytest.approx((0.1, 0.5))
        np.testing.assert_allclose(np.array(capsule.rotation)[:, 2], [0.6, 0.0, 0.8])
        np.testing.assert_allclose(capsule.position, [0.15, 0.0, 0.2])
        assert "Link 'a'" in doubts[0]
        assert 'Install none' in doubts[0]
        assert "Link 'b' has no shape" in doubts[1]

    def test_a_last_link_without_geometry_reaches_beyond_its_mass(self):
        """And what has its mass at its origin is named; neither counts as a good fit."""
        text = robots.robot(
            robots.link('a'), robots.link('b', inner='<origin xyz="0 0.3 0.4"/>'),
            robots.joint('ab', 'a', 'b'))
        fits, doubts, _ = fit_shapes(text)
        (capsule,) = [fit.shape for fit in fits if fit.shape.link == 'b']
        assert capsule.size == pytest.approx((0.2, 1.0))
        np.testing.assert_allclose(np.array(capsule.rotation)[:, 2], [0.0, 0.6, 0.8])
        np.testing.assert_allclose(capsule.position, [0.0, 0.3, 0.4])
        assert "Link 'a' has no shape that can be read: it has none" in doubts[0]
        assert "Link 'b' has no shape" in doubts[1] and 'centre of mass' in doubts[1]

    def test_names_the_extra_that_is_missing(self, monkeypatch):
        known = builtins.__import__

        def without(name, *rest):
            if name == 'trimesh':
                raise ImportError(name)
            return known(name, *rest)

        monkeypatch.setattr(builtins, '__import__', without)
        with pytest.raises(OpspaceError, match=r'opspace_control\[collision\]'):
            fit_shapes(robots.robot_file(PANDA).read_text())


@pytest.fixture(scope='module')
def dual_arm():
    return KinematicTree.from_urdf_file(DUAL_ARM)


@pytest.fixture(scope='module')
def made():
    return CollisionDescription.from_urdf_file(DUAL_ARM, samples=300)


class TestExcludedPairs:

    def test_reasons(self, dual_arm, made):
        shapes = [fit.shape for fit in made.fits]
        disabled = {('l_palm', 'r_palm')}
        found = excluded_pairs(dual_arm, shapes, disabled, samples=300)
        assert found['l_palm', 'r_palm'] == 'srdf'
        assert found['l_elbow_link', 'l_upper_arm'] == 'adjacent'
        assert ('l_palm', 'torso') not in found
        assert found == excluded_pairs(dual_arm, shapes, disabled, samples=300)
        assert ('l_palm', 'r_palm') not in excluded_pairs(dual_arm, shapes, samples=300)

    def test_never_and_always(self, dual_arm):
        far = Shape('far', 'l_hand', 'sphere', [0.01]), Shape('base', 'base_link', 'sphere', [0.01])
        assert excluded_pairs(dual_arm, far, samples=300) == {('base_link', 'l_hand'): 'never'}
        fat = [Shape(link, link, 'sphere', [5.0]) for link in ('l_hand', 'base_link')]
        assert excluded_pairs(dual_arm, fat, samples=300) == {('base_link', 'l_hand'): ALWAYS}

    @pytest.mark.parametrize(('height', 'found'), [(0.19, {('a', 'c'): APART}), (0.172, {})])
    def test_surfaces_that_joints_keep_apart(self, height, found):
        """Balls of 0.07 m are 18 and 0 mm apart at least; their shapes of 0.1 m may overlap."""
        axis = '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
        robot = KinematicTree.from_urdf(robots.robot(
            *map(robots.link, 'abc'), robots.joint('ab', 'a', 'b', inner=axis),
            robots.joint('bc', 'b', 'c', inner=f'<origin xyz="0 0 {height}"/>{axis}')))
        balls = {radius: [Shape('a', 'a', 'sphere', [radius]),
                          Shape('c', 'c', 'sphere', [radius], [0.04, 0.0, 0.0])]
                 for radius in (0.07, 0.1)}
        surfaces = {ball.link: surface_of(ball, 4000) for ball in balls[0.07]}
        assert excluded_pairs(robot, balls[0.1], samples=300, surfaces=surfaces) == found
        assert not excluded_pairs(robot, balls[0.1], samples=300)

    def test_srdf(self, tmp_path):
        path = tmp_path / 'robot.srdf'
        path.write_text('<robot name="r"><disable_collisions link1="b" link2="a" reason="Never"/>'
                        '</robot>')
        assert read_srdf(path, 'ab') == ({('a', 'b')}, {'a', 'b'})
        made = CollisionDescription.from_urdf_file(DUAL_ARM, srdf=path, samples=1)
        assert [doubt.split(',')[0] for doubt in made.doubts] == [
            f"The SRDF {path} names a link '{name}'" for name in 'ab']

    def test_srdf_that_disables_links_by_default(self, tmp_path):
        """All pairs of a link but those that are enabled; of these a disabled one is off."""
        path = tmp_path / 'robot.srdf'
        path.write_text(
            '<robot name="r"><disable_default_collisions link="r_palm"/>'
            '<enable_collisions link1="r_palm" link2="l_palm"/>'
            '<enable_collisions link1="r_palm" link2="torso"/>'
            '<disable_collisions link1="torso" link2="r_palm" reason="User"/></robot>')
        excluded = CollisionDescription.from_urdf_file(DUAL_ARM, srdf=path, samples=1).excluded
        off = {pair for pair, reason in excluded.items() if reason == 'srdf'}
        assert {('r_palm', 'torso'), ('l_forearm', 'r_palm')} < off
        assert all('r_palm' in pair for pair in off)
        assert excluded.get(('l_palm', 'r_palm')) != 'srdf'


class TestFile:

    def test_is_read_as_it_was_written(self, made, tmp_path):
        path = tmp_path / 'dual_arm.collision.yaml'
        made.write(path, 'dual_arm')
        read = CollisionDescription.read(path)
        assert read.excluded == made.excluded
        assert len(read.fits) == len(made.fits)
        for mine, theirs in zip(made.fits, read.fits, strict=True):
            assert (mine.shape.name, mine.shape.link, mine.shape.kind, mine.source) == (
                theirs.shape.name, theirs.shape.link, theirs.shape.kind, theirs.source)
            for field in ('size', 'position', 'rotation'):
                np.testing.assert_allclose(
                    getattr(mine.shape, field), getattr(theirs.shape, field), atol=1e-5)

    def test_numbers_of_one_digit_are_numbers(self, tmp_path):
        """YAML reads 9e-09 as text: what was written was not read."""
        shape = Shape('hand', 'hand', 'sphere', [2e-5], (9e-9, 0.0, -1e-7))
        path = tmp_path / 'hand.yaml'
        CollisionDescription((Fit(shape, 'collision', 0.0, 0.0),), {}).write(path, 'hand')
        assert CollisionDescription.read(path).fits[0].shape == shape

    def test_makes_a_model(self, made):
        robot = RobotModel.from_urdf_file(DUAL_ARM)
        model = made.model(robot, [Shape('floor', None, 'half_space', ())])
        pairs = set(model.pairs)
        assert ('l_palm', 'floor') in pairs
        assert ('base_link', 'floor') not in pairs
        links = {tuple(sorted(name.split('/')[0] for name in pair)) for pair in pairs}
        assert ('l_palm', 'r_palm') in links
        assert not links & made.excluded.keys()
        assert all(found.distance > 0.0 for found in model.distances(robot.neutral())
                   if 'floor' not in found[:2])

    def test_is_found_in_a_package(self):
        """This package's own files are there in a checkout as well."""
        uri = 'package://opspace_control/urdf/puma560.collision.yaml'
        assert CollisionDescription.read(uri) == CollisionDescription.read(
            DUAL_ARM.with_name('puma560.collision.yaml'))
        with pytest.raises(ModelError, match=r'no_such.*no such file.*Install the package'):
            CollisionDescription.read('package://opspace_control/urdf/no_such.collision.yaml')

    def test_unknown_link_is_named_and_the_file(self, made, tmp_path):
        robot = RobotModel.from_urdf_file(robots.robot_file(PANDA))
        with pytest.raises(ModelError, match=r"no link '\w+'"):
            made.model(robot)
        path = tmp_path / 'arms.yaml'
        made.write(path, 'dual_arm')
        for text in path.read_text(), 'shapes: {}\nexcluded_pairs: {never: [[hand, link_9]]}':
            path.write_text(text)
            with pytest.raises(ModelError, match=r'arms.yaml: .*no link .* of this robot by'):
                CollisionDescription.read(path).model(robot)

    @pytest.mark.parametrize(('text', 'said'), [
        ('shapes: {hand: [{kind: sphere, size: [0.1, 0.2]}]}', r"Shape 1 of link 'hand'.*size"),
        ('shapes: {hand: [{kind: ball, size: [0.1]}]}', r"Shape 1 of link 'hand'.*'ball'"),
        ('shapes: {hand: [{kind: sphere, size: big}]}', r"link 'hand': 'size' is 'big'"),
        ('shapes: {hand: [{kind: sphere, size: [1], xyz: [0, 0]}]}', r"link 'hand': 'xyz'"),
        ('shapes: {hand: [{kind: sphere, size: [1], radius: 2}]}',
         r"link 'hand' has the key 'radius'"),
        ('shapes: {hand: {kind: sphere}}', r"shapes of link 'hand' are no list"),
        ('excluded_pairs: {bored: []}\nshapes: {}', r"the key 'bored'. Use one of adjacent"),
        ('excluded_pairs: {never: [[a]]}\nshapes: {}', r"never: \['a'\] is no pair"),
        ('excluded_pairs: {never: 3}\nshapes: {}', 'never: 3 is no list'),
        ('shape: {}', r"The file has the key 'shape'. Did you mean 'shapes'"),
        ('[1', 'cannot be read'),
        ('shapes: {a: []}\nshapes: {}', "'shapes' is there twice .* line 2"),
        ('shapes:\n  a: [{kind: sphere, size: [1]}]\n  a: []', "'a' is there twice .* line 3"),
        ('shapes: {hand: [{kind: sphere, size: [1.0e+9]}]}', '1000000000.0.* above 0, 10000 at'),
    ])
    def test_what_is_wrong_is_named(self, text, said, tmp_path):
        path = tmp_path / 'bad.yaml'
        path.write_text(text if 'excluded_pairs' in text else f'{text}\nexcluded_pairs: {{}}')
        with pytest.raises(ModelError, match=said):
            CollisionDescription.read(path)

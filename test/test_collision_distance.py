# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of pairs of shapes, held against coal and against what defines a distance."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from opspace_control.collision import Kind, Shape
from opspace_control.collision.data import forget_distances, make_collision, set_influence
from opspace_control.collision.distance import NEAR_PAIR
from opspace_control.collision.near_pairs import near_pairs_at
from opspace_control.collision.shapes import SHAPE
from opspace_control.dynamics.data import NODE_STATE
from opspace_control.errors import ModelError
from opspace_control.model.nodes import NODE
from opspace_control.spatial.rotations import matrix_from_vector

KINDS = ['sphere', 'capsule', 'cylinder', 'box', 'half_space']
PAIRS = [pair for pair in product(KINDS, repeat=2) if pair != ('half_space', 'half_space')]
NUMBERS = {'sphere': 1, 'capsule': 2, 'cylinder': 2, 'box': 3, 'half_space': 0}


def random_shape(random, kind, spread):
    return Shape('', None, kind, random.uniform(0.02, 0.4, NUMBERS[kind]),
                 random.uniform(-spread, spread, 3),
                 matrix_from_vector(2.0 * random.normal(size=3)))


def random_pairs(kinds, count, spread=0.3):
    random = np.random.default_rng(KINDS.index(kinds[0]) * 5 + KINDS.index(kinds[1]))
    return [tuple(random_shape(random, kind, spread) for kind in kinds) for _ in range(count)]


def in_world(pairs):
    """Return the data of pairs of shapes of the world, with memory for all of them."""
    shapes = np.zeros(2 * len(pairs), SHAPE)
    for record, shape in zip(shapes, (each for pair in pairs for each in pair), strict=True):
        shape.write(record, None)
    return make_collision(
        shapes, np.arange(2 * len(pairs)).reshape(-1, 2), len(pairs), np.inf)


def near_in(data, origin=(0.0, 0.0, 0.0)):
    """Return the near pairs."""
    near_pairs_at(np.zeros(0, NODE), np.zeros(0), np.zeros(0, NODE_STATE), np.array(origin), data)
    return data.near[:data.count[0]]


def distances(pairs):
    near = near_in(in_world(pairs))
    assert len(near) == len(pairs)
    return near


def support(shape, directions):
    """Return the greatest products of directions (m, 3) with points of a shape, from its centre."""
    local = directions @ np.array(shape.rotation)
    across, along = np.hypot(local[:, 0], local[:, 1]), np.abs(local[:, 2])
    length = np.linalg.norm(local, axis=1)
    if shape.kind == Kind.BOX:
        return np.abs(local) @ np.array(shape.size) / 2.0
    radius, half = shape.size[0], shape.size[1] / 2.0 if len(shape.size) > 1 else 0.0
    return along * half + radius * (across if shape.kind == Kind.CYLINDER else length)


@pytest.mark.parametrize('kinds', PAIRS, ids='-'.join)
def test_agrees_with_coal(kinds):
    coal = pytest.importorskip('coal')
    makers = {Kind.SPHERE: coal.Sphere, Kind.CAPSULE: coal.Capsule, Kind.CYLINDER: coal.Cylinder,
              Kind.BOX: coal.Box,
              Kind.HALF_SPACE: lambda: coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)}
    pairs = random_pairs(kinds, 1000)
    theirs = np.array([coal.distance(
        *(each for shape in pair for each in (makers[shape.kind](*shape.size), coal.Transform3s(
            np.array(shape.rotation), np.array(shape.position)))),
        coal.DistanceRequest(), coal.DistanceResult()) for pair in pairs])
    error = distances(pairs)['distance'] - theirs
    apart = theirs > 0.0
    assert 100 < apart.sum() < 900
    # coal's tolerance is 1e-6, relative; with cylinders it is needed, and some of its depths are
    # not the least: those of a sphere whose centre is in a cylinder, and others now and then.
    tolerance = 3e-6 if 'cylinder' in kinds else 1e-6
    assert np.abs(error[apart]).max() < tolerance
    if 'cylinder' not in kinds or 'half_space' in kinds:
        assert np.abs(error[~apart]).max() < tolerance
    else:
        assert np.median(np.abs(error[~apart])) < tolerance
        assert np.count_nonzero(error[~apart] < -tolerance) <= 5


@pytest.mark.parametrize('kinds', PAIRS, ids='-'.join)
def test_is_a_distance(kinds):
    """Points are in the shapes; no plane separates them by more, or no shift that is shorter."""
    pairs = random_pairs(kinds, 1000)
    near = distances(pairs)
    np.testing.assert_allclose(np.linalg.norm(near['normal'], axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(near['points'][:, 0] - near['points'][:, 1],
                               near['distance'][:, None] * near['normal'], atol=1e-12)
    random = np.random.default_rng(0)
    directions = random.normal(size=(500, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    # The steps of a descent end before rounding does.
    missed, tolerance = 0, 1e-6 if 'cylinder' in kinds else 1e-9
    for pair, each in zip(pairs, near, strict=True):
        rounded = [shape for shape in pair if shape.kind != Kind.HALF_SPACE]
        for shape, point in zip(pair, each['points'], strict=True):
            offset = point - shape.position
            if shape.kind == Kind.HALF_SPACE:
                assert abs(offset @ np.array(shape.rotation)[:, 2]) < 1e-12
            else:
                assert (directions @ offset <= support(shape, directions) + tolerance).all()
        if len(rounded) < 2:
            continue
        between = np.subtract(pair[0].position, pair[1].position)
        n = each['normal'][None]
        attained = n @ between - support(pair[0], n) - support(pair[1], n)
        # A gap of 1e-12 of the square of the distance of the cores ends the search.
        assert attained.item() == pytest.approx(each['distance'], abs=1e-10)
        gaps = directions @ between - support(pair[0], directions) - support(pair[1], directions)
        missed += gaps.max() > each['distance'] + 1e-9
    assert missed <= (3 if 'cylinder' in kinds else 0)


@pytest.mark.parametrize('kinds', PAIRS, ids='-'.join)
def test_rate_is_that_of_the_nearest_points(kinds):
    pairs = random_pairs(kinds, 300)
    random = np.random.default_rng(1)
    data = in_world(pairs)
    data.shapes['twist'] = random.normal(size=(len(data.shapes), 6))
    before = near_in(data)[['distance', 'world_rate']].copy()
    at, turned = data.shapes['position'].copy(), data.shapes['rotation'].copy()
    step, ends = 1e-6, []
    for sign in (-1.0, 1.0):
        for k, shape in enumerate(data.shapes):
            twist = sign * step * shape['twist']
            shape['position'] = at[k] + twist[:3]
            shape['rotation'] = matrix_from_vector(twist[3:]) @ turned[k]
        ends.append(near_in(data)['distance'].copy())
    rate = (ends[1] - ends[0]) / (2.0 * step)
    error = np.abs(rate - before['world_rate'])
    # Now and then another feature becomes the nearest in between.
    assert np.count_nonzero(error > 1e-3) <= 2
    assert np.median(error) < 1e-6


def upright(kind, at, turn=(0.0, 0.0, 0.0)):
    size = {'sphere': (0.1,), 'capsule': (0.1, 0.4), 'cylinder': (0.1, 0.4), 'box': (0.2, 0.2, 0.4),
            'half_space': ()}[kind]
    return Shape('', None, kind, size, at, matrix_from_vector(np.array(turn)))


# How far the second shape is moved, from the same pose to side by side and on top of each other.
MOVED = [(0.0, 0.0, 0.0), (0.2, 0.0, 0.0), (0.0, 0.0, 0.4), (0.0, 0.0, 0.1), (0.3, 0.0, 0.1),
         (1e-12, 0.0, 0.0), (0.2 + 1e-9, 0.0, 0.0), (0.2 - 1e-9, 0.0, 0.0), (0.0, 0.0, 0.4 - 1e-10),
         (0.2, 0.2, 0.4), (0.1, 0.1, 0.2)]
TURNED = [(0.0, 0.0, 0.0), (0.0, 0.0, 1e-9), (1e-9, 0.0, 0.0), (0.5 * np.pi, 0.0, 0.0),
          (np.pi, 0.0, 0.0), (0.0, 0.0, 0.25 * np.pi)]


@pytest.mark.parametrize('kinds', PAIRS, ids='-'.join)
def test_of_parallel_touching_and_identical_shapes(kinds):
    pairs = [(upright(kinds[0], (0.0, 0.0, 0.0)), upright(kinds[1], at, turn))
             for at in MOVED for turn in TURNED]
    near = distances(pairs)
    np.testing.assert_allclose(np.linalg.norm(near['normal'], axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(near['points'][:, 0] - near['points'][:, 1],
                               near['distance'][:, None] * near['normal'], atol=1e-12)
    exact = near['distance'].reshape(len(MOVED), len(TURNED))[:, 0]
    if kinds in [('box', 'box'), ('sphere', 'sphere')]:
        expected = ([-0.2, 0.0, 0.0, -0.2, 0.1, -0.2, 1e-9, -1e-9, -1e-10, 0.0, -0.1]
                    if kinds == ('box', 'box') else
                    [-0.2, 0.0, 0.2, -0.1, np.hypot(0.3, 0.1) - 0.2, -0.2, 1e-9, -1e-9,
                     0.2 - 1e-10, np.sqrt(0.24) - 0.2, np.sqrt(0.06) - 0.2])
        np.testing.assert_allclose(exact, expected, atol=1e-9)
    # Of nearly the same configurations the distances are nearly the same.
    for turn in (1, 2):
        np.testing.assert_allclose(
            near['distance'].reshape(len(MOVED), -1)[:, turn], exact, atol=3e-9)


def test_of_parallel_capsules_is_in_the_middle():
    a, b = upright('capsule', (0.0, 0.0, 0.0)), upright('capsule', (0.5, 0.0, 0.2))
    near = distances([(a, b)])[0]
    np.testing.assert_allclose(near['points'], [[0.1, 0.0, 0.1], [0.4, 0.0, 0.1]], atol=1e-15)


def test_does_not_hide_what_is_not_a_number():
    data = in_world(random_pairs(('box', 'capsule'), 2))
    data.shapes['position'][0] = np.nan
    assert np.isnan(near_in(data)['distance']).tolist() == [True, False]


class TestNearPairs:

    @pytest.fixture
    def spheres(self):
        """Twelve pairs of unit spheres, the distance of each, m."""
        gaps = np.array([3.0, 0.5, 2.0, 0.25, 1.0, 4.0, 0.125, 5.0, 0.5, 6.0, 7.0, 1.5])
        data = in_world([(Shape('', None, 'sphere', [1.0], (0.0, 10.0 * k, 0.0)),
                          Shape('', None, 'sphere', [1.0], (2.0 + gap, 10.0 * k, 0.0)))
                         for k, gap in enumerate(gaps)])
        return SimpleNamespace(gaps=gaps, data=data)

    @pytest.mark.parametrize('influence', [0.1, 0.25, 1.2, 100.0])
    def test_are_those_within_the_influence_distance(self, spheres, influence):
        set_influence(spheres.data, influence)
        near = near_in(spheres.data)
        assert near['pair'].tolist() == np.flatnonzero(spheres.gaps <= influence).tolist()
        np.testing.assert_allclose(near['distance'], spheres.gaps[near['pair']], rtol=1e-12)

    @pytest.mark.parametrize('capacity', range(1, 12))
    def test_are_the_nearest_in_the_order_of_pairs(self, spheres, capacity):
        near = near_in(spheres.data._replace(near=np.zeros(capacity + 1, NEAR_PAIR)))
        nearest = np.argsort(spheres.gaps, kind='stable')[:capacity]
        assert near['pair'].tolist() == sorted(nearest.tolist())

    def test_each_pair_has_its_own_distance_of_influence(self, spheres):
        influence = np.full(12, -np.inf)
        influence[4] = 1.5
        set_influence(spheres.data, influence)
        assert near_in(spheres.data)['pair'].tolist() == [4]

    def test_points_are_given_from_the_root_links_origin(self, spheres):
        near = near_in(spheres.data, (1.0, 2.0, 3.0))
        np.testing.assert_allclose(near['points'][0], [[0.0, -2.0, -3.0], [3.0, -2.0, -3.0]])

    @pytest.mark.parametrize('step', [0.01, 0.1])
    def test_are_found_while_shapes_move(self, step):
        """Pairs that were far are skipped, but not too long."""
        pairs = [pair for kinds in PAIRS for pair in random_pairs(kinds, 3, 1.0)]
        data = in_world(pairs)._replace(near=np.zeros(9, NEAR_PAIR))
        random = np.random.default_rng(7)
        set_influence(data, 0.1)
        velocity = random.normal(size=(len(data.shapes), 2, 3))
        velocity[data.shapes['kind'] == Kind.HALF_SPACE] *= random.integers(0, 2)
        seen, skipped = set(), 0
        for k in range(200):
            data.shapes['position'] += step * np.cos(0.1 * k) * velocity[:, 0]
            for shape, rate in zip(data.shapes, velocity[:, 1], strict=True):
                shape['rotation'] = matrix_from_vector(step * rate) @ shape['rotation']
            fresh = data._replace(**{name: getattr(data, name).copy() for name in (
                'pairs', 'near', 'shapes', 'bodies', 'waits', 'body_pairs')})
            forget_distances(fresh)
            before = data.body_pairs['path'].copy()
            found, expected = near_in(data), near_in(fresh)
            skipped += np.count_nonzero(data.body_pairs['path'] == before)
            assert found['pair'].tolist() == expected['pair'].tolist()
            np.testing.assert_array_equal(found['distance'], expected['distance'])
            seen.add(tuple(found['pair'].tolist()))
        assert len(seen) > 3
        assert skipped > 1000

    def test_none_without_pairs(self, spheres):
        assert near_in(make_collision(spheres.data.shapes, [], 12, np.inf)).size == 0

    def test_no_feature_appears_at_once(self):
        """A box turns above another one: the share of each corner rises from 0 and falls to 0."""
        data = in_world([(Shape('', None, 'box', [0.2, 0.2, 0.2]),
                          Shape('', None, 'box', [0.5, 0.5, 0.1]))])._replace(
            near=np.zeros(65, NEAR_PAIR), zone=np.full(1, 0.03))
        shares, seen = {}, 0
        for angle in np.linspace(0.0, 3.0, 6000):
            data.shapes['rotation'][0] = matrix_from_vector(
                np.array([0.3 * angle, angle, 0.0]))
            data.shapes['position'][0] = [0.0, 0.0, 0.25 - 0.03 * np.sin(3.0 * angle)]
            near = near_in(data)
            assert near['bound_share'][0] == 1.0
            corner = {pair['feature']: (pair['bound_share'], abs(
                pair['points'] - near['points'][0]).max()) for pair in near[1:]
                if pair['feature'] <= 8}
            for feature in {*shares, *corner}:
                now, before = (each.get(feature, (0.0, 1.0)) for each in (corner, shares))
                if min(now[1], before[1]) > 1e-3:  # it is not the nearest point itself
                    assert now[0] == pytest.approx(before[0], abs=0.02)
                    seen += (now[0] == 0.0) != (before[0] == 0.0)
            shares = corner
        assert seen >= 4

    def test_a_capsule_on_a_face_is_near_at_both_ends_of_what_is_on_it(self):
        """One of its ends is beside the box: there the segment crosses the edge of the face."""
        data = in_world([(Shape('', None, 'box', [0.4, 0.4, 0.2]),
                          Shape('', None, 'capsule', [0.05, 0.4]))])._replace(
            near=np.zeros(65, NEAR_PAIR), zone=np.full(1, 0.03))
        data.shapes['position'][1] = [0.2, 0.0, 0.16]
        nearest = []
        for tilt in (-1e-4, 1e-4):
            turn = np.array([0.0, 0.5 * np.pi + tilt, 0.0])
            data.shapes['rotation'][1] = matrix_from_vector(turn)
            near = near_in(data)
            nearest.append(near['points'][0, 0, 0].item())
            # What is the nearest point with the other tilt has a full bound already.
            other = near[near['bound_share'] > 0.99]['points'][:, 0, 0]
            assert np.ptp(other) > 0.19
        # It jumps from the end above the middle of the face to the face's edge.
        np.testing.assert_allclose(sorted(nearest), [0.0, 0.2], atol=1e-3)


@pytest.mark.parametrize(('arguments', 'said'), [
    (('pyramid', [1.0]), r"The shape 'nose' is of kind 'pyramid'. Give one of sphere, capsule,"),
    (('box', [1.0, 2.0]), r"shape 'nose': size = \[1.0, 2.0\] is not allowed. Give 3 numbers"),
    (('sphere', ['big']), r"shape 'nose': size"),
    (('sphere', [-1.0]), r"shape 'nose': size = \[-1.0\] .* Give a number above 0"),
    (('sphere', [1e5]), r"shape 'nose': size = .* 10000 at most"),
    (('sphere', [1.0], [0.0, 2e6, 0.0]), r"shape 'nose': position = .* to 1e\+06"),
    (('sphere', [1.0], [0.0, np.nan, 0.0]), r"shape 'nose': position"),
    (('sphere', [1.0], [0.0] * 3, -np.eye(3)), r"The rotation of the shape 'nose' is none."),
])
def test_shape_that_cannot_be(arguments, said):
    with pytest.raises(ModelError, match=said):
        Shape('nose', 'head', *arguments)

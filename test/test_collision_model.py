# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes on a robot and in its world: where they are, and which of them are pairs."""

import numpy as np
import pytest

from opspace_control import CollisionModel, RobotModel, RobotState, Shape
from opspace_control.errors import ModelError, StateError
from opspace_control.share import share_directory

HANDS = 'l_hand', 'r_hand'


@pytest.fixture(scope='module', params=[False, True], ids=['fixed', 'floating'])
def robot(request):
    return RobotModel.from_urdf_file(
        share_directory() / 'urdf' / 'dual_arm.urdf', floating_base=request.param)


def random_position(robot, seed):
    random = np.random.default_rng(seed)
    return robot.integrate(robot.neutral(), random.normal(size=robot.nv), 0.7)


def on_hands(position=(0.02, -0.03, 0.05)):
    return [Shape(hand, hand, 'sphere', [0.04], position) for hand in HANDS]


@pytest.mark.parametrize('seed', range(3))
def test_shapes_move_with_their_links(robot, seed):
    world = Shape('post', None, 'sphere', [0.1], (1.0, 2.0, 3.0))
    model = CollisionModel(robot, [*on_hands(), world])
    q = random_position(robot, seed)
    poses = robot.forward_kinematics(RobotState(robot, q, np.zeros(robot.nv)), HANDS)
    centers = {hand: (poses[hand] @ [0.02, -0.03, 0.05, 1.0])[:3] for hand in HANDS}
    centers['post'] = np.array(world.position)
    radii = {**dict.fromkeys(HANDS, 0.04), 'post': 0.1}
    assert model.pairs == (HANDS, ('l_hand', 'post'), ('r_hand', 'post'))
    for found in model.distances(q):
        between = centers[found.first] - centers[found.second]
        length = np.linalg.norm(between)
        assert found.distance == pytest.approx(length - radii[found.first] - radii[found.second])
        np.testing.assert_allclose(found.normal, between / length, atol=1e-12)
        np.testing.assert_allclose(
            found.first_point, centers[found.first] - radii[found.first] * found.normal,
            atol=1e-12)
        np.testing.assert_allclose(
            found.second_point, centers[found.second] + radii[found.second] * found.normal,
            atol=1e-12)


def test_a_search_does_not_depend_on_the_searches_before(robot):
    """Arrays of a search are used again, at other positions, and to other distances."""
    shapes = [*on_hands(), Shape('torso', 'torso', 'box', [0.3, 0.4, 0.5]),
              Shape('post', None, 'cylinder', [0.1, 2.0], (0.5, 0.1, 0.0))]
    model, found = CollisionModel(robot, shapes), 0
    random, q = np.random.default_rng(0), random_position(robot, 0)
    for _ in range(100):
        q = robot.integrate(q, random.normal(size=robot.nv), random.choice([0.0, 1e-4, 1e-2, 0.3]))
        influence = random.choice([np.inf, 0.3, 0.8])
        now, fresh = model.distances(q, influence), CollisionModel(robot, shapes).distances(
            q, influence)
        assert [pair[:2] for pair in now] == [pair[:2] for pair in fresh]
        for first, second in zip(now, fresh, strict=True):
            assert first.distance == pytest.approx(second.distance, abs=1e-12)
            np.testing.assert_allclose(first[3:], second[3:], atol=1e-9)
        found += len(now)
    assert 200 < found < 100 * len(model.pairs)


def test_rate_of_the_distance_is_that_of_the_points(robot):
    model = CollisionModel(robot, on_hands())
    q, v = random_position(robot, 5), np.random.default_rng(6).normal(size=robot.nv)
    found, = model.distances(q)
    state = RobotState(robot, q, v)
    rate = 0.0
    for hand, sign, point in zip(HANDS, (1.0, -1.0), found[-2:], strict=True):
        twist = robot.jacobian(state, hand) @ v
        arm = point - robot.forward_kinematics(state, hand)[hand][:3, 3]
        rate += sign * found.normal @ (twist[:3] + np.cross(twist[3:], arm))
    ahead, behind = (model.distances(robot.integrate(q, v, dt))[0].distance
                     for dt in (1e-6, -1e-6))
    assert (ahead - behind) / 2e-6 == pytest.approx(rate, abs=1e-6)


def test_pairs_are_those_that_move(robot):
    shapes = [*on_hands(), Shape('thumb', 'l_hand', 'sphere', [0.01]),
              Shape('floor', None, 'half_space', []), Shape('wall', None, 'half_space', [])]
    assert set(CollisionModel(robot, shapes).pairs) == {
        ('l_hand', 'r_hand'), ('r_hand', 'thumb'),
        *((shape, plane) for shape in ('l_hand', 'r_hand', 'thumb') for plane in ('floor', 'wall'))}
    assert CollisionModel(robot, shapes, [('wall', 'thumb')]).pairs == (('wall', 'thumb'),)


def test_further_shapes_have_pairs_with_all_that_move_relative_to_them(robot):
    table, wall = Shape('table', None, 'half_space', []), Shape('wall', None, 'sphere', [0.1])
    before = CollisionModel(robot, [*on_hands(), table], [('table', 'l_hand'), HANDS])
    cup = Shape('cup', 'l_hand', 'cylinder', [0.03, 0.1], (0.0, 0.0, 0.1))
    model = before.with_shapes([cup, wall])
    assert set(map(frozenset, model.pairs)) == set(map(frozenset, (
        HANDS, ('l_hand', 'table'), ('cup', 'table'), ('cup', 'wall'), ('cup', 'r_hand'),
        ('wall', 'l_hand'), ('wall', 'r_hand'))))
    assert before.names == (*HANDS, 'table')
    assert len(before.pairs) == 2
    # In place of one of the same name, with pairs of its own.
    held = model.with_shapes([Shape('cup', 'r_hand', 'sphere', [0.05])])
    assert held.names == (*HANDS, 'table', 'cup', 'wall')
    assert ('r_hand', 'cup') not in held.pairs
    assert ('l_hand', 'cup') in held.pairs
    assert set(map(frozenset, model.without_shapes(['wall', 'cup']).pairs)) == set(
        map(frozenset, before.pairs))


def test_further_shapes_have_one_order_whichever_came_first(robot):
    a, b, c = (Shape(name, None, 'sphere', [0.1]) for name in 'abc')
    given = CollisionModel(robot, reversed(on_hands()))
    wanted = given.with_shapes([a, b, c])
    assert wanted.names == (*HANDS[::-1], 'a', 'b', 'c')
    own = [Shape('r_hand', None, 'sphere', [0.2])]
    for model in (given.with_shapes([c, b, a]), given.with_shapes([b]).with_shapes([c, a]),
                  given.with_shapes([c, b]).without_shapes('b').with_shapes([b]).with_shapes([a])):
        assert model.shapes == wanted.shapes
        assert model.pairs == wanted.pairs
        assert model.without_still_pairs().with_shapes(own).names == (
            'l_hand', 'a', 'b', 'c', 'r_hand')


def test_what_may_touch_has_no_pair(robot):
    shapes = [*on_hands(), Shape('palm', 'l_hand', 'box', [0.1, 0.1, 0.02]),
              Shape('table', None, 'half_space', [])]
    model = CollisionModel(robot, shapes)
    left = set(model.pairs)
    assert set(model.with_shapes(touching=[('table', 'l_hand')]).pairs) == left - {
        ('l_hand', 'table'), ('palm', 'table')}
    assert set(model.with_shapes(touching=[('palm', 'table')]).pairs) == left - {('palm', 'table')}
    cup = Shape('cup', 'l_hand', 'sphere', [0.03], (0.0, 0.0, 0.1))
    found = model.with_shapes([cup], touching=[('cup', 'table'), ('r_hand', 'cup')])
    assert set(found.pairs) == left
    assert 'cup' in found.names
    # A link without a shape has no pairs; one that is fixed to others has theirs.
    assert set(model.with_shapes(touching=[('l_upper_arm', 'table')]).pairs) == left
    assert set(model.with_shapes(touching=[('table', 'l_palm')]).pairs) == left - {
        ('l_hand', 'table'), ('palm', 'table')}


def test_influence_leaves_out_far_pairs(robot):
    model = CollisionModel(robot, on_hands())
    distance = model.distances(robot.neutral())[0].distance
    assert distance > 0.0
    assert model.distances(robot.neutral(), 0.99 * distance) == []
    assert len(model.distances(robot.neutral(), 1.01 * distance)) == 1


@pytest.mark.parametrize(('shapes', 'pairs', 'said'), [
    ([Shape('a', 'l_hnd', 'sphere', [0.1])], None, r"no link 'l_hnd'.*'l_hand'"),
    ([Shape('a', 'l_hand', 'sphere', [0.1])] * 2, None, r"Two shapes have the name 'a'"),
    (on_hands(), [('l_hand', 'r_hnd')], r"no shape 'r_hnd'.*'r_hand'"),
    (on_hands(), [('l_hand', 'l_hand')], r'do not move relative to each other'),
    ([Shape('a', None, 'half_space', []), Shape('b', None, 'half_space', [])], [('a', 'b')],
     r"'a' and 'b' are two half-spaces"),
])
def test_what_cannot_be(robot, shapes, pairs, said):
    with pytest.raises(ModelError, match=said):
        CollisionModel(robot, shapes, pairs)


@pytest.mark.parametrize(('change', 'said'), [
    (lambda model: model.with_shapes([Shape('a', 'l_hnd', 'sphere', [0.1])]), r"no link 'l_hnd'"),
    (lambda model: model.with_shapes([Shape('a', None, 'sphere', [0.1])] * 2), 'Two shapes'),
    (lambda model: model.with_shapes(touching=[('l_hand', 'tabel')]),
     r"neither a shape nor a link 'tabel'"),
    (lambda model: model.with_shapes(touching=[('l_upper_arm', 'tabel')]),
     r"neither a shape nor a link 'tabel'"),
    (lambda model: model.without_shapes(['l_hnd']), r"no shape 'l_hnd'.*'l_hand'")])
def test_changes_that_cannot_be(robot, change, said):
    with pytest.raises(ModelError, match=said):
        change(CollisionModel(robot, on_hands()))


def test_distances_refuse_a_wrong_position(robot):
    with pytest.raises(StateError, match='shape'):
        CollisionModel(robot, on_hands()).distances(np.zeros(3))

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


def test_distances_refuse_a_wrong_position(robot):
    with pytest.raises(StateError, match='shape'):
        CollisionModel(robot, on_hands()).distances(np.zeros(3))

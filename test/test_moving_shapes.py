# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes of the world that move, jump, come and go while a controller keeps distances."""

import numpy as np
import pytest
from ideal_robot import IdealRobot
from test_distance_limits import (
    BALLS,
    STEP,
    all_count,  # noqa: F401
    bent,
    bound,
    controlled,
    moved,
    robot,
    watched,
)

from opspace_control import (
    CollisionModel,
    ControlError,
    DistanceLimits,
    JointLimits,
    OperationalSpaceController,
    PositionTask,
    RobotState,
    Shape,
)
from opspace_control.control.limits.distance_limits import COUNTED
from opspace_control.dynamics.braking import braking_speed
from opspace_control.errors import ModelError
from opspace_control.spatial.rotations import matrix_from_vector

HAND = BALLS[0]
X = np.array([1.0, 0.0, 0.0])


def near_hand(offset, kind='sphere', size=(0.1,), **options):
    """Return a controller with a shape beside the left hand, the state, and the hand's place."""
    model = robot('dual_arm', **options)
    state = bent(model)
    place = hand_place(model, state)
    return controlled(model, [HAND, Shape('ball', None, kind, size, place + offset)],
                      influence=0.5), state, place


def hand_place(model, state):
    return model.forward_kinematics(state, ['l_hand'])['l_hand'][:3, 3]


def present(controller, q):
    """Return the distance of hand and ball, each where it is, which has been moved before."""
    distances = watched(controller.distances.collision)
    for shape in controller.shapes:
        if shape.link is None:
            distances.move(shape.name, shape.position, shape.rotation)
    return distances.at(q)[0].distance


class TestMotion:
    """The arm gives way to a shape that moves, as far as both can be braked."""

    @pytest.mark.parametrize('speed', [0.2, 0.6])
    @pytest.mark.parametrize('every', [1, 40])
    def test_a_ball_that_flies_at_the_hand(self, speed, every):
        """Its poses are known in each cycle, or in one of 40: between them it moves on."""
        controller, state, place = near_hand([0.6, 0.0, 0.0])
        velocity = -speed * X
        start, least, model = place + 0.6 * X, 1.0, controller.model
        ideal = IdealRobot(model)
        for k in range(round(0.7 / speed / STEP)):
            if k % every == 0:
                controller.move_shape('ball', start + k * STEP * velocity,
                                      twist=[*velocity, 0, 0, 0])
            before, tau = state, controller.compute_torque(state, dt=STEP)
            least = min(least, present(controller, before.q))
            state = ideal.after(before, tau, STEP)
        np.testing.assert_allclose(controller.shapes[1].position, start + k * STEP * velocity,
                                   atol=1e-12)
        assert least > 0.0094
        assert np.linalg.norm(hand_place(model, state) - place) > 0.1

    def test_without_a_twist_that_tells_of_its_motion_it_comes_nearer(self):
        """The law counts on the twist."""
        least = []
        for told in (1.0, 0.0):
            controller, state, place = near_hand([0.45, 0.0, 0.0])
            course = []
            for k, (now, _) in enumerate(moved(controller, state, 700)):
                course.append(present(controller, now.q))
                controller.move_shape('ball', place + (0.45 - 0.6 * (k + 1) * STEP) * X,
                                      twist=[-0.6 * told, 0, 0, 0, 0, 0])
            least.append(min(course))
        assert least[0] > 0.0094
        assert least[1] < least[0] - 0.005

    @pytest.mark.usefixtures('all_count')
    def test_of_a_box_that_turns_the_rate_is_that_of_its_distance(self):
        """Both move: ``∇d · v`` and the part of the world, against a finite difference."""
        random, h = np.random.default_rng(4), 1e-5
        for _ in range(10):
            controller, state, place = near_hand([0.3, 0.05, 0.0], 'box', (0.1, 0.2, 0.15),
                                                 floating_base=True)
            model, v = controller.model, random.normal(size=controller.model.nv)
            twist = random.normal(size=6)
            center = place + 0.3 * X + random.uniform(-0.05, 0.05, 3)
            R = matrix_from_vector(random.normal(size=3))
            controller.move_shape('ball', center, R, twist)
            controller.compute_torque(RobotState(model, state.q, v), dt=STEP)
            gradient, _ = bound(controller)
            rate = gradient @ v + controller._limits.collision.near[0]['world_rate']
            ahead = []
            for t in (h, -h):
                turned = matrix_from_vector(t * twist[3:]) @ R
                shapes = [HAND, Shape('ball', None, 'box', (0.1, 0.2, 0.15), center + t * twist[:3],
                                      turned)]
                ahead.append(CollisionModel(model, shapes).distances(
                    model.integrate(state.q, t * v, 1.0))[0].distance)
            assert rate == pytest.approx((ahead[0] - ahead[1]) / (2.0 * h), abs=1e-4)

    def test_between_poses_it_moves_at_its_twist(self):
        controller, state, place = near_hand([0.4, 0.0, 0.0], 'box', (0.1, 0.2, 0.15))
        turn, velocity = np.array([0.3, -0.8, 0.5]), np.array([0.1, 0.2, -0.3])
        R = matrix_from_vector(np.array([0.4, 0.1, -0.2]))
        controller.move_shape('ball', place, R, [*velocity, *turn])
        for _ in range(51):  # the first cycle is at the pose itself
            controller.compute_torque(state, dt=0.01)
        ball = controller.shapes[1]
        np.testing.assert_allclose(ball.position, place + 0.5 * velocity, atol=1e-12)
        np.testing.assert_allclose(
            ball.rotation, matrix_from_vector(0.5 * turn) @ R, atol=1e-12)
        controller.move_shape('ball')
        controller.compute_torque(state, dt=0.01)
        assert controller.shapes[1] == ball


class TestJumps:
    """Pairs that have not been looked at for long are seen when a shape jumps to them."""

    @pytest.mark.parametrize(('kind', 'size'), [
        ('sphere', (0.1,)), ('box', (0.6, 0.1, 0.1)), ('half_space', ())])
    def test_a_shape_that_jumps_or_turns_is_seen_at_once(self, kind, size):
        """Every near pair of 200 random poses, in turn far away and near, is that of all pairs."""
        random = np.random.default_rng(8)
        controller, state, place = near_hand([3.0, 0.0, 0.0], kind, size)
        seen = 0
        for k in range(200):
            away = random.uniform(-0.6, 0.6, 3) * (1.0 if k % 3 else 8.0)
            controller.move_shape('ball', place + away if k % 2 else None,
                                  matrix_from_vector(random.normal(size=3)))
            controller.compute_torque(state)
            expected = [pair for pair in CollisionModel(controller.model, controller.shapes)
                        .distances(state.q) if pair.distance <= 0.5]
            assert len(controller.near_pairs) == len(expected)
            for pair, other in zip(controller.near_pairs, expected, strict=True):
                assert pair.distance == pytest.approx(other.distance, abs=1e-9)
            # Those that count: at rest, what is near enough.
            collision = controller._limits.collision
            found = collision.near[:collision.count[0]]
            np.testing.assert_allclose(
                found['distance'][found['feature'] == 0],
                [pair.distance for pair in expected if braking_speed(
                    pair.distance - controller.distances.margin,
                    controller.distances.acceleration, controller.limits.approach_rate)[0]
                 < COUNTED / controller.limits.return_rate], atol=1e-9)
            seen += len(expected)
        assert 30 < seen < 190


class TestOtherShapes:
    """Other shapes are other DistanceLimits, at any time."""

    def test_a_shape_that_comes_and_goes(self):
        controller, state, place = near_hand([0.3, 0.0, 0.0])
        controller.move_shape('ball', place + 0.25 * X, twist=[-0.1, 0, 0, 0, 0, 0])
        controller.compute_torque(state, dt=STEP)
        before, = controller.near_pairs
        shapes = controller.distances.collision.shapes
        post = Shape('post', None, 'capsule', [0.05, 1.0], place - 0.2 * X)
        controller.distances = DistanceLimits(
            CollisionModel(controller.model, [post, *shapes]), influence=0.5)
        controller.compute_torque(state, dt=STEP)
        assert {(pair.first, pair.second) for pair in controller.near_pairs} == {
            ('post', 'l_hand'), ('l_hand', 'ball')}
        assert controller.near_pairs[1].distance == pytest.approx(before.distance - 0.1 * STEP)
        for now, _ in moved(controller, state, 500):
            assert present(controller, now.q) > 0.0098
        controller.distances = DistanceLimits(CollisionModel(controller.model, shapes[:1]))
        controller.compute_torque(now)
        assert controller.near_pairs == ()
        assert controller.active_limits == ()

    def test_those_with_room_need_no_other_arrays(self):
        """Efforts are those of new arrays, to the bit."""
        torques, model = [], robot('dual_arm')
        state = bent(model)
        place = hand_place(model, state)
        ball = Shape('ball', None, 'sphere', (0.1,), place + 0.25 * X)
        shapes = [Shape('post', None, 'capsule', [0.05, 1.0], place - 0.17 * X),
                  Shape('box', 'r_hand', 'box', (0.1, 0.2, 0.1)),
                  Shape('wall', None, 'half_space', [], place - [0.0, 0.0, 0.13])]
        for further in (0, 2):
            controller = controlled(model, [HAND, ball], influence=0.5, further=further)
            limits, arrays, found, near = controller.distances, [], [], set()
            empty = limits.collision
            for k, (_, tau) in enumerate(moved(controller, state, 400)):
                found.append(tau)
                arrays.append(controller._arguments)
                near.update(pair[:2] for pair in controller.urgent_pairs)
                if k == 50:
                    controller.move_shape('ball', twist=[-0.2, 0, 0, 0, 0, 0])
                if k in (100, 300):
                    controller.distances = limits.changed(
                        collision=empty.with_shapes(shapes[:2] if k == 100 else shapes))
                if k == 200:
                    controller.distances = limits.changed(
                        collision=empty.without_shapes(['ball']).with_shapes(shapes[2:]))
            torques.append(found)
        np.testing.assert_array_equal(*torques)
        assert arrays[0] is arrays[300]
        assert arrays[300] is not arrays[301]  # three are more than two
        assert {('l_hand', 'ball'), ('l_hand', 'post')} <= near
        assert {'ball', 'post', 'wall'} <= {pair.second for pair in controller.near_pairs}
        assert abs(np.diff(found, axis=0)[[101, 201]]).max() > 1e-3

    def test_one_of_the_same_name_that_differs_is_where_it_is_said_to_be(self):
        controller, _, place = near_hand([0.3, 0.0, 0.0])
        controller.move_shape('ball', place)
        other = Shape('ball', None, 'sphere', [0.2], place + X)
        controller.distances = DistanceLimits(CollisionModel(controller.model, [HAND, other]))
        assert controller.shapes == (HAND, other)

    def test_of_the_same_shapes_change_no_bit(self):
        torques = []
        for renewed in (False, True):
            controller, state, _ = near_hand([0.25, 0.02, 0.0])
            controller.move_shape('ball', twist=[-0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
            found = []
            for k, (_, tau) in enumerate(moved(controller, state, 300)):
                found.append(tau)
                if renewed and k == 150:
                    controller.distances = DistanceLimits(CollisionModel(
                        controller.model, controller.distances.collision.shapes), influence=0.5)
            torques.append(found)
        np.testing.assert_allclose(*torques, rtol=0.0, atol=1e-6)


    def test_efforts_do_not_depend_on_which_came_first(self):
        """Rows in another order have another rounding: 4e-8 N m here."""
        model = robot('dual_arm')
        state = bent(model)
        place = hand_place(model, state)
        around = [Shape('left', None, 'sphere', [0.1], place + 0.2 * X),
                  Shape('right', None, 'sphere', [0.1], place - 0.2 * X),
                  Shape('up', None, 'box', [0.1, 0.1, 0.1], place + np.array([0.03, 0.15, 0.0]))]
        torques = []
        for shapes in (around, around[::-1]):
            controller = controlled(model, [HAND], [PositionTask('l_hand')])
            limits = controller.distances
            controller.distances = limits.changed(
                collision=limits.collision.with_shapes(shapes))
            torques.append([tau for _, tau in moved(controller, state, 100)])
            assert len(controller.urgent_pairs) == 3
        np.testing.assert_array_equal(*torques)


class TestHeldObjects:
    """An object in the hand keeps the distance, too, but from what it is to touch."""

    def test_a_ball_in_the_hand_is_not_pressed_into_the_table_until_it_may_touch_it(self):
        model = robot('dual_arm')
        state = bent(model)
        place = hand_place(model, state)
        table = Shape('table', None, 'half_space', [], place - [0.0, 0.0, 0.35])
        task = PositionTask('l_hand', name='hand')
        controller = controlled(model, [HAND, table], [task])
        task.set_target(place - [0.0, 0.0, 0.2])

        def settled(start):
            *_, (now, _) = moved(controller, start, 2500)
            return now, hand_place(model, now)[2] - place[2] + 0.35

        ball = Shape('ball', 'l_hand', 'sphere', [0.17])
        empty, limits = controller.distances.collision, controller.distances
        controller.distances = limits.changed(collision=empty.with_shapes([ball]))
        now, height = settled(state)
        assert height == pytest.approx(0.18, abs=3e-4)
        assert [limit.name for limit in controller.active_limits] == ['table and ball']
        controller.distances = limits.changed(
            collision=empty.with_shapes([ball], touching=[('ball', 'table')]))
        now, height = settled(now)
        assert height == pytest.approx(0.15, abs=1e-3)
        # Put down it is one of the world.
        left = Shape('ball', None, 'sphere', [0.17], hand_place(model, now))
        controller.distances = limits.changed(
            collision=empty.with_shapes([left], touching=[('l_hand', 'ball')]))
        task.set_target(place)
        now, height = settled(now)
        assert height == pytest.approx(0.35, abs=1e-3)
        assert controller.shapes[-1] == left


@pytest.mark.parametrize(('given', 'said'), [
    (('bal',), "no shape 'bal'.*'ball'"),
    (('l_hand',), "'l_hand' is on the link 'l_hand'"),
    (('ball', [0.0, np.nan, 0.0]), "shape 'ball': position"),
    (('ball', [0.0, 0.0]), "shape 'ball': position"),
    (('ball', None, 2.0 * np.eye(3)), "rotation of the shape 'ball'"),
    (('ball', None, -np.eye(3)), "rotation of the shape 'ball'"),
    (('ball', None, None, [0.0, 0.0, 0.0]), "shape 'ball': twist"),
    (('ball', None, None, [np.inf, 0, 0, 0, 0, 0]), "shape 'ball': twist")])
def test_what_cannot_be_is_named_and_changes_nothing(given, said):
    controller, *_ = near_hand([0.3, 0.0, 0.0])
    before = controller.shapes
    with pytest.raises(ModelError, match=said):
        controller.move_shape(*given)
    assert controller.shapes == before


def test_a_controller_without_limits_or_shapes():
    model = robot('dual_arm')
    with pytest.raises(ControlError, match='without limits'):
        OperationalSpaceController(model).move_shape('ball')
    assert OperationalSpaceController(model).shapes == ()
    with pytest.raises(ModelError, match=r"no shape 'ball'\. There is none"):
        OperationalSpaceController(model, limits=JointLimits(model)).move_shape('ball')

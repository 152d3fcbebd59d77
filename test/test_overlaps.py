# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes that overlap: features face as the pair, bounds fade, what contradicts itself rests."""

import numpy as np
import pytest
from ideal_robot import IdealRobot
from test_collision_distance import in_world, near_in, random_pairs
from test_distance_limits import HANDS, bent, controlled, largest_steps, moved, robot

from opspace_control import (
    CollisionDescription,
    CollisionModel,
    DistanceLimits,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    Shape,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.collision.distance import NEAR_PAIR
from opspace_control.control.limits.kinds import PARTING
from opspace_control.control.solver.program import LASTING
from opspace_control.spatial.rotations import matrix_from_vector

ZONE = 0.03
# A link turns about z, its shape is at x = 1 m.
ARM = """<robot name="arm"><link name="base"/><link name="arm"><inertial><mass value="1"/>
<origin xyz="1 0 0"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
</link><joint name="turn" type="revolute"><parent link="base"/><child link="arm"/>
<axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="2" effort="50"/></joint></robot>"""


@pytest.mark.parametrize('kinds', [('box', 'box'), ('capsule', 'box'), ('cylinder', 'box')],
                         ids='-'.join)
def test_features_face_as_their_pair(kinds):
    """None has the normal of edges that have passed each other, against that of the pair."""
    seen = 0
    for shapes in random_pairs(kinds, 3000, 0.3):
        near = near_in(in_world([shapes])._replace(
            near=np.zeros(257, NEAR_PAIR), zone=np.full(1, ZONE)))
        if not near[0]['distance'] < 0.0:
            continue
        for feature in near[1:]:
            vector = feature['points'][0] - feature['points'][1]
            assert feature['normal'] @ near[0]['normal'] > -1e-12
            np.testing.assert_allclose(
                vector, feature['distance'] * feature['normal'], atol=1e-9)
            seen += 1
    assert seen > 100


def test_rates_of_edges_in_each_other_are_those_of_their_points():
    """One box turns, the other rests: against differences of the distances of crossings."""
    seen, axis, h = 0, np.array([0.6, -0.48, 0.64]), 1e-5
    for shapes in random_pairs(('box', 'box'), 1500, 0.3):
        data = in_world([shapes])._replace(near=np.zeros(257, NEAR_PAIR), zone=np.full(1, ZONE))
        near = near_in(data).copy()
        if not near[0]['distance'] < -0.01:
            continue
        R, p, turned = data.shapes['rotation'][0].copy(), data.shapes['position'][0].copy(), []
        for angle in (h, -h):
            turn = matrix_from_vector(angle * axis)
            data.shapes['rotation'][0], data.shapes['position'][0] = turn @ R, turn @ p
            turned.append({pair['feature']: pair['distance'].item() for pair in near_in(data)})
        for pair in near:
            number = pair['feature']
            if number > 16 and pair['bound_share'] > 0.3 and all(number in each for each in turned):
                rate = (turned[0][number] - turned[1][number]) / (2.0 * h)
                expected = pair['normal'] @ np.cross(axis, pair['points'][0])
                assert rate == pytest.approx(expected, abs=1e-5)
                seen += 1
    assert seen > 50


DEPTHS = [-0.002, -0.0005, 0.0005, 0.005, 0.02, 0.05, 0.09]


def full_points(near):
    """Return the points (n, 2, 3) of features with a full bound."""
    return near[near['bound_share'] > 0.99]['points']


@pytest.mark.parametrize('depth', DEPTHS)
def test_a_cap_in_a_face_is_near_all_around(depth):
    """What its deepest point jumps to has a full bound, at any depth."""
    data = in_world([(Shape('', None, 'box', [1.0, 1.0, 0.2]),
                      Shape('', None, 'cylinder', [0.1, 0.4]))])._replace(
        near=np.zeros(65, NEAR_PAIR), zone=np.full(1, ZONE))
    data.shapes['position'][1] = [0.1, 0.1, 0.3 - depth]
    near = near_in(data)
    assert near[0]['distance'] == pytest.approx(-depth, abs=1e-9)
    full = full_points(near)
    assert len(full) >= 4
    assert np.ptp(full[:, 1, :2], axis=0).max() == pytest.approx(0.2, abs=1e-3)
    np.testing.assert_allclose(full[:, :, 2], [[0.1, 0.1 - depth]] * len(full), atol=1e-9)


@pytest.mark.parametrize('depth', DEPTHS)
def test_an_edge_in_a_face_is_near_at_both_ends_of_what_is_in_it(depth):
    """One end is a corner, the other one where the edge crosses that of the face, at any depth."""
    data = in_world([(Shape('', None, 'box', [0.2, 0.2, 0.2]),
                      Shape('', None, 'box', [1.0, 1.0, 0.2]))])._replace(
        near=np.zeros(65, NEAR_PAIR), zone=np.full(1, ZONE))
    data.shapes['rotation'][0] = matrix_from_vector(np.array([0.0, 0.25 * np.pi, 0.0]))
    data.shapes['position'][0] = [0.1, 0.45, 0.1 + 0.1 * np.sqrt(2.0) - depth]
    near = near_in(data)
    assert near[0]['distance'] == pytest.approx(-depth, abs=1e-9)
    for end in (0.35, 0.5):
        apart = abs(full_points(near) - [[0.1, end, 0.1 - depth], [0.1, end, 0.1]])
        assert apart.max(axis=(1, 2)).min() < 1e-6


@pytest.mark.parametrize('kinds', [('box', 'box'), ('capsule', 'box'), ('cylinder', 'box')],
                         ids='-'.join)
def test_bounds_of_features_change_continuously_as_shapes_begin_to_overlap(kinds):
    """Along the normal of the least distance, from a gap of 1.2 mm to a depth of 3 mm."""
    seen, step = 0, 2e-5
    for shapes in random_pairs(kinds, 60, 0.3):
        data = in_world([shapes])._replace(near=np.zeros(257, NEAR_PAIR), zone=np.full(1, ZONE))
        least, before = near_in(data)[0], None
        normal, place = least['normal'].copy(), data.shapes['position'][0].copy()
        gap = least['distance'].item()
        for way in np.arange(1.2e-3 - gap, -3e-3 - gap, -step):
            data.shapes['position'][0] = place + way * normal
            near = near_in(data)
            if near.size == 0 or near[0]['normal'] @ normal < 1.0 - 1e-9:
                break  # another way out is shorter
            if before is not None:
                for some, other in ((before, near), (near, before)):
                    for feature in some:
                        there = abs(other['points'] - feature['points']).max(axis=(1, 2)) < 1e-4
                        assert other['bound_share'][there].max(initial=0.0) == pytest.approx(
                            feature['bound_share'], abs=0.05)
                        seen += 1
            before = near.copy()
    assert seen > 1000


def turning(gradient, depth=0.05, speed=0.0, approach=0.0):
    """Return ∇d, m, and the bounds of a sphere that `ARM` has in a wall, and the controller."""
    model = RobotModel.from_urdf(ARM)
    angle = np.arcsin(gradient)
    place, turn = [np.cos(angle) + 0.1 - depth, 0.0, 0.0], [[0, 0, -1], [0, 1, 0], [1, 0, 0]]
    shapes = [Shape('ball', 'arm', 'sphere', [0.1], [1.0, 0.0, 0.0]),
              Shape('wall', None, 'half_space', [], place, turn)]
    controller = OperationalSpaceController(
        model, (), PostureTask(kp=0.0, kd=0.0), limits=JointLimits(model),
        distances=DistanceLimits(CollisionModel(model, shapes)))
    controller.move_shape('wall', place, turn, [-approach, 0.0, 0.0, 0.0, 0.0, 0.0])
    state = RobotState(model, np.array([angle]), np.array([speed]))
    controller.compute_torque(state)
    distances = controller._limits.scratch.distances
    return distances.gradient[0, 0], distances.least[:, 0].copy(), controller


def test_bounds_fade_where_a_joint_hardly_changes_a_depth():
    """From twice 11 mm/rad to 11 mm/rad they get wider than all that the joint can do."""
    before = None
    for lever in np.linspace(0.0301, 0.0101, 81):
        gradient, least, controller = turning(lever)
        most = controller._limits.records['acceleration'][0]
        assert gradient == pytest.approx(lever, rel=1e-6)
        if lever > 0.022:
            assert least[0] == pytest.approx(0.0, abs=1e-9)
        elif lever < 0.011:
            assert (least == -np.inf).all()
        else:
            part = lever / 0.011 - 1.0
            assert least[0] == pytest.approx(
                -max(1.0 / part - 1.0, 0.0) * lever * most, rel=1e-6, abs=1e-9)
        if before is not None and least[0] > -lever * most:  # what the joint can do, at most
            assert abs(least[0] - before) < 0.1 * lever * most
        before = least[0]


def test_what_parts_from_rest_begins_slowly():
    """With a fifth of what the joint can do, at most with the braking acceleration."""
    for lever in (0.03, 0.05, 0.5):
        gradient, least, controller = turning(lever)
        most = controller._limits.records['acceleration'][0]
        attainable = (gradient - 0.011) * most
        assert least[1] == pytest.approx(min(0.2 * attainable, 2.0), rel=1e-6)


@pytest.mark.parametrize('depth', [0.005, 0.015, 0.05])
def test_a_moving_world_is_evaded_softly_where_shapes_overlap(depth):
    """To come no nearer counts the world's motion less the deeper a pair is; to part counts it."""
    _, still, _ = turning(0.3, depth, speed=0.01)
    _, least, _ = turning(0.3, depth, speed=0.01, approach=0.05)
    hard = 1.0 - min(depth / ZONE, 1.0)
    assert least[0] - still[0] == pytest.approx(120.0 * 0.05 * hard, abs=1e-6)
    assert least[1] > 120.0 * 0.05


def axes_about(direction):
    """Return axes (3, 3) of which z is along a direction, and x horizontal."""
    z = np.array(direction) / np.linalg.norm(direction)
    x = np.cross([0.0, 0.0, 1.0], z) / np.hypot(*z[:2])
    return np.stack([x, np.cross(z, x), z], axis=1)


def pierced(shape_at):
    """
    Return a dual_arm that is to stay where it is, its state and its pairs, with a shape in it.

    ``shape_at`` makes the shape of the place of the left hand.
    """
    demo = demo_robot('dual_arm')
    model = RobotModel.from_urdf_file(demo.path())
    q = model.neutral()
    for name, value in demo.start.items():
        q[model.q_index[model.dof_index(name)]] = value
    state = RobotState(model, q, np.zeros(model.nv))
    hands = model.forward_kinematics(state, demo.hands)
    collision = demo.collision().model(model).without_still_pairs().with_shapes(
        [shape_at(hands['l_hand'][:3, 3])]).without_still_pairs()
    controller = OperationalSpaceController(
        model, [PoseTask(hand, name=hand, max_linear_velocity=0.5) for hand in demo.hands],
        PostureTask(target=q), limits=JointLimits(model), distances=DistanceLimits(collision))
    for hand, pose in hands.items():
        controller.tasks[hand].set_target(pose)
    return controller, state, collision


@pytest.mark.parametrize('place', [-0.25, -0.2, -0.15, -0.1])
def test_arms_that_a_wall_pierces_come_to_rest(place):
    """No pair gets deeper by more than 1 mm than the deepest of its link was."""
    controller, state, collision = pierced(lambda hand: Shape(
        'wall', None, 'box', [0.04, 1.5, 1.5], hand + place * np.eye(3)[0]))

    def deep(q):
        return {pair[:2]: min(pair.distance, 0.0) for pair in collision.distances(q, 0.05)
                if 'wall' in pair[:2]}
    first, efforts = deep(state.q), []
    for k, (now, tau) in enumerate(moved(controller, state, 3000)):
        if k >= 2500:
            efforts.append(tau.copy())
        if k % 50 == 0:
            for pair, depth in deep(now.q).items():
                assert depth > first.get(pair, 0.0) - 1e-3
    assert largest_steps(efforts, controller.model).sum() < 0.3
    assert abs(now.v).max() < 0.02


def test_an_arm_rests_whose_shapes_are_to_part_in_opposite_directions():
    """A disc is around the left elbow, whose two shapes have their ways out on either side."""
    controller, state, _ = pierced(lambda _: Shape(
        'disc', None, 'cylinder', [0.4, 0.1], [0.13, 0.49, 1.28], axes_about([-0.83, 0.53, 0.17])))
    efforts = [tau.copy() for _, tau in moved(controller, state, 4000)]
    assert largest_steps(efforts[3500:], controller.model).sum() < 0.05  # 9.9 as hard rows


@pytest.mark.parametrize(('kind', 'size', 'place'), [
    ('box', [0.04, 1.5, 1.5], [-0.15, 0.0, 0.0]),
    ('capsule', [0.173, 0.277], [-0.086, -0.093, 0.012]),
    ('cylinder', [0.329, 0.258], [-0.069, -0.093, 0.02])], ids=['wall', 'capsule', 'cylinder'])
def test_efforts_do_not_depend_on_which_bounds_were_active(kind, size, place):
    """What the bounds alone attain needs all rows of what overlaps, and those of all joints."""
    (one, state, _), (other, _, _) = (pierced(
        lambda hand: Shape('obstacle', None, kind, size, hand + place)) for _ in range(2))
    most, ideal = 0.0, IdealRobot(one.model)
    for _ in range(500):
        memory, before = other._limits.memory, one._limits.memory
        memory.bound_active[:] = memory.bound_state[:] = 0
        memory.link_inertia[:], memory.mean_acceleration[:] = (
            before.link_inertia, before.mean_acceleration)
        for field in ('stiffened', 'inertia_left', 'damping_rate', 'problems'):
            other._cycle[field] = one._cycle[field]
        after = other.compute_torque(RobotState(other.model, state.q, state.v), dt=1e-3)
        tau = one.compute_torque(state, dt=1e-3)
        most = max(most, (abs(after - tau) / one.model.effort_limits).max())
        state = ideal.after(state, tau, 1e-3)
    assert most < 1e-9  # 0.1 to 0.4 where rows came when the whole motion passed them


@pytest.mark.parametrize('gradient', [0.1, 0.3])
def test_ways_to_part_are_soft_for_tasks_from_the_touch_on(gradient):
    """
    By the same part of their mobility at any depth, and by less up to the margin.

    Corners of one face, within its margin, fixed with 1e7 N the little by which they differ.
    """
    softness = []
    for distance in (0.0099, 0.008, 0.005, 0.002, 0.0, -0.02):
        _, _, controller = turning(gradient, -distance, speed=-0.1)
        problem, rows = (getattr(controller._limits.scratch, name)
                         for name in ('problem', 'bound_rows'))
        (w,) = np.flatnonzero(rows.kind[:problem.first_rows[1]] == PARTING)
        softness.append(problem.all_softness[LASTING, w] / rows.mobility[w])
    assert (np.diff(softness[:5]) > 0.0).all()
    assert softness[0] < 3e-3 * softness[4]
    np.testing.assert_allclose(softness[4:], 1e-4, rtol=1e-6)


def test_a_task_does_not_keep_a_hand_in_what_it_can_leave():
    """
    A half-space has the left hand's goal in it, and a link that no joint parts from it.

    The hand rested 87 mm deep where rows that part were softer for its task.
    """
    controller, state, collision = pierced(lambda _: Shape(
        'obstacle', None, 'half_space', [], [-0.2098, 0.5088, 1.0841],
        axes_about([-0.8347, -0.5272, 0.1592])))
    assert min(pair.distance for pair in collision.distances(state.q, 0.0)) < -0.35
    *_, (now, _) = moved(controller, state, 6000)
    overlaps = [pair[:2] for pair in collision.distances(now.q, 0.0) if 'obstacle' in pair[:2]]
    assert overlaps == [('torso_yaw_link', 'obstacle')]


def test_hands_between_two_walls_rest():
    """Both walls overlap the hand alike, so it stays where it is."""
    model = robot('dual_arm')
    state = bent(model)
    place = model.forward_kinematics(state, HANDS)['l_hand'][:3, 3]
    walls = [Shape(name, None, 'box', [0.4, 1.0, 1.0], place + np.array([side * 0.26, 0, 0]))
             for name, side in (('front', 1.0), ('back', -1.0))]
    controller = controlled(
        model, [Shape('hand', 'l_hand', 'sphere', [0.1]), *walls],
        posture=PostureTask(kp=0.0, kd=2.0), pairs=[('hand', 'front'), ('hand', 'back')])
    efforts = []
    for now, tau in moved(controller, state, 1000):
        efforts.append(tau.copy())
        assert abs(now.v).max() < 1e-3
    assert largest_steps(efforts, model).max() < 1e-3
    after = model.forward_kinematics(now, HANDS)['l_hand'][:3, 3]
    np.testing.assert_allclose(after, place, atol=1e-4)


def test_a_way_out_that_other_rows_all_but_take_away_moves_nothing():
    """
    Features hold joint 2 from either side, others part by 1 to 2 mm/rad of joint 1.

    Joints 1 and 3 went to and fro at 0.4 to 1 rad/s for good where these rows were as hard.
    """
    demo = demo_robot('arm_7r')
    model = RobotModel.from_urdf_file(demo.path())
    state = bent(model, demo.start)
    collision = CollisionDescription.from_urdf_file(demo.path()).model(model).without_still_pairs()
    near = {pair[:2] for pair in collision.distances(state.q, 0.01)}
    turned, _ = np.linalg.qr(
        [[-0.3296, 0.9441, 0.011], [-0.9436, -0.3297, 0.0299], [0.0318, -0.0005, 0.9995]])
    cylinder = Shape(
        'cylinder', None, 'cylinder', [0.1443, 0.3821], [-0.0539, -0.0531, 0.2506], turned)
    collision = CollisionModel(model, collision.shapes, [
        pair for pair in collision.pairs if pair not in near]).with_shapes(
            [cylinder]).without_still_pairs()
    task = PoseTask('hand', max_linear_velocity=0.5, max_angular_velocity=1.5)
    controller = OperationalSpaceController(
        model, [task], PostureTask(target=state.q), limits=JointLimits(model),
        distances=DistanceLimits(collision))
    task.set_target(model.forward_kinematics(state, ['hand'])['hand'])
    fastest = 0.0
    for k, (now, _) in enumerate(moved(controller, state, 9000)):
        fastest = max(fastest, abs(now.v).max()) if k >= 8000 else 0.0
    assert any('link_2/2' in limit.name for limit in controller.active_limits)
    assert np.linalg.norm(controller.residual_accelerations['hand']) > 10.0
    assert fastest < 0.05  # rad/s

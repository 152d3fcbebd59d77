# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""No near pair is missed by looking at few pairs: held against looking at all in every cycle."""

from itertools import product

import numpy as np
import pytest
from robots import TALOS, robot_file
from test_collision_distance import in_world, near_in, random_pairs

from opspace_control import (
    CollisionDescription,
    CollisionModel,
    DistanceLimits,
    JointLimits,
    OperationalSpaceController,
    RobotModel,
    RobotState,
    Shape,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.collision.data import forget_distances
from opspace_control.collision.distance import NEAR_PAIR
from opspace_control.collision.shapes import Kind
from opspace_control.share import share_directory
from opspace_control.spatial.rotations import matrix_from_vector

CYCLES = 300
WORLD = [Shape('ball', None, 'sphere', [0.2], (0.8, 0.0, 0.2)),
         Shape('crate', None, 'box', [0.3, 0.4, 0.2], (-0.9, 0.3, 0.1)),
         Shape('floor', None, 'half_space', (), (0.0, 0.0, -1.1))]


def controller_of(model, collision, **numbers):
    controller = OperationalSpaceController(
        model, (), limits=JointLimits(model), distances=DistanceLimits(collision, **numbers))
    controller.warm_up()
    return controller


@pytest.mark.parametrize('floating', [False, True], ids=['held', 'floating'])
@pytest.mark.parametrize(('rate', 'numbers'), [
    (0.3, {}), (3.0, {}), (1.0, {'capacity': 5}), (1.0, {'repulsion': 0.01})],
    ids=['slow', 'fast', 'few', 'potential'])
def test_pairs_are_those_of_a_search_of_all(floating, rate, numbers):
    """Talos moves its joints, the world moves and jumps: pairs, shares and margins are the same."""
    model = RobotModel.from_urdf_file(robot_file(TALOS), floating_base=floating)
    collision = CollisionDescription.read(
        share_directory() / 'urdf' / 'talos.collision.yaml').model(model, WORLD)
    some, every = (controller_of(model, collision, **numbers) for _ in range(2))
    random = np.random.default_rng(3)
    phase, most = random.uniform(0.0, 6.0, model.nv), random.uniform(0.1, 1.0, model.nv)
    state, looked, found, shapes = RobotState(model, model.neutral(), np.zeros(model.nv)), 0, 0, (
        set())
    for cycle in range(CYCLES):
        v = rate * most * np.cos(3e-3 * rate * cycle + phase)
        state.update(model.integrate(state.q, v, 3e-3), v)
        for each in (some, every):
            if cycle == 150:
                each.move_shape('ball', (0.3, 0.5, 0.3), twist=[0.5, -1.0, 0.0, 1.0, 0.0, 3.0])
            if cycle == 200:
                each.move_shape('crate', (-0.4, 0.0, 0.0), matrix_from_vector(np.ones(3)))
        forget_distances(every._limits.collision)
        every._limits.collision.likely[0] = np.inf
        before = some._limits.collision.body_pairs['path'].copy()
        torques = [each.compute_torque(state, dt=1e-3) for each in (some, every)]
        near, expected = (each._limits.collision.near[:each._limits.collision.count[0]]
                          for each in (some, every))
        assert near.tobytes() == expected.tobytes()
        assert torques[0].tobytes() == torques[1].tobytes()
        looked += np.count_nonzero(some._limits.collision.body_pairs['path'] != before)
        found += near.size
        shapes |= {collision.shapes[s].kind for s in np.ravel(
            [some._limits.collision.pairs[name][near['pair']] for name in ('first', 'second')])}
    assert found > 2 * CYCLES
    assert {Kind.BOX, Kind.CAPSULE} <= shapes
    if 'repulsion' not in numbers and rate < 2.0:  # fast ones and those of a potential are all near
        assert looked < 0.5 * CYCLES * len(some._limits.collision.body_pairs)


@pytest.mark.parametrize('capacity', [64, 5])
def test_pairs_at_rest_are_known(capacity):
    """
    The legs of a floating Talos rest while it turns, and its arms move: what is near is the same.

    Velocities of the legs have noise, then the margin changes, and in the end they move.
    """
    model = RobotModel.from_urdf_file(robot_file(TALOS), floating_base=True)
    collision = CollisionDescription.read(
        share_directory() / 'urdf' / 'talos.collision.yaml').model(model)
    q, known, shares = model.neutral(), [], set()
    for name, value in demo_robot('talos').start.items():
        q[model.q_index[model.dof_index(name)]] = value
    overlap = {found[:2] for found in collision.distances(q, 0.01)}
    collision = CollisionModel(
        model, collision.shapes, [pair for pair in collision.pairs if pair not in overlap])
    some, every = (controller_of(model, collision, capacity=capacity) for _ in range(2))
    random, state = np.random.default_rng(3), RobotState(model, q, np.zeros(model.nv))
    phase, most = random.uniform(0.0, 6.0, model.nv), random.uniform(0.1, 1.0, model.nv)
    legs = np.array(['leg' in name for name in model.dof_names])
    for cycle in range(CYCLES):
        v = 0.3 * most * np.cos(1e-3 * cycle + phase) * ~(legs & (cycle < 250))
        noise = random.choice([1e-3, 0.1]) * legs * random.normal(size=model.nv)
        state.update(model.integrate(state.q, v, 3e-3), v + noise)
        if cycle == 150:
            for each in (some, every):
                each.distances = each.distances.changed(margin=0.012)
        forget_distances(every._limits.collision)
        every._limits.collision.likely[0] = np.inf
        torques = [each.compute_torque(state, dt=1e-3) for each in (some, every)]
        near, expected = (each._limits.collision.near[:each._limits.collision.count[0]]
                          for each in (some, every))
        for name in ('pair', 'feature'):
            np.testing.assert_array_equal(near[name], expected[name])
        for name in ('distance', 'normal', 'points', 'bound_share', 'speed_margin'):
            np.testing.assert_allclose(near[name], expected[name], rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(*torques, rtol=1e-9, atol=1e-9)
        data = some._limits.collision
        known.append(np.count_nonzero(
            data.pairs['known_since'][near['pair'][near['feature'] == 0]] == data.known[0]))
        shares |= {*near['bound_share'][near['feature'] > 0].tolist()}
    if capacity == 64:
        assert min(known[10:250]) >= 6
        assert np.median(known[250:]) == 0  # a search that is done twice finds them at rest
        assert len(shares) > 100


def test_a_body_carries_all_that_is_fixed_to_it():
    """Its reach encloses its shapes, and pairs of the same two bodies are together."""
    model = RobotModel.from_urdf_file(robot_file(TALOS))
    collision = CollisionDescription.read(
        share_directory() / 'urdf' / 'talos.collision.yaml').model(model, WORLD)
    data = collision.data(8, 0.3)
    keys = [frozenset(both['bodies'].tolist()) for both in data.waits]
    assert len(set(keys)) == len(keys)
    ends = data.body_pairs['pairs']
    assert ends[0, 0] == 0
    assert ends[-1, 1] == len(data.pairs)
    assert (ends[1:, 0] == ends[:-1, 1]).all()
    nodes = data.shapes['node']
    for wait, both in zip(data.waits, data.body_pairs, strict=True):
        carried = [nodes[data.bodies['shape'][body]] for body in wait['bodies']]
        for k in range(*both['pairs']):
            pair = data.pairs[k]
            assert sorted(nodes[[pair['first'], pair['second']]].tolist()) == sorted(carried)
    for body in data.bodies:
        first = data.shapes[body['shape']]
        for shape in data.shapes[nodes == first['node']] if first['node'] >= 0 else [first]:
            away = np.linalg.norm(shape['position'] - first['position'])
            assert away + shape['bounding_radius'] <= body['reach'] + 1e-12


def edges_of(shape):
    """Return middles (m, 3), directions and half lengths of the edges of a box or a capsule."""
    half, found = shape['half'], set()
    for axis, signs in product(range(3), product([-1.0, 1.0], repeat=3)):
        if half[axis] > 0.0:
            middle = np.array(signs) * half
            middle[axis] = 0.0
            found.add((*(middle + 0.0).tolist(), axis))
    R = shape['rotation']
    return [(shape['position'] + R @ np.array(edge[:3]), R[:, edge[3]], half[edge[3]])
            for edge in sorted(found)]


def crossings_of(a, b):
    """Return the distances of edges of two SHAPE that are nearest inside both, and the points."""
    found = []
    for (p, u, long), (r, w, other) in product(edges_of(a), edges_of(b)):
        s, t = np.linalg.lstsq(np.stack([u, -w], axis=1), r - p, rcond=None)[0]
        if abs(s) < long and abs(t) < other:
            vector = p + s * u - r - t * w
            distance, radii = np.linalg.norm(vector), a['radius'] + b['radius']
            found.append((distance - radii, p + s * u - a['radius'] * vector / distance))
    return found


@pytest.mark.parametrize('kinds', [('box', 'box'), ('capsule', 'box')], ids='-'.join)
def test_all_crossings_of_edges_are_found(kinds):
    """Those whose distance is less than the zone beyond the least one: held against all pairs."""
    zone, compared = 0.5, 0
    for shapes in random_pairs(kinds, 300, 0.5):
        data = in_world([shapes])._replace(near=np.zeros(257, NEAR_PAIR), zone=np.full(1, zone))
        near = near_in(data)
        least = near[0]
        if least['distance'] < 0.01 or least['distance'] > 1.6 * zone:
            continue
        expected = sorted(
            distance for distance, point in crossings_of(*data.shapes)
            if distance < least['distance'] + zone and (
                abs(point - least['points'][0]).max() > 1e-7))
        np.testing.assert_allclose(
            sorted(near['distance'][near['feature'] > 16]), expected, atol=1e-12)
        compared += len(expected)
    assert compared > 20


def rims_of(shape):
    """Return the centres, axes and radii of a cylinder's rims."""
    axis = shape['rotation'][:, 2]
    return [(shape['position'] + side * shape['half'][2] * axis, axis, shape['disc'])
            for side in (-1.0, 1.0)]


def onto_rim(rim, points):
    """Return the nearest points of a rim."""
    across = points - rim[0]
    across -= np.outer(across @ rim[1], rim[1])
    return rim[0] + rim[2] * across / np.linalg.norm(across, axis=1)[:, None]


def onto_edge(edge, points):
    """Return the nearest points of an edge's line, NaN beside the edge."""
    along = (points - edge[0]) @ edge[1]
    return edge[0] + np.outer(np.where(abs(along) < edge[2], along, np.nan), edge[1])


def rim_crosses(rim, other, normal, *, rims):
    """Return whether a rim crosses an edge's line or another rim well, seen along the normal."""
    seen = np.eye(3) - np.outer(normal, rim[1]) / (normal @ rim[1])  # onto the plane of the rim
    away = seen @ (other[0] - rim[0])
    if rims:
        return abs(rim[2] - other[2]) < np.linalg.norm(away) < 0.98 * (rim[2] + other[2])
    along = seen @ other[1]
    away -= (away @ along) / max(along @ along, 1e-9) * along
    return along @ along > 0.5 and np.linalg.norm(away) < 0.95 * rim[2]


def crossings_of_rims(a, b, normal):
    """
    Return where rims of b are nearest to edges or rims of a: distances, points, and if they cross.

    Where points of a rim, 0.1 mm from each other, are nearer to the other curve than those beside.
    """
    found, rims = [], a['disc'] > 0.0
    onto = onto_rim if rims else onto_edge
    for rim, other in product(rims_of(b), rims_of(a) if rims else edges_of(a)):
        angles = np.arange(0.0, 2.0 * np.pi, 1e-4 / rim[2])
        R = b['rotation'] @ np.stack([np.cos(angles), np.sin(angles), 0.0 * angles])
        points = rim[0] + rim[2] * R.T
        vectors = onto(other, points) - points
        lengths = np.linalg.norm(vectors, axis=1)
        crosses = rim_crosses(rim, other, normal, rims=rims)
        for k in np.flatnonzero((lengths < np.roll(lengths, 1))
                                & (lengths <= np.roll(lengths, -1)) & (vectors @ normal > 0.0)):
            found.append((lengths[k] - a['radius'], np.stack([
                points[k] + (1.0 - a['radius'] / lengths[k]) * vectors[k], points[k]]), crosses))
    return found


def on_top(kind, random, tilt):
    """Return a shape, and a cylinder whose cap is 1 to 3 cm above it; a capsule lies."""
    turn = matrix_from_vector(np.array([0.0, 0.5 * np.pi if kind == 'capsule' else 0.0, 0.0]))
    below = Shape('', None, kind, random.uniform(0.05, 0.4, 2 + (kind == 'box')), rotation=turn)
    top = below.size[0] if kind == 'capsule' else 0.5 * below.size[-1]
    size, turn = random.uniform(0.05, 0.4, 2), matrix_from_vector(tilt * random.normal(size=3))
    cap = np.array([*random.uniform(-0.2, 0.2, 2), top + random.uniform(0.01, 0.03)])
    return below, Shape('', None, 'cylinder', size, cap + 0.5 * size[1] * turn[:, 2], turn)


@pytest.mark.parametrize('kind', ['box', 'capsule', 'cylinder'])
def test_all_crossings_of_rims_are_found(kind):
    """Where a cap and a face, an edge or a cap overlap: held against all points of the rims."""
    zone, compared, random = 0.03, 0, np.random.default_rng(4)
    for _ in range(150):
        data = in_world([on_top(kind, random, random.choice([1e-3, 0.02]))])._replace(
            near=np.zeros(257, NEAR_PAIR), zone=np.full(1, zone))
        near = near_in(data)
        least = near[0]
        if not 0.002 < least['distance'] < zone:
            continue
        expected = crossings_of_rims(*data.shapes, least['normal'])
        first, second = np.divmod(near['feature'] - 17, 12)
        rims = (near['feature'] > 16) & (second >= 4) & ((first >= 4) | (kind != 'cylinder'))
        for distance, points, crosses in expected:
            if crosses and distance < least['distance'] + 0.9 * zone and (
                    abs(points - least['points']).max() > 3e-4):
                assert abs(near[rims]['distance'] - distance).min() < 1e-6
                compared += 1
        for pair in near[rims]:
            assert min(abs(pair['points'] - points).max() for _, points, _ in expected) < 2e-4
    assert compared > 15


@pytest.mark.parametrize('below', [
    Shape('', None, 'box', [0.4, 0.4, 0.2]), Shape('', None, 'cylinder', [0.2, 0.2])],
    ids=['box', 'cylinder'])
@pytest.mark.parametrize('spin', [0.0, 0.4, 0.8])
def test_a_cylinder_on_a_face_is_near_at_both_ends_of_what_is_on_it(below, spin):
    """One of its ends is beside the face: there its generator crosses the edge or the rim."""
    data = in_world([(below, Shape('', None, 'cylinder', [0.05, 0.4]))])._replace(
        near=np.zeros(65, NEAR_PAIR), zone=np.full(1, 0.03))
    data.shapes['position'][1] = [0.2, 0.0, 0.16]
    nearest = []
    for tilt in (-1e-4, 1e-4):
        data.shapes['rotation'][1] = matrix_from_vector(
            np.array([0.0, 0.5 * np.pi + tilt, 0.0])) @ matrix_from_vector(
                np.array([0.0, 0.0, spin]))
        near = near_in(data)
        nearest.append(near['points'][0, 0, 0].item())
        # What is the nearest point with the other tilt has a full bound already.
        other = near[near['bound_share'] > 0.99]['points'][:, 0, 0]
        assert np.ptp(other) > 0.19
    np.testing.assert_allclose(sorted(nearest), [0.0, 0.2], atol=1e-3)


@pytest.mark.parametrize(('below', 'slope'), [
    (Shape('', None, 'box', [0.2, 0.4, 0.2]), 0.02),
    (Shape('', None, 'cylinder', [0.1, 0.2]), 0.0)], ids=['box', 'cylinder'])
def test_what_the_nearest_points_jump_to_was_near_before(below, slope):
    """A cap is 5 mm over an edge or a rim, which it crosses twice; it tilts to and fro."""
    data = in_world([(below, Shape('', None, 'cylinder', [0.034, 0.15]))])._replace(
        near=np.zeros(65, NEAR_PAIR), zone=np.full(1, 0.03))
    before, jumps = None, 0
    for angle in np.linspace(0.0, 6.0, 41):
        turn = matrix_from_vector(np.array([2e-3 * np.sin(angle), slope, 0.0]))
        data.shapes['rotation'][1] = turn
        data.shapes['position'][1] = np.array([0.129, 0.0, 0.11]) + turn @ [0.0, 0.0, 0.075]
        near = near_in(data)
        full = near[near['bound_share'] > 0.98]['points']
        if before is not None and abs(near['points'][0] - before[0]).max() > 5e-3:
            assert abs(near['points'][0] - before).max(axis=(1, 2)).min() < 1e-3
            jumps += 1
        before = full.copy()
    assert jumps > 0

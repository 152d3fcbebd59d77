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
    DistanceLimits,
    JointLimits,
    OperationalSpaceController,
    RobotModel,
    RobotState,
    Shape,
)
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
            assert away + shape['bound'] <= body['reach'] + 1e-12


def edges_of(shape):
    """Return middles (m, 3), directions and half lengths of the edges of what is inscribed."""
    half = shape['half'] + np.array([1.0, 1.0, 0.0]) * shape['disc'] * np.sqrt(0.5)
    found = set()
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


@pytest.mark.parametrize('kinds', [
    ('box', 'box'), ('box', 'cylinder'), ('capsule', 'box'), ('capsule', 'cylinder')],
    ids='-'.join)
def test_all_crossings_of_edges_are_found(kinds):
    """Those whose distance is less than the zone beyond the least one: held against all pairs."""
    zone, compared = 0.5, 0
    for shapes in random_pairs(kinds, 300, 0.5):
        data = in_world([shapes])._replace(near=np.zeros(257, NEAR_PAIR), zone=np.full(1, zone))
        near = near_in(data)
        least = near[0]
        if least['distance'] < 0.01 or least['distance'] > 1.9 * zone:
            continue
        expected = sorted(
            distance for distance, point in crossings_of(*data.shapes)
            if distance < least['distance'] + zone and (
                abs(point - least['points'][0]).max() > 1e-7))
        np.testing.assert_allclose(
            sorted(near['distance'][near['feature'] > 16]), expected, atol=1e-12)
        compared += len(expected)
    assert compared > 20

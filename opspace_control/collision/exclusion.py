# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of links that need no distance, with the reason."""

from collections import defaultdict
from itertools import product

import numpy as np

from opspace_control.collision.data import make_collision
from opspace_control.collision.model import CollisionModel
from opspace_control.collision.near_pairs import near_pairs_at
from opspace_control.collision.points import multiply
from opspace_control.dynamics.data import NODE_STATE, moment_nodes
from opspace_control.model.cleaning import parse_xml
from opspace_control.model.nodes import WORLD, path_to_root
from opspace_control.model.urdf import read_bytes

ADJACENT, SRDF, ALWAYS, NEVER, APART, HOME = (
    'adjacent', 'srdf', 'always', 'never', 'apart', 'home')
REASONS = {
    ADJACENT: 'connected by one joint',
    SRDF: 'disabled by the SRDF',
    ALWAYS: 'overlap in nearly all sampled configurations',
    NEVER: 'far from each other in all sampled configurations, and in a search from the nearest',
    APART: 'connected by few joints, which keep their surfaces apart, though not their shapes',
    HOME: 'connected by two joints, and near each other at home'}
# Part of the samples in which two links overlap that is called always, and the distance, m, that
# two links keep in all samples so that it is called never. Samples alone would not do: hands rarely
# meet by chance.
_ALWAYS, _FAR = 0.95, 0.05
_BETWEEN = 2  # joints between links that may be near at home
# Joints between links whose surfaces are looked at, and so many positions of each of these; of how
# many points of one link the distances are found; and that distance, m, beyond which surfaces are
# apart: their points are some millimetres from each other.
_FEW, _POSITIONS, _POINTS, _APART = 3, (0, 33, 9, 4), 2000, 0.005
# A joint without limits is sampled over a turn, or over so many metres.
_TURN, _SLIDE = np.pi, 0.5


def read_srdf(path, links):
    """
    Return the pairs of links that an SRDF disables, sorted names, and all names in it; two sets.

    These are the pairs of <disable_collisions>, and those of <disable_default_collisions> links
    with all ``links``, but for the pairs of <enable_collisions>.
    """
    srdf = parse_xml(read_bytes(path))
    disabled, enabled = ({
        tuple(sorted((node.get('link1', ''), node.get('link2', '')))) for node in srdf.iter(tag)}
        for tag in ('disable_collisions', 'enable_collisions'))
    off = {node.get('link', '') for node in srdf.iter('disable_default_collisions')}
    default = {tuple(sorted(pair)) for pair in product(off, links)}
    return default - enabled | disabled, off.union(*disabled, *enabled)


def excluded_pairs(robot, shapes, disabled=(), samples=2000, seed=0, *, surfaces=None):
    """
    Return the pairs of links whose distance is of no use, sorted names, with a key of REASONS.

    Of reasons the first that holds; links that do not move relative to each other are not among
    them. The ``shapes`` are on links of the ``robot``; ``disabled`` has the pairs of links that the
    SRDF disables, sorted; ``samples`` is the number of configurations within the joint limits.
    ``surfaces`` has, by link, points (m, 3) of what its shapes enclose, in its frame, m.
    """
    model = CollisionModel(robot, shapes)
    links = {shape.name: shape.link for shape in model.shapes}
    pairs = np.array([tuple(sorted((links[a], links[b]))) for a, b in model.pairs],
                     dtype=object).reshape(-1, 2)
    numbers = defaultdict(list)
    for k, pair in enumerate(pairs.tolist()):
        numbers[tuple(pair)].append(k)
    search = _Search(model, surfaces or {})
    sampled = search.sample(list(numbers.values()), samples, seed)
    carriers = _carriers(robot)
    excluded = {}
    for pair, overlapping, distance, where in zip(numbers, *sampled, strict=True):
        first, second = nodes = _bodies(robot, pair)
        if carriers.get(first) == second or carriers.get(second) == first:
            excluded[pair] = ADJACENT
        elif pair in disabled:
            excluded[pair] = SRDF
        elif overlapping >= _ALWAYS:
            excluded[pair] = ALWAYS
        elif distance > _FAR:
            if search.descend(numbers[pair], nodes, where, distance) > _FAR:
                excluded[pair] = NEVER
        elif search.are_apart(numbers[pair], pair, nodes):
            excluded[pair] = APART
    return excluded


def near_at_home(model, q, distance):
    """
    Return the sorted names of links that two joints connect and that are near at home, a set.

    Of the shapes of a `CollisionModel` at the positions q (nq,), nearer than a distance, m: so they
    were designed, or their shapes are too fat.
    """
    robot, links = model.robot, {shape.name: shape.link for shape in model.shapes}
    found = set()
    for near in model.distances(q, distance):
        pair = links[near.first], links[near.second]
        if near.distance < distance and None not in pair:
            between = _nodes_between(robot, _bodies(robot, pair))
            if sum(robot.nodes['v_index'][node] >= 0 for node in between) <= _BETWEEN:
                found.add(tuple(sorted(pair)))
    return found


def _bodies(robot, links):
    """Return the nodes that carry two links."""
    return [int(robot.frames['node'][robot.frame_index(link)]) for link in links]


def _nodes_between(robot, bodies):
    """Return the nodes on the path from one body to another that move them, a set."""
    parents = robot.nodes['parent'].tolist()
    first, second = (set(path_to_root(parents, body)) for body in bodies)
    return first ^ second


def _carriers(robot):
    """Return the next node inwards that carries links, by node that does; WORLD for none."""
    carrying, parents = set(robot.frames['node'].tolist()), robot.nodes['parent'].tolist()
    found = {}
    for node in carrying - {WORLD}:
        parent = parents[node]
        while parent != WORLD and parent not in carrying:
            parent = parents[parent]
        found[node] = parent
    return found


class _Search:
    """Distances of groups of pairs, in sampled configurations and near the nearest of these."""

    def __init__(self, model, surfaces):
        self.robot = robot = model.robot
        self.surfaces = surfaces
        self.nodes = moment_nodes(robot)
        self.states = np.zeros(self.nodes.size, NODE_STATE)
        self.data = model.data(len(model.pairs))
        self.q = robot.neutral()
        scalar = robot.q_index >= 0
        self.moving = robot.q_index[scalar]
        spread = np.where(robot.turns_freely, _TURN, _SLIDE)
        self.lower, self.upper = np.zeros((2, robot.nq))
        self.lower[self.moving] = np.where(
            np.isinf(robot.lower_position_limits), -spread, robot.lower_position_limits)[scalar]
        self.upper[self.moving] = np.where(
            np.isinf(robot.upper_position_limits), spread, robot.upper_position_limits)[scalar]

    def finder(self, data):
        """Return a function that writes the distances of the pairs of ``data`` at q."""
        return near_pairs_at.partial(self.nodes, self.q, self.states, np.zeros(3), data)

    def sample(self, groups, samples, seed):
        """Return in what part of samples groups overlap, their least distances, m, and where."""
        random, find = np.random.default_rng(seed), self.finder(self.data)
        overlaps, least = np.zeros(len(groups)), np.full(len(groups), np.inf)
        where = np.tile(self.q, (len(groups), 1))
        order = np.concatenate(groups) if groups else np.zeros(0, int)
        starts = np.cumsum([0, *map(len, groups)])[:-1]
        for _ in range(samples if groups else 0):
            self.q[self.moving] = random.uniform(self.lower[self.moving], self.upper[self.moving])
            find()
            distances = np.minimum.reduceat(self.data.near['distance'][order], starts)
            overlaps += distances < 0.0
            nearer = distances < least
            least[nearer], where[nearer] = distances[nearer], self.q
        return overlaps / samples, least, where

    def between(self, bodies):
        """Return the places in q of the joints between two bodies that move."""
        return sorted({int(self.robot.nodes['q_index'][node])
                       for node in _nodes_between(self.robot, bodies)} & set(self.moving.tolist()))

    def part(self, numbers):
        """Return the data of some pairs, and what places bodies and finds their distances."""
        pairs = self.data.pairs[numbers]
        data = make_collision(self.data.shapes, np.stack([pairs['first'], pairs['second']], axis=1),
                              len(pairs), np.inf)
        return data, self.finder(data)

    def descend(self, numbers, bodies, start, least):
        """Return the distance of a group, m, that a search from a configuration leaves, or _FAR."""
        data, find = self.part(numbers)

        def distance(_):
            find()
            return data.near['distance'][:data.count[0]].min()

        return self.search(distance, self.between(bodies), start, least, _FAR)

    def search(self, distance, joints, start, least, enough):
        """
        Return the least distance that moving joints one by one finds, or the first one below.

        ``distance(least)`` is that at q, m, or any larger number if it is not below ``least``.
        """
        self.q[:] = start
        step = 0.125
        while step > 1e-3:
            before = least
            for k in joints:
                for sign in (1.0, -1.0):
                    old = self.q[k]
                    self.q[k] = np.clip(old + sign * step * (self.upper[k] - self.lower[k]),
                                        self.lower[k], self.upper[k])
                    found = distance(least)
                    if found < least:
                        least = found
                        break
                    self.q[k] = old
            if least <= enough:
                break
            if least == before:
                step /= 2.0
        return least

    def pose(self, link):
        """Return rotation and position of a link where bodies are."""
        frame = self.robot.frames[self.robot.frame_index(link)]
        if frame['node'] == WORLD:
            return frame['rotation'], frame['position']
        body = self.states[frame['node']]
        return (multiply(body['R'], frame['rotation']),
                body['p'] + multiply(body['R'], frame['position']))

    def are_apart(self, numbers, links, bodies):
        """Return whether the surfaces of links with few joints between them never come near."""
        joints = self.between(bodies)
        if not (set(links) <= set(self.surfaces) and 0 < len(joints) <= _FEW):
            return False
        from scipy.spatial import KDTree
        first, second = (self.surfaces[link] for link in links)
        second = second[::-(-len(second) // _POINTS)]
        tree, (_, find) = KDTree(first), self.part(numbers)
        lower, upper = first.min(axis=0), first.max(axis=0)

        def distance(least):
            find()
            (R, p), (S, s) = (self.pose(link) for link in links)
            points = multiply(multiply(second, S.T) + s - p, R)
            bound = min(least, _FAR)
            # Most points are far from the box around the others: the tree takes 1 µs for each.
            points = points[((points > lower - bound) & (points < upper + bound)).all(axis=1)]
            return tree.query(points, distance_upper_bound=bound)[0].min(initial=np.inf)

        least, start = np.inf, self.robot.neutral()
        self.q[:] = start
        ranges = [np.linspace(self.lower[k], self.upper[k], _POSITIONS[len(joints)])
                  for k in joints]
        for self.q[joints] in product(*ranges):
            found = distance(least)
            if found < least:
                least, start = found, self.q.copy()
            if least <= _APART:
                return False
        return self.search(distance, joints, start, least, _APART) > _APART

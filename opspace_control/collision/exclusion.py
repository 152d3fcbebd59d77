# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of links that need no distance, with the reason."""

from collections import defaultdict

import numpy as np

from opspace_control.collision.data import make_collision
from opspace_control.collision.model import CollisionModel
from opspace_control.collision.near_pairs import near_pairs_at
from opspace_control.dynamics.data import NODE_STATE, moment_nodes
from opspace_control.model.cleaning import parse_xml
from opspace_control.model.nodes import WORLD, path_to_root
from opspace_control.model.urdf import read_bytes

ADJACENT, SRDF, ALWAYS, NEVER, HOME = 'adjacent', 'srdf', 'always', 'never', 'home'
REASONS = {
    ADJACENT: 'connected by one joint',
    SRDF: 'disabled by the SRDF',
    ALWAYS: 'overlap in nearly all sampled configurations',
    NEVER: 'far from each other in all sampled configurations, and in a search from the nearest',
    HOME: 'connected by two joints, and near each other at home'}
# Part of the samples in which two links overlap that is called always, and the distance, m, that
# two links keep in all samples so that it is called never. Samples alone would not do: hands rarely
# meet by chance.
_ALWAYS, _FAR = 0.95, 0.05
_BETWEEN = 2  # joints between links that may be near at home
# A joint without limits is sampled over a turn, or over so many metres.
_TURN, _SLIDE = np.pi, 0.5


def read_srdf(path):
    """Return the pairs of links that the <disable_collisions> of an SRDF name, as a set."""
    return {tuple(sorted((node.get('link1', ''), node.get('link2', ''))))
            for node in parse_xml(read_bytes(path)).iter('disable_collisions')}


def excluded_pairs(robot, shapes, disabled=(), samples=2000, seed=0):
    """
    Return the pairs of links whose distance is of no use, and the reason of each, in a dict.

    Parameters
    ----------
    robot : KinematicTree or RobotModel
        The robot.
    shapes : sequence of Shape
        On its links.
    disabled : collection of (str, str)
        Pairs of links that the SRDF disables, each sorted.
    samples, seed : int
        Number of configurations within the joint limits, and the seed of their random numbers.

    Returns
    -------
    dict of (str, str) to str
        The sorted names of two links, and a key of REASONS, the first that holds. Links that do not
        move relative to each other are not among them.

    """
    model = CollisionModel(robot, shapes)
    links = {shape.name: shape.link for shape in model.shapes}
    pairs = np.array([tuple(sorted((links[a], links[b]))) for a, b in model.pairs],
                     dtype=object).reshape(-1, 2)
    numbers = defaultdict(list)
    for k, pair in enumerate(pairs.tolist()):
        numbers[tuple(pair)].append(k)
    search = _Search(model)
    sampled = search.sample(list(numbers.values()), samples, seed)
    bodies = _bodies_of(robot)
    excluded = {}
    for pair, share, distance, where in zip(numbers, *sampled, strict=True):
        first, second = nodes = [
            int(robot.frames['node'][robot.frame_index(link)]) for link in pair]
        if bodies.get(first) == second or bodies.get(second) == first:
            excluded[pair] = ADJACENT
        elif pair in disabled:
            excluded[pair] = SRDF
        elif share >= _ALWAYS:
            excluded[pair] = ALWAYS
        elif distance > _FAR and search.descend(numbers[pair], nodes, where, distance) > _FAR:
            excluded[pair] = NEVER
    return excluded


def near_at_home(model, q, distance):
    """
    Return the sorted names of links that two joints connect and that are near at home, a set.

    Of the shapes of a `CollisionModel` at the positions q (nq,), nearer than a distance, m: so they
    were designed, or their shapes are too fat.
    """
    robot, links = model.robot, {shape.name: shape.link for shape in model.shapes}
    parents = robot.nodes['parent'].tolist()
    found = set()
    for near in model.distances(q, distance):
        pair = links[near.first], links[near.second]
        if near.distance < distance and None not in pair:
            first, second = (set(path_to_root(parents, int(
                robot.frames['node'][robot.frame_index(link)]))) for link in pair)
            if sum(robot.nodes['v_index'][node] >= 0 for node in first ^ second) <= _BETWEEN:
                found.add(tuple(sorted(pair)))
    return found


def _bodies_of(robot):
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

    def __init__(self, model):
        self.robot = robot = model.robot
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

    def bound(self, data):
        """Return a function that writes the distances of the pairs of ``data`` at q."""
        return near_pairs_at.bind(self.nodes, self.q, self.states, np.zeros(3), data)

    def sample(self, groups, samples, seed):
        """Return in what part of samples groups overlap, their least distances, m, and where."""
        random, find = np.random.default_rng(seed), self.bound(self.data)
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

    def descend(self, numbers, bodies, start, least):
        """Return the distance of a group, m, that a search from a configuration leaves, or _FAR."""
        pairs = self.data.pairs[numbers]
        data = make_collision(self.data.shapes, np.stack([pairs['first'], pairs['second']], axis=1),
                              len(pairs), np.inf)
        find = self.bound(data)
        parents = self.robot.nodes['parent'].tolist()
        paths = [set(path_to_root(parents, body)) for body in bodies]
        joints = {int(self.robot.nodes['q_index'][node]) for node in paths[0] ^ paths[1]
                  } & set(self.moving.tolist())
        self.q[:] = start
        step = 0.125
        while step > 1e-3:
            before = least
            for k in sorted(joints):
                for sign in (1.0, -1.0):
                    old = self.q[k]
                    self.q[k] = np.clip(old + sign * step * (self.upper[k] - self.lower[k]),
                                        self.lower[k], self.upper[k])
                    find()
                    distance = data.near['distance'][:data.count[0]].min()
                    if distance < least:
                        least = distance
                        break
                    self.q[k] = old
            if least <= _FAR:
                break
            if least == before:
                step /= 2.0
        return least

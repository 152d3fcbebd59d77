# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The shapes of a robot and of its world, and the pairs of them that may touch."""

from operator import attrgetter
from typing import NamedTuple

import numpy as np

from opspace_control.collision.body_pairs import bodies_of
from opspace_control.collision.data import (
    change_shapes,
    forget_distances,
    make_collision,
    set_influence,
)
from opspace_control.collision.near_pairs import near_pairs_at
from opspace_control.collision.shapes import SHAPE, Kind
from opspace_control.dynamics.data import NODE_STATE, moment_nodes
from opspace_control.errors import ModelError
from opspace_control.model import RobotState
from opspace_control.model.nodes import WORLD, path_to_root
from opspace_control.model.topology import nearest


class Separation(NamedTuple):
    """The distance of two shapes."""

    first: str
    second: str
    distance: float       # m; below 0 the depth of the overlap
    normal: np.ndarray    # (3,) unit vector from the second to the first, world axes
    first_point: np.ndarray   # (3,) of the first, nearest to the second, in the world, m
    second_point: np.ndarray  # (3,)


class CollisionModel:
    """
    The shapes of a robot and of its world, and the pairs of them that may touch.

    Raises a ModelError that names a shape that is given twice, a link or a shape that does not
    exist, and a pair whose shapes are one, are on one rigid body, or are two half-spaces.

    Parameters
    ----------
    robot : KinematicTree or RobotModel
    shapes : sequence of Shape
        With different names.
    pairs : sequence of (str, str), optional
        Names of shapes; all pairs of shapes that can move relative to each other if not given.
    like : CollisionModel, optional
        One of the same robot, with some of the same shapes: it is made in less time then.

    """

    def __init__(self, robot, shapes, pairs=None, *, like=None):
        self.robot = robot
        self.shapes = tuple(shapes)
        self._index = {shape.name: s for s, shape in enumerate(self.shapes)}
        self._given = frozenset(self._index)
        self._unused = []  # CollisionData of `distances`, which take 0.4 ms to make
        if len(self._index) < len(self.shapes):
            names = [shape.name for shape in self.shapes]
            twice = next(name for name in names if names.count(name) > 1)
            raise ModelError(f"Two shapes have the name '{twice}'.", element=twice,
                             cure='Give each its own.')
        self._records = np.zeros(len(self.shapes), SHAPE)
        known = {} if like is None else dict(zip(map(id, like.shapes), like._records, strict=True))
        for k, shape in enumerate(self.shapes):
            if id(shape) in known:
                self._records[k] = known[id(shape)]
            else:
                shape.write(self._records[k], robot)
        self._nodes = self._records['node'].tolist()
        found = self._all_pairs() if pairs is None else np.reshape(
            [self._checked(*pair) for pair in pairs], (-1, 2)).astype(int)
        bodies = np.sort(bodies_of(self._nodes)[0][found], axis=1)
        self._pairs = found[np.lexsort(bodies.T[::-1])]  # (p, 2)

    def _all_pairs(self):
        """Return the indices (p, 2) of all pairs that `_refusal` does not refuse."""
        pairs = np.stack(np.triu_indices(len(self.shapes), 1), axis=1)
        nodes, kinds = self._records['node'][pairs], self._records['kind'][pairs]
        return pairs[(nodes[:, 0] != nodes[:, 1]) & (kinds != Kind.HALF_SPACE).any(axis=1)]

    def __repr__(self):
        return f'CollisionModel({self.robot!r}, {len(self.shapes)} shapes, {len(self.pairs)} pairs)'

    @property
    def names(self):
        """The names of the shapes."""
        return tuple(self._index)

    @property
    def pairs(self):
        """The names of the two shapes of each pair, those of the same two links together."""
        names = self.names
        return tuple((names[a], names[b]) for a, b in self._pairs.tolist())

    def with_shapes(self, shapes=(), *, touching=()):
        """
        Return a `CollisionModel` with further shapes, and without pairs that may touch.

        An object that a hand holds is a shape on the hand's link. The new shapes are in pairs with
        all that move relative to them; the other pairs are those of this model. Further shapes are
        in the order of their names, behind those of the constructor: what a controller computes
        does not depend on which came first. Raises a ModelError as the constructor, and for a pair
        of ``touching`` with a name that is neither a shape's nor a link's.

        Parameters
        ----------
        shapes : sequence of Shape
            With different names; one with the name of a present shape replaces that.
        touching : sequence of (str, str)
            Pairs that are left out, by names of shapes, or of links for all shapes of that link
            and of those that are fixed to it.

        """
        new = {shape.name for shape in shapes}
        given = self._given - new
        others = [shape for shape in self.shapes if shape.name not in given | new]
        model = self._derived([*(shape for shape in self.shapes if shape.name in given),
                               *sorted([*others, *shapes], key=attrgetter('name'))], None, given)
        kept = np.zeros((len(model.shapes), len(model.shapes)), bool)
        there = np.array([model._index.get(name, -1) for name in self.names], int)[self._pairs]
        kept[tuple(there[(there >= 0).all(axis=1)].T)] = True
        added = [model._index[name] for name in new]
        kept[added] = True
        for names in touching:
            first, second = ([model._index[each] for each in model._named(name)] for name in names)
            kept[np.ix_(first, second)] = kept[np.ix_(second, first)] = False
        model._pairs = model._pairs[(kept | kept.T)[tuple(model._pairs.T)]]
        return model

    def without_shapes(self, names):
        """
        Return a `CollisionModel` without the shapes of these names, with the other pairs.

        A ModelError says that there is no such shape.
        """
        gone = {self.shapes[self._found(name)].name for name in names}
        return self._derived([shape for shape in self.shapes if shape.name not in gone],
                             [pair for pair in self.pairs if gone.isdisjoint(pair)], self._given)

    def without_still_pairs(self):
        """Return a `CollisionModel` without the pairs that no joint moves but those with brakes."""
        robot = self.robot
        movers = {node: {k for k in path_to_root(robot.nodes['parent'].tolist(), node)
                         if robot.nodes['v_index'][k] >= 0
                         and not robot.locked[robot.nodes['v_index'][k]]}
                  for node in set(self._nodes) - {WORLD}} | {WORLD: set()}
        return self._derived(self.shapes, [
            names for names, (a, b) in zip(self.pairs, self._pairs.tolist(), strict=True)
            if self.shapes[a].link is None or self.shapes[b].link is None
            or movers[self._nodes[a]] != movers[self._nodes[b]]], self._given)

    def _derived(self, shapes, pairs, given):
        """Return a model of the same robot; ``given`` are names of shapes of the constructor."""
        model = CollisionModel(self.robot, shapes, pairs, like=self)
        model._given = given
        return model

    def _named(self, name):
        """Return the names of the shapes that are called so, or are fixed to such a link."""
        links = self.robot.frame_names
        if name not in self._index and name not in links:
            raise ModelError(f"There is neither a shape nor a link '{name}'.", element=name,
                             cure=nearest(name, [*self._index, *links]))
        node = self.robot.frames[self.robot.frame_index(name)]['node'] if name in links else None
        return [shape.name for shape, own in zip(self.shapes, self._nodes, strict=True)
                if shape.name == name or (shape.link is not None and own == node)]

    def _found(self, name):
        """Return the index of a shape, or raise a ModelError."""
        if name not in self._index:
            raise ModelError(f"There is no shape '{name}'.", element=name,
                             cure=nearest(name, self._index) if self._index else 'There is none.')
        return self._index[name]

    def _checked(self, *names):
        pair = tuple(map(self._found, names))
        refusal = self._refusal(*pair)
        if refusal:
            raise ModelError(f"The shapes '{names[0]}' and '{names[1]}' {refusal}.", cure='Leave '
                             'out this pair.', element=names[0])
        return pair

    def _refusal(self, a, b):
        """Return why two shapes are no pair, or nothing."""
        if self.shapes[a].kind == self.shapes[b].kind == Kind.HALF_SPACE:
            return 'are two half-spaces'
        return 'do not move relative to each other' if self._nodes[a] == self._nodes[b] else ''

    def data(self, capacity, influence=np.inf, zone=0.0, counted=np.inf, further=0):
        """
        Return the arrays for kernels, a new `CollisionData`.

        ``capacity`` is the greatest number of near pairs, ``influence`` the distance up to which a
        pair is near, m: one number, or (p,) for each pair. `features` that are nearly as near, by
        less than the ``zone``, m, are near pairs, too. Near pairs whose bound is further than
        ``counted``, m/s², from the reference acceleration of no motion do not count. There is room
        for ``further`` shapes.
        """
        return make_collision(
            self._records, self._pairs, capacity, influence, zone, counted, further)

    def replace_in(self, data, other=None):
        """
        Put the shapes of this model into a `CollisionData` in place of those of another model.

        Shapes of the world that both models have alike stay where they are, with their twists.
        Returns False, and changes nothing, if there is no room for them. The influence is to be
        set.
        """
        before = data.shapes.copy()
        there = change_shapes(data, self._records, self._pairs)
        if there and other:
            self.keep_poses(data, other, before)
        return there

    def move_shape(self, data, name, position, rotation, twist):
        """
        Put a shape of the world of a `CollisionData` elsewhere, as `Shape.move`.

        A ModelError says that there is no such shape, too.
        """
        index = self._found(name)
        self.shapes[index].move(data.shapes[index], position, rotation, twist)

    def present_shapes(self, data):
        """Return the shapes, a tuple, those of the world where they are in a `CollisionData`."""
        return tuple(shape if shape.link else shape.at(record)
                     for shape, record in zip(self.shapes, data.shapes, strict=False))

    def keep_poses(self, data, other, records):
        """
        Put the shapes of the world of a `CollisionData` where they are in SHAPE of another model.

        Those that both models have alike; the others are where this model has them.
        """
        for index, shape in enumerate(self.shapes):
            before = other._index.get(shape.name)
            if shape.link is None and before is not None and other.shapes[before] == shape:
                for key in ('position', 'rotation', 'twist', 'is_new'):
                    data.shapes[key][index] = records[key][before]

    def distances(self, q, influence=np.inf, records=None):
        """
        Return a `Separation` of each pair nearer than ``influence``, m, at the positions q (nq,).

        In the order of ``pairs``. ``influence`` is one number, or (p,) for each pair; ``records``
        (s,) SHAPE are the shapes where they are, as in a `CollisionData`, those of the constructor
        if not given. A StateError says what is wrong with q.
        """
        try:
            data = self._unused.pop()
        except IndexError:  # the first call, or one beside another
            data = self.data(len(self._pairs))
        data.shapes[:] = self._records if records is None else records[:len(self.shapes)]
        set_influence(data, influence)
        forget_distances(data)
        try:
            return self.separations_at(q, data)
        finally:
            self._unused.append(data)

    def separations_at(self, q, data):
        """Return `distances` at positions q (nq,), of the shapes in a `CollisionData`."""
        state = RobotState(self.robot, q, np.zeros(self.robot.nv))
        origin = state.q[:3].copy() if self.robot.floating_base else np.zeros(3)
        nodes = moment_nodes(self.robot)
        near_pairs_at(nodes, state.q.copy(), np.zeros(nodes.size, NODE_STATE), origin, data)
        return self.separations(data, origin)

    def separations(self, data, origin):
        """
        Return the `Separation` of each near pair of whole shapes of a `CollisionData`.

        ``origin`` (3,) is the root link's origin in the world, m.
        """
        names, near = self.names, data.near[:data.count[0]]
        return [Separation(*(names[s] for s in self._pairs[each['pair']]), each['distance'].item(),
                           each['normal'].copy(), *(each['points'] + origin))
                for each in near[near['feature'] == 0]]

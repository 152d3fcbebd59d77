# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What distances of all pairs of shapes of a humanoid cost, beside Pinocchio and coal."""

import coal
import numpy as np
import pinocchio
from figures import Figure, Spread
from timing import interleave

from opspace_control import CollisionDescription, RobotModel
from opspace_control.cli.robots import demo_robot
from opspace_control.collision.near_pairs import near_pairs_at
from opspace_control.dynamics.data import NODE_STATE, moment_nodes

_ROUNDS, _STATES, _TIME = 50, 1000, 0.16
_INFLUENCE, _CAPACITY = 0.1, 16  # m
_COAL = {'SPHERE': coal.Sphere, 'CAPSULE': coal.Capsule, 'CYLINDER': coal.Cylinder,
         'BOX': coal.Box}


def measure():
    """Return the figures of Talos that moves at up to 1 rad/s, in states that follow by 1 ms."""
    robot, rng = demo_robot('talos'), np.random.default_rng(0)
    model = RobotModel.from_urdf_file(robot.path())
    shapes = CollisionDescription.from_urdf_file(robot.path()).model(model)
    pairs = len(shapes.pairs)
    middle = model.neutral()
    for name, value in robot.start.items():
        middle[model.q_index[model.dof_index(name)]] = value
    v = rng.uniform(-1.0, 1.0, model.nv)  # there and back, as at 1 kHz
    positions = [model.integrate(middle, v, _TIME * np.sin(2.0 * np.pi * k / _STATES))
                 for k in range(_STATES)]
    nodes, q = moment_nodes(model), middle.copy()
    arrays = (nodes, q, np.zeros(nodes.size, NODE_STATE), np.zeros(3))
    every, near = shapes.data(pairs), shapes.data(_CAPACITY, _INFLUENCE)

    def at(find):
        def call(position):
            q[:] = position
            find()
        return call, [(position,) for position in positions]

    every_at, near_at = (at(near_pairs_at.partial(*arrays, data)) for data in (every, near))
    theirs = pinocchio.buildModelFromUrdf(str(robot.path()))
    data = theirs.createData()
    aba = [(theirs, data, pinocchio.randomConfiguration(theirs), rng.uniform(size=theirs.nv),
            rng.uniform(size=theirs.nv)) for _ in range(10)]
    times = interleave({'all': every_at, 'near': near_at, 'aba': (pinocchio.aba, aba),
                        'coal': (_coal_distances, [(_coal_pairs(shapes, every),)])}, _ROUNDS)
    return [
        Figure.ratio('distances.talos.near', f'Talos, {pairs} pairs of shapes: those nearer than '
                     f"{100 * _INFLUENCE:.0f} cm, beside one call of Pinocchio's `aba`",
                     times['near'], times['aba']),
        Figure.ratio('distances.talos.all', f'Talos, {pairs} pairs of shapes: all distances, '
                     'beside coal, called from Python', times['all'], times['coal']),
        Figure('distances.talos.pair', 'Talos: the distance of one pair, of all distances',
               Spread.of(times['all'] / pairs), unit='µs')]


def _coal_pairs(shapes, data):
    """Return the arguments of coal for all pairs, at the poses that the kernel has written."""
    made = [(_COAL[shape.kind.name](*shape.size), coal.Transform3s(
        record['R'].copy(), record['p'].copy()))
        for shape, record in zip(shapes.shapes, data.shapes, strict=True)]
    return [(*made[pair['first']], *made[pair['second']]) for pair in data.pairs]


def _coal_distances(pairs):
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    for pair in pairs:
        result.clear()
        coal.distance(*pair, request, result)

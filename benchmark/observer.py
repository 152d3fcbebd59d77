# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What observers of unknown joint forces and drive friction cost, beside Pinocchio."""

from functools import partial

import numpy as np
import pinocchio
from figures import Figure
from singularity import BENT, ROBOTS
from timing import interleave

from opspace_control import (
    DisturbanceObserver,
    DriveFriction,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot

_ROUNDS, _STATES = 100, 20
_BOUNDS = {'max_force': 60.0, 'max_moment': 20.0}


def measure():
    """Return the figures of a Panda and of Talos with both hands."""
    path, hand, _ = ROBOTS['Panda']
    talos = demo_robot('talos')
    start = dict(zip(RobotModel.from_urdf_file(path).dof_names, BENT['Panda'], strict=False))
    return [*_compare('Panda', 'panda', path, (hand,), start),
            *_compare('Talos, both hands', 'talos', talos.path(), talos.hands, talos.start)]


def _state(model, middle, rng):
    """Return a random state near a posture, well within the limits of joints."""
    q = model.integrate(middle, rng.uniform(-0.2, 0.2, model.nv), 1.0)
    lower, upper = model.lower_position_limits, model.upper_position_limits
    for k in np.flatnonzero(np.isfinite(upper - lower)):
        margin = 0.2 * (upper[k] - lower[k])
        i = model.q_index[k]
        q[i] = min(max(q[i], lower[k] + margin), upper[k] - margin)
    return RobotState(model, q, 0.1 * rng.uniform(-1.0, 1.0, model.nv) * np.minimum(
        model.velocity_limits, 5.0))


def _compare(words, key, path, hands, start):
    model, rng = RobotModel.from_urdf_file(path), np.random.default_rng(0)
    middle = model.neutral()
    for name, value in start.items():
        middle[model.q_index[model.dof_index(name)]] = value
    states = [_state(model, middle, rng) for _ in range(_STATES)]
    tasks = partial(map, PoseTask, hands)
    bare, rejecting = (OperationalSpaceController(model, tasks()) for _ in range(2))
    limits = JointLimits(model, acceleration=1e4)  # none of which is met, nor efforts
    limited, overcoming, both = (
        OperationalSpaceController(model, tasks(), limits=limits, effort_limits=1e6)
        for _ in range(3))
    for controller in (rejecting, both):
        controller.disturbance = DisturbanceObserver(20.0, **_BOUNDS)
    for controller in (overcoming, both):
        controller.drive_friction = DriveFriction(model, coulomb=0.1, breakaway=0.2, viscous=0.1)
    observer, out = bare.momentum_observer(50.0), np.zeros(model.nv)
    theirs = pinocchio.buildModelFromUrdf(str(path))
    data = theirs.createData()
    inputs = [(theirs, data, pinocchio.randomConfiguration(theirs), rng.uniform(size=theirs.nv),
               rng.uniform(size=theirs.nv)) for _ in range(_STATES)]
    times = interleave({
        'bare': (bare.compute_torque, [(state, out) for state in states]),
        'rejecting': (rejecting.compute_torque, [(state, out) for state in states]),
        'limited': (limited.compute_torque, [(state, out) for state in states]),
        'overcoming': (overcoming.compute_torque, [(state, out) for state in states]),
        'both': (both.compute_torque, [(state, out) for state in states]),
        'update': (observer.update, [(state, out, 1e-3) for state in states]),
        'aba': (pinocchio.aba, inputs)}, _ROUNDS)
    return [
        Figure.ratio(f'observer.{key}.update', f'{words}: an update of `MomentumObserver` beside '
                     "one call of Pinocchio's `aba`", times['update'], times['aba']),
        Figure.ratio(f'observer.{key}.cycle', f'{words}: what `DisturbanceObserver` adds to a '
                     'cycle, beside the same', times['rejecting'] - times['bare'], times['aba'],
                     0.35),
        Figure.ratio(f'observer.{key}.friction', f'{words}: what `DriveFriction` adds to a cycle '
                     'with limits, beside the same', times['overcoming'] - times['limited'],
                     times['aba'], 0.35),
        Figure.ratio(f'observer.{key}.both', f'{words}: what both add to a cycle with limits, '
                     'beside the same', times['both'] - times['limited'], times['aba'], 0.35)]

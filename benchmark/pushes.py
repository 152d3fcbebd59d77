# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
How hands yield to a push of 20 N for a second, and how they return.

`python benchmark/pushes.py` prints a table; `--write` puts it in doc/measurements/disturbances.md.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from figures import put_into

import opspace_control
from opspace_control.cli.showcase.reality import FRICTION, PERIOD, arms, remedy, simulated
from opspace_control.simulation import Reality
from opspace_control.simulation.lockstep import LockStep

ROBOTS = 'panda', 'talos', 'tiago_dual'
BOUNDS = (0.0, 0.0), (5.0, 1.0), (10.0, 2.0), (20.0, 4.0), (60.0, 20.0)  # N and N·m
PUSH, PUSHED, AFTER = 20.0, 1.0, 2.0  # N, s, s
# Of the robots with the bounds of the node: friction that is known, and a load that is not, N.
NODE, KINDS = (10.0, 2.0), {'as its model': (0.0, 0.0), 'with friction, overcome': (FRICTION, 0.0),
                            'with a load of 5 N': (0.0, 5.0), 'with a load of 10 N': (0.0, 10.0)}
_SETTLING = 1.5  # s
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'disturbances.md'


def push(name, bounds, kind, direction):
    """
    Return how far a robot's first hand yields along a push, m, and how far beyond it returns.

    The second is a part of the first. ``bounds`` are those of the `DisturbanceObserver`, the kind
    is one of KINDS.
    """
    friction, load = KINDS[kind]
    robot = arms(name)
    model = opspace_control.RobotModel.from_urdf_file(robot.path(), locked_joints=robot.braked())
    plant = simulated(robot, model, Reality(coulomb_ratio=friction))
    controller = opspace_control.OperationalSpaceController(
        model, [opspace_control.PoseTask(hand) for hand in robot.hands],
        limits=opspace_control.JointLimits(model))
    remedy(controller, observer={
        'rate': 20.0, 'max_force': bounds[0], 'max_moment': bounds[1]}, friction=friction)
    controlled, along = LockStep(plant, controller), []
    for k in range(round((_SETTLING + PUSHED + AFTER) / PERIOD)):
        pushed = _SETTLING <= k * PERIOD < _SETTLING + PUSHED
        if k == round(_SETTLING / PERIOD):
            start = plant.frame_pose(robot.hands[0])[:3]
        force = PUSH * pushed * np.array(direction) - [0.0, 0.0, load]
        plant.apply_wrench(robot.hands[0], [*force, 0, 0, 0])
        controlled.cycle(PERIOD)
        plant.step()
        if k * PERIOD >= _SETTLING:
            along.append((plant.frame_pose(robot.hands[0])[:3] - start) @ direction)
    return max(along), max(-min(along), 0.0) / max(along)


def measure(case):
    """Return the row of a robot and bounds: the least and the most of six directions."""
    yields, beyond = zip(*(push(*case, sign * axis) for axis in np.eye(3) for sign in (1, -1)),
                         strict=True)
    name, bounds, kind = case
    bounds = '–' if bounds == (0.0, 0.0) else '{:g} N, {:g} N·m'.format(*bounds)
    return (f'| {name}, {kind} | {bounds} | {1e3 * min(yields):.0f} to {1e3 * max(yields):.0f} '
            f'| {100.0 * max(beyond):.0f} % |')


def main():
    """Print the table, and write it where it belongs if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--write', action='store_true', help=f'put the table in doc/{_PAGE.name}')
    arguments = parser.parse_args()
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(measure, [case for name in ROBOTS for case in (
            *((name, bounds, 'as its model') for bounds in BOUNDS),
            (name, BOUNDS[1], 'with friction, overcome'),
            *((name, NODE, kind) for kind in KINDS if kind != 'as its model'))]))
    text = '\n'.join(['| the robot | bounds | yields, mm | overshoot, at most |',
                      '|---|---|---:|---:|', *rows])
    print(text)
    if arguments.write:
        put_into(_PAGE, 'pushes', text)


if __name__ == '__main__':
    main()

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
False alarms of a robot that is not its model, before and after it is identified.

Thresholds are those that `opspace identify` writes, from the run by which the robot is identified;
other margins, too.

`python benchmark/collision_alarms.py` prints a table; `--write` puts it in
doc/measurements/disturbances.md.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from figures import put_into

from opspace_control import (
    DisturbanceObserver,
    DriveFriction,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.showcase.reality import PERIOD, REALITY, arms, random_goals, simulated
from opspace_control.identification import (
    collision_thresholds,
    identify,
    motion_samples,
    moving_residuals,
)
from opspace_control.identification.description import with_inertias
from opspace_control.simulation import Reality
from opspace_control.simulation.lockstep import LockStep
from opspace_control.spatial.rotations import matrix_from_vector

MINUTES = 10.0
MARGINS = 1.0, 1.25, 1.5, 2.0  # of the residuals of moving joints
RATE = 50.0                   # of the observer of the node, 1/s
SEEDS = 0, 1, 2
_LEARNING = 60.0              # s, of the recorded run that is identified
_GOAL = 2.5                   # s, between two goals
_PUSH, _LATEST = 60.0, 0.2    # N, s
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'disturbances.md'


class Arm:
    """A Panda of a `Reality` that goes from goal to goal, and an observer of external efforts."""

    def __init__(self, seed, known=None):
        robot = arms()
        self.text = known[0] if known else robot.path().read_text()
        self.model = RobotModel.from_urdf(self.text, locked_joints=robot.braked())
        truth = RobotModel.from_urdf_file(robot.path(), locked_joints=robot.braked())
        self.plant = simulated(robot, truth, Reality(**REALITY, seed=seed))
        self.free = ~self.model.locked
        self.limits = self.model.effort_limits[self.free]
        self.task = PoseTask(*robot.hands, max_linear_velocity=0.4, max_angular_velocity=1.5)
        controller = OperationalSpaceController(
            self.model, [self.task], limits=JointLimits(self.model))
        controller.disturbance = DisturbanceObserver(20.0, max_force=10.0, max_moment=2.0)
        if known:
            controller.drive_friction = DriveFriction(
                self.model, coulomb=known[1], viscous=known[2])
        self.observer, self._controlled = controller.momentum_observer(RATE), LockStep(
            self.plant, controller)
        start = RobotState(self.model, self.plant.positions, self.plant.velocities)
        self._home = self.model.forward_kinematics(start, self.task.frame)[self.task.frame]
        self._goals = iter(random_goals(2000))
        self._exerted, self._next = np.zeros(self.model.nv), 0

    def step(self, push=0.0):
        """Go on for a period; return the measured state, the efforts and the residual."""
        if self.plant.time >= self._next:
            self._next += _GOAL
            way, turn = next(self._goals)
            target = self._home.copy()
            target[:3, 3] += way
            target[:3, :3] = matrix_from_vector(turn) @ target[:3, :3]
            self.task.set_target(target)
        robot = self._controlled
        torque, friction = robot.cycle(PERIOD), robot.controller.drive_friction
        self.observer.update(robot.state, self._exerted, PERIOD)
        self._exerted = torque - (friction.effort if friction else 0.0)
        self.plant.apply_wrench(self.task.frame, [0.0, 0.0, -push, 0.0, 0.0, 0.0])
        self.plant.step()
        return robot.state.q.copy(), robot.state.v.copy(), torque, abs(self.observer.residual)


def learn(seed, identified):
    """
    Return what a recorded run tells of a robot, and thresholds by margin, (m, nv).

    What is told are the URDF text, Coulomb and viscous friction; None if it is not ``identified``.
    """
    arm = Arm(seed)
    q, v, efforts, _ = map(np.array, zip(*(
        arm.step() for _ in range(round(_LEARNING / PERIOD))), strict=True))
    time = PERIOD * np.arange(len(q))
    known, model, coulomb, viscous = None, arm.model, 0.0, 0.0
    if identified:
        found = identify(model, motion_samples(model, time, q, efforts), links=None)
        coulomb, viscous = np.nan_to_num([found.coulomb, found.viscous])
        known = with_inertias(arm.text, model, found.bodies), coulomb, viscous
        model = RobotModel.from_urdf(known[0], locked_joints=arms().braked())
    motion = SimpleNamespace(time=time, q=q, v=v, valid=np.ones(len(q), bool))
    residuals = moving_residuals(
        model, motion, efforts, rate=RATE, coulomb=coulomb, viscous=viscous)
    return known, np.array([
        collision_thresholds(residuals, coulomb, margin) for margin in MARGINS])


def soak(seed, identified, minutes):
    """
    Return the greatest residual, thresholds, alarms and reaction times.

    The residual and thresholds (m, nv) are in parts of effort limits, alarms are counted by margin.
    Times, s, are those by margin until a push of 60 N at the hand is told.
    """
    known, thresholds = learn(seed, identified)
    arm, greatest = Arm(seed, known), 0.0
    thresholds = thresholds[:, arm.free] / arm.limits
    alarms, beyond = np.zeros(len(MARGINS), int), np.zeros(len(MARGINS), bool)

    def residuals(push=0.0):
        return arm.step(push)[-1][arm.free] / arm.limits
    for _ in range(round(60.0 * minutes / PERIOD)):
        now = residuals()
        alarm = (now > thresholds).any(axis=1)
        alarms += alarm & ~beyond
        beyond, greatest = alarm, max(greatest, now.max())
    times = np.full(len(MARGINS), np.inf)
    for k in range(round(_LATEST / PERIOD)):
        told = (residuals(_PUSH) > thresholds).any(axis=1)
        times[told & np.isinf(times)] = (k + 1) * PERIOD
    return greatest, thresholds, alarms, times


def row(minutes, case):
    """Return the row of the table of a seed, and of whether the robot is identified."""
    greatest, thresholds, alarms, times = soak(*case, minutes)
    told = ' | '.join(
        f'{100.0 * row.min():.0f} to {100.0 * row.max():.0f} %: {count}'
        f'{f", {1e3 * time:.0f} ms" if not count else ""}'
        for row, count, time in zip(thresholds, alarms, times, strict=True))
    return (f'| {case[0]} | {"yes" if case[1] else "no"} | {100.0 * greatest:.1f} % '
            f'| {told} |')


def main():
    """Print the table, and write it where it belongs if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--minutes', type=float, default=MINUTES)
    parser.add_argument('--write', action='store_true', help=f'put the table in doc/{_PAGE.name}')
    arguments = parser.parse_args()
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(partial(row, arguments.minutes), [
            (seed, identified) for seed in SEEDS for identified in (False, True)]))
    margins = ' | '.join(f'alarms, margin {margin:g}' for margin in MARGINS)
    text = '\n'.join([f'| robot | identified | greatest residual | {margins} |',
                      f'|---:|---|{"---:|" * (1 + len(MARGINS))}', *rows])
    print(text)
    if arguments.write:
        put_into(_PAGE, 'alarms', text)


if __name__ == '__main__':
    main()

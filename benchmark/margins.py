# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Delays, rates and noise at which robots become unstable: simulated beside predicted.

`python benchmark/margins.py` prints the tables; `--write` puts them in doc/measurements/margins.md.
"""

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from figures import put_into

import opspace_control
from opspace_control.cli.showcase.reality import PERIOD, arms, simulated
from opspace_control.control.diagnosis.margins import longest_period, loop_margin
from opspace_control.control.planning import postures
from opspace_control.simulation import Reality

ROBOTS = 'panda', 'talos', 'tiago_dual'
LOOPS = (100.0, 0.0), (100.0, 20.0), (100.0, 80.0), (400.0, 0.0), (400.0, 20.0), (900.0, 20.0)
NOISE = 1e-3  # rad/s or m/s, of the velocities
SHARE = 0.05  # of an effort limit, the standard deviation of an effort that is too much
_SECONDS = 2.0
_STEP = 1e-3  # m, of the goals of all hands: small, so that no limit is near
_WINDOWS = 0.3, 0.6, 0.7  # parts of the time: of the first window, and from when on the last is
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'margins.md'


@dataclass(frozen=True)
class Loop:
    """A robot whose hands hold their poses."""

    robot: str
    kp: float    # 1/s²
    rate: float  # of the disturbance observer, 1/s; 0 for none

    @property
    def margin(self):
        """Of the tasks."""
        return loop_margin(self.kp, 2.0 * math.sqrt(self.kp), self.rate)

    def controller(self, limits=None):
        """Return the controller of a new model, and the model."""
        robot = arms(self.robot)
        model = opspace_control.RobotModel.from_urdf_file(
            robot.path(), locked_joints=robot.braked())
        controller = opspace_control.OperationalSpaceController(
            model, [opspace_control.PoseTask(hand, kp=self.kp) for hand in robot.hands],
            limits=limits and limits(model))
        if self.rate:
            controller.disturbance = opspace_control.DisturbanceObserver(
                self.rate, max_force=math.inf, max_moment=math.inf)
        return controller, model, robot

    def run(self, periods, hold=1, noise=0.0):
        """
        Return velocities and efforts, (k, nv), of hands whose goals step by a millimetre.

        States are late by a number of periods; an effort is kept for ``hold`` periods.
        """
        controller, model, robot = self.controller()
        plant = simulated(robot, model, Reality(
            state_delay=periods * PERIOD, velocity_noise=noise))
        state = opspace_control.RobotState(model, plant.positions, plant.velocities)
        for task, pose in zip(controller.tasks.values(), model.forward_kinematics(
                state, robot.hands).values(), strict=True):
            pose[:3, 3] += 0.0 if noise else _STEP
            task.set_target(pose)
        free, speeds, efforts = ~model.locked, [], []
        names = np.array(model.dof_names)[free]
        for k in range(round(_SECONDS / PERIOD)):
            seen = plant.measured
            if k % hold == 0:
                state.update(seen.positions, seen.velocities)
                torque = controller.compute_torque(state, dt=hold * PERIOD)[free]
            if not np.isfinite(torque).all() or abs(plant.velocities).max() > 10.0:
                speeds.append(np.full(model.nv, math.inf))
                break
            plant.set_effort(dict(zip(names, torque, strict=True)))
            plant.step()
            speeds.append(plant.velocities)
            efforts.append(torque / model.effort_limits[free])
        return np.array(speeds), np.array(efforts)

    def unstable(self, periods, hold=1):
        """Return whether the oscillation grows."""
        speeds = abs(self.run(periods, hold)[0]).max(axis=1)
        if len(speeds) < round(_SECONDS / PERIOD):
            return True
        first, end, last = (round(part * len(speeds)) for part in _WINDOWS)
        return speeds[last:].max() > speeds[first:end].max()

    def delay(self):
        """Return the loop time, s, above which the simulated loop is unstable."""
        expected = self.margin.delay / PERIOD
        return (_threshold(self.unstable, expected) + 0.5) * PERIOD

    @property
    def longest(self):
        """Of the periods of states that come late by a period, s: where the loop is stable."""
        return longest_period(self.kp, 2.0 * math.sqrt(self.kp), self.rate)

    def slowest(self):
        """Return between which rates of states, Hz, late by a period, the lowest stable one is."""
        periods = _threshold(lambda n: self.unstable(n, n), self.longest / PERIOD)
        return tuple(1.0 / (PERIOD * (periods + half)) for half in (0.5, -0.5))

    def noise(self):
        """Return the deviations of velocities that shake an effort by SHARE: predicted, found."""
        controller, model, robot = self.controller()
        state = opspace_control.RobotState(
            model, postures.named_posture(model, robot.start),
            np.zeros(model.nv))
        free = ~model.locked
        J = np.vstack([model.jacobian(state, hand) for hand in robot.hands])[:, free]
        A = model.mass_matrix(state)[np.ix_(free, free)]
        inertia = np.linalg.inv(J @ np.linalg.solve(A, J.T))
        tasks = J.T @ inertia @ J
        kd, damping = 2.0 * math.sqrt(self.kp) + self.rate, controller.posture.kd[free]
        shaken = kd * tasks + (A - tasks) * damping
        predicted = (np.linalg.norm(shaken, axis=1) / model.effort_limits[free]).max()
        found = self.run(0, noise=NOISE)[1]
        deviation = found[len(found) // 2:].std(axis=0).max() / NOISE
        return SHARE / predicted, SHARE / deviation


def _threshold(unstable, expected):
    """Return between which numbers of periods a loop becomes unstable, their mean."""
    low, high = max(1, math.floor(0.6 * expected)), math.ceil(1.5 * expected)
    if unstable(low) or not unstable(high):
        return math.nan
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if unstable(middle) else (middle, high)
    return 0.5 * (low + high)


def measure(loop):
    """Return the row of a `Loop`."""
    noise, (low, high) = loop.noise(), loop.slowest()
    return (f'| {loop.robot} | {loop.kp:g} | {loop.rate or "–":{"g" if loop.rate else ""}} '
            f'| {1e3 * loop.margin.delay:.1f} | {1e3 * loop.delay():.1f} '
            f'| {1.0 / loop.longest:.1f} | {low:.1f} to {high:.1f} '
            f'| {noise[0]:.3f} | {noise[1]:.3f} |')


def main():
    """Print the table, and write it where it belongs if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--write', action='store_true', help=f'put the table in doc/{_PAGE.name}')
    arguments = parser.parse_args()
    loops = [Loop(robot, *gains) for robot in ROBOTS for gains in LOOPS]
    print(f'{len(loops)} loops', file=sys.stderr, flush=True)
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(measure, loops))
    text = '\n'.join([
        '| the robot | kp, 1/s² | rate, 1/s | delay, ms: predicted | simulated '
        '| lowest rate of states, Hz: predicted | simulated '
        '| noise, rad/s: predicted | simulated |', f'|---|{"---:|" * 8}', *rows])
    print(text)
    if arguments.write:
        put_into(_PAGE, 'margins', text)


if __name__ == '__main__':
    main()

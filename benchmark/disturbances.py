# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
How near an arm comes to its goals when the robot is not its model, and what helps.

`python benchmark/disturbances.py` prints a table; `--write` puts it in
doc/measurements/disturbances.md. `--rates` has that of other rates of the observer, `--friction`
those of drive friction that is not known exactly.
"""

import argparse
import sys
import xml.etree.ElementTree as ET
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from figures import put_into
from singularity import BENT, ROBOTS

from opspace_control import (
    DisturbanceObserver,
    DriveFriction,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    RobotState,
)
from opspace_control.simulation import SimulatedRobot

ROBOT, GOALS, SECONDS, PERIOD = 'Panda', 6, 5.0, 1e-3
WAYS, TURNS, SPEEDS = (0.1, 0.3), (0.1, 0.6), (0.4, 1.5)  # m, rad, m/s and rad/s
RATE = 20.0                        # of the observer, 1/s
BOUNDS = {'max_force': 60.0, 'max_moment': 20.0}  # N, N m
RATES = 5.0, 10.0, 20.0, 40.0, 80.0, 160.0
FRICTION = 0.03                    # Coulomb's, of each joint, in parts of its effort limit
SHARES = 0.7, 1.0, 1.2             # of the friction that is overcome
ARRIVED = 1e-3, np.radians(0.1)    # m, rad
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'disturbances.md'


@dataclass(frozen=True)
class Reality:
    """How the robot differs from its model."""

    name: str
    masses: float = 0.0    # standard deviation of the mass of each link, in parts of it
    friction: float = 0.0  # Coulomb's, of each joint, in parts of its effort limit
    noise: float = 0.0     # standard deviation of measured velocities, rad/s
    delay: int = 0         # of the state, periods


REALITIES = (
    Reality('nominal'),
    Reality('masses wrong by 10 %', masses=0.1),
    Reality('Coulomb friction of 3 %', friction=FRICTION),
    Reality('both, noise of 0.01 rad/s, delay of 2 ms', 0.1, FRICTION, 0.01, 2))


@dataclass(frozen=True)
class Remedy:
    """What the controller does about it."""

    rate: float = 0.0      # of the observer, 1/s; 0 for none
    share: float = 0.0     # of FRICTION that is overcome
    numbers: tuple = ()    # of `DriveFriction`: pairs of a name and a value

    @property
    def name(self):
        """In the columns of the table."""
        numbers = ''.join(f', {name} {value:g}' for name, value in self.numbers)
        return ' | '.join(f'{value:g}' if value else '–' for value in (
            self.rate, self.share)) + numbers


@dataclass(frozen=True)
class Outcome:
    """What came of one goal; infinite if the simulation ended early."""

    left: float     # m, to the goal, mean of the last tenth of a second
    turned: float   # rad, likewise
    arrival: float  # s, from when on the errors stay within ARRIVED; inf for never
    step: float     # largest change of an effort in a ms in the last second, in parts of its limit


def real_robot(text, reality, seed):
    """Return the URDF of a robot whose links and joints are not those of its model."""
    rng, robot = np.random.default_rng(seed), ET.fromstring(text)
    for inertial in robot.iter('inertial'):
        factor = max(1.0 + reality.masses * rng.standard_normal(), 0.5)
        for element, names in ((inertial.find('mass'), ('value',)), (
                inertial.find('inertia'), ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'))):
            for name in names:
                element.set(name, repr(factor * float(element.get(name))))
    for joint in robot.iter('joint'):
        limit = joint.find('limit')
        for dynamics in joint.findall('dynamics'):
            joint.remove(dynamics)
        if limit is not None:
            friction = reality.friction * float(limit.get('effort'))
            ET.SubElement(joint, 'dynamics', damping='0', friction=repr(friction))
    return ET.tostring(robot, encoding='unicode')


def random_goals(count):
    """Return translations (3,), m, and rotation vectors (3,), rad, from where the hand is."""
    rng = np.random.default_rng(0)
    return [[length * x / np.linalg.norm(x) for x, length in (
        (rng.normal(size=3), rng.uniform(*WAYS)), (rng.normal(size=3), rng.uniform(*TURNS)))]
        for _ in range(count)]


def seek(reality, remedy, number, goal):
    """Send the hand to a goal; return the `Outcome`."""
    path, hand, _ = ROBOTS[ROBOT]
    braked = [name for name in RobotModel.from_urdf_file(path).dof_names if 'finger' in name]
    model = RobotModel.from_urdf_file(path, locked_joints=braked)
    plant = SimulatedRobot(real_robot(path.read_text(), reality, number), timestep=PERIOD,
                           locked_joints=braked)
    plant.reset(positions=dict(zip(model.dof_names, BENT[ROBOT], strict=False)))
    task = PoseTask(hand, max_linear_velocity=SPEEDS[0], max_angular_velocity=SPEEDS[1])
    controller = OperationalSpaceController(model, [task], limits=JointLimits(model))
    free = ~model.locked
    if remedy.rate:
        controller.disturbance = DisturbanceObserver(remedy.rate, **BOUNDS)
    if remedy.share:
        controller.drive_friction = DriveFriction(
            model, coulomb=remedy.share * FRICTION * np.where(free, model.effort_limits, 0.0),
            **dict(remedy.numbers))
    state = RobotState(model, plant.positions, plant.velocities)
    target = model.forward_kinematics(state, hand)[hand].copy()
    target[:3, 3] += goal[0]
    target[:3, :3] = rotation(goal[1]) @ target[:3, :3]
    task.set_target(target)
    rng, seen, efforts, errors = np.random.default_rng(number), deque(), [], []
    for _ in range(round(SECONDS / PERIOD)):
        noise = reality.noise * rng.standard_normal(model.nv) * free
        seen.append((plant.positions.copy(), plant.velocities + noise))
        if len(seen) > reality.delay + 1:
            seen.popleft()
        state.update(*seen[0])
        efforts.append(controller.compute_torque(state, dt=PERIOD))
        plant.set_effort(efforts[-1])
        plant.step()
        here = model.forward_kinematics(RobotState(model, plant.positions, 0.0 * state.v), hand)
        errors.append((np.linalg.norm(target[:3, 3] - here[hand][:3, 3]), angle(
            target[:3, :3].T @ here[hand][:3, :3])))
    errors, last = np.array(errors), round(0.1 / PERIOD)
    outside = np.flatnonzero((errors > ARRIVED).any(axis=1))
    arrival = PERIOD * (outside[-1] + 1) if outside.size and outside[-1] + 1 < len(errors) else (
        np.inf if outside.size else 0.0)
    steps = abs(np.diff(efforts[-round(1.0 / PERIOD):], axis=0))[:, free]
    return Outcome(*errors[-last:].mean(axis=0), arrival,
                   (steps / model.effort_limits[free]).max())


def rotation(vector):
    """Return the rotation matrix of a rotation vector (3,), rad."""
    size = np.linalg.norm(vector)
    x, y, z = vector / size
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(size) * K + (1.0 - np.cos(size)) * K @ K


def angle(R):
    """Return the angle of a rotation matrix, rad."""
    return float(np.arctan2(0.5 * np.linalg.norm(
        [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]), 0.5 * (np.trace(R) - 1.0)))


def measure(pool, goals, cases):
    """Return (Reality, Remedy, outcomes of all goals) for each case of a Reality and a Remedy."""
    runs = [(*case, [pool.submit(partial(seek, *case), number, goal)
                     for number, goal in enumerate(goals)]) for case in cases]
    return [(*case, [run.result() for run in started]) for *case, started in runs]


def table(rows):
    """Return a table of (Reality, Remedy, outcomes) in Markdown."""
    def spread(outcomes, name, scale):
        values = sorted(scale * getattr(outcome, name) for outcome in outcomes)
        return f'{values[0]:.2f} to {values[-1]:.2f}'
    lines = []
    for reality, remedy, outcomes in rows:
        arrived = [outcome.arrival for outcome in outcomes if outcome.arrival < np.inf]
        lines.append(
            f'| {reality.name} | {remedy.name} '
            f'| {spread(outcomes, "left", 1e3)} | {spread(outcomes, "turned", 180.0 / np.pi)} '
            f'| {len(arrived)} of {len(outcomes)}{f", {max(arrived):.1f} s" if arrived else ""} '
            f'| {100.0 * max(outcome.step for outcome in outcomes):.1f} % |')
    return '\n'.join([
        '| the robot | rate, 1/s | friction overcome | left, mm | left, degrees '
        '| arrived, the last | largest step of an effort |',
        f'|---|{"---:|" * 6}', *lines])


def cases_of(name):
    """Return the pairs of a Reality and a Remedy of a table."""
    if name == 'rates':
        return [(reality, Remedy(rate)) for reality in REALITIES for rate in RATES]
    nominal, _, friction, all_of_it = REALITIES
    if name == 'friction':
        numbers = [()] + [((quantity, value),) for quantity, values in (
            ('horizon', (0.1, 0.2, 0.8)), ('slip_velocity', (0.02, 0.05, 0.2)))
            for value in values]
        return [(reality, Remedy(RATE, share, changed)) for changed in numbers
                for share in SHARES for reality in (nominal, friction, all_of_it)]
    return [(reality, Remedy(rate, share)) for reality in REALITIES
            for share in ((0.0, 1.0) if reality.friction else (0.0,)) for rate in (0.0, RATE)]


def main():
    """Print the tables, and write them where they belong if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--goals', type=int, default=GOALS)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument('--rates', action='store_true', help='other rates, of all four robots')
    kinds.add_argument('--friction', action='store_true', help='other numbers of drive friction')
    parser.add_argument('--write', action='store_true', help=f'put the table in doc/{_PAGE.name}')
    arguments = parser.parse_args()
    name = 'rates' if arguments.rates else 'friction' if arguments.friction else 'disturbances'
    cases = cases_of(name)
    with ProcessPoolExecutor(2) as pool:
        print(f'{len(cases)} cases, {arguments.goals} goals', file=sys.stderr, flush=True)
        text = table(measure(pool, random_goals(arguments.goals), cases))
    print(text)
    if arguments.write:
        put_into(_PAGE, name, text)


if __name__ == '__main__':
    main()

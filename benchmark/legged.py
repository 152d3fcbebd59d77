# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Quadrupeds on a floor with friction: how fast they go, how level, and what makes them fall.

`python benchmark/legged.py` prints three tables: of courses on level ground, of shoves, slopes and
steps, and of what half and double of each constant do; `--write` puts them in
doc/measurements/legged_robots.md. Robot and controller are in lock-step, noise has a seed.
"""

import argparse
import inspect
import itertools
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import mujoco
import numpy as np
from figures import put_into
from legged_disturbances import measure_disturbances, started

from opspace_control.cli.showcase.legged_scene import FRICTION, LeggedScene, tilt
from opspace_control.locomotion import Stepping, legged_tasks

SECONDS = 3.0             # of a course, unless it says otherwise
PROCESSES = 2
_SPEEDS = slice(2, 5)     # of the reports: ahead, to the left, yaw
_SPEED, _EFFORT = 5, 6
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'legged_robots.md'


@dataclass(frozen=True)
class Course:
    """A gait of a robot, at a velocity (ahead, to the left, m/s, and yaw rate, rad/s)."""

    robot: str
    gait: str
    command: tuple
    seconds: float = SECONDS
    noise: bool = False
    friction: float = FRICTION
    elliptic: bool = False
    constants: dict = field(default_factory=dict)  # other than usual, as in CONSTANTS

    @property
    def axis(self):
        """Which of the three velocities is commanded."""
        return int(np.argmax(np.abs(self.command)))

    def told(self):
        """Return the command in words."""
        return f'{max(self.command):g} ' + ('m/s', 'm/s to the left', 'rad/s')[self.axis]

    def conditions(self):
        """Return the conditions in words."""
        return ', '.join([
            f'{self.seconds:g} s', *(['noise'] if self.noise else []),
            *([f'friction {self.friction:g}'] if self.friction != FRICTION else []),
            *(['elliptic cones'] if self.elliptic else [])])


COURSES = (
    Course('b1', 'running_trot', (3.6, 0.0, 0.0), 20.0, noise=True, friction=0.6),
    Course('b1', 'running_trot', (3.6, 0.0, 0.0), 20.0, noise=True, friction=0.8, elliptic=True),
    Course('b1', 'running_trot', (4.5, 0.0, 0.0), 20.0, noise=True),
    Course('b1', 'running_trot', (4.75, 0.0, 0.0), 20.0),
    Course('go2', 'running_trot', (2.5, 0.0, 0.0), 20.0, noise=True),
    Course('go2', 'running_trot', (2.75, 0.0, 0.0), 20.0),
    *(Course(robot, gait, command, noise=gait == 'running_trot') for robot in ('b1', 'go2')
      for gait, command in (
          ('running_trot', (0.0, 0.8, 0.0)), ('running_trot', (0.0, 0.0, 2.0)),
          ('trot', (1.5, 0.0, 0.0)), ('walk', (0.5, 0.0, 0.0)), ('pronk', (1.0, 0.0, 0.0)),
          ('bound', (2.0, 0.0, 0.0)))),
    Course('go2', 'walk', (0.4, 0.0, 0.0)),
)
# The courses on which constants are varied: numbers of `Stepping`, and gains of `legged_tasks`.
VARIED = tuple(Course(robot, 'running_trot', (speed, 0.0, 0.0), 6.0, noise=True)
               for robot, speed in (('b1', 3.6), ('go2', 2.5)))
FACTORS = 0.5, 1.0, 2.0
_STEPPING = asdict(Stepping())
CONSTANTS = {name: value for name, value in _STEPPING.items()
             if name not in {'acceleration', 'rise_rate'}} | {
    name: gain.default for name, gain in inspect.signature(legged_tasks).parameters.items()
    if gain.kind == gain.KEYWORD_ONLY}


@dataclass(frozen=True)
class Outcome:
    """What came of a `Course`."""

    speed: float        # along the command's axis, m/s or rad/s
    tilt: float         # RMS, degrees
    joint_speed: float  # the greatest of any joint, in parts of its limit
    effort: float       # likewise
    fallen: bool


def go(course):
    """Return the `Outcome` of a `Course`."""
    scene = LeggedScene(course.robot, noise=float(course.noise), delay=2 * course.noise,
                        friction=course.friction,
                        stepping=replace(Stepping(), **{
                            name: value for name, value in course.constants.items()
                            if name in _STEPPING}),
                        tasks={name: value for name, value in course.constants.items()
                               if name not in _STEPPING})
    if course.elliptic:
        scene.robot.simulated.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    started(scene, course.gait, course.command)
    reports = scene.run(course.seconds)
    return Outcome(reports[:, _SPEEDS].mean(axis=0)[course.axis], tilt(reports),
                   reports[:, _SPEED].max(), reports[:, _EFFORT].max(), scene.fallen)


def course_table(rows):
    """Return a table of (Course, Outcome) in Markdown."""
    return '\n'.join([
        '| robot, gait | told | | speed | tilt, RMS | joint speed | effort |',
        '|---|---|---|---:|---:|---:|---:|', *itertools.starmap(_course_row, rows)])


def _course_row(course, outcome):
    head = f'| `{course.robot}`, {course.gait} | {course.told()} | {course.conditions()}'
    if outcome.fallen:
        return f'{head} | falls' + ' |' * 4
    return (f'{head} | {outcome.speed:.2f} | {outcome.tilt:.2f}° | {outcome.joint_speed:.2f} '
            f'| {outcome.effort:.2f} |')


def measure_constants(pool):
    """Return the table of the tilt with half and double of each constant."""
    outcomes = {(course.robot, name, factor): pool.submit(go, replace(
        course, constants={name: factor * CONSTANTS[name]}))
        for course in VARIED for name in CONSTANTS for factor in FACTORS if factor != 1.0}
    usual = {course.robot: pool.submit(go, course) for course in VARIED}

    def cell(robot, name, factor):
        outcome = outcomes.get((robot, name, factor), usual[robot]).result()
        return 'falls' if outcome.fallen else f'{outcome.tilt:.2f}'

    heads = ' | '.join(f'`{course.robot}`: half | as it is | double' for course in VARIED)
    return '\n'.join([
        f'| constant | {heads} |', '|---' + '|---:' * len(FACTORS) * len(VARIED) + '|',
        *(f'| `{name}` = {value:g} | ' + ' | '.join(
            cell(course.robot, name, factor) for course in VARIED for factor in FACTORS) + ' |'
          for name, value in CONSTANTS.items())])


def main():
    """Print the tables, and write them where they belong if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--write', action='store_true', help=f'put the tables in {_PAGE}')
    arguments = parser.parse_args()
    with ProcessPoolExecutor(PROCESSES) as pool:
        courses = pool.map(go, COURSES)
        rows = list(zip(COURSES, courses, strict=True))
        tables = {'legged_courses': course_table(rows),
                  'legged_disturbances': measure_disturbances(pool),
                  'legged_constants': measure_constants(pool)}
    for name, text in tables.items():
        print(text)
        if arguments.write:
            put_into(_PAGE, name, text)


if __name__ == '__main__':
    main()

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
import math
import os
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import mujoco
import numpy as np
from figures import put_into

from opspace_control.cli.showcase.legged_scene import FRICTION, LeggedScene, tilt
from opspace_control.locomotion import Stepping, legged_tasks
from opspace_control.simulation import Box

SECONDS = 3.0             # of a course, unless it says otherwise
SETTLE = 0.8              # s, after the command is reached
SHOVE, SIDES = 0.5, 8     # m/s, number of directions
AFTER = 2.0               # s, from a shove until the robot counts as standing
SHOVED_AT = 0.0, 2.0      # m/s
TERRAIN_AT = 0.5, 1.5     # m/s
SLOPE = math.radians(5.0)
STEPS = (1.0, 1.6), (2.2, 2.9), (3.2, 3.6)  # m, where they begin and end
STEP_HEIGHT = 0.03        # m
FAR = 4.0                 # m, what is to be covered on slopes and steps
PROCESSES = 2
_SPEEDS = slice(2, 5)     # of the reports: ahead, to the left, yaw
_SPEED, _EFFORT = 5, 6
_FELL = 2                 # status of a process whose robot has fallen
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
TROTS = tuple(itertools.product(('b1', 'go2'), ('trot', 'running_trot')))


@dataclass(frozen=True)
class Outcome:
    """What came of a `Course`."""

    speed: float        # along the command's axis, m/s or rad/s
    tilt: float         # RMS, degrees
    joint_speed: float  # the greatest of any joint, in parts of its limit
    effort: float       # likewise
    fallen: bool


def started(scene, gait, command):
    """Let a robot go in a gait, until the velocity has settled at the command."""
    scene.run(0.2)
    scene.locomotion.gait = gait
    scene.run(0.4)
    scene.locomotion.command(*command)
    scene.run(max(map(abs, command)) / scene.locomotion.stepping.acceleration + SETTLE)


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


def stands_after(scene, size, side):
    """
    Return whether a robot does not fall if it is shoved, m/s, from a side, a number below SIDES.

    That happens in a fork of the process: the scene stays as it is. An OSError tells that the fork
    ended otherwise.
    """
    fork = os.fork()
    if fork == 0:
        try:
            angle = 2.0 * math.pi * side / SIDES
            scene.shove(size * math.cos(angle), size * math.sin(angle))
            scene.run(AFTER)
            os._exit(_FELL if scene.fallen else 0)
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
    if code not in (0, _FELL):
        raise OSError(f'A shove of {size} m/s from side {side} ended with {code}.')
    return code == 0


def stands_after_each(scene, sizes):
    """Return the sides from which shoves are withstood, {size: [bool]}, each at another phase."""
    seen = {size: [] for size in sizes}
    for side in range(SIDES):
        for size in sizes:
            seen[size].append(stands_after(scene, size, side))
        scene.run(0.03)
    return seen


def withstood(robot, gait, speed):
    """Return for each side whether a robot withstands a shove from there, [bool]."""
    scene = LeggedScene(robot)
    started(scene, gait, (speed, 0.0, 0.0))
    return stands_after_each(scene, (SHOVE,))[SHOVE]


def slope():
    """Return a slope that goes up ahead, in a tuple."""
    length, thick, c, s = 8.0, 0.2, math.cos(SLOPE), math.sin(SLOPE)
    pose = (1.0 + 0.5 * (c * length + s * thick), 0.0, 0.5 * (s * length - c * thick),
            0.0, -math.sin(0.5 * SLOPE), 0.0, math.cos(0.5 * SLOPE))
    return Box('slope', (length, 4.0, thick), 1.0, pose, fixed=True, friction=FRICTION),


def steps():
    """Return the steps, a tuple."""
    return tuple(
        Box(f'step_{begin}', (end - begin, 4.0, 0.5), 1.0,
            (0.5 * (begin + end), 0.0, STEP_HEIGHT - 0.25, 0.0, 0.0, 0.0, 1.0), fixed=True,
            friction=FRICTION) for begin, end in STEPS)


def crosses(robot, gait, speed, terrain):
    """Return whether a robot that does not know of the terrain covers it and does not fall."""
    scene = LeggedScene(robot, objects=terrain())
    started(scene, gait, (speed, 0.0, 0.0))
    simulated = scene.robot.simulated
    while simulated.base_pose[0] < FAR and not scene.fallen and simulated.time < 20.0:
        scene.run(0.1)
    return bool(simulated.base_pose[0] >= FAR and not scene.fallen)


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


def disturbance_table(rows):
    """Return a table of (robot, gait, shoves withstood at each speed, terrain crossed)."""
    heads = [*(f'shoved at {speed:g} m/s' for speed in SHOVED_AT),
             *(f'{what} at {speed:g} m/s' for what in ('slope', 'steps') for speed in TERRAIN_AT)]
    return '\n'.join([
        '| robot, gait | ' + ' | '.join(heads) + ' |', '|---' * (1 + len(heads)) + '|',
        *(f'| `{robot}`, {gait} | ' + ' | '.join(
            [*(f'{sum(sides)} of {len(sides)}' for sides in shoves),
             *('crosses' if done else 'falls' for done in crossed)]) + ' |'
          for robot, gait, shoves, crossed in rows)])


def measure_disturbances(pool):
    """Return the table of shoves, slopes and steps."""
    shoves = {(*trot, speed): pool.submit(withstood, *trot, speed)
              for trot in TROTS for speed in SHOVED_AT}
    terrain = {trot: [pool.submit(crosses, *trot, speed, what)
                      for what in (slope, steps) for speed in TERRAIN_AT] for trot in TROTS}
    return disturbance_table(
        [(*trot, [shoves[(*trot, speed)].result() for speed in SHOVED_AT],
          [each.result() for each in terrain[trot]]) for trot in TROTS])


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

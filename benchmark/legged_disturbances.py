# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
What makes quadrupeds fall: shoves, slopes, steps, standing up; the second table of `legged`.

All with noise and delay of the state. Friction has elliptic cones: those of pyramids, which MuJoCo
has else, are by √2 smaller between their edges, and a foot slips there that the law holds.
"""

import itertools
import math
import os
import struct
import traceback

import mujoco
import numpy as np

from opspace_control.cli.robots import FEET
from opspace_control.cli.showcase.legged_scene import FRICTION, LeggedScene
from opspace_control.simulation import Box

SETTLE = 0.8              # s, after the command is reached
SHOVE, SIDES = 0.5, 8     # m/s, number of directions
AFTER = 2.0               # s, from a shove until the robot counts as standing
SHOVED_AT = 0.0, 2.0      # m/s
TERRAIN_AT = 0.5, 1.5     # m/s
SLOPE = math.radians(5.0)
STEPS = (1.0, 1.6), (2.2, 2.9), (3.2, 3.6)  # m, where they begin and end
STEP_HEIGHT = 0.03        # m
FAR = 4.0                 # m, what is to be covered on slopes and steps
# rad, of a robot that lies on folded legs, and m, the height of its trunk.
FOLDED = {'hip': 0.0, 'thigh': 1.3, 'calf': -2.55}
LYING = {'b1': 0.245, 'go2': 0.147}
RISE, STOP = 2.5, 2.0     # s, until it has to stand, from lying and from a command of zero
AT_REST = 0.03, 0.05      # m from the height of the stance; m/s and rad/s of the trunk
TROTS = tuple(itertools.product(('b1', 'go2'), ('trot', 'running_trot')))
_SPEED = 5                # of the reports


def started(scene, gait, command):
    """Let a robot go in a gait, until the velocity has settled at the command."""
    scene.run(0.2)
    scene.locomotion.gait = gait
    scene.run(0.4)
    scene.locomotion.command(*command)
    scene.run(max(map(abs, command)) / scene.locomotion.stepping.acceleration + SETTLE)


def scene_of(robot, **options):
    """Return the `LeggedScene` of a robot, with noise, delay and elliptic friction cones."""
    scene = LeggedScene(robot, noise=1.0, delay=2, **options)
    scene.robot.simulated.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    return scene


def speed_after(scene, size, side):
    """
    Return the greatest joint speed after a shove, m/s, from a side, a number below SIDES.

    It is in parts of its limit, inf if the robot falls. That happens in a fork of the process: the
    scene stays as it is. An OSError tells that the fork failed.
    """
    receive, send = os.pipe()
    fork = os.fork()
    if fork == 0:
        try:
            angle = 2.0 * math.pi * side / SIDES
            scene.shove(size * math.cos(angle), size * math.sin(angle))
            os.write(send, struct.pack('d', greatest_speed(scene, scene.run(AFTER))))
            os._exit(0)
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(send)
    with open(receive, 'rb') as stream:
        told = stream.read()
    code = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
    if code != 0:
        raise OSError(f'A shove of {size} m/s from side {side} ended with {code}.')
    return struct.unpack('d', told)[0]


def greatest_speed(scene, reports):
    """Return the greatest joint speed of reports, in parts of its limit, inf after a fall."""
    return math.inf if scene.fallen else float(reports[:, _SPEED].max())


def speeds_after_each(scene, sizes):
    """Return what `speed_after` does of all sides, {size: [float]}, each at another phase."""
    seen = {size: [] for size in sizes}
    for side in range(SIDES):
        for size in sizes:
            seen[size].append(speed_after(scene, size, side))
        scene.run(0.03)
    return seen


def shoved(robot, gait, speed):
    """Return the greatest joint speeds after shoves from each side, [float]."""
    scene = scene_of(robot)
    started(scene, gait, (speed, 0.0, 0.0))
    return speeds_after_each(scene, (SHOVE,))[SHOVE]


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
    """Return the greatest joint speed, inf if a robot falls or stays on terrain it is not told."""
    scene = scene_of(robot, objects=terrain())
    started(scene, gait, (speed, 0.0, 0.0))
    simulated = scene.robot.simulated
    while simulated.base_pose[0] < FAR and not scene.fallen and simulated.time < 20.0:
        scene.run(0.1)
    arrived = simulated.base_pose[0] >= FAR
    return greatest_speed(scene, np.array(scene.reports)) if arrived else math.inf


def rises(robot, gait):
    """Return the greatest joint speed of a robot that stands up, goes and stops, inf if not."""
    folded = {f'{foot[:2]}_{joint}_joint': angle for foot in FEET
              for joint, angle in FOLDED.items()}
    scene = scene_of(robot, posture=folded, height=LYING[robot])
    scene.run(RISE)
    stood = _stands(scene)
    if stood:
        started(scene, gait, (1.0, 0.0, 0.0))
        scene.locomotion.command(0.0)
        scene.run(STOP)
        scene.locomotion.gait = 'stand'
        scene.run(STOP)
    stood = stood and _stands(scene)
    return greatest_speed(scene, np.array(scene.reports)) if stood else math.inf


def _stands(scene):
    """Return whether a robot stands at its height, at rest."""
    simulated, stance = scene.robot.simulated, scene.locomotion.stance
    foot = min(simulated.frame_pose(name)[2] for name in FEET)
    return bool(abs(simulated.base_pose[2] - foot - stance.height) < AT_REST[0]
                and abs(simulated.base_twist).max() < AT_REST[1])


def disturbance_table(rows):
    """Return a table of (robot, gait, speeds after shoves, on terrain, and of rising)."""
    heads = [*(f'shoved at {speed:g} m/s' for speed in SHOVED_AT),
             *(f'{what} at {speed:g} m/s' for what in ('slope', 'steps') for speed in TERRAIN_AT),
             'stands up, goes, stops', 'joint speed']
    return '\n'.join([
        '| robot, gait | ' + ' | '.join(heads) + ' |', '|---' * len(heads) + '|---|---:|',
        *(f'| `{robot}`, {gait} | ' + ' | '.join(
            [*(f'{sum(map(math.isfinite, sides))} of {len(sides)}' for sides in shoves),
             *('crosses' if math.isfinite(each) else 'fails' for each in terrain),
             'yes' if math.isfinite(rising) else 'no', _greatest(*shoves, terrain, [rising])])
          + ' |' for robot, gait, shoves, terrain, rising in rows)])


def _greatest(*groups):
    """Return the greatest joint speed of those that did not fall, as text."""
    return f'{max(filter(math.isfinite, itertools.chain(*groups)), default=math.nan):.2f}'


def measure_disturbances(pool):
    """Return the table of shoves, slopes, steps, and of standing up."""
    shoves = {(*trot, speed): pool.submit(shoved, *trot, speed)
              for trot in TROTS for speed in SHOVED_AT}
    terrain = {trot: [pool.submit(crosses, *trot, speed, what)
                      for what in (slope, steps) for speed in TERRAIN_AT] for trot in TROTS}
    rising = {trot: pool.submit(rises, *trot) for trot in TROTS}
    return disturbance_table(
        [(*trot, [shoves[(*trot, speed)].result() for speed in SHOVED_AT],
          [each.result() for each in terrain[trot]], rising[trot].result()) for trot in TROTS])

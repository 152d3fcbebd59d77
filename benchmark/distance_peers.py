# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Distances of links beside those of placo and OSCBF: two hands at random goals, MuJoCo as judge.

`python benchmark/distance_peers.py` prints a table; `--write` puts it in
doc/measurements/distances.md. Robots, shapes and goals are those of `kept_distances.py`; OSCBF has
spheres for dual_arm alone. Times are those of the processor, with all threads of the program, so
that what else runs counts less. placo brings a Pinocchio of its own, and frax its JAX, so they need
an environment of their own, with this package on the path; the program names the peers that are not
installed, and how to install them.
"""

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from figures import put_into
from hand_goals import KP, MARGIN, PERIOD, POSTURE_KP, SPEED, TURNING, Hands, robots

from opspace_control import (
    DistanceLimits,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotState,
)
from opspace_control.simulation import SimulatedRobot
from opspace_control.simulation.distance_judge import DistanceJudge
from opspace_control.spatial.rotations import vector_from_matrix

GOALS, SECONDS = 20, 6.0
FEWER = {'Talos': 10, 'TIAGo dual': 5}  # goals of robots that take placo long
FULL = 'dual_arm'  # the robot of OSCBF's spheres, and of placo's own weight of efforts
REACHED, NEARLY = (1e-3, 1e-2), (1e-2, 1e-1)  # m and rad
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'distances.md'


class Ours:
    """This package's controller."""

    def __init__(self, hands, goals):
        model = hands.model
        tasks = [PoseTask(hand, kp=KP, max_linear_velocity=SPEED, max_angular_velocity=TURNING)
                 for hand in hands.robot.hands]
        self._controller = OperationalSpaceController(
            model, tasks, PostureTask(target=hands.q, kp=POSTURE_KP), limits=JointLimits(model),
            distances=DistanceLimits(hands.collision, margin=MARGIN))
        self._controller.warm_up()
        for task in tasks:
            task.set_target(goals[task.frame])

    def torque(self, state):
        """Return efforts (nv,) and how long they took, s."""
        begun = time.process_time()
        effort = self._controller.compute_torque(state, dt=PERIOD)
        return effort, time.process_time() - begun


def peers():
    """Return what makes contenders of `Hands`, by peer, and the names of what is not installed."""
    found, missing = {}, []
    for module, name in (('placo_peer', 'Placo'), ('oscbf_peer', 'Oscbf')):
        try:
            found[name] = getattr(import_module(module), name)
        except ImportError as error:
            missing.append(error.name)
    return found, missing


def contenders(hands, found):
    """Return what makes controllers of goals, by name, of these peers and ours."""
    made = {'opspace_control': partial(Ours, hands)}
    if 'Placo' in found:
        made['placo'] = partial(found['Placo'], hands)
        if hands.robot.name == FULL:
            made['placo, efforts weigh 1e-3'] = partial(found['Placo'], hands, effort_weight=1e-3)
    if 'Oscbf' in found and hands.robot.name == FULL:
        for joints_between in (3, 2):
            oscbf = found['Oscbf'](hands, joints_between)
            made[f'OSCBF, {oscbf.pairs} pairs of spheres'] = oscbf.seek
    return made


def seek(make, hands, goals):
    """Return the farther hand's error, m and rad, least distance, m, cycles lost, times (k,), s."""
    model, text = hands.model, hands.robot.path.read_text()
    simulated = SimulatedRobot(text, joint_friction=False, locked_joints=hands.robot.braked)
    simulated.reset(positions=hands.robot.start)
    dofs = [model.dof_index(name) for name in simulated.joint_names]
    q, v = hands.q.copy(), np.zeros(model.nv)
    judge, least, lost = DistanceJudge(simulated, hands.collision), np.inf, 0
    controller, state, times = make(goals), RobotState(model, q, v), []
    effort = np.zeros(model.nv)
    for _ in range(round(SECONDS / PERIOD)):
        found, elapsed = controller.torque(state)
        times.append(elapsed)
        lost += found is None
        effort = effort if found is None else found
        simulated.set_effort(effort[dofs])
        simulated.step()
        q[model.q_index[dofs]], v[dofs] = simulated.positions, simulated.velocities
        state.update(q, v)
        least = judge.least(least)
    here = hands.poses(q)
    error = np.max([(np.linalg.norm(here[hand][:3, 3] - goals[hand][:3, 3]), np.linalg.norm(
        vector_from_matrix(here[hand][:3, :3].T @ goals[hand][:3, :3]))) for hand in here], axis=0)
    return error, least, lost, np.array(times)


def measured(robot):
    """Return (name of the robot, contender, list of `seek`) of each contender."""
    hands = Hands(robot)
    made = contenders(hands, peers()[0])
    outcomes = {name: [] for name in made}
    for goals in hands.random_goals(FEWER.get(robot.name, GOALS)):
        for name, make in made.items():
            outcomes[name].append(seek(make, hands, goals))
            print(robot.name, name, *outcomes[name][-1][:3], file=sys.stderr, flush=True)
    return [(robot.name, name, found) for name, found in outcomes.items()]


def table(results):
    """Return a table of (robot, contender, list of `seek`) in Markdown."""
    rows = [f'{SECONDS:g} s for each goal, seed 0; the margin is {1e3 * MARGIN:g} mm:', '',
            '| | | goals | within 1 mm and 0.01 rad | within 10 mm and 0.1 rad '
            '| least distance, mm | cycles without a solution | cycle, µs, median '
            '| its 99th percentile |', '|---|---' + '|---:' * 7 + '|']
    for robot, name, found in results:
        errors, least, lost, times = zip(*found, strict=True)
        reached = [sum(bool((error < most).all()) for error in errors)
                   for most in (REACHED, NEARLY)]
        median, high = 1e6 * np.percentile(np.concatenate(times), (50.0, 99.0))
        cells = (robot, name, len(found), *reached, f'{1e3 * min(least):.2f}', sum(lost),
                 f'{median:.0f}', f'{high:.0f}')
        rows.append('| ' + ' | '.join(map(str, cells)) + ' |')
    return '\n'.join(rows)


def main():
    """Print the table, and write it where it belongs if asked to."""
    found, missing = peers()
    for name in missing:
        print(f'{name} is not installed, so its rows are missing. In an environment of its own: '
              'pip install placo frax cbfpy elastiqp[jax] mujoco pyyaml pin example-robot-data '
              'trimesh scipy.')
    if not found:
        return
    # Processes of their own, since JAX cannot be forked.
    with ProcessPoolExecutor(mp_context=get_context('spawn')) as pool:
        results = list(chain.from_iterable(pool.map(measured, robots())))
    text = table(results)
    print(text)
    if '--write' in sys.argv[1:]:
        put_into(_PAGE, 'distance_peers', text)


if __name__ == '__main__':
    main()

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Distances of links beside those of placo and OSCBF: two hands at random goals, MuJoCo as judge.

`python benchmark/distance_peers.py` prints a table; `--write` puts it in
doc/measurements/distances.md. placo brings a Pinocchio of its own, and frax its JAX, so they need
an environment of their own: `pip install placo frax cbfpy elastiqp[jax] mujoco pyyaml`, with this
package on the path. The program names the peers that are not installed.
"""

import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from figures import put_into
from hand_goals import KP, MARGIN, PERIOD, POSTURE_KP, SPEED, TURNING, Hands

from opspace_control import (
    DistanceLimits,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotState,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.simulation import SimulatedRobot
from opspace_control.simulation.distance_judge import DistanceJudge
from opspace_control.spatial.rotations import vector_from_matrix

GOALS, SECONDS = 20, 6.0
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
        begun = time.perf_counter()
        effort = self._controller.compute_torque(state, dt=PERIOD)
        return effort, time.perf_counter() - begun


def contenders(hands):
    """Return what makes controllers of goals, by name, and the names of what is not installed."""
    made, missing = {'opspace_control': partial(Ours, hands)}, []
    try:
        from placo_peer import Placo
        made['placo'] = partial(Placo, hands)
    except ImportError as error:
        missing.append(error.name)
    try:
        from oscbf_peer import Oscbf
        for joints_between in (3, 2):
            oscbf = Oscbf(hands, joints_between)
            made[f'OSCBF, {oscbf.pairs} pairs of spheres'] = oscbf.seek
    except ImportError as error:
        missing.append(error.name)
    return made, missing


def seek(make, hands, goals):
    """Return the farther hand's error, m and rad, least distance, m, cycles lost, times (k,), s."""
    model, text = hands.model, hands.robot.path().read_text()
    simulated = SimulatedRobot(text, joint_friction=False)
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


def table(results):
    """Return a table of results by name, each a list of `seek`, in Markdown."""
    rows = [f'{GOALS} goals of dual_arm, {SECONDS:g} s each, seed 0; the margin is '
            f'{1e3 * MARGIN:g} mm:', '',
            '| | within 1 mm and 0.01 rad | within 10 mm and 0.1 rad | least distance, mm '
            '| cycles without a solution | cycle, µs, median |', '|---' + '|---:' * 5 + '|']
    for name, found in results.items():
        errors, least, lost, times = zip(*found, strict=True)
        rows.append(f'| {name} | ' + ' | '.join(
            str(sum(bool((error < most).all()) for error in errors)) for most in (REACHED, NEARLY)
            ) + f' | {1e3 * min(least):.2f} | {sum(lost)} '
            f'| {1e6 * np.median(np.concatenate(times)):.0f} |')
    return '\n'.join(rows)


def main():
    """Print the table, and write it where it belongs if asked to."""
    hands = Hands(demo_robot('dual_arm'))
    made, missing = contenders(hands)
    for name in missing:
        print(f'{name} is not installed, so its row is missing. In an environment of its own: '
              'pip install placo frax cbfpy elastiqp[jax] mujoco pyyaml.')
    if len(made) == 1:
        return
    results = {name: [] for name in made}
    for goals in hands.random_goals(GOALS):
        for name, make in made.items():
            results[name].append(seek(make, hands, goals))
            print(name, *results[name][-1][:3], file=sys.stderr, flush=True)
    text = table(results)
    print(text)
    if '--write' in sys.argv[1:]:
        put_into(_PAGE, 'distance_peers', text)


if __name__ == '__main__':
    main()

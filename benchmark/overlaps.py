# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
How arms leave what overlaps their links: random obstacles, in lock-step with MuJoCo.

`python benchmark/overlaps.py` prints a table; `--write` puts it in doc/measurements/distances.md.
Hands are to stay where they are. `--json FILE` writes the outcome of each scene besides.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from figures import put_into
from hand_goals import demo, posture_of
from kept_distances import SHAKING, controlled

from opspace_control import CollisionModel, RobotModel, RobotState, Shape
from opspace_control.simulation import SimulatedRobot

SCENES = 128                # of each robot
SECONDS = 14.0              # of each scene
SIXTH = 6                   # second that is looked at besides the last one
MOVING = 0.02               # rad/s
DEEPER = 2e-3               # m
JUDGED = 20                 # distances are looked at in each of so many cycles
ROBOTS = 'dual_arm', 'arm_7r'
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'distances.md'


@dataclass(frozen=True)
class Outcome:
    """What came of one scene."""

    steps: tuple   # largest steps of efforts of all cycles of a second, added, limits
    speed: float   # of the fastest joint in the last second, rad/s
    deeper: float  # of the deepest pair beyond the deepest at the start, m
    pair: float    # of any pair beyond its own start or the touch, m
    out: bool      # whether all pairs are out of the obstacle at the end


@cache
def robot_of(name):
    """Return a demo robot, its model, where it starts (nq,), and its shapes with their pairs."""
    robot = demo(name, name)
    model = RobotModel.from_urdf_file(robot.path, locked_joints=robot.braked)
    return robot, model, posture_of(model, robot.start), CollisionModel(
        model, robot.shapes, robot.pairs)


def obstacle(name, seed):
    """Return a random shape of the world that overlaps a link at the start."""
    _, model, q, collision = robot_of(name)
    rng, links = np.random.default_rng(seed), [shape.link for shape in collision.shapes]
    while True:
        kind = rng.choice(['sphere', 'capsule', 'cylinder', 'box', 'half_space'])
        sizes = rng.uniform(0.03, 0.4, 3)
        link = links[rng.integers(len(links))]
        place = model.forward_kinematics(RobotState(model, q, np.zeros(model.nv)), [link])[link]
        turned, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        shape = Shape('obstacle', None, str(kind), {
            'sphere': sizes[:1], 'capsule': sizes[:2], 'cylinder': sizes[:2], 'box': sizes,
            'half_space': ()}[str(kind)], place[:3, 3] + rng.normal(size=3) * 0.1,
            turned * np.sign(np.linalg.det(turned)))
        pairs = collision.with_shapes([shape]).without_still_pairs().pairs
        with_obstacle = CollisionModel(model, [*collision.shapes, shape], [
            pair for pair in pairs if 'obstacle' in pair])
        if any(pair.distance < 0.0 for pair in with_obstacle.distances(q, 0.0)):
            return shape, with_obstacle


def run_scene(name, seed):
    """Let a robot stay where it is with a random obstacle in it; return the `Outcome`."""
    robot, model, q, collision = robot_of(name)
    shape, judged = obstacle(name, seed)
    simulated = SimulatedRobot(
        robot.path.read_text(), joint_friction=False, locked_joints=robot.braked)
    simulated.reset(positions=robot.start)
    dofs = [model.dof_index(joint) for joint in simulated.joint_names]
    state, q, v = RobotState(model, q, np.zeros(model.nv)), q.copy(), np.zeros(model.nv)
    controller = controlled(
        robot, model, collision.with_shapes([shape]).without_still_pairs(), q.copy(),
        model.forward_kinematics(state, robot.hands), keep=True)

    def depths():
        return {pair[:2]: -pair.distance for pair in judged.distances(state.q, 0.0)}
    first, last, second = depths(), {}, round(1.0 / simulated.timestep)
    cycles = round(SECONDS / simulated.timestep)
    speed, deeper, single, efforts = 0.0, 0.0, 0.0, []
    for k in range(cycles):
        efforts.append(controller.compute_torque(state, dt=simulated.timestep))
        simulated.set_effort(efforts[-1][dofs])
        simulated.step()
        q[model.q_index[dofs]], v[dofs] = simulated.positions, simulated.velocities
        state.update(q, v)
        if k % JUDGED == 0 or k == cycles - 1:
            last = depths()
            deeper = max(deeper, max(last.values(), default=0.0) - max(first.values()))
            single = max(single, *(depth - first.get(pair, 0.0) for pair, depth in last.items()),
                         0.0)
        if k >= cycles - second:
            speed = max(speed, abs(v).max())
    steps = (abs(np.diff(efforts, axis=0)) / model.effort_limits).max(axis=1)
    return Outcome(tuple(float(steps[k:k + second].sum()) for k in range(0, cycles, second)),
                   float(speed), float(deeper), float(single), not last)


def table(rows):
    """Return a table of (name, Outcomes) in Markdown."""
    return '\n'.join([
        f'{len(rows[0][1])} scenes of each robot, {SECONDS:g} s each:', '',
        f'| | steps in the {SIXTH}th second, limits | of them shake | steps in the last second '
        f'| shake | moves at more than {MOVING:g} rad/s in it | deepest pair deeper by '
        f'{1e3 * DEEPER:g} mm | at most, mm | a pair deeper by that | at most, mm '
        '| out of the obstacle |', '|---' + '|---:' * 10 + '|', *(_row(*row) for row in rows)])


def _row(name, outcomes):
    sixth, last = np.array([(each.steps[SIXTH - 1], each.steps[-1]) for each in outcomes]).T
    deeper, single = np.array([(each.deeper, each.pair) for each in outcomes]).T
    cells = (f'{sixth.sum():.1f}', (sixth > SHAKING).sum(), f'{last.sum():.2f}',
             (last > SHAKING).sum(), sum(each.speed > MOVING for each in outcomes),
             (deeper > DEEPER).sum(), f'{1e3 * deeper.max():.1f}',
             (single > DEEPER).sum(), f'{1e3 * single.max():.1f}',
             sum(each.out for each in outcomes))
    return f'| {name} | ' + ' | '.join(map(str, cells)) + ' |'


def main():
    """Print the table, and write it where it belongs if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--scenes', type=int, default=SCENES)
    parser.add_argument('--json', type=Path, help='file for the outcome of each scene')
    parser.add_argument('--write', action='store_true', help=f'put the table in {_PAGE}')
    arguments = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        rows = [(name, list(pool.map(partial(run_scene, name), range(arguments.scenes))))
                for name in ROBOTS]
    text = table(rows)
    print(text)
    if arguments.json:
        arguments.json.write_text(json.dumps({
            name: [asdict(each) for each in outcomes] for name, outcomes in rows}))
    if arguments.write:
        put_into(_PAGE, 'overlaps', text)


if __name__ == '__main__':
    main()

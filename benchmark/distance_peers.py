# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Distances of links beside placo's: two hands of dual_arm at random goals, MuJoCo as judge.

`python benchmark/distance_peers.py` prints a table; `--write` puts it in
doc/measurements/distances.md. placo brings a Pinocchio of its own, so it needs an environment of
its own: `pip install placo mujoco pyyaml`, with this package on the path. Without placo the program
says so and ends.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from opspace_control import (
    CollisionModel,
    DistanceLimits,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot
from opspace_control.control.planning.postures import named_posture
from opspace_control.simulation import SimulatedRobot
from opspace_control.simulation.distance_judge import DistanceJudge
from opspace_control.spatial.rotations import matrix_from_vector, vector_from_matrix

GOALS, SECONDS, PART = 20, 6.0, 0.8     # PART of the ranges of joints, for goals
SPEED, TURNING = 0.5, 1.5               # m/s and rad/s, of hands
REACHED, NEARLY = (1e-3, 1e-2), (1e-2, 1e-1)  # m and rad
MARGIN = 0.01                           # m
KP, POSTURE_KP = 100.0, 25.0            # 1/s²
PLACO_TRIGGER = 0.3                     # m, as our influence
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'distances.md'
_PERIOD = 1e-3


class Ours:
    """This package's controller."""

    def __init__(self, robot, model, collision, q, goals):
        tasks = [PoseTask(hand, kp=KP, max_linear_velocity=SPEED, max_angular_velocity=TURNING)
                 for hand in robot.hands]
        self._controller = OperationalSpaceController(
            model, tasks, PostureTask(target=q, kp=POSTURE_KP), limits=JointLimits(model),
            distances=DistanceLimits(collision, margin=MARGIN))
        self._controller.warm_up()
        for task in tasks:
            task.set_target(goals[task.frame])

    def torque(self, state):
        """Return efforts (nv,) and how long they took, s."""
        begun = time.perf_counter()
        effort = self._controller.compute_torque(state, dt=_PERIOD)
        return effort, time.perf_counter() - begun


class Placo:
    """placo's DynamicsSolver with its AvoidSelfCollisionsDynamicsConstraint."""

    def __init__(self, robot, model, collision, q, goals):
        import placo

        links = {shape.name: shape.link for shape in collision.shapes}
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, 'robot.urdf').write_text(robot.path().read_text())
            Path(folder, 'collisions.json').write_text(json.dumps(sorted(
                {tuple(sorted((links[a], links[b]))) for a, b in collision.pairs})))
            self._robot = placo.RobotWrapper(folder)
        self._names, self._model = model.dof_names, model
        self._solver = solver = placo.DynamicsSolver(self._robot)
        solver.mask_fbase(True)
        solver.dt = _PERIOD
        solver.enable_joint_limits(True)
        solver.enable_velocity_limits(True)
        solver.enable_torque_limits(True)
        self._avoid = avoid = solver.add_avoid_self_collisions_constraint()
        avoid.configure('avoid', 'hard')
        avoid.self_collisions_margin, avoid.self_collisions_trigger = MARGIN, PLACO_TRIGGER
        state = RobotState(model, q, np.zeros(model.nv))
        self._starts = model.forward_kinematics(state, robot.hands)
        self._goals, self._cycle, self._tasks = goals, 0, {}
        for hand in robot.hands:
            self._tasks[hand] = task = solver.add_frame_task(hand, self._starts[hand])
            task.configure(hand, 'soft', 1.0, 1.0)
        self._posture = posture = solver.add_joints_task()
        posture.set_joints({name: q[model.q_index[k]] for k, name in enumerate(self._names)})
        posture.configure('posture', 'soft', 1e-4)
        solver.set_kp(KP)
        posture.kp = POSTURE_KP

    def torque(self, state):
        """Return efforts (nv,) and how long they took, s; none if the problem has no solution."""
        robot, cycle = self._robot, self._cycle * _PERIOD
        self._cycle += 1
        for hand, task in self._tasks.items():
            task.T_world_frame = _between(self._starts[hand], self._goals[hand], cycle)
        for k, name in enumerate(self._names):
            robot.set_joint(name, state.q[self._model.q_index[k]])
            robot.set_joint_velocity(name, state.v[k])
        begun = time.perf_counter()
        robot.update_kinematics()
        result = self._solver.solve()
        elapsed = time.perf_counter() - begun
        tau = result.tau_dict(robot) if result.success else None
        return tau and np.array([tau[name] for name in self._names]), elapsed


def _between(start, goal, elapsed):
    """Return the pose that has gone from start to goal (4, 4) at the speeds of hands for a time."""
    way, turn = goal[:3, 3] - start[:3, 3], vector_from_matrix(goal[:3, :3] @ start[:3, :3].T)
    duration = max(np.linalg.norm(way) / SPEED, np.linalg.norm(turn) / TURNING, _PERIOD)
    part, pose = min(elapsed / duration, 1.0), start.copy()
    pose[:3, 3] += part * way
    pose[:3, :3] = matrix_from_vector(part * turn) @ start[:3, :3]
    return pose


def seek(make, robot, goals):
    """Return the farther hand's error, m and rad, least distance, m, cycles lost, times (k,), s."""
    text = robot.path().read_text()
    model, simulated = RobotModel.from_urdf(text), SimulatedRobot(text, joint_friction=False)
    simulated.reset(positions=robot.start)
    dofs = [model.dof_index(name) for name in simulated.joint_names]
    q, v = named_posture(model, robot.start), np.zeros(model.nv)
    collision = robot.collision().model(model)
    near = {pair[:2] for pair in collision.distances(q, MARGIN)}
    collision = CollisionModel(model, collision.shapes, [
        pair for pair in collision.pairs if pair not in near])
    judge, least, lost = DistanceJudge(simulated, collision), np.inf, 0
    controller, state, times = make(robot, model, collision, q, goals), RobotState(model, q, v), []
    effort = np.zeros(model.nv)
    for _ in range(round(SECONDS / _PERIOD)):
        found, elapsed = controller.torque(state)
        times.append(elapsed)
        lost += found is None
        effort = effort if found is None else found
        simulated.set_effort(effort[dofs])
        simulated.step()
        q[model.q_index[dofs]], v[dofs] = simulated.positions, simulated.velocities
        state.update(q, v)
        least = judge.least(least)
    here = model.forward_kinematics(state, robot.hands)
    error = np.max([(np.linalg.norm(here[hand][:3, 3] - goals[hand][:3, 3]), np.linalg.norm(
        vector_from_matrix(here[hand][:3, :3].T @ goals[hand][:3, :3]))) for hand in robot.hands],
        axis=0)
    return error, least, lost, np.array(times)


def random_goals(robot, count):
    """Return poses of both hands, by link, in random postures."""
    model, rng = RobotModel.from_urdf_file(robot.path()), np.random.default_rng(0)
    lower, upper = model.lower_position_limits, model.upper_position_limits
    found = []
    for _ in range(count):
        q = model.neutral()
        q[model.q_index] = 0.5 * (lower + upper) + 0.5 * PART * (upper - lower) * rng.uniform(
            -1.0, 1.0, model.nv)
        found.append(model.forward_kinematics(
            RobotState(model, q, np.zeros(model.nv)), robot.hands))
    return found


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
    try:
        import placo  # noqa: F401
    except ImportError:
        print('placo is not installed: nothing to compare with. In an environment of its own: '
              'pip install placo mujoco pyyaml.')
        return
    robot, results = demo_robot('dual_arm'), {'opspace_control': [], 'placo': []}
    for goals in random_goals(robot, GOALS):
        for name, make in zip(results, (Ours, Placo), strict=True):
            results[name].append(seek(make, robot, goals))
            print(name, *results[name][-1][:3], file=sys.stderr, flush=True)
    text = table(results)
    print(text)
    if '--write' in sys.argv[1:]:
        begin, end = '<!-- distance_peers:begin -->\n', '<!-- distance_peers:end -->'
        page = _PAGE.read_text()
        first, last = page.index(begin) + len(begin), page.index(end)
        _PAGE.write_text(page[:first] + text + '\n' + page[last:])


if __name__ == '__main__':
    main()

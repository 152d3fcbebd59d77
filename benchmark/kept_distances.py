# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Whether links keep their distances: two hands at random goals, in lock-step with MuJoCo.

`python benchmark/kept_distances.py` prints a table; `--write` puts it in
doc/measurements/distances.md. Every goal is sought twice: without and with distances of links.
MuJoCo judges the distances. Times are those of the cycles, beside Pinocchio's `aba` at the same
states.
"""

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pinocchio
from figures import tabulate_goals
from limits import ROBOTS as ARMS
from postures import ranges

from opspace_control import (
    CollisionDescription,
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
from opspace_control.simulation import SimulatedRobot
from opspace_control.simulation.distance_judge import DistanceJudge
from opspace_control.spatial.rotations import vector_from_matrix

GOALS = 20                  # for each robot
SECONDS = 6.0               # for each goal
PART = 0.8                  # of the ranges of joints, for goals
SPEED, TURNING = 0.5, 1.5   # m/s and rad/s, of hands
REACHED = 1e-3, 1e-2        # m and rad
MARGIN = 0.01               # m
LAST, SHAKING = 1.0, 0.5    # s of each goal, and what steps in it add up to if robots shake
TIMED, CALLS = 10, 4        # of so many cycles one is timed: the least of so many calls
_G1 = next(robot for robot in ARMS if 'G1' in robot.name)
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'distances.md'


@dataclass(frozen=True)
class Robot:
    """A robot: its file, two hands, where it starts, what is braked, shapes and their pairs."""

    name: str
    path: Path
    hands: tuple
    start: dict
    braked: tuple
    shapes: tuple
    pairs: tuple


def robot_of(name, path, hands, start, braked):
    """Return a robot with the pairs of its shapes that move and are further than the margin."""
    model = RobotModel.from_urdf_file(path, locked_joints=braked)
    collision = CollisionDescription.from_urdf_file(path).model(model)
    q = posture_of(model, start)
    collision = collision.without_still_pairs()
    near = {found[:2] for found in collision.distances(q, MARGIN)}
    return Robot(name, path, hands, start, braked, collision.shapes,
                 tuple(pair for pair in collision.pairs if pair not in near))


def posture_of(model, start):
    """Return positions q with some joints, rad or m, the others at zero or the nearest limit."""
    q = model.neutral()
    q[model.q_index] = np.clip(0.0, model.lower_position_limits, model.upper_position_limits)
    for name, value in start.items():
        q[model.q_index[model.dof_index(name)]] = value
    return q


def _demo(name, words):
    robot = demo_robot(name)
    joints = RobotModel.from_urdf_file(robot.path()).dof_names
    braked = tuple(joint for joint in joints if robot.driven and joint not in robot.driven)
    return robot_of(words, robot.path(), robot.hands, robot.start, braked)


def robots():
    """Return what is sent to random goals."""
    joints = RobotModel.from_urdf_file(_G1.path).dof_names
    start = {**_G1.posture, 'left_shoulder_roll_joint': 0.4, 'right_shoulder_roll_joint': -0.4}
    return (_demo('dual_arm', 'dual_arm'), _demo('talos', 'Talos'),
            _demo('tiago_dual', 'TIAGo dual'),
            robot_of('G1', _G1.path, _G1.frames, start,
                     tuple(joint for joint in _G1.braked if joint in joints)))


@dataclass(frozen=True)
class Outcome:
    """What came of one goal."""

    reached: bool
    least: float   # least distance of all cycles, m, by MuJoCo
    step: float    # largest change of an effort of the law within a ms, in parts of its limit
    last: float    # largest steps of all cycles in the last second, added
    times: tuple   # of a cycle: median, 99th percentile, in calls of `aba`


def random_goals(robot, count):
    """Return poses (2, 4, 4) of both hands in random postures."""
    model = RobotModel.from_urdf_file(robot.path, locked_joints=robot.braked)
    rng, (lower, upper) = np.random.default_rng(0), ranges(model)
    start, goals = posture_of(model, robot.start), []
    for _ in range(count):
        drawn = 0.5 * (lower + upper) + 0.5 * PART * (upper - lower) * rng.uniform(
            -1.0, 1.0, model.nv)
        q = start.copy()
        q[model.q_index[~model.locked]] = drawn[~model.locked]
        poses = model.forward_kinematics(RobotState(model, q, np.zeros(model.nv)), robot.hands)
        goals.append([poses[hand] for hand in robot.hands])
    return goals


def seek(robot, goal, *, keep):
    """Send both hands to a goal from the start, with distances or without; return the `Outcome`."""
    text = robot.path.read_text()
    model = RobotModel.from_urdf(text, locked_joints=robot.braked)
    simulated = SimulatedRobot(text, joint_friction=False, locked_joints=robot.braked)
    simulated.reset(positions=robot.start)
    q, dofs = posture_of(model, robot.start), [
        model.dof_index(name) for name in simulated.joint_names]
    collision = CollisionModel(model, robot.shapes, robot.pairs)
    judge = DistanceJudge(simulated, collision)
    tasks = [PoseTask(hand, max_linear_velocity=SPEED, max_angular_velocity=TURNING)
             for hand in robot.hands]
    controller = OperationalSpaceController(
        model, tasks, PostureTask(target=q), limits=JointLimits(model),
        distances=DistanceLimits(collision, margin=MARGIN) if keep else None)
    controller.warm_up()
    for task, pose in zip(tasks, goal, strict=True):
        task.set_target(pose)
    clock = _Clock(text, controller)
    state, v = RobotState(model, q, np.zeros(model.nv)), np.zeros(model.nv)
    efforts, least = [], np.inf
    for cycle in range(round(SECONDS / simulated.timestep)):
        if cycle % TIMED == 0:
            clock.time(state, simulated.timestep)
        effort = controller.compute_torque(state, dt=simulated.timestep)
        efforts.append(effort)
        simulated.set_effort(effort[dofs])
        simulated.step()
        q[model.q_index[dofs]], v[dofs] = simulated.positions, simulated.velocities
        state.update(q, v)
        least = judge.least(least)
    free, last = ~model.locked, round(LAST / simulated.timestep)
    steps = (abs(np.diff(efforts, axis=0))[:, free] / model.effort_limits[free]).max(axis=1)
    here = model.forward_kinematics(state, robot.hands)
    return Outcome(
        all(_arrived(here[hand], pose) for hand, pose in zip(robot.hands, goal, strict=True)),
        least, steps.max(), steps[-last:].sum(), clock.percentiles(50.0, 99.0))


class _Clock:
    """The times of a controller's cycles and of Pinocchio's `aba` at the same states."""

    def __init__(self, text, controller):
        self._controller, self._times, self._aba = controller, [], []
        self._torque = np.zeros(controller.model.nv)
        self._pinocchio = model = pinocchio.buildModelFromXML(text)
        self._data, self._q = model.createData(), pinocchio.neutral(model)
        self._v, self._tau = np.zeros((2, model.nv))
        names, ours = controller.model.dof_names, []
        for joint, name in zip(model.joints, model.names, strict=True):
            if name in names and joint.nq == 1:
                ours.append((joint.idx_q, joint.idx_v, names.index(name)))
        self._in_q, self._in_v, self._ours = np.transpose(ours)

    def time(self, state, dt):
        """Time the next cycle; what it leaves for the one after it is put back."""
        arguments, model = self._controller._arguments, self._controller.model
        memory = (arguments.cycle, arguments.bounds.joints, *arguments.storage.memory)
        before = [np.copy(part) for part in memory]

        def cycle():
            for part, kept in zip(memory, before, strict=True):
                part[:] = kept
            begun = time.perf_counter_ns()
            self._controller.compute_torque(state, self._torque, dt=dt)
            return time.perf_counter_ns() - begun

        self._times.append(min(cycle() for _ in range(CALLS)))
        for part, kept in zip(memory, before, strict=True):
            part[:] = kept
        self._q[self._in_q] = state.q[model.q_index[self._ours]]
        self._v[self._in_v], self._tau[self._in_v] = (
            state.v[self._ours], self._torque[self._ours])
        self._aba.append(min(self._forward_dynamics() for _ in range(CALLS)))

    def _forward_dynamics(self):
        begun = time.perf_counter_ns()
        pinocchio.aba(self._pinocchio, self._data, self._q, self._v, self._tau)
        return time.perf_counter_ns() - begun

    def percentiles(self, *parts):
        """Return percentiles of the cycles' times, in median times of `aba`."""
        return tuple(np.percentile(self._times, parts) / np.median(self._aba))


def _arrived(here, pose):
    """Return whether two poses (4, 4) are the same."""
    turn = vector_from_matrix(here[:3, :3].T @ pose[:3, :3])
    return (np.linalg.norm(here[:3, 3] - pose[:3, 3]) < REACHED[0]
            and np.linalg.norm(turn) < REACHED[1])


def seek_twice(robot, goal):
    """Return the `Outcome` without distances, and that with them."""
    return seek(robot, goal, keep=False), seek(robot, goal, keep=True)


def table(rows):
    """Return a table of (Robot, Outcomes without distances, Outcomes with them) in Markdown."""
    return '\n'.join([
        f'{len(rows[0][1])} goals for each robot, {SECONDS:g} s each, seed 0; the margin is '
        f'{1e3 * MARGIN:g} mm:', '',
        '| | pairs | reached without | of these no pair below the margin | and reached with '
        '| reached with | least distance without, mm | least distance, mm '
        '| largest step of an effort without | largest step | shaking without | shaking '
        '| cycle without, `aba` | cycle, `aba` | its 99th percentile |',
        '|---' + '|---:' * 14 + '|',
        *(_row(*row) for row in rows)])


def _row(robot, without, kept):
    apart = [b for a, b in zip(without, kept, strict=True) if a.reached and a.least >= MARGIN]
    cells = (
        len(robot.pairs), sum(each.reached for each in without), len(apart),
        sum(each.reached for each in apart), sum(each.reached for each in kept),
        *(f'{1e3 * min(each.least for each in outcomes):.2f}' for outcomes in (without, kept)),
        *(f'{100.0 * max(each.step for each in outcomes):.1f} %' for outcomes in (without, kept)),
        *(sum(each.last > SHAKING for each in outcomes) for outcomes in (without, kept)),
        *(f'{np.median([each.times[part] for each in outcomes]):.1f}'
          for outcomes, part in ((without, 0), (kept, 0), (kept, 1))))
    return f'| {robot.name} | ' + ' | '.join(map(str, cells)) + ' |'


def main():
    """Print the table, and write it where it belongs if asked to."""
    tabulate_goals(
        __doc__, _PAGE, 'kept_distances', GOALS,
        [(robot, partial(random_goals, robot)) for robot in robots()], seek_twice, table)


if __name__ == '__main__':
    main()

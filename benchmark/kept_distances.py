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
from pathlib import Path

import numpy as np
import pinocchio
from figures import tabulate_goals
from hand_goals import MARGIN, SPEED, TURNING, Hands, robots

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

GOALS = 20                  # for each robot
SECONDS = 6.0               # for each goal
REACHED = 1e-3, 1e-2        # m and rad
LAST, SHAKING = 1.0, 0.5    # s of each goal, and what steps in it add up to if robots shake
TIMED, CALLS = 10, 4        # `aba` is timed at one of so many states; times are the least of these
_PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'measurements' / 'distances.md'


@dataclass(frozen=True)
class Outcome:
    """What came of one goal."""

    reached: bool
    least: float   # least distance of all cycles, m, by MuJoCo
    step: float    # largest change of an effort of the law within a ms, in parts of its limit
    last: float    # largest steps of all cycles in the last second, added
    times: tuple   # of a cycle: median, 99th percentile, in calls of `aba`


def seek(robot, goal, *, keep):
    """Send both hands to a goal from the start, with distances or without; return the `Outcome`."""
    hands, text = Hands(robot), robot.path.read_text()
    model, collision, q = hands.model, hands.collision, hands.q.copy()
    simulated = SimulatedRobot(text, joint_friction=False, locked_joints=robot.braked)
    simulated.reset(positions=robot.start)
    dofs = [model.dof_index(name) for name in simulated.joint_names]
    judge = DistanceJudge(simulated, collision)
    controller = controlled(robot, model, collision, q, goal, keep=keep)
    state, v = RobotState(model, q, np.zeros(model.nv)), np.zeros(model.nv)
    efforts, states, least = [], [], np.inf
    for _ in range(round(SECONDS / simulated.timestep)):
        states.append((state.q.copy(), state.v.copy()))
        effort = controller.compute_torque(state, dt=simulated.timestep)
        efforts.append(effort)
        simulated.set_effort(effort[dofs])
        simulated.step()
        q[model.q_index[dofs]], v[dofs] = simulated.positions, simulated.velocities
        state.update(q, v)
        least = judge.least(least)
    free, last = ~model.locked, round(LAST / simulated.timestep)
    steps = (abs(np.diff(efforts, axis=0))[:, free] / model.effort_limits[free]).max(axis=1)
    here = hands.poses(q)
    times = times_of_cycles(
        [controlled(robot, model, collision, hands.q, goal, keep=keep) for _ in range(CALLS)],
        states, simulated.timestep)
    aba = np.median(times_of_aba(text, model, states[::TIMED], efforts[::TIMED]))
    return Outcome(
        all(_arrived(here[hand], goal[hand]) for hand in robot.hands),
        least, steps.max(), steps[-last:].sum(), tuple(np.percentile(times, (50.0, 99.0)) / aba))


def controlled(robot, model, collision, posture, goal, *, keep):
    """Return a controller that sends both hands to a goal, with distances if it should ``keep``."""
    tasks = [PoseTask(hand, max_linear_velocity=SPEED, max_angular_velocity=TURNING)
             for hand in robot.hands]
    controller = OperationalSpaceController(
        model, tasks, PostureTask(target=posture), limits=JointLimits(model),
        distances=DistanceLimits(collision, margin=MARGIN) if keep else None)
    controller.warm_up()
    for task in tasks:
        task.set_target(goal[task.frame])
    return controller


def times_of_cycles(controllers, states, dt):
    """
    Return the least time of each cycle, ns, of controllers that get all states of a motion.

    A second call at the same state would find all pairs of shapes at rest, and be faster.
    """
    times = []
    for controller in controllers:
        model = controller.model
        state, torque = RobotState(model, *states[0]), np.zeros(model.nv)
        for q, v in states:
            state.update(q, v)
            begun = time.perf_counter_ns()
            controller.compute_torque(state, torque, dt=dt)
            times.append(time.perf_counter_ns() - begun)
    return np.reshape(times, (len(controllers), -1)).min(axis=0)


def times_of_aba(text, model, states, efforts):
    """Return the times of Pinocchio's `aba` at these states, ns, the least of so many calls."""
    reference, names = pinocchio.buildModelFromXML(text), model.dof_names
    data, at, (speed, torque) = (
        reference.createData(), pinocchio.neutral(reference), np.zeros((2, reference.nv)))
    joints = [(joint.idx_q, joint.idx_v, names.index(name))
              for joint, name in zip(reference.joints, reference.names, strict=True)
              if name in names and joint.nq == 1]
    in_q, in_v, ours = np.transpose(joints)

    def call():
        begun = time.perf_counter_ns()
        pinocchio.aba(reference, data, at, speed, torque)
        return time.perf_counter_ns() - begun

    times = []
    for (q, v), effort in zip(states, efforts, strict=True):
        at[in_q], speed[in_v], torque[in_v] = q[model.q_index[ours]], v[ours], effort[ours]
        times.append(min(call() for _ in range(CALLS)))
    return times


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
        [(robot, Hands(robot).random_goals) for robot in robots()], seek_twice, table)


if __name__ == '__main__':
    main()

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
What a cycle with limits of joints takes at the worst: random states, many beyond the limits.

Each state meets a controller that knows of no active limits, so its time has all changes of the
active set. The time of a state is the least of a few calls: what is left is the law's, not the
machine's.
"""

import time

import numpy as np
import pinocchio
from contest import TASK
from figures import Figure, Spread
from postures import random_posture

from opspace_control import (
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    RobotState,
)
from opspace_control.cli.robots import demo_robot, real_robot

STATES = 2000
_CALLS = 5
_UR5 = 'ur_description/urdf/ur5_robot.urdf'
_BEYOND = 1.1, 1.1  # of the ranges of positions, and of velocities


def robots():
    """Return name, words, URDF text and links of each robot."""
    talos = demo_robot('talos')
    return (('talos', 'Talos, two hands', talos.path().read_text(), talos.hands),
            ('ur5', 'UR5', real_robot(_UR5).read_text(), ('tool0',)))


class RandomStates:
    """A robot under a controller that keeps its limits, at random states with random goals."""

    def __init__(self, text, frames, states=STATES, seed=0):
        self._frames = frames
        self.model = model = RobotModel.from_urdf(text)
        self._tasks = [PoseTask(frame, **TASK) for frame in frames]
        self.controller = OperationalSpaceController(model, self._tasks, limits=JointLimits(model))
        self._pinocchio = pinocchio.buildModelFromXML(text)
        self._order = [model.dof_index(joint) for joint in tuple(self._pinocchio.names)[1:]]
        self._rng = np.random.default_rng(seed)
        self.states = [self._random(_BEYOND) for _ in range(states)]
        self.goals = [model.forward_kinematics(self._random((1.0, 0.0)), self._frames)
                      for _ in range(states)]

    def _random(self, parts):
        """Return a random state in these parts of the ranges of positions and velocities."""
        model = self.model
        q = random_posture(model, self._rng, parts[0])
        fastest = np.where(np.isfinite(model.velocity_limits), model.velocity_limits, 1.0)
        return RobotState(model, q, parts[1] * fastest * self._rng.uniform(-1.0, 1.0, model.nv))

    def times(self):
        """Return the times of the cycles, µs, and how often each resolved the stack anew."""
        controller, times, solutions = self.controller, [], []
        fresh = [np.copy(part) for part in self._memory()]
        torque = np.empty(self.model.nv)
        controller.compute_torque(self.states[0], torque)
        for state, goals in zip(self.states, self.goals, strict=True):
            for task, goal in zip(self._tasks, goals.values(), strict=True):
                task.set_target(goal)
            least = np.inf
            for _ in range(_CALLS):
                for part, before in zip(self._memory(), fresh, strict=True):
                    part[:] = before
                begun = time.perf_counter_ns()
                controller.compute_torque(state, torque)
                least = min(least, 1e-3 * (time.perf_counter_ns() - begun))
            times.append(least)
            solutions.append(controller.limit_solutions)
        return np.array(times), np.array(solutions)

    def _memory(self):
        """Return what outlasts a cycle: its record, and those of the limits."""
        arguments = self.controller._arguments
        return (arguments.cycle, arguments.limits.joints,
                *arguments.storage.memory)

    def forward_dynamics(self):
        """Return the times of Pinocchio's articulated-body algorithm at the same states, µs."""
        data, times = self._pinocchio.createData(), []
        tau = np.zeros(len(self._order))
        for state in self.states:
            q, v, least = state.q[self._order], state.v[self._order], np.inf
            for _ in range(_CALLS):
                begun = time.perf_counter_ns()
                pinocchio.aba(self._pinocchio, data, q, v, tau)
                least = min(least, 1e-3 * (time.perf_counter_ns() - begun))
            times.append(least)
        return np.array(times)


def measure():
    """Return the 99.9th percentile and the worst of all states, and of how often they resolve."""
    figures = []
    for name, words, text, frames in robots():
        robot = RandomStates(text, frames)
        times, solutions = robot.times()
        aba = Spread.of([np.median(robot.forward_dynamics())])
        for part, what in ((50.0, 'median'), (99.9, '99.9th percentile'), (100.0, 'worst')):
            ours = Spread.of([np.percentile(times, part)])
            figures.append(Figure(
                f'beyond_limits.{name}.{part:g}',
                f"{words}: cycle at random states beyond limits, {what}, beside Pinocchio's `aba`",
                Spread.of([ours.median / aba.median]), None, 'µs', ours, aba))
        figures.append(Figure(f'beyond_limits.{name}.resolutions',
                              f'{words}: problems with bounds in such a cycle, worst',
                              Spread.of([float(solutions.max())])))
    return figures

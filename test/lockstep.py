# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot under control in lock-step: the same numbers however slow the machine."""

from dataclasses import dataclass

import numpy as np

from opspace_control import JointLimits, OperationalSpaceController, RobotModel, RobotState
from opspace_control.simulation import SimulatedRobot
from opspace_control.simulation.lockstep import ModelledRobot

# Momentum is looked at once in so many cycles: it takes longer than they do.
_RARELY = 20


@dataclass(frozen=True)
class Course:
    """What was seen, a row for each cycle; poses and errors of each task, in order."""

    times: np.ndarray       # (k,) s
    positions: np.ndarray   # (k, n) of the joints, rad or m
    velocities: np.ndarray  # (k, n)
    efforts: np.ndarray     # (k, n) N·m or N
    momentum: np.ndarray    # (k, 2, 6) of everything and of the body, if one is named
    paths: np.ndarray       # (k, tasks, 3) m
    errors: np.ndarray      # (k, tasks, 6) m and rad
    limited: int            # how many efforts the limits cut in all that time


class LockStep:
    """
    One step of the robot for one cycle of its controller.

    Parameters
    ----------
    path : path
        URDF file.
    tasks : sequence of PoseTask
    posture : PostureTask, optional
    start, velocities : dict of str to float, optional
        As in `SimulatedRobot.reset`.
    delay : int
        Cycles from a state to the effort that follows from it.
    passive_joints : sequence of str
        Joints without a drive; the base of a floating robot is one in any case.
    twist : (6,) array_like, optional
        Of a floating base at the start.
    world : dict, optional
        Further arguments of the SimulatedRobot.
    body : str, optional
        A link whose momentum is to be looked at.
    keep_limits : bool
        Whether joints keep the limits of their motion.
    **options
        Of the controller.

    """

    def __init__(self, path, tasks, posture=None, *, start=None, velocities=None, delay=0,
                 locked_joints=(), passive_joints=(), twist=None, world=None, body=None,
                 keep_limits=False, **options):
        self.robot = SimulatedRobot(path.read_text(), locked_joints=locked_joints, **(world or {}))
        floating = self.robot.floating_base
        self.model = RobotModel.from_urdf_file(
            path, locked_joints=locked_joints, floating_base=floating,
            passive_joints=[*passive_joints, *(['base'] if floating else [])])
        self._modelled = ModelledRobot(self.robot, self.model)
        self.robot.reset(positions=start, velocities=velocities,
                         **({'base_twist': twist} if floating else {}))
        self.robot.set_status(passive=passive_joints)
        self._body = body
        if keep_limits:
            options['limits'] = JointLimits(
                self.model, effort_limits=options.get('effort_limits'))
        self.controller = OperationalSpaceController(self.model, tasks, posture, **options)
        self.state = RobotState(self.model, *self._modelled.observed())
        self._status, self._undriven = b'', None
        # The first cycle: tasks without a goal hold what they see.
        self._coming = [self.controller.compute_torque(self.state)] * delay

    def run(self, seconds, before_cycle=None):
        """
        Go on for some time.

        Parameters
        ----------
        seconds : float
            Of simulated time.
        before_cycle : callable, optional
            Called with the time, s, before every cycle.

        Returns
        -------
        Course

        """
        rows, limited = [], 0
        tasks = self.controller.tasks.values()
        for _ in range(round(seconds / self.robot.timestep)):
            if before_cycle is not None:
                before_cycle(self.robot.time)
            self.state.update(*self._modelled.observed())
            self._coming.append(self.controller.compute_torque(self.state))
            assert not self._coming[-1][self._without_drive()].any()
            self._modelled.command(self._coming.pop(0))
            limited += self.controller.limited_joints
            rows.append((self.robot.time, self.robot.positions, self.robot.velocities,
                         self.robot.efforts,
                         rows[-1][4] if len(rows) % _RARELY else self._momentum(),
                         np.array([task._record['p'] for task in tasks]),  # pose[:3], faster
                         np.array([task.error for task in tasks])))
            self.robot.step()
        return Course(*(np.array(column) for column in zip(*rows, strict=True)), limited)

    def _without_drive(self):
        """Return which degrees of freedom have no drive or a closed brake, (nv,) of bool."""
        status = self.controller._status.nodes['status'].tobytes()  # its nodes are no copy
        if status != self._status:
            self._status = status
            self._undriven = self.controller.passive | self.controller.locked
        return self._undriven

    def _momentum(self):
        if self._body is None:
            return np.zeros((2, 6))
        return np.array([self.robot.momentum(), self.robot.momentum(link=self._body)])

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot under control in lock-step: the same numbers however slow the machine."""

from dataclasses import dataclass

import numpy as np

from opspace_control import OperationalSpaceController, RobotModel, RobotState
from opspace_control.simulation import SimulatedRobot


@dataclass(frozen=True)
class Course:
    """What was seen, a row for each cycle; poses and errors of each task, in order."""

    times: np.ndarray       # (k,) s
    positions: np.ndarray   # (k, nv) of the joints, rad or m
    velocities: np.ndarray  # (k, nv)
    efforts: np.ndarray     # (k, nv) N·m or N
    paths: np.ndarray       # (k, tasks, 3) m
    errors: np.ndarray      # (k, tasks, 6) m and rad
    limited: int            # how many efforts the limits cut in all that time


class LockStep:
    """
    One step of the robot for one cycle of its controller.

    Parameters
    ----------
    path : path
        URDF file, of a fixed base.
    tasks : sequence of PoseTask
    posture : PostureTask, optional
    start, velocities : dict of str to float, optional
        As in `SimulatedRobot.reset`.
    delay : int
        Cycles from a state to the effort that follows from it.
    **options
        Of the controller.

    """

    def __init__(self, path, tasks, posture=None, *, start=None, velocities=None, delay=0,
                 locked_joints=(), **options):
        self.model = RobotModel.from_urdf_file(path, locked_joints=locked_joints)
        self.robot = SimulatedRobot(path.read_text(), locked_joints=locked_joints)
        assert self.robot.joint_names == self.model.dof_names
        self.robot.reset(positions=start, velocities=velocities)
        self.controller = OperationalSpaceController(self.model, tasks, posture, **options)
        self.state = RobotState(self.model, self.robot.positions, self.robot.velocities)
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
            self.state.update(self.robot.positions, self.robot.velocities)
            self._coming.append(self.controller.compute_torque(self.state))
            self.robot.set_effort(self._coming.pop(0))
            limited += self.controller.limited_joints
            rows.append((self.robot.time, self.state.q.copy(), self.state.v.copy(),
                         self.robot.efforts, np.array([task.pose[:3] for task in tasks]),
                         np.array([task.error for task in tasks])))
            self.robot.step()
        return Course(*(np.array(column) for column in zip(*rows, strict=True)), limited)

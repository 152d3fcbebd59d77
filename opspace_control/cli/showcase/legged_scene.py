# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A quadruped in MuJoCo, on a floor that only pushes and has friction, under a `Locomotion`."""

import math

import numpy as np

from opspace_control import JointLimits, OperationalSpaceController, RobotState
from opspace_control.cli.robots import FEET, quadruped_stance, real_robot
from opspace_control.locomotion import Locomotion, legged_tasks
from opspace_control.spatial.rotations import yaw_of

# Radius of the feet, m, and angle of the hips by which they are nearer to each other, rad.
QUADRUPEDS = {'b1': (0.04, 0.06), 'go2': (0.022, 0.04)}
HEIGHT = 1.5  # of the trunk, in lengths of the thigh, which is that of the shank
FRICTION = 0.7
STEP = 1e-3  # s
FALLEN = 1.0  # rad, of roll or pitch
# N: forces along the ground are compared with at least this normal force, as both vanish together.
_LEAST_LOAD = 1.0


class LeggedScene:
    """
    A robot of QUADRUPEDS that stands, and its controller in lock-step.

    The controller is told the ``friction`` of the floor; it is one of the arguments of
    `LeggedRobot`, ``motion``. The robot starts in a ``posture``, its trunk at a ``height``, m;
    standing, if not given. ``tasks`` are arguments of `legged_tasks`, ``law`` of the controller
    instead of its ``limits``.

    ``reports`` has for each step roll and pitch, rad, the velocity ahead and to the left, m/s, the
    yaw rate, rad/s, the greatest velocity and effort of a joint in parts of its limit, and the
    greatest part of the floor's friction that the law's contact forces need.
    """

    def __init__(self, name='b1', *, friction=FRICTION, posture=None, height=None, stepping=None,
                 tasks=None, law=None, **motion):
        from opspace_control.simulation import Shape
        from opspace_control.simulation.legged_robot import LeggedRobot

        radius, inside = QUADRUPEDS[name]
        text = real_robot(f'{name}_description/urdf/{name}.urdf').read_text()
        self.robot = LeggedRobot(text, friction=friction, timestep=STEP, shapes=[
            Shape(foot, (radius,)) for foot in FEET], **motion)
        self.model = self.robot.model
        stand = quadruped_stance(inside, math.acos(0.5 * HEIGHT))
        tasks, contacts = legged_tasks(
            self.model.root_link, FEET, **{'friction': friction, **(tasks or {})})
        if law is None:
            law = {'limits': JointLimits(self.model, acceleration=1e3, approach_rate=50.0)}
        self.controller = OperationalSpaceController(
            self.model, tasks, constraints=contacts, **law)
        self.locomotion = Locomotion(self.controller, FEET, stand, stepping=stepping)
        if height is None:
            height = self.locomotion.stance.height + radius
        self.robot.reset(stand if posture is None else posture,
                         base_pose=[0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0])
        self.reports = []
        self._friction = friction
        self._speeds = self.model.velocity_limits[6:]
        self._strengths = self.model.effort_limits[6:]

    @property
    def fallen(self):
        """Whether the trunk is tilted by more than FALLEN."""
        return bool(self.reports) and max(map(abs, self.reports[-1][:2])) > FALLEN

    def run(self, seconds):
        """Simulate, until the robot falls; return the reports (k, 8) of this time."""
        state = RobotState(self.model, *self.robot.observed())
        tau, first = np.zeros(self.model.nv), len(self.reports)
        for step in range(round(seconds / STEP)):
            if step:
                state.update(*self.robot.observed())
            self.locomotion.update(state, STEP)
            self.compute_torque(state, tau)
            self.robot.step(tau)
            self._report()
            if self.fallen:
                break
        return np.array(self.reports[first:])

    def compute_torque(self, state, tau):
        """Write the law's generalized forces (nv,) of a state into ``tau``, N and N·m."""
        self.controller.compute_torque(state, tau, dt=STEP)

    def _report(self):
        robot = self.robot.simulated
        x, y, z, w = robot.base_pose[3:]
        roll = math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
        pitch = math.asin(max(min(2.0 * (w * y - z * x), 1.0), -1.0))
        yaw = yaw_of((x, y, z, w))
        vx, vy, _, _, _, rate = robot.base_twist
        c, s = math.cos(yaw), math.sin(yaw)
        slip = max((self._friction_needed(contact)
                    for contact in self.controller.constraints.values() if contact.closed),
                   default=0.0)
        self.reports.append((
            roll, pitch, c * vx + s * vy, c * vy - s * vx, rate,
            (abs(self.robot.in_order(robot.velocities)) / self._speeds).max(),
            (abs(self.robot.in_order(robot.efforts)) / self._strengths).max(), slip))

    def _friction_needed(self, contact):
        """Return the part of the floor's friction that a force of the law needs."""
        force, normal = contact.force[:3], contact.normal
        along = float(force @ normal)
        return float(np.linalg.norm(force - along * normal)) / (
            self._friction * max(along, _LEAST_LOAD))


def tilt(reports):
    """Return the RMS tilt of a trunk, degrees."""
    return math.degrees(math.sqrt(np.square(reports[:, :2]).sum(axis=1).mean()))

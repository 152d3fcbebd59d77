# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A quadruped in MuJoCo, on a floor that only pushes and has friction, under a `Locomotion`."""

import math

import numpy as np

from opspace_control import JointLimits, OperationalSpaceController, RobotModel
from opspace_control.cli.robots import FEET, demo_robot
from opspace_control.locomotion import Locomotion, legged_tasks
from opspace_control.spatial.rotations import matrix_from_quaternion, rpy_from_matrix

_RADII = {'b1': 0.04, 'go2': 0.022}  # m, of the feet
FRICTION = 0.7
STEP = 1e-3  # s
FALLEN = 1.0  # rad, of roll or pitch
# N: forces along the ground are compared with at least this normal force, as both vanish together.
_LEAST_LOAD = 1.0
# Standard deviations of a good estimator: of the base m, rad, m/s, rad/s, of joints rad, rad/s.
_BASE, _JOINT_POSITION, _JOINT_VELOCITY = np.array([2e-3, 3e-3, 0.03, 0.02]), 2e-4, 0.03


class LeggedScene:
    """
    A quadruped of the demo, b1 or go2, that stands, and its controller in lock-step.

    The controller is told the ``friction`` of the floor. The state is measured with errors of a
    good estimator times ``noise``, white, Gaussian, with a seed, the base ``delay`` steps late.
    ``objects``, of Box, touch the robot. The robot starts in a ``posture``, its trunk at a
    ``height``, m; standing, if not given. ``tasks`` are arguments of `legged_tasks`, ``law`` of the
    controller instead of its ``limits``. ``robot`` is the `LockStep` of both.

    ``reports`` has for each step roll and pitch, rad, the velocity ahead and to the left, m/s, the
    yaw rate, rad/s, the greatest velocity and effort of a joint in parts of its limit, and the
    greatest part of the floor's friction that the law's contact forces need.
    """

    def __init__(self, name='b1', *, friction=FRICTION, noise=0.0, delay=0, objects=(),
                 posture=None, height=None, stepping=None, tasks=None, law=None):
        from opspace_control.simulation import Reality, Shape, SimulatedRobot
        from opspace_control.simulation.lockstep import LockStep

        robot, radius = demo_robot(name), _RADII[name]
        text = robot.path().read_text()
        simulated = SimulatedRobot(
            text, floating_base=True, floor=True, friction=friction, timestep=STEP,
            contacts=bool(objects), objects=objects,
            shapes=[Shape(foot, (radius,)) for foot in FEET], reality=Reality(
                position_noise=noise * _JOINT_POSITION, velocity_noise=noise * _JOINT_VELOCITY,
                base_noise=noise * _BASE, base_delay=delay * STEP))
        self.model = RobotModel.from_urdf(text, floating_base=True, passive_joints=('base',))
        tasks, contacts = legged_tasks(
            self.model.root_link, FEET, **{'friction': friction, **(tasks or {})})
        if law is None:
            law = {'limits': JointLimits(self.model, acceleration=1e3, approach_rate=50.0)}
        self.controller = OperationalSpaceController(self.model, tasks, constraints=contacts, **law)
        self.locomotion = Locomotion(self.controller, FEET, robot.start, stepping=stepping)
        if height is None:
            height = self.locomotion.stance.height + radius
        self.robot = LockStep(simulated, self.controller, self._compute)
        simulated.reset(robot.start if posture is None else posture,
                        base_pose=[0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0])
        self.reports, self._tau = [], np.zeros(self.model.nv)
        self._friction = friction
        self._speeds = self.model.velocity_limits[6:]
        self._strengths = self.model.effort_limits[6:]

    @property
    def fallen(self):
        """Whether the trunk is tilted by more than FALLEN."""
        return bool(self.reports) and max(map(abs, self.reports[-1][:2])) > FALLEN

    def run(self, seconds):
        """Simulate, until the robot falls; return the reports (k, 8) of this time."""
        first = len(self.reports)
        for _ in range(round(seconds / STEP)):
            self.robot.cycle(STEP)
            self.robot.simulated.step()
            self._report()
            if self.fallen:
                break
        return np.array(self.reports[first:])

    def shove(self, vx, vy):
        """Change the velocity of the whole robot, m/s, world axes."""
        self.robot.simulated.data.qvel[:2] += vx, vy

    def _compute(self, state, dt):
        self.locomotion.update(state, dt)
        self.compute_torque(state, self._tau)
        return self._tau

    def compute_torque(self, state, tau):
        """Write the law's generalized forces (nv,) of a state into ``tau``, N and N·m."""
        self.controller.compute_torque(state, tau, dt=STEP)

    def _report(self):
        robot = self.robot.simulated
        roll, pitch, yaw = rpy_from_matrix(matrix_from_quaternion(robot.base_pose[3:]))
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

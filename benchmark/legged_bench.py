# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A quadruped in MuJoCo, on a floor that only pushes and has friction, under a `Locomotion`."""

import math
import xml.etree.ElementTree as ET

import mujoco
import numpy as np

from opspace_control import JointLimits, OperationalSpaceController, RobotModel, RobotState
from opspace_control.cli.robots import real_robot
from opspace_control.locomotion import Locomotion, legged_tasks
from opspace_control.simulation import SimulatedRobot

FEET = ('FL_foot', 'FR_foot', 'RL_foot', 'RR_foot')
# Radius of the feet, m, and angle of the hips by which they are nearer to each other, rad.
ROBOTS = {'b1': (0.04, 0.06), 'go2': (0.022, 0.04)}
HEIGHT = 1.5  # of the trunk, in lengths of the thigh, which is that of the shank
FRICTION = 0.7
STEP = 1e-3  # s
FALLEN = 1.0  # rad, of roll or pitch


def with_spheres(text, radius):
    """Return a URDF whose feet are spheres: those of some robots are meshes."""
    robot = ET.fromstring(text)
    for link in robot.iter('link'):
        if link.get('name') in FEET:
            for shape in link.findall('collision'):
                link.remove(shape)
            link.append(ET.fromstring(
                f'<collision><geometry><sphere radius="{radius}"/></geometry></collision>'))
    return ET.tostring(robot, encoding='unicode')


class LeggedBench:
    """
    A quadruped of ROBOTS that stands; efforts are cut at the limits of the URDF by the simulator.

    The controller is told the ``friction`` of the floor, whose cones are ``elliptic`` or pyramids.
    ``noise`` scales errors of the state: 2 mm, 3 mrad, 0.03 m/s and 0.02 rad/s of the base, 0.2
    mrad and 0.03 rad/s of joints (standard deviations). The base is seen ``delay`` steps late.
    ``reports`` has for each step roll and pitch, rad, the velocity ahead and to the left, m/s, the
    yaw rate, rad/s, the greatest velocity and effort of a joint in parts of its limit, and the
    greatest part of friction in use.
    """

    def __init__(self, name='b1', *, noise=0.0, delay=0, friction=FRICTION, elliptic=False,
                 objects=(), posture=None, height=None, stepping=None):
        radius, inside = ROBOTS[name]
        text = with_spheres(
            real_robot(f'{name}_description/urdf/{name}.urdf').read_text(), radius)
        self.robot = SimulatedRobot(
            text, floating_base=True, floor=True, contacts=bool(objects), objects=objects)
        self.robot.model.geom_friction[:, 0] = friction
        if elliptic:
            self.robot.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        self.model = RobotModel.from_urdf(text, floating_base=True, passive_joints=('base',))
        bend = math.acos(0.5 * HEIGHT)
        stand = {f'{foot[:2]}_{joint}_joint': angle for foot in FEET for joint, angle in (
            ('hip', inside if foot[1] == 'R' else -inside), ('thigh', bend),
            ('calf', -2.0 * bend))}
        tasks, contacts = legged_tasks(self.model.root_link, FEET, friction=friction)
        self.controller = OperationalSpaceController(
            self.model, tasks, constraints=contacts,
            limits=JointLimits(self.model, acceleration=1e3, approach_rate=50.0))
        self.locomotion = Locomotion(self.controller, FEET, stand, stepping=stepping)
        if height is None:
            height = self.locomotion.stance.height + radius
        self.robot.reset(stand if posture is None else posture,
                         base_pose=[0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0])
        self._order = [self.robot.joint_names.index(joint) for joint in self.model.dof_names[6:]]
        self._noise, self._delay, self._rng = noise, delay, np.random.default_rng(0)
        self._seen, self.reports = [], []
        self._speeds = self.model.velocity_limits[6:]
        self._strengths = self.model.effort_limits[6:]

    @property
    def fallen(self):
        """Whether the trunk is tilted by more than FALLEN."""
        return bool(self.reports) and max(map(abs, self.reports[-1][:2])) > FALLEN

    def run(self, seconds):
        """Simulate, until the robot falls; return the reports (k, 8) of this time."""
        state = RobotState(self.model, *self._state())
        tau, effort, first = np.zeros(self.model.nv), np.zeros(12), len(self.reports)
        for _ in range(round(seconds / STEP)):
            state.update(*self._state())
            self.locomotion.update(state, STEP)
            self.controller.compute_torque(state, tau, dt=STEP)
            effort[self._order] = tau[6:]
            self.robot.set_effort(effort)
            self.robot.step()
            self._report()
            if self.fallen:
                break
        return np.array(self.reports[first:])

    def shove(self, vx, vy):
        """Change the velocity of the whole robot, m/s."""
        self.robot.data.qvel[:2] += vx, vy

    def _state(self):
        robot, rng, n = self.robot, self._rng, self._noise
        self._seen.append((robot.base_pose, robot.base_twist))
        pose, twist = (part.copy() for part in self._seen[-1 - min(
            self._delay, len(self._seen) - 1)])
        positions, velocities = robot.positions[self._order], robot.velocities[self._order]
        if n:
            pose[:3] += n * rng.normal(0.0, 0.002, 3)
            pose[3:6] += n * rng.normal(0.0, 0.0015, 3)
            pose[3:] /= np.linalg.norm(pose[3:])
            twist += n * rng.normal(0.0, 1.0, 6) * [0.03, 0.03, 0.03, 0.02, 0.02, 0.02]
            positions += n * rng.normal(0.0, 2e-4, 12)
            velocities += n * rng.normal(0.0, 0.03, 12)
        return np.concatenate([pose, positions]), np.concatenate([twist, velocities])

    def _report(self):
        x, y, z, w = self.robot.base_pose[3:]
        roll = math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
        pitch = math.asin(max(min(2.0 * (w * y - z * x), 1.0), -1.0))
        yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        vx, vy, _, _, _, rate = self.robot.base_twist
        c, s = math.cos(yaw), math.sin(yaw)
        slip = max((contact.slip for contact in self.controller.constraints.values()
                    if contact.closed), default=0.0)
        self.reports.append((
            roll, pitch, c * vx + s * vy, c * vy - s * vx, rate,
            (abs(self.robot.velocities[self._order]) / self._speeds).max(),
            (abs(self.robot.efforts[self._order]) / self._strengths).max(), slip))


def tilt(reports):
    """Return the RMS tilt of a trunk, degrees."""
    return math.degrees(math.sqrt(np.square(reports[:, :2]).sum(axis=1).mean()))

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A Panda with a force-torque sensor and a ball-tipped tool above a plate, in lock-step."""

from dataclasses import dataclass

import numpy as np
from robots import robot_file

from opspace_control import (
    ForceSensor,
    OperationalSpaceController,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.control.ramps import Ramps
from opspace_control.simulation import SimulatedRobot
from opspace_control.simulation.objects import Box

HOME = dict(zip([f'panda_joint{i}' for i in range(1, 8)],
                [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785], strict=True))
FINGERS = ('panda_finger_joint1',)
TOOL_MASS, TOOL_CENTER, TOOL_LENGTH, BALL = 0.4, (0.0, 0.0, 0.06), 0.1, 0.015
# A sensor between flange and tool; the tip of the tool is the middle of its ball.
TOOL = f"""
  <link name="sensor">
    <inertial><origin xyz="0 0 0.06"/><mass value="{TOOL_MASS}"/>
      <inertia ixx="4e-4" iyy="4e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 {TOOL_LENGTH}"/><geometry><sphere radius="{BALL}"/></geometry>
    </collision>
  </link>
  <joint name="sensor_joint" type="fixed">
    <parent link="panda_link8"/><child link="sensor"/><origin xyz="0 0 0.02" rpy="0 0 0.3"/>
  </joint>
  <link name="tip"/>
  <joint name="tip_joint" type="fixed">
    <parent link="sensor"/><child link="tip"/><origin xyz="0 0 {TOOL_LENGTH}"/>
  </joint>
</robot>"""


def panda_text(joint_friction=0.0):
    """Return the URDF of the Panda with its tool, and friction in all seven joints, N·m."""
    text = robot_file('panda.urdf').read_text().replace('</robot>', TOOL)
    return text.replace('damping="0.003" friction="0.0"',
                        f'damping="0.003" friction="{joint_friction}"')


MODEL = RobotModel.from_urdf(panda_text(), locked_joints=FINGERS)


@dataclass(frozen=True)
class Course:
    """What was seen, a row for each cycle."""

    times: np.ndarray       # (k,) s
    forces: np.ndarray      # (k, 3) that the tool exerts on the plate, base axes, N
    positions: np.ndarray   # (k, 3) of the tip, m
    efforts: np.ndarray     # (k, nv) N·m
    stages: np.ndarray      # (k,) of str, of contact


class ContactBench:
    """
    The robot and its controller, one step for one cycle.

    The plate has no friction. Its contact is nearly rigid, or elastic with about 30 % of critical
    damping.

    Parameters
    ----------
    *tasks : OperationalTask
        The first is watched.
    gap : float
        Between the ball and the plate, m; nan for no plate.
    joint_friction : float
        N·m, which the controller does not know of.
    stiffness : float
        Of the plate, about, N/m; inf for nearly rigid.
    delay : int
        Cycles from a state to the effort that follows from it.
    smooth : float
        Time that what is set within ``ramps.smoothly()`` takes, s.

    Attributes
    ----------
    start : (4, 4) array
        Pose of the tip at the start.

    """

    def __init__(self, *tasks, gap=0.02, joint_friction=0.0, stiffness=1e4, delay=0, smooth=0.0):
        home = RobotState(MODEL, [HOME.get(name, 0.0) for name in MODEL.dof_names],
                          np.zeros(MODEL.nv))
        self.start = MODEL.forward_kinematics(home, ['tip'])['tip']
        x, y, z = self.start[:3, 3]
        plate = [] if np.isnan(gap) else [Box(
            'plate', (1.0, 1.0, 0.1), pose=(x, y, z - BALL - gap - 0.05, 0, 0, 0, 1), fixed=True)]
        self.robot = SimulatedRobot(panda_text(joint_friction), contacts=bool(plate), objects=plate,
                                    locked_joints=FINGERS, wrench_sensors=('sensor',))
        _make_contacts(self.robot.model, stiffness)
        self.robot.reset(positions=HOME)
        self.task = tasks[0]
        self.controller = OperationalSpaceController(MODEL, tasks, PostureTask())
        self.ramps = Ramps(self.controller.gradual, smooth)
        self.state = RobotState(MODEL, self.robot.positions, self.robot.velocities)
        self.sensing = True
        self.controller.warm_up()
        self._coming = [MODEL.gravity(self.state)] * delay

    def run(self, seconds, before_cycle=None):
        """Go on for some time; ``before_cycle(t)`` may set goals. Returns a Course."""
        rows, dt = [], self.robot.timestep
        begin = self.robot.time
        for _ in range(round(seconds / dt)):
            if before_cycle is not None:
                before_cycle(self.robot.time - begin)
            self.state.update(self.robot.positions, self.robot.velocities)
            if self.sensing:
                for sensor in self.controller.sensors.values():
                    sensor.update(self.robot.wrench('sensor'))
            self.ramps.advance(dt)
            self._coming.append(self.controller.compute_torque(self.state, dt=dt))
            self.robot.set_effort(self._coming.pop(0))
            rows.append((self.robot.time, -self._touch(), self.task.pose[:3],
                         self.robot.efforts, self.task.force.contact))
            self.robot.step()
        return Course(*(np.array(column) for column in zip(*rows, strict=True)))

    def _touch(self):
        """Return the force of the plate on the tool, base axes, N."""
        R = self.robot.data.body('sensor').xmat.reshape(3, 3)
        return R @ self.robot.contact_wrench('sensor')[:3]


def _make_contacts(model, stiffness):
    """Give MuJoCo's contacts no friction, and a stiffness."""
    model.geom_condim[:] = 1
    if np.isfinite(stiffness):
        # With little impedance d a contact is a spring: its force is about m d (k x + b ẋ).
        d, mass = 0.1, 3.0
        model.geom_solimp[:] = d, d, 1e-3, 0.5, 2.0
        model.geom_solref[:] = (-stiffness / (d * mass),
                                -2.0 * 0.3 * np.sqrt(stiffness / mass) / d)


def sensor(**options):
    """Return a sensor that knows its tool."""
    return ForceSensor('sensor', tool_mass=TOOL_MASS, tool_center=TOOL_CENTER, **options)

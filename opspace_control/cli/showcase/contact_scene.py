# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The PUMA 560 of [K87] IX with a wrist sensor and a finger, in contact, in lock-step."""

import math
import re
from dataclasses import dataclass

import numpy as np

import opspace_control
from opspace_control.cli.robots import demo_robot
from opspace_control.spatial.quaternions import turned

REACH = 0.1       # m, from the sensor, at the flange, to the tip
RADIUS = 0.01     # m, of ball and peg
PEG = 0.06        # m
CHAMFER = 0.006   # m, of the hole
MASS, CENTER = 0.2, (0.0, 0.0, 0.05)  # kg, m: of the finger
# MuJoCo's contacts with this time constant, s, critically damped, are as stiff before this arm as
# 2.5e5 N/m.
STIFF = 0.005
# Steps of the simulation to a cycle of the controller, at 1 kHz.
_STEPS, _CYCLE = 4, 1e-3
_LEVEL = (0.0, 0.0, 0.0, 1.0)  # quaternion xyzw

_FINGER = """
  <link name="finger">
    <inertial><origin xyz="0 0 {center}"/><mass value="{mass}"/>
      <inertia ixx="2e-4" iyy="2e-4" izz="4e-5" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 {z}"/><geometry>{shape}</geometry></collision>
  </link>
  <joint name="sensor" type="fixed"><parent link="hand"/><child link="finger"/></joint>
  <link name="tip"/>
  <joint name="fingertip" type="fixed">
    <parent link="finger"/><child link="tip"/><origin xyz="0 0 {reach}"/>
  </joint>
</robot>"""

_BURDEN = """<link name="hand"><inertial><mass value="{}"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>"""


@dataclass(frozen=True)
class Trial:
    """A recorded trial, a row for each of k cycles."""

    label: str
    times: np.ndarray      # (k,), s
    forces: np.ndarray     # (k, 3) of the finger on its contacts, base axes, mean of the cycle, N
    wanted: np.ndarray     # (k,) of the force downwards, N
    positions: np.ndarray  # (k, 3) of the tip, m
    limited: int           # how many efforts the limits cut in all that time

    @property
    def pressed(self):
        """The force downwards, (k,), N."""
        return -self.forces[:, 2]

    @property
    def touches(self):
        """How often contact was made."""
        return int(np.count_nonzero(np.diff((self.pressed > 0.0).astype(int)) == 1))


class ContactScene:
    """
    The robot under control, before boxes that stay where they are.

    ``make_task`` takes the sensor and returns the ``task`` of the tip; ``boxes`` takes the position
    of the tip at the start, (3,) m, and returns what is around. The finger ends in a ball with the
    tip in its middle, or is a ``peg``. The controller does not know of the ``joint_friction`` of
    the real robot and of a ``burden`` at the hand, kg. The contacts have a time constant
    ``softness``, s, and a coefficient of ``friction``.
    """

    def __init__(self, make_task, boxes, *, peg=False, joint_friction=False, burden=0.0,
                 softness=STIFF, friction=0.0):
        from opspace_control.simulation import SimulatedRobot
        from opspace_control.simulation.lockstep import LockStep

        robot = demo_robot('puma560')  # starts with its hand downwards
        text = _with_finger(robot.path().read_text(), peg)
        model = opspace_control.RobotModel.from_urdf(text)
        q = [robot.start.get(name, 0.0) for name in model.dof_names]
        state = opspace_control.RobotState(model, q, np.zeros(model.nv))
        start = model.forward_kinematics(state, ['tip'])['tip'][:3, 3]
        self._robot = SimulatedRobot(
            text.replace('<link name="hand"/>', _BURDEN.format(burden)), contacts=True,
            objects=boxes(start), wrench_sensors=('finger',), joint_friction=joint_friction,
            timestep=_CYCLE / _STEPS)
        geometry = self._robot.model
        geometry.geom_condim[:] = 3 if friction else 1
        geometry.geom_friction[:, 0] = friction
        geometry.geom_solref[:] = softness, 1.0
        self._robot.reset(positions=robot.start)
        self.task = make_task(opspace_control.ForceSensor(
            'finger', tool_mass=MASS, tool_center=CENTER))
        self._controlled = LockStep(
            self._robot, opspace_control.OperationalSpaceController(model, self.task))
        self._controlled.cycle()

    def press(self, force):
        """Set the target of the force downwards, N."""
        self.task.force.set_target([0.0, 0.0, -force, 0.0, 0.0, 0.0])

    def run(self, label, seconds, before_cycle=None):
        """Go on for some time; ``before_cycle(t)`` may set goals. Returns a Trial."""
        robot, controlled, rows, limited = self._robot, self._controlled, [], 0
        for k in range(round(seconds / _CYCLE)):
            if before_cycle is not None:
                before_cycle(k * _CYCLE)
            for sensor in controlled.controller.sensors.values():
                sensor.update(robot.wrench('finger'))
            controlled.cycle(_CYCLE)
            limited += controlled.controller.limited_joints
            force = np.zeros(3)
            for _ in range(_STEPS):
                robot.step()
                force -= self._touch() / _STEPS
            rows.append((k * _CYCLE, force, -self.task.force.target[2],
                         robot.frame_pose('tip')[:3]))
        return Trial(label, *(np.array(column) for column in zip(*rows, strict=True)), limited)

    def _touch(self):
        """Return the force on the finger, base axes, N."""
        R = self._robot.data.body('finger').xmat.reshape(3, 3)
        return R @ self._robot.contact_wrench('finger')[:3]


def plate(start, gap, tilt=0.0):
    """Return a plate ``gap`` below a ball at ``start``, its right side up by ``tilt``, rad."""
    from opspace_control.simulation import Box

    x, y, z = start
    depth = RADIUS + gap + 0.05 / math.cos(tilt)
    return [Box('plate', (1.0, 1.0, 0.1), fixed=True,
                pose=(x, y, z - depth, *turned(_LEVEL, (tilt, 0.0, 0.0))))]


def hole(x, y, top, width, depth):
    """Return boxes around a square hole with a chamfer, its rim at the height ``top``."""
    from opspace_control.simulation import Box

    wall, thickness = 0.03, 0.004
    half, length, low = 0.5 * width, math.sqrt(2.0) * CHAMFER, top - CHAMFER
    boxes = [Box('bottom', (0.1, 0.1, 0.02), fixed=True, pose=(x, y, low - depth - 0.01, *_LEVEL))]
    # The middle of the slope's back, outwards and upwards of its lower edge.
    out, up = (0.5 * (length + sign * thickness) / math.sqrt(2.0) for sign in (1.0, -1.0))
    slope = turned(_LEVEL, (0.0, -0.25 * math.pi, 0.0))
    for number in range(4):
        yaw = 0.5 * math.pi * number
        for name, size, turn, (outwards, height) in (
                ('wall', (wall, 3.0 * wall, depth), _LEVEL, (half + 0.5 * wall, -0.5 * depth)),
                ('slope', (length, 3.0 * wall, thickness), slope, (half + out, up))):
            boxes.append(Box(f'{name}_{number}', size, fixed=True, pose=(
                x + outwards * math.cos(yaw), y + outwards * math.sin(yaw), low + height,
                *turned(turn, (0.0, 0.0, yaw)))))
    return boxes


def _with_finger(text, peg):
    """Return the robot with a finger at its flange, which alone can touch anything."""
    shape = (f'<cylinder radius="{RADIUS}" length="{PEG}"/>' if peg
             else f'<sphere radius="{RADIUS}"/>')
    finger = _FINGER.format(center=CENTER[2], mass=MASS, z=REACH - 0.5 * PEG * peg, shape=shape,
                            reach=REACH)
    bare = re.sub(' *<collision>.*?</collision>\n', '', text, flags=re.DOTALL)
    return bare.replace('</robot>', finger)

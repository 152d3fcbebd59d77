# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A quadruped runs: contacts by the clock of a gait, a level trunk, efforts within their limits."""

import math

import numpy as np

from opspace_control import (
    JointLimits,
    Locomotion,
    OperationalSpaceController,
    RobotModel,
    RobotState,
    legged_tasks,
)
from opspace_control.cli.robots import real_robot
from opspace_control.simulation import SimulatedRobot

text = real_robot('b1_description/urdf/b1.urdf').read_text()
model = RobotModel.from_urdf(text, floating_base=True, passive_joints=('base',))
feet = 'FL_foot', 'FR_foot', 'RL_foot', 'RR_foot'
posture = {f'{leg}_{joint}_joint': angle for leg in ('FL', 'FR', 'RL', 'RR')
           for joint, angle in (('hip', -0.06 if leg[1] == 'L' else 0.06),
                                ('thigh', 0.7227), ('calf', -1.4455))}
tasks, contacts = legged_tasks('base', feet, friction=0.7)
controller = OperationalSpaceController(
    model, tasks, constraints=contacts,
    limits=JointLimits(model, acceleration=1000.0, approach_rate=50.0))
locomotion = Locomotion(controller, feet, posture)

robot = SimulatedRobot(text, floating_base=True, floor=True, friction=0.7)
robot.reset(posture, base_pose=[0.0, 0.0, 0.565, 0.0, 0.0, 0.0, 1.0])
state = RobotState(model, model.neutral(), np.zeros(model.nv))
locomotion.gait = 'running_trot'
locomotion.command(3.6)  # m/s, approached at 1 m/s²
tilts, speeds, fastest = [], [], 0.0
while robot.time < 5.0:
    state.update(np.r_[robot.base_pose, robot.positions], np.r_[robot.base_twist, robot.velocities])
    locomotion.update(state, robot.timestep)
    robot.set_effort(controller.compute_torque(state)[6:])  # cut at the limits of the URDF
    robot.step()
    if robot.time > 4.0:
        x, y, z, w = robot.base_pose[3:]
        tilts.append(2.0 * math.hypot(w * x + y * z, w * y - x * z))
        speeds.append(robot.base_twist[0])
        fastest = max(fastest, (abs(robot.velocities) / model.velocity_limits[6:]).max())

speed, tilt = float(np.mean(speeds)), math.degrees(math.sqrt(np.mean(np.square(tilts))))
print(f'{speed:.2f} m/s, trunk tilted by {tilt:.1f}° RMS, joints at {100 * fastest:.0f} % at most')

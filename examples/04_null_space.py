# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The torso rocks, the hands do not notice: posture in the null space of the tasks."""

import math

import numpy as np

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.share import share_directory
from opspace_control.simulation import SimulatedRobot

path = share_directory() / 'urdf' / 'dual_arm.urdf'
model = RobotModel.from_urdf_file(path)
robot = SimulatedRobot(path.read_text())
robot.reset(positions={'l_elbow': -1.5, 'r_elbow': -1.5})
controller = OperationalSpaceController(
    model, [PoseTask('l_hand'), PoseTask('r_hand')], PostureTask(kp=25.0))
torso = model.dof_index('torso_pitch')

state = RobotState(model, robot.positions, robot.velocities)
start, furthest, swing = None, 0.0, []
while robot.time < 8.0:
    # A subset of the joints is enough; the others keep the posture first seen.
    controller.posture.set_target({'torso_pitch': 0.4 * math.sin(0.5 * math.pi * robot.time)})
    state.update(robot.positions, robot.velocities)
    robot.set_effort(controller.compute_torque(state))
    robot.step()
    hands = np.array([task.pose[:3] for task in controller.tasks.values()])
    start = hands if start is None else start
    furthest = max(furthest, np.linalg.norm(hands - start, axis=1).max())
    swing.append(state.q[torso])
print(f'the torso swung from {min(swing):+.2f} to {max(swing):+.2f} rad; '
      f'the hands moved {1e3 * furthest:.3f} mm')

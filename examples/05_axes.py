# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Control some axes only: a tray is held level and at its height, and may be pushed about."""

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

# Height, roll and pitch. What is not named joins the null space, where the posture is soft here.
tray = PoseTask('l_hand', name='tray', axes='z rx ry', kp=400.0)
controller = OperationalSpaceController(model, [tray], PostureTask(kp=1.0, kd=4.0))

state = RobotState(model, robot.positions, robot.velocities)
controller.compute_torque(state)
start = tray.pose
robot.apply_wrench('l_hand', [3.0, 2.0, 0.0, 0.0, 0.0, 0.0])  # N, ahead and to the left
tilt = 0.0
while robot.time < 1.5:
    state.update(robot.positions, robot.velocities)
    robot.set_effort(controller.compute_torque(state))
    robot.step()
    tilt = max(tilt, np.linalg.norm(tray.error[3:5]))
moved = tray.pose[:3] - start[:3]
print(f'pushed with 3.6 N, the tray went {100 * np.linalg.norm(moved[:2]):.1f} cm sideways, '
      f'{1e3 * abs(moved[2]):.2f} mm in height and tilted {np.degrees(tilt):.2f}° at most')

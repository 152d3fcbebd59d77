# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Two hands of a simulated robot go to goals."""

import numpy as np

from opspace_control import OperationalSpaceController, PoseTask, RobotModel, RobotState
from opspace_control.share import share_directory
from opspace_control.simulation import SimulatedRobot

path = share_directory() / 'urdf' / 'dual_arm.urdf'
model = RobotModel.from_urdf_file(path)
robot = SimulatedRobot(path.read_text())
robot.reset(positions={'l_elbow': -1.5, 'r_elbow': -1.5})

controller = OperationalSpaceController(
    model, tasks=[PoseTask('l_hand', max_linear_velocity=0.3), PoseTask('r_hand')])
left = controller.tasks['l_hand']

# The first cycle: tasks without a goal hold what they see.
state = RobotState(model, robot.positions, robot.velocities)
controller.compute_torque(state)
goal = left.pose
goal[:3] += [0.1, 0.1, 0.2]
left.set_target(goal)

for step in range(2501):
    state.update(robot.positions, robot.velocities)
    robot.set_effort(controller.compute_torque(state))
    robot.step()
    if step % 500 == 0:
        print(f'{robot.time:4.1f} s   ' + '   '.join(
            f'{task.name}: {1e3 * np.linalg.norm(task.error[:3]):8.3f} mm, '
            f'{np.degrees(np.linalg.norm(task.error[3:])):6.3f}°'
            for task in controller.tasks.values()))

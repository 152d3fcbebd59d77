# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Far goals without a trajectory: straight ahead at V_max, [K87] (4.4)-(4.5)."""

import numpy as np

from opspace_control import OperationalSpaceController, PoseTask, RobotModel, RobotState
from opspace_control.share import share_directory
from opspace_control.simulation import SimulatedRobot

path = share_directory() / 'urdf' / 'dual_arm.urdf'
model = RobotModel.from_urdf_file(path)
robot = SimulatedRobot(path.read_text())
state = RobotState(model, model.neutral(), np.zeros(model.nv))

for limit in (np.inf, 0.5, 0.2):
    robot.reset(positions={'l_elbow': -1.5, 'r_elbow': -1.5})
    task = PoseTask('l_hand', max_linear_velocity=limit)
    controller = OperationalSpaceController(model, [task])
    state.update(robot.positions, robot.velocities)
    controller.compute_torque(state)
    start = task.pose
    task.set_target(np.add(start, [0.1, 0.1, 0.2, 0, 0, 0, 0]))
    path_of_hand, peak_effort = [], 0.0
    while np.linalg.norm(task.error[:3]) > 1e-3:
        state.update(robot.positions, robot.velocities)
        efforts = controller.compute_torque(state)
        robot.set_effort(efforts)
        robot.step()
        path_of_hand.append(task.pose[:3])
        peak_effort = max(peak_effort, abs(efforts / model.effort_limits).max())
    speed = np.linalg.norm(np.diff(path_of_hand, axis=0), axis=1).max() / robot.timestep
    print(f'V_max {limit:4} m/s: there within {robot.time:.2f} s, at {speed:.3f} m/s at most, '
          f'with {100 * peak_effort:.0f} % of the effort')

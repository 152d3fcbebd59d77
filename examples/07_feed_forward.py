# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Follow a moving goal: with its velocity and acceleration, the hand does not lag behind."""

import numpy as np

from opspace_control import OperationalSpaceController, PoseTask, RobotModel, RobotState
from opspace_control.share import share_directory
from opspace_control.simulation import SimulatedRobot

RADIUS, RATE = 0.08, 2.0 * np.pi / 1.5  # m, rad/s

path = share_directory() / 'urdf' / 'dual_arm.urdf'
model = RobotModel.from_urdf_file(path)
robot = SimulatedRobot(path.read_text())
state = RobotState(model, model.neutral(), np.zeros(model.nv))


def circle(time):
    """Return position, velocity and acceleration on a circle in the y-z plane."""
    s, c = np.sin(RATE * time), np.cos(RATE * time)
    return (RADIUS * np.array([0.0, s, 1.0 - c]), RADIUS * RATE * np.array([0.0, c, s]),
            RADIUS * RATE**2 * np.array([0.0, -s, c]))


lag = {}
for known in ('position', 'velocity', 'acceleration'):
    robot.reset(positions={'l_elbow': -1.5, 'r_elbow': -1.5})
    task = PoseTask('l_hand')
    controller = OperationalSpaceController(model, [task])
    state.update(robot.positions, robot.velocities)
    controller.compute_torque(state)
    center, turn = task.pose[:3], task.pose[3:]
    lag[known] = 0.0
    while robot.time < 4.5:
        p, v, a = circle(robot.time)
        task.set_target((center + p, turn),
                        twist=None if known == 'position' else [*v, 0, 0, 0],
                        acceleration=[*a, 0, 0, 0] if known == 'acceleration' else None)
        state.update(robot.positions, robot.velocities)
        robot.set_effort(controller.compute_torque(state))
        robot.step()
        if robot.time > 1.5:  # the first round is for catching up
            lag[known] = max(lag[known], np.linalg.norm(task.error[:3]))
    print(f'up to the {known:12} of the goal: {1e3 * lag[known]:8.3f} mm behind')

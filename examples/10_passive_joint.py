# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A joint without a drive: the palm goes to its goal through what the wrist is induced to do."""

import numpy as np

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    RobotState,
    disturbance_jacobian,
    operational_space,
)
from opspace_control.share import share_directory
from opspace_control.simulation import SimulatedRobot

path = share_directory() / 'urdf' / 'planar_3r.urdf'
start = {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6}


def reach(model):
    """Return how far from its goal the palm is at most, from two seconds on, mm."""
    robot = SimulatedRobot(path.read_text())
    robot.reset(positions=start)
    robot.set_status(passive=['wrist'])  # its drive is dead, whatever the model says
    controller = OperationalSpaceController(
        model, PoseTask('palm', axes='x z', max_linear_velocity=0.3))
    state = RobotState(model, robot.positions, robot.velocities)
    controller.compute_torque(state)
    goal = controller.tasks['palm'].pose
    goal[:3] += [0.1, 0.0, 0.1]
    controller.tasks['palm'].set_target(goal)
    errors = []
    while robot.time < 4.0:
        state.update(robot.positions, robot.velocities)
        robot.set_effort(controller.compute_torque(state))
        robot.step()
        errors.append(1e3 * np.linalg.norm(controller.tasks['palm'].error[[0, 2]]))
    return max(errors[2000:])


passive = RobotModel.from_urdf_file(path, passive_joints=['wrist'])
state = RobotState(passive, list(start.values()), np.zeros(3))
heavy = operational_space(passive, state, 'palm').inertia[0, 0]
print(f'shoulder and elbow move the wrist by {disturbance_jacobian(passive, state).round(2)}; '
      f'the palm weighs {heavy:.1f} kg along x')

knowing = reach(passive)
believing = reach(RobotModel.from_urdf_file(path))
print(f'the palm is {knowing:.3f} mm from its goal at most, '
      f'{believing:.0f} mm where the wrist is believed to have a drive')

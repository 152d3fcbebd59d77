# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Two hands on one box: they lift it, share its weight and squeeze it as they are told."""

from opspace_control import (
    Grasp,
    OperationalSpaceController,
    Payload,
    PoseTask,
    RobotModel,
    RobotState,
)
from opspace_control.share import share_directory
from opspace_control.simulation import Box, SimulatedRobot

path = share_directory() / 'urdf' / 'dual_arm.urdf'
start = {'l_shoulder_pitch': 0.2, 'l_shoulder_roll': 0.2, 'l_elbow': -1.7,
         'r_shoulder_pitch': 0.2, 'r_shoulder_roll': -0.2, 'r_elbow': -1.7}
mass, size = 3.0, (0.2, 0.58, 0.2)
robot = SimulatedRobot(path.read_text(), objects=[
    Box('box', size, mass, (0.3764, 0.0, 1.1004, 0.0, 0.0, 0.0, 1.0))])
robot.reset(start)

grasp = Grasp(('r_hand', 'l_hand'), name='carry', payload=Payload.of_box(mass, size),
              grasp_force=20.0, max_linear_velocity=0.3)
model = RobotModel.from_urdf_file(path)
controller = OperationalSpaceController(
    model, [PoseTask('l_hand'), PoseTask('r_hand')], grasps=grasp)
state = RobotState(model, robot.positions, robot.velocities)
controller.compute_torque(state)

for hand in grasp.effectors:
    robot.grip(hand, 'box')  # what a real gripper does
grasp.engage(state)          # what the controller has to know
controller.compute_torque(state)
goal = grasp.task.pose
goal[2] += 0.1
grasp.task.set_target(goal)  # of the box, not of a hand
while robot.time < 3.0:
    state.update(robot.positions, robot.velocities)
    robot.set_effort(controller.compute_torque(state))
    robot.step()

tensions, _ = grasp.internal_forces
right, left = (robot.grip_wrench(hand, 'box')[:3] for hand in grasp.effectors)
print(f'the box is {1e3 * abs(grasp.task.error).max():.2f} mm from its goal; '
      f'the hands press with {-tensions[0]:.1f} N')
print(f'in truth {right[1]:+.1f} N and {left[1]:+.1f} N sideways, '
      f'and bear {right[2]:.1f} N and {left[2]:.1f} N of its weight of {9.81 * mass:.1f} N')

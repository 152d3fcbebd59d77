# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The hand presses on a wall along x, by the sensor in its wrist, and wipes it along y."""

import numpy as np

from opspace_control import (
    ForceControl,
    ForceSensor,
    OperationalSpaceController,
    PoseTask,
    RobotModel,
    RobotState,
)
from opspace_control.share import share_directory
from opspace_control.simulation import SimulatedRobot
from opspace_control.simulation.objects import Box

path = share_directory() / 'urdf' / 'dual_arm.urdf'
model = RobotModel.from_urdf_file(path)
wall = Box('wall', (0.1, 1.0, 1.0), pose=(0.51, 0.25, 1.09, 0, 0, 0, 1), fixed=True)
robot = SimulatedRobot(path.read_text(), contacts=True, objects=[wall], wrench_sensors=['l_palm'])
robot.model.geom_condim[:] = 1  # a wet wall: no friction
robot.reset(positions={'l_elbow': -1.5, 'r_elbow': -1.5})

sensor = ForceSensor('l_palm', tool_mass=0.5, tool_center=(0.0, 0.0, -0.09))
hand = PoseTask('l_hand', kp=400.0, max_linear_velocity=0.2, force_axes='x',
                force=ForceControl(sensor))
controller = OperationalSpaceController(model, hand)
state = RobotState(model, robot.positions, robot.velocities)


def run(seconds):
    """Go on for a while; return the forces on the wall, N."""
    forces = []
    for _ in range(round(1000 * seconds)):
        state.update(robot.positions, robot.velocities)
        sensor.update(robot.wrench('l_palm'))  # what tool and wall exert on the robot
        robot.set_effort(controller.compute_torque(state, dt=robot.timestep))
        robot.step()
        forces.append(np.linalg.norm(robot.contact_wrench('l_palm')[:3]))
    return np.array(forces)


run(0.1)
hand.force.set_target([20.0, 0.0, 0.0, 0.0, 0.0, 0.0])
stages = []
while 'contact' not in stages:
    run(0.01)
    stages += [hand.force.contact] * (hand.force.contact not in stages)
pressed = run(0.5)[-1]
print(f'{" → ".join(stages)}: 20 N are wanted, {pressed:.2f} N pressed')
goal = hand.pose
goal[1] += 0.1
hand.set_target(goal)
forces = run(1.5)
print(f'wiped to {1e3 * abs(hand.error[1]):.2f} mm of the goal, with {forces.min():.1f} to '
      f'{forces.max():.1f} N')

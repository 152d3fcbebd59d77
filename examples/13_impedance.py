# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The hand yields like a spring, and swings back with the damping that is asked for."""

import numpy as np

from opspace_control import Impedance, OperationalSpaceController, PoseTask, RobotModel, RobotState
from opspace_control.share import share_directory
from opspace_control.simulation import SimulatedRobot

path = share_directory() / 'urdf' / 'dual_arm.urdf'
model = RobotModel.from_urdf_file(path)
robot = SimulatedRobot(path.read_text())
robot.reset(positions={'l_elbow': -1.5, 'r_elbow': -1.5})
hand = PoseTask('l_hand', impedance=Impedance([500.0] * 3 + [20.0] * 3))
controller = OperationalSpaceController(model, hand)
state = RobotState(model, robot.positions, robot.velocities)


def run(seconds):
    """Go on for a while; return how far the hand is aside, mm."""
    aside = []
    for _ in range(round(1000 * seconds)):
        state.update(robot.positions, robot.velocities)
        robot.set_effort(controller.compute_torque(state, dt=robot.timestep))
        robot.step()
        aside.append(-1e3 * hand.error[1])
    return np.array(aside)


run(0.01)
overshoots = {}
for ratio in (1.0, 0.7, 0.3):
    hand.impedance.set(damping_ratio=ratio)
    robot.apply_wrench('l_hand', [0.0, 10.0, 0.0, 0.0, 0.0, 0.0])
    yielded = run(3.0)[-1]
    robot.apply_wrench('l_hand', np.zeros(6))
    overshoots[ratio] = max(0.0, -run(2.0).min() / yielded)
    print(f'damping ratio {ratio}: 10 N against 500 N/m is {yielded:.2f} mm, '
          f'{overshoots[ratio]:.0%} overshoot')

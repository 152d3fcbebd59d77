# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A real humanoid, brakes on what is not driven, and how long a control cycle takes."""

import time

import numpy as np

from opspace_control import OperationalSpaceController, PoseTask, RobotModel, RobotState
from opspace_control.cli.robots import demo_robot

talos = demo_robot('talos')  # of the package example-robot-data
everything = RobotModel.from_urdf_file(talos.path())
held = [joint for joint in everything.joint_names if joint not in talos.driven]
model = RobotModel.from_urdf_file(talos.path(), locked_joints=held)
print(f'{model}, brakes on {", ".join(held)}')

q = model.neutral()
for joint, position in talos.start.items():
    q[model.q_index[model.dof_index(joint)]] = position
state = RobotState(model, q, np.zeros(model.nv))

controller = OperationalSpaceController(model, [PoseTask(hand) for hand in talos.hands])
torque = np.empty(model.nv)
began = time.perf_counter()
controller.warm_up()
print(f'compiled, or loaded, in {time.perf_counter() - began:.1f} s')

cycles = 5000
began = time.perf_counter()
for _ in range(cycles):
    controller.compute_torque(state, out=torque)
microseconds = 1e6 * (time.perf_counter() - began) / cycles
print(f'{microseconds:.1f} µs a cycle for {model.nv} joints and two hands')
print(f'torque at brakes: {torque[model.locked]}, elsewhere up to {abs(torque).max():.1f} N m')

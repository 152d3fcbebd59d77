# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Load a robot from its URDF and look at it."""

import numpy as np

from opspace_control import RobotModel, RobotState
from opspace_control.share import share_directory

model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')
print(model)
print(f'{"joint":18}{"range, rad":>16}{"effort, N m":>14}')
for k, name in enumerate(model.dof_names):
    print(f'{name:18}{model.lower_position_limits[k]:8.2f}{model.upper_position_limits[k]:8.2f}'
          f'{model.effort_limits[k]:14.0f}')

# A state is positions and velocities in the order of dof_names; it is checked when it is made.
q = model.neutral()
for elbow in ('l_elbow', 'r_elbow'):
    q[model.q_index[model.dof_index(elbow)]] = -1.5
state = RobotState(model, q, np.zeros(model.nv))

hands = model.forward_kinematics(state, ['l_hand', 'r_hand'])
for name, pose in hands.items():
    print(f'{name} is at {pose[:3, 3].round(3)} m')

A, g = model.mass_matrix(state), model.gravity(state)
heaviest = model.dof_names[abs(g).argmax()]
print(f'holding this posture takes {abs(g).max():.1f} N m at {heaviest}; '
      f'joint inertias go from {A.diagonal().min():.1e} to {A.diagonal().max():.1f} kg m²')

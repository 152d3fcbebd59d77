# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The dynamics that the hands see: Λ a + μ + ρ = F."""

import numpy as np

from opspace_control import RobotModel, RobotState, operational_space
from opspace_control.share import share_directory

model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')
q = model.neutral()
q[model.q_index[[model.dof_index('l_elbow'), model.dof_index('r_elbow')]]] = -1.5
state = RobotState(model, q, 0.2 * np.ones(model.nv))

osd = operational_space(model, state, frames=['l_hand', 'r_hand'])
J, J_bar = osd.jacobian, osd.dynamically_consistent_inverse
print(f'J is {J.shape}, Λ is {osd.inertia.shape}, of rank {osd.rank}')

# What a push in some direction meets: the hand is not equally heavy everywhere.
for axis, direction in zip('xyz', np.eye(3), strict=True):
    mobility = direction @ osd.inverse_inertia[:3, :3] @ direction
    print(f'the left hand weighs {1.0 / mobility:5.2f} kg along {axis}')

# A push at one hand moves the other one, through the torso; the controller takes that into account.
push = np.zeros(12)
push[0] = 1.0
accelerations = osd.inverse_inertia @ push
print(f'1 N ahead at the left hand accelerates it by {accelerations[0]:.3f} m/s², '
      f'and the right hand by {accelerations[6]:.3f} m/s²')

# J̄ is the one inverse of J through which no posture torque disturbs the hands.
N = osd.null_space_projection
posture_torque = np.random.default_rng(0).normal(size=model.nv)
leak = J @ np.linalg.solve(model.mass_matrix(state), N.T @ posture_torque)
print(f'J J̄ = 1 to {abs(J @ J_bar - np.eye(12)).max():.0e}; '
      f'a torque of the null space accelerates the hands by {abs(leak).max():.0e} m/s²')
print(f'gravity pulls the left hand with {osd.gravity[2]:.1f} N, '
      f'motion with {np.linalg.norm(osd.coriolis[:3]):.2f} N')

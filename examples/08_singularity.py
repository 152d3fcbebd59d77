# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Through a singularity: where a direction is lost, it is truncated, and nothing jumps."""

import numpy as np

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
    operational_space,
)
from opspace_control.share import share_directory

model = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'planar_3r.urdf')
task = PoseTask('hand', axes='x z')
controller = OperationalSpaceController(model, [task], PostureTask(kp=0.0, kd=5.0),
                                        effort_limits=np.inf)

print('elbow, rad   Λ along the arm, kg   by that, N m   the controller, N m   so it accelerates')
for elbow in (1.0, 0.3, 0.1, 0.03, 0.01, 0.001, 0.0001, -0.001, -0.1, -1.0):
    # Stretched out along x but for the elbow, and asked to go ahead at 1 m/s².
    state = RobotState(model, [-0.4 * elbow, elbow, -0.6 * elbow], np.zeros(3))
    controller.hold()
    task.set_feed_forward(acceleration=[1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    torque = controller.compute_torque(state)
    osd = operational_space(model, state, ['hand'])
    rows = osd.inverse_inertia[np.ix_([0, 2], [0, 2])]
    inertia = np.linalg.inv(rows)
    naive = model.gravity(state) + osd.jacobian[[0, 2]].T @ inertia @ [1.0, 0.0]
    reached = (osd.jacobian @ model.forward_dynamics(state, torque))[0]
    print(f'{elbow:10}{inertia[0, 0]:20.3g}{abs(naive).max():16.1f}'
          f'{abs(torque).max():17.1f}{reached:19.3f} m/s²')

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Compilation of all code of the control cycle before the robot moves."""

import threading
import time

from opspace_control.compiled import cache_directory
from opspace_control.dynamics import PassiveForces
from opspace_control.model import RobotState
from opspace_control.spatial.rotation_vectors import vector_from_matrix
from opspace_control.spatial.rotations import matrix_from_quaternion, quaternion_from_matrix

# Loading compiled code takes less than this.
_LOADING = 1.0  # s


def warm_up(controller, logger):
    """
    Compile or load all code of a cycle, of goals and of feedback; log a long compilation.

    Parameters
    ----------
    controller : OperationalSpaceController
        The one that is used afterwards: the code depends on the types of its arguments.
    logger : rclpy logger
        For the time that it takes.

    """
    start = time.perf_counter()
    slow = threading.Timer(_LOADING, lambda: logger.info(
        'Compiling for this machine; this happens once and takes a few seconds '
        f'(kept in {cache_directory()}).'))
    slow.start()
    try:
        controller.warm_up()
        model = controller.model
        state = RobotState(model, model.neutral(), [0.0] * model.nv)
        controller.damping_torque(state)
        model.jacobian(state, [model.root_link])
        model.bias_acceleration(state, [model.root_link])  # for plans
        PassiveForces.from_urdf(model).torque(state)
        R = model.forward_kinematics(state)[model.root_link][:3, :3]
        vector_from_matrix(matrix_from_quaternion(quaternion_from_matrix(R)))
    finally:
        slow.cancel()
    took = time.perf_counter() - start
    logger.info(f'{"Loaded" if took < _LOADING else "Compiled"} in {took:.1f} s.')

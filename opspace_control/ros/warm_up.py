# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Everything is compiled before anything moves."""

import threading
import time

from opspace_control.compiled import cache_directory
from opspace_control.dynamics import PassiveForces
from opspace_control.model import RobotState
from opspace_control.spatial.rotation_vectors import vector_from_matrix
from opspace_control.spatial.rotations import matrix_from_quaternion, quaternion_from_matrix

# Loading what was compiled before takes less.
_LOADING = 1.0  # s


def warm_up(controller, logger):
    """
    Compile, or load, everything that a cycle, a goal or feedback calls; say what takes long.

    Parameters
    ----------
    controller : OperationalSpaceController
        The one to be used: what is compiled depends on the kinds of its arguments.
    logger : rclpy logger
        Hears what takes long.

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
        model.bias_acceleration(state, [model.root_link])  # of what a plan moves
        PassiveForces.from_urdf(model).torque(state)
        R = model.forward_kinematics(state)[model.root_link][:3, :3]
        vector_from_matrix(matrix_from_quaternion(quaternion_from_matrix(R)))
    finally:
        slow.cancel()
    took = time.perf_counter() - start
    logger.info(f'{"Loaded" if took < _LOADING else "Compiled"} in {took:.1f} s.')

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The joint forces of a cycle by source."""

import numpy as np

from opspace_control.dynamics.hybrid_dynamics import hybrid_motion
from opspace_control.model import RobotState
from opspace_control.model.nodes import ACTIVE

SOURCES = ('task', 'posture', 'gravity', 'grasp', 'limits')


def split_efforts(controller, state, commanded):
    """
    Return the joint forces of the last cycle by source; their sum is ``commanded``.

    ``τ = J_Gᵀ f' + (A q̈_null + b) + g + J_Gcᵀ w + limits``, [CK00] (11)-(13), [JR94] (6.8). The
    cycle never forms these terms, so they are computed anew from what it wrote: the wrenches
    f' and w, the motion q̈_null.

    Parameters
    ----------
    controller : OperationalSpaceController
        After a cycle.
    state : RobotState
        Of that cycle.
    commanded : (nv,) array
        What was sent to the joints, N·m or N.

    Returns
    -------
    dict of str to (nv,) array
        N·m or N. ``task``: of all tasks' forces. ``posture``: of the reference acceleration,
        Coriolis and centrifugal forces and its feed-forward among them. ``gravity``: the gravity
        torques, payloads included, zero where the hardware compensates them. ``grasp``: of what is
        exerted at constraints, internal forces among them.
        ``limits``: what limits, and whatever else came after the law, changed.

    """
    model = controller.model
    still = RobotState(model, state.q, np.zeros(model.nv))
    weight = _inverse_dynamics(controller, still, np.zeros(model.nv))
    motion = _inverse_dynamics(controller, state, controller.posture_acceleration)
    parts = {
        'task': _through_motors(controller, state, controller.tasks.values()),
        'posture': motion - weight + controller.posture.feed_forward_effort,
        'gravity': weight if controller.gravity_compensation else np.zeros(model.nv),
        'grasp': _through_motors(controller, state, controller.constraints.values()),
    }
    for part in parts.values():
        part[controller.locked | controller.passive] = 0.0
    parts['limits'] = commanded - sum(parts.values())
    return parts


def _inverse_dynamics(controller, state, acceleration):
    """Return ``A v̇ + b + g`` (nv,) of the robot with its payloads, N·m or N."""
    nodes = controller.nodes
    nodes['status'] = ACTIVE
    return hybrid_motion(controller.model, nodes, state, acceleration,
                         np.zeros(controller.model.nv)).torque


def _through_motors(controller, state, exerting):
    """Return ``J_Gᵀ f = J_aᵀ f − A_ap A_pp⁻¹ J_pᵀ f`` of all that tasks or constraints exert."""
    model, passive = controller.model, controller.passive
    force = np.zeros(model.nv)
    for part in exerting:
        force += part.joint_force(model, state)
    if passive.any():
        A = model.mass_matrix(state, controller.nodes)
        force -= A[:, passive] @ np.linalg.solve(A[np.ix_(passive, passive)], force[passive])
    return force

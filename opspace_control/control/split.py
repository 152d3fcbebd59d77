# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Where the joint forces of a cycle come from: for people who want to understand a motion."""

import numpy as np

SOURCES = ('task', 'posture', 'gravity', 'limits')


def split_efforts(controller, state, commanded):
    """
    Return the joint forces of the last cycle by source; their sum is ``commanded``.

    ``τ = Jᵀ f' + (A q̈_null + b) + g + limits``, [CK00] (11)-(13). The cycle never forms these
    terms, so they are computed anew from what it asked for: the wrenches f', the motion q̈_null.

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
        N·m or N. ``task``: of all tasks' wrenches. ``posture``: of the motion the posture advises,
        Coriolis and centrifugal forces among them. ``gravity``: the weight, zero where the hardware
        carries it. ``limits``: what limits, and whatever else came after the law, changed.

    """
    model = controller.model
    weight = model.gravity(state)
    frames = [task.frame for task in controller.tasks.values()]
    wrenches = [task.wrench for task in controller.tasks.values()]
    parts = {
        'task': (model.jacobian(state, frames).T @ np.concatenate(wrenches) if frames
                 else np.zeros(model.nv)),
        'posture': model.inverse_dynamics(state, controller.posture_acceleration) - weight,
        'gravity': weight if controller.gravity_compensation else np.zeros(model.nv),
    }
    for part in parts.values():
        part[model.locked | model.passive] = 0.0
    parts['limits'] = commanded - sum(parts.values())
    return parts

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The check whether drives can keep the limits of their joints."""

from opspace_control.cli.preflight import verdict
from opspace_control.control import JointLimits
from opspace_control.errors import OpspaceError
from opspace_control.ros.parameters.robot import make_limits


def look_at_braking(model, values, joints, findings):
    """
    Return whether limits of motion are kept, what joints can brake with, and which are weak.

    ``values`` are the controller's parameters, ``joints`` the names of those that are commanded;
    ``findings`` receives a finding if the parameters cannot be used.

    """
    effort_limits = values['limits.effort_scale'] * model.effort_limits
    try:
        limits = make_limits(model, effort_limits, values)
    except OpspaceError as error:
        findings.append(verdict.failure(error, 'limits'))
        limits = JointLimits(model, effort_limits=effort_limits)
    return {'kept': values['limits.keep'],
            'weak': [name for name in limits.weak if name in joints],
            'accelerations': dict(zip(model.dof_names, limits.acceleration.tolist(), strict=True))}

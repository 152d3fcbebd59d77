# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Which joints are commanded, and in which order; needs no ROS."""

import numpy as np

from opspace_control.errors import RosInterfaceError
from opspace_control.model.topology import nearest


def command_joints(model, wanted=()):
    """
    Return the joints of the command topic, in its order.

    Parameters
    ----------
    model : KinematicTree
        The robot.
    wanted : sequence of str
        The order said by a parameter; if empty, the joints with an effort command interface in the
        URDF, or else all joints of one degree of freedom; without passive and locked ones.

    Raises
    ------
    RosInterfaceError
        A joint is named twice, or is not a joint of one degree of freedom.

    """
    scalar = [name for name in model.joint_names if len(model.joint_dofs[name]) == 1]
    if not wanted:
        taken = {model.dof_names[i] for i in np.flatnonzero(model.passive | model.locked)}
        return [name for name in model.effort_joints or scalar
                if name in scalar and name not in taken]
    for name in wanted:
        if name not in scalar:
            raise RosInterfaceError(
                f"command_joints: '{name}' is no joint of one degree of freedom.",
                cure=nearest(name, scalar), joint=name)
        if list(wanted).count(name) > 1:
            raise RosInterfaceError(f"command_joints: '{name}' is named twice.",
                                    cure='A command has one number a joint.', joint=name)
    return list(wanted)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The commanded joints in order, and the status of the others; needs no ROS."""

import numpy as np

from opspace_control.errors import RosInterfaceError
from opspace_control.model.assembly import BASE
from opspace_control.model.topology import nearest


def command_joints(model, wanted=()):
    """
    Return the joints of the command topic, in its order.

    Parameters
    ----------
    model : KinematicTree
        The robot.
    wanted : sequence of str
        The order of a parameter; if empty, the joints with an effort command interface in the URDF;
        without any, all joints of one degree of freedom that are neither passive nor locked.

    Raises
    ------
    RosInterfaceError
        A joint is named twice, or has not one degree of freedom.

    """
    scalar = [name for name in model.joint_names if len(model.joint_dofs[name]) == 1]
    if not wanted:
        # Dead drives and closed brakes keep their place in the order of a command.
        driven = [name for name in model.effort_joints if name in scalar]
        taken = {model.dof_names[i] for i in np.flatnonzero(model.passive | model.locked)}
        return driven or [name for name in scalar if name not in taken]
    for name in wanted:
        if name not in scalar:
            raise RosInterfaceError(
                f"command_joints: '{name}' is not a joint of one degree of freedom.",
                cure=nearest(name, scalar), joint=name)
        if list(wanted).count(name) > 1:
            raise RosInterfaceError(f"command_joints: '{name}' is named twice.",
                                    cure='A command has one number per joint.', joint=name)
    return list(wanted)


def joint_status(model, commanded, passive=(), locked=()):
    """
    Return the passive and the locked joints.

    A joint in both lists is locked, since a brake stops any drive. Of the joints in neither list
    and without a command, those in the URDF's <ros2_control> without any command interface are
    passive: hardware measures them and cannot move them. All others are locked by something else
    (a position controller, a brake, a mount). A floating base is passive.

    Parameters
    ----------
    model : KinematicTree
        The robot.
    commanded : collection of str
        Joints of the command.
    passive, locked : sequence of str
        Parameter values: joints, or degrees of freedom of a joint.

    Returns
    -------
    passive, locked : list of str
        Without common names.

    Raises
    ------
    RosInterfaceError
        A name is neither a moving joint nor a degree of freedom of one.

    """
    # Empty names are left out: `ros2 param set` can only send [''] for an empty list.
    locked = [name for name in dict.fromkeys(locked) if name]
    passive = [name for name in dict.fromkeys(passive) if name and name not in locked]
    for parameter, names in (('passive_joints', passive), ('locked_joints', locked)):
        for name in names:
            known = {*model.joint_dofs, *model.dof_names}
            if name not in known:
                raise RosInterfaceError(f"{parameter}: '{name}' is not a moving joint.",
                                        cure=nearest(name, sorted(known)), joint=name)
    if model.floating_base and BASE not in (*passive, *locked):
        passive.append(BASE)
    given = {joint for joint, dofs in model.joint_dofs.items()
             if {joint, *(model.dof_names[k] for k in dofs)} & {*passive, *locked}}
    others = [name for name in model.joint_names if name not in given and name not in commanded]
    undriven = _without_drive(model)
    return ([*passive, *(name for name in others if name in undriven)],
            [*locked, *(name for name in others if name not in undriven)])


def _without_drive(model):
    """Return the joints in <ros2_control> blocks without any command interface."""
    known = [joint for hardware in model.ros2_control for joint in hardware.joints]
    return ({joint.name for joint in known}
            - {joint.name for joint in known if any(joint.command)})

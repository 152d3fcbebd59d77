# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Which joints are commanded, in which order, and what the others are; needs no ROS."""

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
        The order said by a parameter; if empty, the joints with an effort command interface in the
        URDF, or else all joints of one degree of freedom without the passive and locked ones.

    Raises
    ------
    RosInterfaceError
        A joint is named twice, or is not a joint of one degree of freedom.

    """
    scalar = [name for name in model.joint_names if len(model.joint_dofs[name]) == 1]
    if not wanted:
        # A drive that is dead, or a brake that is on, takes no place from the order of a command.
        driven = [name for name in model.effort_joints if name in scalar]
        taken = {model.dof_names[i] for i in np.flatnonzero(model.passive | model.locked)}
        return driven or [name for name in scalar if name not in taken]
    for name in wanted:
        if name not in scalar:
            raise RosInterfaceError(
                f"command_joints: '{name}' is no joint of one degree of freedom.",
                cure=nearest(name, scalar), joint=name)
        if list(wanted).count(name) > 1:
            raise RosInterfaceError(f"command_joints: '{name}' is named twice.",
                                    cure='A command has one number a joint.', joint=name)
    return list(wanted)


def joint_status(model, commanded, passive=(), locked=()):
    """
    Return which joints are passive and which are locked.

    A brake holds whatever drive there is: what is named in both lists is locked. Of the joints in
    neither list and without a command, those are passive that the URDF's <ros2_control> knows but
    gives no command interface of any kind: hardware sees them and cannot move them. All others are
    held by something else (a position controller, a brake, a mount), and so locked. Nothing drives
    a floating base.

    Parameters
    ----------
    model : KinematicTree
        The robot.
    commanded : collection of str
        Joints of the command.
    passive, locked : sequence of str
        What parameters say: joints, or degrees of freedom of one.

    Returns
    -------
    passive, locked : list of str
        They have no name in common.

    Raises
    ------
    RosInterfaceError
        A name is no moving joint, nor a degree of freedom of one.

    """
    # An empty name is none: `ros2 param set` has no way to say an empty list but [''].
    locked = [name for name in dict.fromkeys(locked) if name]
    passive = [name for name in dict.fromkeys(passive) if name and name not in locked]
    for parameter, names in (('passive_joints', passive), ('locked_joints', locked)):
        for name in names:
            known = {*model.joint_dofs, *model.dof_names}
            if name not in known:
                raise RosInterfaceError(f"{parameter}: '{name}' is no moving joint.",
                                        cure=nearest(name, sorted(known)), joint=name)
    if model.floating_base and BASE not in (*passive, *locked):
        passive.append(BASE)
    said = {joint for joint, dofs in model.joint_dofs.items()
            if {joint, *(model.dof_names[k] for k in dofs)} & {*passive, *locked}}
    silent = [name for name in model.joint_names if name not in said and name not in commanded]
    undriven = _without_drive(model)
    return ([*passive, *(name for name in silent if name in undriven)],
            [*locked, *(name for name in silent if name not in undriven)])


def _without_drive(model):
    """Return the joints that <ros2_control> blocks name, none of them with a command interface."""
    known = [joint for hardware in model.ros2_control for joint in hardware.joints]
    return ({joint.name for joint in known}
            - {joint.name for joint in known if any(joint.command)})

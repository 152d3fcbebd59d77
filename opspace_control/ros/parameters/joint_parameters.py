# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of single joints: gains of the posture, and forces of passive joints."""

from opspace_control.errors import RosInterfaceError
from opspace_control.model.assembly import BASE
from opspace_control.model.topology import nearest
from opspace_control.ros.parameters.parameter_table import Parameter

# A value below zero: the common value is used.
_NONE = -1.0

POSTURE_JOINT = (
    Parameter('kp', 'double', _NONE,
              'Stiffness of the posture of this joint. -1: posture.kp.', '1/s²',
              -1.0, 1e6, read_only=False),
    Parameter('kd', 'double', _NONE,
              'Damping of the posture of this joint. -1: posture.kd.', '1/s',
              -1.0, 1e4, read_only=False),
)

PASSIVE_JOINT = (
    Parameter('stiffness', 'double', 0.0,
              'Stiffness of a spring of this joint while it is passive.',
              'N·m/rad or N/m', 0.0, 1e6, read_only=False),
    Parameter('rest', 'double', 0.0, 'Rest position of the spring.', 'rad or m',
              read_only=False),
    Parameter('damping', 'double', _NONE,
              "Viscous friction of this joint while it is passive. -1: the URDF's.",
              'N·m·s/rad or N·s/m', -1.0, 1e6, read_only=False),
    Parameter('friction', 'double', _NONE,
              "Coulomb friction of this joint while it is passive. -1: the URDF's.", 'N·m or N',
              -1.0, 1e6, read_only=False),
)

# The blocks with a block of parameters for each joint.
POSTURE, PASSIVE = 'posture.joints', 'passive_forces'
_ROWS = {POSTURE: POSTURE_JOINT, PASSIVE: PASSIVE_JOINT}


def joint_table(block, joints):
    """Return the parameters of joints in `POSTURE` or `PASSIVE`, a tuple of Parameter."""
    return tuple(row.named(f'{block}.{joint}.{row.name}')
                 for joint in joints for row in _ROWS[block])


def given_joint_table(names):
    """Return the parameters of every joint that one of these parameter names belongs to."""
    names = list(names)
    return tuple(row for block in _ROWS
                 for row in joint_table(block, dict.fromkeys(_joints_in(block, names))))


def robot_joint_table(model, passive):
    """
    Return the parameters of a robot's joints: the posture's of all, the forces of passive ones.

    Parameters
    ----------
    model : KinematicTree
        The robot.
    passive : (nv,) array of bool
        Which degrees of freedom are passive.

    """
    dofs = {joint: indices for joint, indices in model.joint_dofs.items() if joint != BASE}
    return (*joint_table(POSTURE, dofs), *joint_table(PASSIVE, [
        joint for joint, indices in dofs.items() if passive[indices].any()]))


def unknown_joints(model, parameters):
    """
    Yield a RosInterfaceError for each block of an unknown joint.

    Parameters
    ----------
    model : KinematicTree
        The robot.
    parameters : mapping
        Names and values of the controller node's parameters.

    """
    known = {*model.joint_dofs, *model.dof_names}
    for block in _ROWS:
        for joint in dict.fromkeys(_joints_in(block, parameters)):
            if joint not in known:
                yield RosInterfaceError(
                    f"{block}.{joint}: the robot has no joint '{joint}'.", joint=joint,
                    parameter=f'{block}.{joint}', cure=nearest(joint, sorted(known)))


def posture_gains(parameters):
    """
    Return ``kp`` and ``kd`` as `PostureTask` takes them: dict of str to float, default included.

    Parameters
    ----------
    parameters : mapping
        Values of the controller node's parameters.

    """
    def gains(gain):
        own = _of_joints(POSTURE, gain, parameters)
        return {'default': parameters[f'posture.{gain}'],
                **{joint: value for joint, value in own.items() if value >= 0.0}}
    return gains('kp'), gains('kd')


def passive_forces(model, parameters):
    """
    Return the arguments of `PassiveForces` for the parameters: dict of str to dict of str to float.

    Parameters
    ----------
    model : KinematicTree
        Gives the friction where the parameters give none, by dof.
    parameters : mapping
        Values of the controller node's parameters.

    """
    forces = {}
    for row, of_urdf in zip(PASSIVE_JOINT, (None, None, model.damping, model.friction),
                            strict=True):
        own = _of_joints(PASSIVE, row.name, parameters)
        forces[row.name] = {} if of_urdf is None else dict(
            zip(model.dof_names, of_urdf.tolist(), strict=True))
        forces[row.name] |= {joint: value for joint, value in own.items()
                             if of_urdf is None or value >= 0.0}
    return forces


def _of_joints(block, leaf, parameters):
    """Return the given values of one quantity, by joint."""
    names = (f'{block}.{joint}.{leaf}' for joint in _joints_in(block, parameters))
    return {name[len(block) + 1:-len(leaf) - 1]: parameters[name]
            for name in names if name in parameters}


def _joints_in(block, names):
    """Yield the joints that parameters of a block name."""
    for name in names:
        if name.startswith(f'{block}.'):
            joint = name[len(block) + 1:].rpartition('.')[0]
            if joint:
                yield joint

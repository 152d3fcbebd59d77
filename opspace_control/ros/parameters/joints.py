# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Joints in parameters: order, status, blocks of each joint, the observer of external efforts."""

import numpy as np

from opspace_control.dynamics.drive_friction import STRIBECK_VELOCITY
from opspace_control.errors import RosInterfaceError
from opspace_control.model.assembly import BASE
from opspace_control.model.topology import nearest
from opspace_control.ros.parameters.parameter_table import Parameter, changeable


def command_joints(model, wanted=()):
    """
    Return the joints of the command topic of a KinematicTree, in its order.

    ``wanted`` is the order of a parameter; if empty, the joints with an effort command interface in
    the URDF; without any, all joints of one degree of freedom that are neither passive nor locked.
    A joint that is named twice, or has not one degree of freedom, is a RosInterfaceError.
    """
    scalar = [name for name in model.joint_names if len(model.joint_dofs[name]) == 1]
    if not wanted:
        # Dead drives and closed brakes keep their place in the order of a command.
        driven = [name for name in model.effort_joints if name in scalar]
        unusable = {model.dof_names[i] for i in np.flatnonzero(model.passive | model.locked)}
        return driven or [name for name in scalar if name not in unusable]
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
    Return the names of the passive and of the locked joints of a KinematicTree, two disjoint lists.

    A joint in both parameters is locked, since a brake stops any drive. Of the joints in neither
    and not ``commanded``, those in the URDF's <ros2_control> without any command interface are
    passive: hardware measures them and cannot move them. All others are locked by something else (a
    position controller, a brake, a mount). A floating base is passive. The parameters ``passive``
    and ``locked`` have joints, or degrees of freedom of a joint; any other name is a
    RosInterfaceError.
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
    listed = {joint for joint, dofs in model.joint_dofs.items()
             if {joint, *(model.dof_names[k] for k in dofs)} & {*passive, *locked}}
    unlisted = [name for name in model.joint_names if name not in listed and name not in commanded]
    known = [joint for hardware in model.ros2_control for joint in hardware.joints]
    undriven = {joint.name for joint in known} - {
        joint.name for joint in known if any(joint.command)}
    return ([*passive, *(name for name in unlisted if name in undriven)],
            [*locked, *(name for name in unlisted if name not in undriven)])


def status_of(model, commanded, parameters):
    """Return the `joint_status` for the values of a node's parameters."""
    return joint_status(model, commanded, parameters['passive_joints'], parameters['locked_joints'])


def named_dofs(model, dofs):
    """Return the names of some degrees of freedom, (nv,) bool, as text."""
    return ', '.join(model.names_of(dofs)) or 'none'


# Of the controller node: the observer of external efforts, and collisions.
OBSERVER = (
    changeable('observer.rate', 'double', 50.0,
        'Rate of the observer of external efforts: a constant one is found to 63 % after 1 / rate. '
        'More follows faster, with more noise. 0: none.', '1/s', 0.0, 1e4),
    changeable('observer.limit', 'double', 2.0,
        'Greatest external effort of a joint, in parts of its effort limit, or twice its threshold '
        'if that is more. 0: no bound.', '', 0.0, 1e6),
    changeable('observer.threshold', 'double', 0.0,
        'External effort of any joint beyond which there is a collision. A constant effort of x '
        'thresholds is found after ln(x / (x - 1)) / observer.rate and a period: by default 14 ms '
        'for x = 2, 36 ms for 1.2. 0: never.', 'N·m or N', 0.0, 1e6),
    changeable('observer.reaction', 'string', 'none',
        'What a collision does: it is logged only; the robot is held in position; or it complies, '
        'damped, its weight compensated. It ends with ~/hold.',
        choices=('none', 'stop', 'comply')),
)

_NONE = -1.0  # a value below zero: the common value is used
# The blocks with a block of parameters for each joint, and its rows.
POSTURE, PASSIVE, STANDING, DRIVES, OBSERVED = (
    'posture.joints', 'passive_forces', 'stance', 'drive_friction', 'observer.joints')
JOINT_BLOCKS = {
    POSTURE: (
        changeable('kp', 'double', _NONE, 'Stiffness of the posture of this joint. -1: posture.kp.',
            '1/s²', -1.0, 1e6),
        changeable('kd', 'double', _NONE, 'Damping of the posture of this joint. -1: posture.kd.',
            '1/s', -1.0, 1e4)),
    PASSIVE: (
        changeable('stiffness', 'double', 0.0,
            'Stiffness of a spring of this joint while it is passive.', 'N·m/rad or N/m', 0.0, 1e6),
        changeable('rest', 'double', 0.0, 'Rest position of the spring.', 'rad or m'),
        changeable('damping', 'double', _NONE,
            "Viscous friction of this joint while it is passive. -1: the URDF's.",
            'N·m·s/rad or N·s/m', -1.0, 1e6),
        changeable('friction', 'double', _NONE,
            "Coulomb friction of this joint while it is passive. -1: the URDF's.",
            'N·m or N', -1.0, 1e6)),
    STANDING: (
        Parameter('position', 'double', 0.0,
            'Position of this joint of a robot on legs that stands: height and width of the stance '
            'follow from those of all joints.', 'rad or m'),),
    DRIVES: (
        changeable('coulomb', 'double', _NONE,
            "Coulomb friction of the drive of this joint. -1: the URDF's.", 'N·m or N', -1.0, 1e6),
        changeable('viscous', 'double', _NONE,
            "Viscous friction of the drive of this joint. -1: the URDF's.",
            'N·m·s/rad or N·s/m', -1.0, 1e6),
        changeable('breakaway', 'double', 0.0,
            'Friction where motion begins; below the Coulomb friction it is as that.', 'N·m or N',
            0.0, 1e6),
        changeable('stribeck_velocity', 'double', STRIBECK_VELOCITY,
            'Velocity of the transition from breakaway to Coulomb friction.', 'rad/s or m/s',
            1e-6, 1e6)),
    OBSERVED: (
        changeable('threshold', 'double', _NONE,
            'External effort of this joint beyond which there is a collision. 0: never. '
            '-1: observer.threshold.', 'N·m or N', -1.0, 1e6),)}


def joint_table(block, joints):
    """Return the parameters of joints in a block such as `POSTURE`, a tuple of Parameter."""
    return tuple(row.named(f'{block}.{joint}.{row.name}')
                 for joint in joints for row in JOINT_BLOCKS[block])


def table_of_joints(names):
    """Return the parameters of every joint that one of these parameter names belongs to."""
    names = list(names)
    return tuple(row for block in JOINT_BLOCKS
                 for row in joint_table(block, dict.fromkeys(_joints_in(block, names))))


def robot_joint_table(model, passive, *, legs=False):
    """
    Return the parameters of a robot's joints: the posture's of all, the forces of passive ones.

    The others have the friction of their drives; with ``legs`` there are those of the stance, too.
    The degrees of freedom ``passive``, (nv,) bool, are those of a KinematicTree.
    """
    dofs = {joint: indices for joint, indices in model.joint_dofs.items() if joint != BASE}
    moved = [joint for joint, indices in dofs.items() if passive[indices].any()]
    return (*joint_table(POSTURE, dofs), *joint_table(STANDING, dofs if legs else ()),
            *joint_table(DRIVES, [joint for joint in dofs if joint not in moved]),
            *joint_table(PASSIVE, moved), *joint_table(OBSERVED, dofs))


def unknown_joints(model, parameters):
    """Yield a RosInterfaceError for each block of a joint that the model does not have."""
    known = {*model.joint_dofs, *model.dof_names}
    for block in JOINT_BLOCKS:
        for joint in dict.fromkeys(_joints_in(block, parameters)):
            if joint not in known:
                yield RosInterfaceError(
                    f"{block}.{joint}: the robot has no joint '{joint}'.", joint=joint,
                    parameter=f'{block}.{joint}', cure=nearest(joint, sorted(known)))


def posture_gains(parameters):
    """Return ``kp`` and ``kd`` as `PostureTask` takes them: by joint, default included."""
    return tuple(
        {'default': parameters[f'posture.{gain}'],
         **{joint: value for joint, value in own.items() if value >= 0.0}}
        for gain, own in _given(POSTURE, parameters).items())


def standing_posture(model, parameters):
    """Return positions of the joints of a robot that stands, a dict, rad or m."""
    return {joint: position for joint, position in _given(STANDING, parameters)['position'].items()
            if joint in model.joint_dofs}


def passive_forces(model, parameters):
    """Return the arguments of `PassiveForces` by joint; friction not given is the URDF's."""
    return _quantities(PASSIVE, model, parameters, damping=model.damping, friction=model.friction)


def drive_friction(model, parameters):
    """Return the arguments of `DriveFriction`: by joint, the fraction that is overcome."""
    given = _quantities(DRIVES, model, parameters, coulomb=model.friction, viscous=model.damping)
    for quantity in ('coulomb', 'viscous', 'breakaway'):
        given[quantity] = {joint: parameters['drive_friction.fraction'] * value
                           for joint, value in given[quantity].items()}
    return given | {quantity: parameters[f'drive_friction.{quantity}']
                    for quantity in ('slip_velocity', 'horizon')}


def collision_thresholds(model, parameters):
    """Return the external effort of each dof beyond which there is a collision, (nv,)."""
    common, own = parameters['observer.threshold'], _given(OBSERVED, parameters)['threshold']
    thresholds = np.full(model.nv, np.inf)
    for joint, dofs in model.joint_dofs.items():
        given = own.get(joint, _NONE)
        if joint != BASE:
            thresholds[dofs] = (common if given < 0.0 else given) or np.inf
    return thresholds


def external_effort_limits(model, parameters, thresholds):
    """
    Return the greatest external effort of each dof that the observer tells, (nv,), N·m or N.

    It is above the thresholds (nv,), so that no collision is missed, and inf of dofs without an
    effort limit.
    """
    parts, limits = parameters['observer.limit'], np.full(model.nv, np.inf)
    if parts > 0.0:
        known = model.effort_limits > 0.0
        limits[known] = parts * model.effort_limits[known]
    return np.maximum(limits, 2.0 * np.where(np.isfinite(thresholds), thresholds, 0.0))


def _quantities(block, model, parameters, **of_urdf):
    """Return the quantities of a block by joint; of some, (nv,), the URDF's if not given."""
    quantities = _given(block, parameters)
    for name, numbers in of_urdf.items():
        own = {joint: value for joint, value in quantities[name].items() if value >= 0.0}
        quantities[name] = {**dict(zip(model.dof_names, numbers.tolist(), strict=True)), **own}
    return quantities


def _given(block, parameters):
    """Return the given values of each quantity of a block, by joint."""
    joints = list(_joints_in(block, parameters))
    return {row.name: {joint: parameters[name] for joint in joints
                       if (name := f'{block}.{joint}.{row.name}') in parameters}
            for row in JOINT_BLOCKS[block]}


def _joints_in(block, names):
    """Yield the joints that parameters of a block name."""
    for name in names:
        if name.startswith(f'{block}.'):
            joint = name[len(block) + 1:].rpartition('.')[0]
            if joint:
                yield joint

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The controller that a set of parameters describes."""

import numpy as np

from opspace_control.control import OperationalSpaceController
from opspace_control.dynamics import RobotModel
from opspace_control.errors import RosInterfaceError
from opspace_control.model import KinematicTree
from opspace_control.ros.grasp_blocks import apply_grasps, make_contact, make_grasp
from opspace_control.ros.joints import command_joints, joint_status
from opspace_control.tasks import PoseTask, PostureTask


def make_model(description, parameters, *, floating_base=False):
    """
    Build the model, with the status that `joint_status` gives the joints.

    Parameters
    ----------
    description : str
        URDF text.
    parameters : mapping
        Values of the controller node's parameters.
    floating_base : bool
        Whether the root link moves freely.

    Returns
    -------
    model : RobotModel
    joints : list of str
        The order of the command.

    Raises
    ------
    OpspaceError
        Something does not fit; says what and the cure.

    """
    passive, locked = parameters['passive_joints'], parameters['locked_joints']
    tree = KinematicTree.from_urdf(description, floating_base=floating_base,
                                   passive_joints=[name for name in passive if name not in locked],
                                   locked_joints=locked)
    joints = command_joints(tree, parameters['command_joints'])
    if not joints:
        raise RosInterfaceError('There is no joint to command.',
                                cure='Give joints an effort command interface, or command_joints.')
    passive, locked = joint_status(tree, joints, passive, locked)
    model = RobotModel.from_urdf(description, floating_base=floating_base,
                                 passive_joints=passive, locked_joints=locked)
    return model, joints


def make_controller(description, parameters, *, floating_base=False):
    """
    Build the model, the tasks and the controller.

    Parameters
    ----------
    description : str
        URDF text.
    parameters : mapping
        Values of the controller node's parameters.
    floating_base : bool
        Whether the root link moves freely.

    Returns
    -------
    controller : OperationalSpaceController
    joints : list of str
        The order of the command.

    Raises
    ------
    OpspaceError
        Something does not fit; says what and the cure.

    """
    model, joints = make_model(description, parameters, floating_base=floating_base)
    controller = OperationalSpaceController(
        model, [make_task(name, parameters) for name in parameters['tasks']],
        PostureTask(kp=parameters['posture.kp'], kd=parameters['posture.kd']),
        constraints=[make_contact(name, parameters) for name in parameters['contacts']],
        grasps=[make_grasp(name, parameters) for name in parameters['grasps']],
        effort_limits=parameters['limits.effort_scale'] * model.effort_limits,
        gravity_compensation=parameters['gravity_compensation'])
    return controller, joints


def make_task(name, parameters):
    """Return the task of this name, or raise a TaskError if its parameters cannot be used."""
    block = {key: parameters[f'{name}.{key}'] for key in (
        'axes', 'kp', 'kd', 'max_linear_velocity', 'max_angular_velocity')}
    return PoseTask(parameters[f'{name}.frame'] or name, name=name, **block)


def check_gains(name, parameters):
    """Raise a TaskError if gains of this task, each of them good, do not go with each other."""
    if 0.0 in np.atleast_1d(parameters[f'{name}.kd']):  # or they do
        make_task(name, parameters)


def apply_gains(controller, parameters, changed):
    """
    Give tasks and posture the gains and velocity limits of checked parameters.

    Parameters
    ----------
    controller : OperationalSpaceController
        Whose tasks and posture they are.
    parameters : mapping
        Values of the controller node's parameters.
    changed : collection of str
        Those that have changed; what is not named stays as it is.

    """
    for name, task in controller.tasks.items():
        own = {other for other in changed if other.startswith(f'{name}.')}
        limited = own & {f'{name}.max_linear_velocity', f'{name}.max_angular_velocity'}
        if limited:
            # A limit needs damping: without limits, the gains can change in any order.
            task.max_linear_velocity = task.max_angular_velocity = float('inf')
        if own:
            task.set_gains(parameters[f'{name}.kp'], parameters[f'{name}.kd'])
        if limited:
            task.max_linear_velocity = parameters[f'{name}.max_linear_velocity']
            task.max_angular_velocity = parameters[f'{name}.max_angular_velocity']
    apply_grasps(controller, parameters, set(changed))
    if any(name.startswith('posture.') for name in changed):
        controller.posture.set_gains(parameters['posture.kp'], parameters['posture.kd'])

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The construction of a controller from parameters, and the compilation of its code."""

import threading
import time

from opspace_control.compiled import cache_directory
from opspace_control.control import JointLimits, OperationalSpaceController
from opspace_control.dynamics import PassiveForces, RobotModel
from opspace_control.errors import RosInterfaceError
from opspace_control.model import KinematicTree, RobotState
from opspace_control.ros.parameters.joints import (
    command_joints,
    joint_status,
    passive_forces,
    posture_gains,
    unknown_joints,
)
from opspace_control.ros.parameters.task_blocks import (
    apply_grasps,
    apply_sensor,
    apply_task,
    make_contact,
    make_grasp,
    make_sensors,
    make_task,
    put_payloads,
)
from opspace_control.spatial.rotation_vectors import vector_from_matrix
from opspace_control.spatial.rotations import matrix_from_quaternion, quaternion_from_matrix
from opspace_control.tasks import PostureTask

# Parameters of limits, which may change at any time, and their keywords in `JointLimits`.
LIMIT_PARAMETERS = {
    'limits.keep': 'kept', 'limits.soft': 'soft_limits',
    'limits.position_margin': 'position_margin', 'limits.velocity_kept': 'velocity_kept',
    'limits.return_rate': 'return_rate', 'limits.approach_rate': 'approach_rate'}


def make_model(description, parameters, *, floating_base=False):
    """
    Build the model, with the status of joints from `joint_status`.

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
        The description and the parameters do not fit; with the cure.

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
        The description and the parameters do not fit; with the cure.

    """
    model, joints = make_model(description, parameters, floating_base=floating_base)
    for error in unknown_joints(model, parameters):
        raise error
    sensors = make_sensors(parameters)
    effort_limits = parameters['limits.effort_scale'] * model.effort_limits
    controller = OperationalSpaceController(
        model, [make_task(name, parameters, sensors) for name in parameters['tasks']],
        PostureTask(*posture_gains(parameters)),
        constraints=[make_contact(name, parameters) for name in parameters['contacts']],
        grasps=[make_grasp(name, parameters) for name in parameters['grasps']],
        passive_forces=PassiveForces(model, **passive_forces(model, parameters)),
        effort_limits=effort_limits, limits=make_limits(model, effort_limits, parameters),
        gravity_compensation=parameters['gravity_compensation'])
    put_payloads(controller, parameters)
    return controller, joints


def make_limits(model, effort_limits, parameters):
    """Return the `JointLimits` of the parameters, or raise a ControlError."""
    return JointLimits(model, effort_limits=effort_limits, **_limit_numbers(parameters))


def change_limits(limits, parameters):
    """Return limits with the present parameters, or raise a ControlError."""
    return limits.changed(**_limit_numbers(parameters))


def _limit_numbers(parameters):
    return {keyword: parameters[name] for name, keyword in LIMIT_PARAMETERS.items()}


def apply_gains(controller, parameters, changed):
    """
    Set tasks, sensors, posture, passive forces and limits from checked parameters.

    Parameters
    ----------
    controller : OperationalSpaceController
        It changes.
    parameters : mapping
        Values of the controller node's parameters.
    changed : collection of str
        The changed parameters.

    """
    for task in controller.tasks.values():
        apply_task(task, parameters, changed)
    for sensor in controller.sensors.values():
        apply_sensor(sensor, parameters, changed)
    apply_grasps(controller, parameters, set(changed))
    put_payloads(controller, parameters, set(changed))
    if any(name.startswith('posture.') for name in changed):
        controller.posture.set_gains(*posture_gains(parameters))
    if any(name.startswith('passive_forces.') for name in changed):
        controller.passive_forces.set(**passive_forces(controller.model, parameters))
    if not LIMIT_PARAMETERS.keys().isdisjoint(changed):
        controller.limits = change_limits(controller.limits, parameters)


# Loading compiled code takes less than this.
_LOADING = 1.0  # s


def warm_up(controller, logger):
    """
    Compile or load all code of a cycle, of goals and of feedback; log a long compilation.

    Parameters
    ----------
    controller : OperationalSpaceController
        The one that is used afterwards: the code depends on the types of its arguments.
    logger : rclpy logger
        For the time that it takes.

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
        model.bias_acceleration(state, [model.root_link])  # for plans
        PassiveForces.from_urdf(model).torque(state)
        R = model.forward_kinematics(state)[model.root_link][:3, :3]
        vector_from_matrix(matrix_from_quaternion(quaternion_from_matrix(R)))
    finally:
        slow.cancel()
    took = time.perf_counter() - start
    logger.info(f'{"Loaded" if took < _LOADING else "Compiled"} in {took:.1f} s.')

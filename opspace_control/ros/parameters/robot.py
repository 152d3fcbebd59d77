# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The construction of a controller from parameters, and the compilation of its code."""

import threading
import time

import numpy as np

from opspace_control.collision import CollisionDescription, CollisionModel
from opspace_control.control.controller import OperationalSpaceController
from opspace_control.control.disturbance_observer import DisturbanceObserver
from opspace_control.control.limits.distance_limits import DistanceLimits
from opspace_control.control.limits.joint_limits import JointLimits
from opspace_control.dynamics.drive_friction import DriveFriction
from opspace_control.dynamics.passive_forces import PassiveForces
from opspace_control.dynamics.robot_model import RobotModel
from opspace_control.errors import ControlError, RosInterfaceError
from opspace_control.library import ABSENT
from opspace_control.locomotion import legged_tasks
from opspace_control.model import KinematicTree, RobotState
from opspace_control.ros.parameters import joints as of_joints
from opspace_control.ros.parameters import task_blocks as blocks
from opspace_control.spatial.rotations import (
    matrix_from_quaternion,
    quaternion_from_matrix,
    vector_from_matrix,
)
from opspace_control.tasks.posture import PostureTask

# Parameters of limits, which may change at any time, and their keywords in `JointLimits`.
LIMIT_PARAMETERS = {'limits.soft': 'soft_limits', **{f'limits.{keyword}': keyword for keyword in (
    'keep', 'position_margin', 'velocity_kept', 'return_rate', 'approach_rate', 'least_effort')}}
# Likewise of distances, in `DistanceLimits`.
DISTANCE_PARAMETERS = {f'collision.{keyword}': keyword for keyword in (
    'margin', 'influence', 'acceleration', 'parting_speed', 'repulsion', 'repulsion_influence')}


def make_model(description, parameters, *, floating_base=False):
    """
    Return the RobotModel of a URDF text, with the status of joints from `joint_status`.

    The joints, a list in the order of the command, are returned with it. If the description and the
    controller node's parameters do not fit, an OpspaceError names the cure.
    """
    passive, locked = parameters['passive_joints'], parameters['locked_joints']
    tree = KinematicTree.from_urdf(description, floating_base=floating_base,
                                   passive_joints=[name for name in passive if name not in locked],
                                   locked_joints=locked)
    joints = of_joints.command_joints(tree, parameters['command_joints'])
    if not joints:
        raise RosInterfaceError('There is no joint to command.',
                                cure='Give joints an effort command interface, or command_joints.')
    passive, locked = of_joints.joint_status(tree, joints, passive, locked)
    model = RobotModel.from_urdf(description, floating_base=floating_base,
                                 passive_joints=passive, locked_joints=locked)
    return model, joints


def make_controller(description, parameters, *, floating_base=False):
    """
    Return the OperationalSpaceController with its model and tasks, as `make_model` does.

    The joints, a list in the order of the command, are returned with it.
    """
    model, joints = make_model(description, parameters, floating_base=floating_base)
    for error in of_joints.unknown_joints(model, parameters):
        raise error
    sensors = blocks.make_sensors(parameters)
    effort_limits = parameters['limits.effort_scale'] * model.effort_limits
    contact_model, limits = parameters['contact_model'], None
    if contact_model == 'exact' or parameters['limits.keep']:
        limits = make_limits(model, effort_limits, parameters)
    controller = OperationalSpaceController(
        model, [*(blocks.make_task(name, parameters, sensors) for name in parameters['tasks']),
                *make_leg_tasks(model, parameters)],
        PostureTask(*of_joints.posture_gains(parameters)),
        constraints=[blocks.make_contact(name, parameters) for name in parameters['contacts']],
        grasps=[blocks.make_grasp(name, parameters) for name in parameters['grasps']],
        passive_forces=PassiveForces(model, **of_joints.passive_forces(model, parameters)),
        effort_limits=effort_limits, limits=limits, contact_model=contact_model,
        distances=make_distances(model, parameters, limits),
        gravity_compensation=parameters['gravity_compensation'])
    check_drive_friction(controller, parameters)
    controller.disturbance = DisturbanceObserver(**_disturbance_numbers(parameters))
    if limits:
        controller.drive_friction = DriveFriction(
            model, **of_joints.drive_friction(model, parameters))
    blocks.put_payloads(controller, parameters)
    return controller, joints


def make_leg_tasks(model, parameters):
    """Return the tasks of ``legs.feet``; a RosInterfaceError refuses a robot without such legs."""
    feet = parameters['legs.feet']
    if not feet:
        return []
    if not model.floating_base:
        raise RosInterfaceError('legs.feet: the base of the robot is fixed.',
                                cure='Set floating_base.')
    for foot in feet:
        if (foot not in parameters['contacts'] or parameters[f'{foot}.kind'] != 'point'
                or parameters[f'{foot}.frame'] not in ('', foot)):
            raise RosInterfaceError(
                f"legs.feet: '{foot}' is no contact of kind point, with the name of its link.",
                cure=f'Name it in contacts, and set {foot}.kind to point.', name=foot)
        if foot in parameters['tasks']:
            raise RosInterfaceError(f"legs.feet: '{foot}' has a task of that name.", name=foot,
                                    cure='Leave it out of tasks: the gait has one.')
    return legged_tasks(model.root_link, feet)[0]


def make_limits(model, effort_limits, parameters):
    """Return the `JointLimits` of the parameters, or raise a ControlError."""
    return JointLimits(model, effort_limits=effort_limits,
                       acceleration=parameters['limits.acceleration'] or None,
                       **_limit_numbers(parameters))


def make_distances(model, parameters, limits):
    """
    Return the `DistanceLimits` of the robot's own shapes, or raise the error of their file.

    None without a file and further shapes, which `CollisionObjects` adds. Without ``limits`` of
    joints, None, none can be kept: a RosInterfaceError says so.
    """
    path = parameters['collision.file']
    given = 'collision.file' if path else 'shapes' if parameters['shapes'] else ''
    if not given:
        return None
    if limits is None:
        raise RosInterfaceError(
            f'{given} does not go with contact_model {parameters["contact_model"]}: links would '
            'keep no distances.', parameter=given,
            cure=f'Set contact_model to exact, or {given} to nothing.')
    shapes = CollisionDescription.read(path).model(model) if path else CollisionModel(model, ())
    return DistanceLimits(
        shapes, further=parameters['plugin.shapes'] if parameters['route'] == 'plugin' else 0,
        **_distance_numbers(parameters))


def change_distances(distances, parameters):
    """Return distances, or None, with the present parameters, or raise a ControlError."""
    return distances and distances.changed(**_distance_numbers(parameters))


def _distance_numbers(parameters):
    margin, influence = parameters['collision.margin'], parameters['collision.influence']
    if influence <= margin:
        raise RosInterfaceError(
            f'collision.influence = {influence:g} m is not beyond collision.margin = {margin:g} m.',
            parameter='collision.influence', cure='Raise collision.influence, at the same time.')
    return {keyword: parameters[name] for name, keyword in DISTANCE_PARAMETERS.items()}


def change_limits(limits, parameters):
    """Return limits, or None, with the present parameters, or raise a ControlError."""
    if limits is None:
        if parameters['limits.keep']:
            raise ControlError('limits.keep: the controller was made without limits.',
                               cure='Set contact_model to exact, and configure it again.')
        return None
    return limits.changed(**_limit_numbers(parameters))


def check_drive_friction(controller, parameters):
    """
    Raise an OpspaceError if efforts cannot overcome friction.

    That is without limits of joints, and where it takes more than an effort limit.
    """
    if not parameters['drive_friction.fraction'] > 0.0:
        return
    if controller.limits is None:
        raise RosInterfaceError(
            f'drive_friction.fraction does not go with contact_model '
            f'{parameters["contact_model"]}.', parameter='drive_friction.fraction',
            cure='Set contact_model to exact, and configure it again.')
    DriveFriction(
        controller.model, **of_joints.drive_friction(controller.model, parameters)).checked_for(
            controller.model, controller.effort_limits)


def _disturbance_numbers(parameters):
    return {keyword: parameters[f'disturbance.{keyword}']
            for keyword in ('rate', 'max_force', 'max_moment')}


def _limit_numbers(parameters):
    kept, trips = parameters['limits.velocity_kept'], parameters['limits.velocity_scale']
    if parameters['limits.keep'] and not kept < trips:
        raise RosInterfaceError(
            f'limits.velocity_kept = {kept:g} is not below limits.velocity_scale = {trips:g}: a '
            'joint at its limit would trip.', parameter='limits.velocity_kept',
            cure='Lower limits.velocity_kept, or raise limits.velocity_scale at the same time.')
    return {keyword: parameters[name] for name, keyword in LIMIT_PARAMETERS.items()}


def apply_gains(controller, parameters, changed):
    """Set a controller's tasks, sensors and gains from the parameters of the names ``changed``."""
    for name in (*parameters['tasks'], *controller.grasps):
        blocks.apply_task(controller.tasks[name], parameters, changed)
    for sensor in controller.sensors.values():
        blocks.apply_sensor(sensor, parameters, changed)
    blocks.apply_grasps(controller, parameters, changed)
    blocks.put_payloads(controller, parameters, changed)
    blocks.apply_contacts(controller, parameters, changed)
    first = {name.partition('.')[0] for name in changed}
    if 'posture' in first:
        controller.posture.set_gains(*of_joints.posture_gains(parameters))
    if of_joints.PASSIVE in first:
        controller.passive_forces.set(**of_joints.passive_forces(controller.model, parameters))
    if 'disturbance' in first:
        controller.disturbance.set(**_disturbance_numbers(parameters))
    if controller.drive_friction and of_joints.DRIVES in first:
        controller.drive_friction.set(**of_joints.drive_friction(controller.model, parameters))
    if controller.limits and not LIMIT_PARAMETERS.keys().isdisjoint(changed):
        controller.limits = change_limits(controller.limits, parameters)
    if controller.distances and not DISTANCE_PARAMETERS.keys().isdisjoint(changed):
        controller.distances = change_distances(controller.distances, parameters)


def period(rate):
    """Return the period of a rate, 1/s, s: 0 for 0, which is none."""
    return 1.0 / rate if rate else 0.0


def set_envelope(servo, parameters):
    """Set the safety envelope of a Servo from the controller node's parameters."""
    passive = servo.controller.passive
    servo.set(
        period=period(parameters['update_rate']),
        state_timeout=parameters['safety.state_timeout'],
        release_time=parameters['safety.release_time'],
        ramp_time=parameters['safety.ramp_time'],
        effort_rate=parameters['limits.effort_rate'],
        velocity_scale=np.where(passive, parameters['limits.passive_velocity_scale'],
                                parameters['limits.velocity_scale']),
        position_jump=parameters['safety.position_jump'])


_LOADING = 1.0  # s, loading compiled code takes less than this


def warm_up(controller, logger):
    """
    Load all code of a cycle, of goals and of feedback, or compile it where there is no library.

    A long compilation is logged. The code depends on the types of the arguments: the controller is
    the one that is used afterwards.
    """
    start = time.perf_counter()
    slow = threading.Timer(_LOADING, lambda: logger.info(
        f'Compiling for this machine; this happens once and takes a while. {ABSENT}'))
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

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The construction of tasks, sensors, grasps, contacts and payloads from blocks of parameters."""

import math
from collections import ChainMap

import numpy as np

from opspace_control import (
    CenterOfMassTask,
    ForceControl,
    ForceSensor,
    ForceTask,
    Impedance,
    JerkLimits,
    JointTask,
    OrientationTask,
    PoseTask,
    PositionTask,
    RelativeTask,
)
from opspace_control.control.constraints.contact import Contact
from opspace_control.control.grasping.grasp import Grasp
from opspace_control.control.grasping.grasp_force import GraspForce
from opspace_control.errors import RosInterfaceError
from opspace_control.model import Payload
from opspace_control.model.topology import nearest
from opspace_control.tasks.arguments import AXES

TASK_TYPES = {
    'pose': PoseTask, 'position': PositionTask, 'orientation': OrientationTask,
    'force': ForceTask, 'relative': RelativeTask,
    'center_of_mass': CenterOfMassTask, 'joint': JointTask}
_GAINS = ('kp', 'ki', 'damping')
_CONTACT = ('max_force', 'max_moment', 'approach_velocity', 'approach_rate', 'contact_force',
            'contact_moment', 'impact_time')
_AXES = ('axes', 'force_axes', 'axes_frame', 'axes_rotation')
_LIMITS = ('max_linear_velocity', 'max_angular_velocity')
_JERK_LIMITS = {f'{kind}{quantity}': f'max_{word}_{quantity}'
                for kind, word in (('', 'linear'), ('angular_', 'angular'))
                for quantity in ('velocity', 'acceleration', 'jerk')}
_SENSOR = ('bias', 'tool_mass', 'tool_center', 'cutoff', 'timeout')


def make_sensors(parameters):
    """Return the sensors by name, or raise a TaskError if their parameters cannot be used."""
    return {name: ForceSensor(parameters[f'{name}.frame'] or name, name=name,
                              **{key: parameters[f'{name}.{key}'] for key in _SENSOR})
            for name in parameters['sensors']}


def make_task(name, parameters, sensors=None):
    """
    Return the task of this name, or raise an OpspaceError if its parameters cannot be used.

    Without ``sensors``, existing ones by name, it has new ones, for a check of the parameters.
    """
    def value(key):
        return parameters[f'{name}.{key}']

    kind = TASK_TYPES[value('type')]
    if kind is JointTask:
        return JointTask(value('joints'), name=name, kp=value('kp'), kd=value('kd'),
                         max_velocity=value('max_velocity'), priority=value('priority'))
    if value('joints'):
        raise RosInterfaceError(f"{name}.joints: a task of type {value('type')} moves a link.",
                                task=name, cure=f'Set {name}.type to joint, or leave joints out.')
    if value('reference') and kind is not RelativeTask:
        raise RosInterfaceError(f"{name}.reference: a task of type {value('type')} has none.",
                                task=name, cure=f'Set {name}.type to relative, or leave it out.')
    sensors = make_sensors(parameters) if sensors is None else sensors
    sensor = value('sensor')
    if sensor and sensor not in sensors:
        raise RosInterfaceError(f"{name}.sensor: there is no sensor '{sensor}'.", sensor=sensor,
                                cure=nearest(sensor, sensors) if sensors else 'Name it in sensors.')
    force = ForceControl(sensors[sensor] if sensor else None, **{
        key: value(f'force.{key}') for key in _GAINS})
    for key in _CONTACT:
        setattr(force, key, value(f'force.{key}'))
    options = {'name': name, 'force': force, 'priority': value('priority'),
               **_axes_of(kind, *map(value, _AXES))}
    if kind is ForceTask:
        del options['axes']
    else:
        options |= {'kp': value('kp'), 'kd': value('kd'), 'mode': value('mode'),
                    'impedance': Impedance(value('stiffness'), value('damping_ratio')),
                    'trajectory': read_trajectory_limits(name, parameters),
                    **{key: value(key) for key in _LIMITS}}
    if kind is CenterOfMassTask:
        return kind(value('frame') or None, **options)
    if kind is RelativeTask:
        options['reference'] = value('reference')
    return kind(value('frame') or name, **options)


def check_task(name, parameters, changed):
    """Raise an OpspaceError if the values of this task are inconsistent."""
    if (_concern(changed, name, (*_AXES, 'trajectory'))
            or 0.0 in np.atleast_1d(parameters[f'{name}.kd'])):
        make_task(name, parameters)


def read_trajectory_limits(name, parameters):
    """Return the JerkLimits of a task's block; None without online trajectories."""
    if parameters[f'{name}.trajectory'] != 'ruckig':
        return None
    return JerkLimits(**{key: parameters[f'{name}.{other}'] for key, other in _JERK_LIMITS.items()})


def check_frames(names, model, parameters):
    """Raise a ModelError if parameters name axes of an unknown link for one of these tasks."""
    for name in names:
        for link in parameters[f'{name}.axes_frame'].split():
            model.frame_index(link)


def apply_task(task, parameters, changed):
    """Set a task from checked parameters, those of the names ``changed``, of its block."""
    prefix = f'{task.name}.'
    own = {name.removeprefix(prefix): parameters[name] for name in changed
           if name.startswith(prefix)}
    if not own:
        return
    if isinstance(task, JointTask):
        _apply_motion(task, parameters, own, ('max_velocity',))
        return
    if not own.keys().isdisjoint(_AXES):
        axes = _axes_of(type(task), *(parameters[f'{task.name}.{key}'] for key in _AXES))
        task.set_axes(axes['axes'], axes['force_axes'], frame=axes['axes_frame'],
                      rotation=axes['axes_rotation'])
    task.force.set_gains(**{key: own[f'force.{key}'] for key in _GAINS if f'force.{key}' in own})
    for key in _CONTACT:
        if f'force.{key}' in own:
            setattr(task.force, key, own[f'force.{key}'])
    if isinstance(task, PoseTask):
        _apply_motion(task, parameters, own, _LIMITS)
        task.impedance.set(own.get('stiffness'), own.get('damping_ratio'))
        task.mode = own.get('mode', task.mode)
        if not own.keys().isdisjoint(('trajectory', *_JERK_LIMITS.values())):
            task.trajectory = read_trajectory_limits(task.name, parameters)


def _apply_motion(task, parameters, changed, limits):
    """Set gains and velocity limits of a task if one of them is among the changed parts."""
    if changed.keys().isdisjoint(('kp', 'kd', *limits)):
        return
    for key in limits:  # a limit needs damping: without limits, the gains can change in any order
        setattr(task, key, math.inf)
    task.set_gains(parameters[f'{task.name}.kp'], parameters[f'{task.name}.kd'])
    for key in limits:
        setattr(task, key, parameters[f'{task.name}.{key}'])


def apply_sensor(sensor, parameters, changed):
    """Set a sensor from checked parameters, as `apply_task` does."""
    own = {key for key in _SENSOR if f'{sensor.name}.{key}' in changed}
    if not own:
        return
    values = {key: parameters[f'{sensor.name}.{key}'] for key in _SENSOR}
    if 'bias' in own:
        sensor.set_bias(values['bias'])
    if own & {'tool_mass', 'tool_center'}:
        sensor.set_tool(values['tool_mass'], values['tool_center'])
    for key in own & {'cutoff', 'timeout'}:
        setattr(sensor, key, values[key])


def _axes_of(kind, axes, force_axes, axes_frame, axes_rotation):
    """Return the four parameters of axes as arguments of a kind of task."""
    foreign = AXES if kind is ForceTask else set(AXES) - set(kind.possible_axes)
    frames = axes_frame.split()
    return {'axes': ' '.join(axis for axis in axes.split() if axis not in foreign),
            'force_axes': force_axes,
            'axes_frame': frames if len(frames) > 1 else axes_frame.strip(),
            'axes_rotation': axes_rotation}


_PAYLOAD = ('mass', 'center_of_mass', 'inertia')
_DRIFT = ('drift_kp', 'drift_kd')
_BOUNDS = 'friction', 'normal', 'min_normal_force', 'max_normal_force'
_FORCE = {'squeeze': 'minimum', 'max_squeeze': 'maximum', 'friction': 'friction',
          'friction_margin': 'friction_margin', 'minimal_effort': 'minimum_effort'}


def make_grasp(name, parameters):
    """Return the grasp of this name, or raise an OpspaceError if its parameters cannot be used."""
    def value(key):
        return parameters[f'{name}.{key}']

    poses = value('grasp_poses')
    if len(poses) % 7:
        raise RosInterfaceError(f'{name}.grasp_poses has {len(poses)} numbers.',
                                cure='Give seven for each effector: x y z qx qy qz qw.')
    # The object's task is that of the first effector, with the grasp's parameters.
    task = {'type': 'pose', 'frame': (value('effectors') or [''])[0], 'reference': '',
            'joints': [], 'sensor': '', 'priority': 0}
    return Grasp(value('effectors'), name=name, payload=read_payload(name, parameters),
                 grasp_poses=np.reshape(poses, (-1, 7)) if poses else None,
                 kind=value('kind'), grasp_force=read_grasp_force(name, parameters),
                 tolerance=(value('tolerance_position'), value('tolerance_angle')),
                 drift_gains=[value(key) for key in _DRIFT], task=make_task(name, ChainMap(
                     {f'{name}.{key}': given for key, given in task.items()}, parameters), {}))


def read_grasp_force(name, parameters):
    """Return the grasp force of a grasp; friction 0 stands for grips that cannot slip."""
    values = {field: parameters[f'{name}.{key}'] for key, field in _FORCE.items()}
    return GraspForce(**{**values, 'friction': values['friction'] or np.inf})


def read_payload(name, parameters):
    """Return the object of a grasp, or a payload, or raise a ModelError if it is impossible."""
    mass, center, (xx, yy, zz, xy, xz, yz) = (parameters[f'{name}.{key}'] for key in _PAYLOAD)
    return Payload(mass, center, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def make_contact(name, parameters):
    """Return the contact of this name, or raise an OpspaceError, likewise."""
    sole = np.reshape(parameters[f'{name}.sole'], (2, 3))
    return Contact(parameters[f'{name}.frame'] or name, name=name, kind=parameters[f'{name}.kind'],
                   sole=sole if sole.any() else None, **_contact_bounds(name, parameters))


def _contact_bounds(name, parameters):
    """Return the arguments of `Contact` that may change at run time."""
    friction, normal, least, greatest = (parameters[f'{name}.{key}'] for key in _BOUNDS)
    return {'friction': friction, 'normal': normal, 'normal_force': (least, greatest or np.inf)}


def check_contacts(parameters, changed):
    """Raise a ControlError if contacts cannot have the values of these parameters."""
    for name in parameters['contacts']:
        if _concern(changed, name, _BOUNDS):
            make_contact(name, parameters)


def apply_contacts(controller, parameters, changed):
    """Set the bounds of a controller's contacts, as `apply_task` does."""
    for contact in contacts_of(controller):
        if _concern(changed, contact.name, _BOUNDS):
            for key, value in _contact_bounds(contact.name, parameters).items():
                setattr(contact, key, value)


def _concern(changed, name, keys):
    """Return whether one of the parameters ``keys`` of a block has changed."""
    return any(f'{name}.{key}' in changed for key in keys)


def put_payloads(controller, parameters, changed=None):
    """Set a controller's payloads from the parameters, if given only those of ``changed`` names."""
    for name in parameters['payloads']:
        if changed is None or _concern(changed, name, _PAYLOAD):
            controller.payloads.put(name, parameters[f'{name}.frame'] or name,
                                    read_payload(name, parameters))


def contacts_of(controller):
    """Return the contacts among a controller's constraints."""
    return [one for one in controller.constraints.values() if isinstance(one, Contact)]


def apply_grasps(controller, parameters, changed):
    """Set payloads, grasp forces and gains of a controller's grasps, as `apply_task` does."""
    for name, grasp in controller.grasps.items():
        if _concern(changed, name, _PAYLOAD):
            grasp.payload = read_payload(name, parameters)
        if _concern(changed, name, _DRIFT):
            grasp.set_drift_gains(*(parameters[f'{name}.{key}'] for key in _DRIFT))
        if _concern(changed, name, _FORCE):
            grasp.grasp_force = read_grasp_force(name, parameters)

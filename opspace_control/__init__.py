# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Operational space control of branching robots.

Names are imported on first use, so that a process which only needs ROS 2 or the simulator does not
wait for the compiler behind the mathematics.
"""

import importlib

__version__ = '0.1.0'

_HOME = {
    'RobotState': 'model',
    'Payload': 'model',
    'RobotModel': 'dynamics',
    'operational_space': 'dynamics',
    'Closure': 'dynamics',
    'closed_chain': 'dynamics',
    'closed_chain_dynamics': 'dynamics',
    'contact_space': 'dynamics',
    'coriolis_matrices': 'dynamics',
    'VirtualLinkage': 'dynamics',
    'hybrid_dynamics': 'dynamics',
    'hybrid_inertia': 'dynamics',
    'generalized_jacobian': 'dynamics',
    'disturbance_jacobian': 'dynamics',
    'momentum': 'dynamics',
    'center_of_mass': 'dynamics',
    'PassiveForces': 'dynamics',
    'PoseTask': 'tasks',
    'PositionTask': 'tasks',
    'OrientationTask': 'tasks',
    'RelativeTask': 'tasks',
    'CenterOfMassTask': 'tasks',
    'ForceTask': 'tasks',
    'JointTask': 'tasks',
    'JointTrajectory': 'tasks',
    'ForceControl': 'tasks',
    'ForceSensor': 'tasks',
    'Impedance': 'tasks',
    'JerkLimits': 'tasks',
    'PostureTask': 'tasks',
    'OperationalSpaceController': 'control',
    'Grasp': 'control',
    'GraspForce': 'control',
    'JointLimits': 'control',
    'Constraint': 'control',
    'Contact': 'control',
    'Plan': 'control',
    'plan_motion': 'control',
    'Playback': 'control',
    'GoalLimits': 'safety.goal_limits',
    'EulerAngles': 'spatial.orientation_representations',
    'EulerParameters': 'spatial.orientation_representations',
    'DirectionCosines': 'spatial.orientation_representations',
    'OpspaceError': 'errors',
    'ModelError': 'errors',
    'StateError': 'errors',
    'TaskError': 'errors',
    'ControlError': 'errors',
    'SafetyError': 'errors',
    'SimulationError': 'errors',
    'RosInterfaceError': 'errors',
}

__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(importlib.import_module(f'{__name__}.{_HOME[name]}'), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))

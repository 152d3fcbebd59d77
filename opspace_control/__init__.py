# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Operational space control of branching robots.

Names are imported on first use, so that a process which only needs ROS 2 or the simulator does not
wait for the compiler behind the mathematics.
"""

import importlib

__version__ = '0.1.0'

_NAMES = {
    'model': 'RobotState Payload', 'dynamics.robot_model': 'RobotModel',
    'dynamics.operational_space': 'operational_space',
    'dynamics.closed_chain': 'Closure closed_chain closed_chain_dynamics',
    'dynamics.contact_inertia': 'contact_space', 'dynamics.coriolis_matrices': 'coriolis_matrices',
    'dynamics.virtual_linkage': 'VirtualLinkage', 'dynamics.hybrid_dynamics': 'hybrid_dynamics',
    'dynamics.generalized_jacobian': 'hybrid_inertia generalized_jacobian disturbance_jacobian',
    'dynamics.center_of_mass': 'momentum center_of_mass',
    'dynamics.generalized_momentum': 'generalized_momentum',
    'dynamics.momentum_observer': 'MomentumObserver',
    'dynamics.estimated_wrench': 'estimated_wrench', 'dynamics.passive_forces': 'PassiveForces',
    'dynamics.drive_friction': 'DriveFriction',
    'collision': 'CollisionDescription CollisionModel Shape', 'tasks.pose': 'PoseTask',
    'tasks.pose_kinds': 'PositionTask OrientationTask RelativeTask CenterOfMassTask',
    'tasks.task': 'ForceTask', 'tasks.joint': 'JointTask', 'tasks.trajectory': 'JointTrajectory',
    'tasks.force_control': 'ForceControl', 'tasks.sensor': 'ForceSensor',
    'tasks.impedance_law': 'Impedance', 'tasks.jerk_limited': 'JerkLimits',
    'tasks.posture': 'PostureTask', 'control.controller': 'OperationalSpaceController',
    'control.disturbance_observer': 'DisturbanceObserver', 'control.grasping.grasp': 'Grasp',
    'control.grasping.grasp_force': 'GraspForce', 'control.limits.joint_limits': 'JointLimits',
    'control.limits.distance_limits': 'DistanceLimits',
    'control.constraints.constraint': 'Constraint', 'control.constraints.contact': 'Contact',
    'control.diagnosis.margins': 'LoopMargin longest_period loop_margin loop_margins',
    'control.planning.plan': 'Plan', 'control.planning.plan_motion': 'plan_motion',
    'control.planning.playback': 'Playback',
    'locomotion': 'Locomotion Stepping Gait legged_tasks', 'safety.goal_limits': 'GoalLimits',
    'spatial.orientation_representations': 'EulerAngles EulerParameters DirectionCosines',
    'errors': (
        'OpspaceError ModelError StateError TaskError ControlError SafetyError SimulationError '
        'RosInterfaceError'),
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(importlib.import_module(f'{__name__}.{_HOME[name]}'), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))

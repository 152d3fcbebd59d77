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
    'model': 'RobotState Payload',
    'dynamics': (
        'RobotModel operational_space Closure closed_chain closed_chain_dynamics contact_space '
        'coriolis_matrices VirtualLinkage hybrid_dynamics hybrid_inertia generalized_jacobian '
        'disturbance_jacobian momentum generalized_momentum MomentumObserver estimated_wrench '
        'center_of_mass PassiveForces DriveFriction'),
    'collision': 'CollisionDescription CollisionModel Shape',
    'tasks': (
        'PoseTask PositionTask OrientationTask RelativeTask CenterOfMassTask ForceTask JointTask '
        'JointTrajectory ForceControl ForceSensor Impedance JerkLimits PostureTask'),
    'control': (
        'OperationalSpaceController DisturbanceObserver Grasp GraspForce JointLimits '
        'DistanceLimits Constraint Contact LoopMargin longest_period loop_margin loop_margins Plan '
        'plan_motion Playback'),
    'locomotion': 'Locomotion Stepping Gait legged_tasks',
    'safety.goal_limits': 'GoalLimits',
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

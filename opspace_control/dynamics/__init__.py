# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Recursive dynamics of branching robots: one compiled recursion per file, and their wrappers.

Conventions of all functions: ``model`` is a RobotModel with its ``passive`` and ``locked`` joints,
and ``state`` a RobotState of it, else they raise a StateError. ``frames`` is one name or a sequence
of m names; an unknown name raises a ModelError that gives the nearest ones. A joint vector (nv,) is
in the order of ``dof_names``; a StateError names an element that is not finite. Rows of frames are
three linear, then three angular ones, in world axes. Returned arrays are new.
"""

from opspace_control.dynamics.center_of_mass import center_of_mass, momentum
from opspace_control.dynamics.closed_chain import (
    ClosedChain,
    Closure,
    closed_chain,
    closed_chain_dynamics,
)
from opspace_control.dynamics.contact_inertia import contact_space
from opspace_control.dynamics.coriolis_matrices import CoriolisMatrices, coriolis_matrices
from opspace_control.dynamics.drive_friction import DriveFriction
from opspace_control.dynamics.estimated_wrench import EstimatedWrench, estimated_wrench
from opspace_control.dynamics.generalized_jacobian import (
    HybridInertia,
    disturbance_jacobian,
    generalized_jacobian,
    hybrid_inertia,
)
from opspace_control.dynamics.generalized_momentum import GeneralizedMomentum, generalized_momentum
from opspace_control.dynamics.hybrid_dynamics import HybridMotion, hybrid_dynamics
from opspace_control.dynamics.momentum_observer import MomentumObserver
from opspace_control.dynamics.operational_space import OperationalSpace, operational_space
from opspace_control.dynamics.passive_forces import PassiveForces
from opspace_control.dynamics.preparation import GRAVITY
from opspace_control.dynamics.robot_model import RobotModel
from opspace_control.dynamics.virtual_linkage import VirtualLinkage

__all__ = ['GRAVITY', 'ClosedChain', 'Closure', 'CoriolisMatrices', 'DriveFriction',
           'EstimatedWrench', 'GeneralizedMomentum', 'HybridInertia', 'HybridMotion',
           'MomentumObserver', 'OperationalSpace', 'PassiveForces', 'RobotModel',
           'VirtualLinkage', 'center_of_mass', 'closed_chain', 'closed_chain_dynamics',
           'contact_space', 'coriolis_matrices', 'disturbance_jacobian', 'estimated_wrench',
           'generalized_jacobian', 'generalized_momentum', 'hybrid_dynamics', 'hybrid_inertia',
           'momentum', 'operational_space']

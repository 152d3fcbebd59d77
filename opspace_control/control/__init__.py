# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Control laws: from tasks to joint forces, within limits."""

from opspace_control.control.constraints.constraint import Constraint
from opspace_control.control.constraints.contact import Contact
from opspace_control.control.controller import DAMPING_RATE, OperationalSpaceController
from opspace_control.control.disturbance_observer import DisturbanceObserver
from opspace_control.control.grasping.grasp import Grasp
from opspace_control.control.grasping.grasp_force import GraspForce
from opspace_control.control.limits.distance_limits import DistanceLimits
from opspace_control.control.limits.joint_limits import JointLimits
from opspace_control.control.margins import LoopMargin, longest_period, loop_margin, loop_margins
from opspace_control.control.plan import Plan
from opspace_control.control.planning import plan_motion
from opspace_control.control.playback import Playback

__all__ = ['DAMPING_RATE', 'Constraint', 'Contact', 'DistanceLimits', 'DisturbanceObserver',
           'Grasp', 'GraspForce', 'JointLimits', 'LoopMargin', 'OperationalSpaceController', 'Plan',
           'Playback', 'longest_period', 'loop_margin', 'loop_margins', 'plan_motion']

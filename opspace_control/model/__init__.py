# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The robot: an immutable tree of flat arrays from a URDF, and its state.

A ModelError names the element of the description that cannot be used, and the cure.
"""

from opspace_control.model.bodies import Payload
from opspace_control.model.state import RobotState
from opspace_control.model.tree import KinematicTree

__all__ = ['KinematicTree', 'Payload', 'RobotState']

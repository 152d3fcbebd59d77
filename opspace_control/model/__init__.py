# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The robot: an immutable tree of flat arrays from a URDF, and its state."""

from opspace_control.model.payload import Payload
from opspace_control.model.state import RobotState
from opspace_control.model.tree import KinematicTree

__all__ = ['KinematicTree', 'Payload', 'RobotState']

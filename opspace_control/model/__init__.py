# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The robot: a URDF becomes an immutable tree of flat arrays, and a state that fits it."""

from opspace_control.model.payload import Payload
from opspace_control.model.state import RobotState
from opspace_control.model.tree import KinematicTree

__all__ = ['KinematicTree', 'Payload', 'RobotState']

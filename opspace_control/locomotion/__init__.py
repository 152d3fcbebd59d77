# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Gaits of robots on legs: a time schedule of contacts, and goals of a controller's tasks."""

from opspace_control.locomotion.gaits import GAITS, Gait, Stepping
from opspace_control.locomotion.locomotion import Locomotion
from opspace_control.locomotion.trunk import legged_tasks

__all__ = ['GAITS', 'Gait', 'Locomotion', 'Stepping', 'legged_tasks']

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The robot simulated by MuJoCo, without ROS."""

from opspace_control.simulation.legged_robot import LeggedRobot, with_sphere_feet
from opspace_control.simulation.objects import Box
from opspace_control.simulation.simulated_robot import SimulatedRobot

__all__ = ['Box', 'LeggedRobot', 'SimulatedRobot', 'with_sphere_feet']

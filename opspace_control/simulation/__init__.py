# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The robot simulated by MuJoCo, without ROS."""

from opspace_control.simulation.objects import Box, Shape
from opspace_control.simulation.reality import Reality
from opspace_control.simulation.simulated_robot import SimulatedRobot

__all__ = ['Box', 'Reality', 'Shape', 'SimulatedRobot']

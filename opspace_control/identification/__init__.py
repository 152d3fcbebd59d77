# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Identification of drive friction and of inertial parameters, from a motion and its efforts."""

from opspace_control.identification.excitation import exciting_motion
from opspace_control.identification.fit import identify
from opspace_control.identification.residual_parts import ResidualSplitter, residual_parts
from opspace_control.identification.samples import motion_samples
from opspace_control.identification.thresholds import collision_thresholds, moving_residuals

__all__ = ['ResidualSplitter', 'collision_thresholds', 'exciting_motion', 'identify',
           'motion_samples', 'moving_residuals', 'residual_parts']

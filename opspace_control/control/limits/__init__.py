# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of joints: positions, velocities, braking accelerations, gravity torques and efforts."""

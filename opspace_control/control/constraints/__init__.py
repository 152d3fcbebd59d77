# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Constraints of links: contacts with the ground, grasps, closed chains; their elimination."""

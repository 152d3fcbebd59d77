# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Grasps: one object, several effectors, and the forces that they exert on each other."""

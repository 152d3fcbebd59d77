# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The stack: rows of accelerations of constraints and tasks, and their forces, level by level."""

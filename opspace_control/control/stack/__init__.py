# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The stack of rows that constraints and tasks ask for, and its forces, level by level."""

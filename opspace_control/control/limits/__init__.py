# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of a robot, and the bounds that they are in a cycle."""

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Singular-direction control: a law in joint space for directions that joints hardly move."""

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Elimination of constraints, and the inverse of one level: linear algebra of the rows."""

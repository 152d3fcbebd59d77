# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The prioritised problem of a cycle: rows of bounds above the tasks, and its solution."""

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Topics and services of a controller beside states and commands: goals, feedback, diagnostics."""

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a controller hears and says beside states and commands: goals, feedback, diagnostics."""

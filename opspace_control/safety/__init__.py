# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The safety envelope: checks of states, limits of commands, trips."""

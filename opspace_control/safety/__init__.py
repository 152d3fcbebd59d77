# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The safety envelope: which states are believed, what may be commanded, what happens otherwise."""

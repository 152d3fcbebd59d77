# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Pure mathematics of rotations and 6-vectors; knows nothing of robots."""

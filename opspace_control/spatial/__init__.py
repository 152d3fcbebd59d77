# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Mathematics of rotations and 6-vectors, without robots."""

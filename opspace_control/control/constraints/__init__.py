# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What holds links: the ground, objects, each other."""

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""From what constraints and tasks ask of their points to forces, in strict order of priority."""

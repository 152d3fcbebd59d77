# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Parts of the simulated robot as a node: pace, objects, sensors."""

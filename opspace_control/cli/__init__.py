# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The `opspace` command; its verbs are also `ros2 run opspace_control ...`."""

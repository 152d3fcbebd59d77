# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The law over a model in place of the robot: plans of goals, and their playback."""

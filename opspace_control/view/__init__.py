# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A running controller in a browser: the robot, goals as handles, and diagnostics."""

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Recorded runs: the file, its reader, and a report page. Needs no ROS."""

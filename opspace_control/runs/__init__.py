# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Runs that are kept: the file, its reader, and a page about it. Needs no ROS."""

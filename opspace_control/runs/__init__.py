# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Runs that were recorded: read, and told on a page. Needs no ROS."""

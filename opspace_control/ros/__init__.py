# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 nodes: the controller and the simulated robot."""

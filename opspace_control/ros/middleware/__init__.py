# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What every node here does with ROS 2 itself: messages, quality of service, executors."""

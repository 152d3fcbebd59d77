# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Quality of service of every kind of topic."""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

# Received joint states and commands: only the newest one matters.
# Compatible with every publisher.
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)

# Goals, commands sent, feedback: compatible with every subscriber.
RELIABLE = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)

# The robot description, and joint states as the real broadcaster sends them: a late subscriber
# gets the last one.
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                     durability=DurabilityPolicy.TRANSIENT_LOCAL)

# As tf2 listens and broadcasts.
TF = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
TF_STATIC = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE,
                       durability=DurabilityPolicy.TRANSIENT_LOCAL)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What is in the file of a run beside the messages: names that writer and reader agree on."""

# The metadata record that says what ran, and the version of its layout.
RUN, LAYOUT = 'opspace_run', '1'
# Attachments.
ROBOT, PARAMETERS = 'robot.urdf', 'parameters.yaml'

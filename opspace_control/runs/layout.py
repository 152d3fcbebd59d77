# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Names of the records of a run file, except messages, for writer and reader."""

# The metadata record that says what ran, and the version of its layout.
RUN, LAYOUT = 'opspace_run', '1'
# Attachments.
ROBOT, PARAMETERS = 'robot.urdf', 'parameters.yaml'

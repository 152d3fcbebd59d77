# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the nodes: tables, files, and the controllers and tasks that they describe."""

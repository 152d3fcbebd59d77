# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Common parts of the nodes: messages, quality of service, executors."""

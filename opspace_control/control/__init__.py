# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Control laws: from tasks to joint forces, within limits."""

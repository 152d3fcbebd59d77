# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The control cycle: from a joint state to an effort command."""

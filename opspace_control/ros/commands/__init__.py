# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Where effort commands go: topics, and the controller manager that has to agree."""

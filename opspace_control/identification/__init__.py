# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Identification of drive friction and of inertial parameters, from a motion and its efforts."""

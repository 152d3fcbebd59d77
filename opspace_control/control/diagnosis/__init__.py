# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Why a task does not attain what it wants: conflicts, singular directions, limits, margins."""

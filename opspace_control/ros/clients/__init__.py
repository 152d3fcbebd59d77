# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Parts of those who talk to a controller: what it offers, its outlook, recordings of it."""

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Parts of clients of a controller: discovery, polled topics, parameters, recordings."""

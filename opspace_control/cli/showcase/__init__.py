# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Parts of `opspace demo`: a schedule of goals, a client of the nodes, a report and a picture."""

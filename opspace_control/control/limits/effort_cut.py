# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Limits on the joint forces: always the last operation, after gravity and everything else."""

from opspace_control.compiled import inlined
from opspace_control.model.nodes import ACTIVE


@inlined
def limit_efforts(nodes, effort_limits, tau):
    """
    Cut ``tau`` at the effort limits, zero it where it is not ours; return how many were cut.

    NaN is left as it is: it must stay visible to whoever sends the command.
    """
    cut = 0
    for i in range(nodes.size):
        k = nodes[i].v_index
        if k < 0:
            continue
        if nodes[i].status != ACTIVE:
            tau[k] = 0.0
        elif tau[k] > effort_limits[k]:
            tau[k] = effort_limits[k]
            cut += 1
        elif tau[k] < -effort_limits[k]:
            tau[k] = -effort_limits[k]
            cut += 1
    return cut

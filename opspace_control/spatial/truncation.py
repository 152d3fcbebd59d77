# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Smooth truncation of eigenvalues of a scaled inverse inertia."""

from opspace_control.compiled import inlined


@inlined
def truncation_threshold(axes, threshold):
    """Return the scaled eigenvalue at which truncation begins, for axes that share a threshold."""
    return threshold / axes if axes > 1.0 else threshold


@inlined
def smooth_step(t):
    """Return ``φ = t² (3 − 2 t)``, t clipped to 0 to 1: the weight of a direction in the task."""
    t = min(max(t, 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)

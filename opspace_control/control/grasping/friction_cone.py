# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The friction cone of a grip, ``|f_t| ≤ μ f_n``: grasp force and steps that stay within it."""

import math

from opspace_control.compiled import inlined


@inlined
def least_grasp_force(mu, n, f, p, max_grasp_force):
    """
    Return the least s, N, from 0 to ``max_grasp_force``, with ``f + s p`` in the friction cone.

    ``|f_t + s p_t| ≤ μ (f_n + s p_n)``. Where no s satisfies this, the least violation decides.
    """
    f_n = n[0] * f[0] + n[1] * f[1] + n[2] * f[2]
    p_n = n[0] * p[0] + n[1] * p[1] + n[2] * p[2]
    ff = f[0] * f[0] + f[1] * f[1] + f[2] * f[2] - f_n * f_n
    fp = f[0] * p[0] + f[1] * p[1] + f[2] * p[2] - f_n * p_n
    pp = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] - p_n * p_n
    # a s² + 2 b s + c ≥ 0.
    a, b, c = mu * mu * p_n * p_n - pp, mu * mu * f_n * p_n - fp, mu * mu * f_n * f_n - ff
    if c >= 0.0 and f_n >= 0.0:
        return 0.0
    root = b * b - a * c
    if a > 0.0 and p_n > 0.0:  # beyond the larger root
        return min(max(-f_n / p_n, (math.sqrt(max(root, 0.0)) - b) / a), max_grasp_force)
    if c < 0.0 and root > 0.0 and b > 0.0 and f_n * (b + math.sqrt(root)) - c * p_n >= 0.0:
        return min(-c / (b + math.sqrt(root)), max_grasp_force)  # from the smaller root on
    if a < 0.0:  # where |f_t + s p_t| − μ (f_n + s p_n) is least
        across = max(ff - fp * fp / pp, 0.0)
        s = (mu * p_n * math.sqrt(-across * pp / a) - fp) / pp
        return min(max(s, 0.0), max_grasp_force)
    return 0.0


@inlined
def longest_step(mu, n, f, d):
    """
    Return the largest t, from 0 to 1, with ``f + t d`` in the friction cone.

    1 where f itself is outside the cone.
    """
    f_n = n[0] * f[0] + n[1] * f[1] + n[2] * f[2]
    d_n = n[0] * d[0] + n[1] * d[1] + n[2] * d[2]
    ff, fd, dd, wide = 0.0, 0.0, 0.0, 1.0 + mu * mu
    for r in range(3):
        ff += f[r] * f[r]
        fd += f[r] * d[r]
        dd += d[r] * d[r]
    # a t² + 2 b t + c ≥ 0 up to the first root.
    a, b, c = wide * d_n * d_n - dd, wide * f_n * d_n - fd, wide * f_n * f_n - ff
    root = b * b - a * c
    if c < 0.0 or f_n < 0.0 or root < 0.0:
        return 1.0
    slope = math.sqrt(root) - b
    return c / slope if slope > c else 1.0

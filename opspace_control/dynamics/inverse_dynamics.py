# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of a body by Newton and Euler, [CK00] Table 2."""

from opspace_control.compiled import inlined


@inlined
def is_empty(m, Ic):
    """Return whether a body has neither mass nor inertia, as those inside a chain of nodes."""
    return m == 0.0 and Ic[0, 0] + Ic[1, 1] + Ic[2, 2] == 0.0


@inlined
def load_node(nodes, i, gravity, states):
    """
    Write the net force of the motion of body i, minus its weight, [CK00] Table 2.

    Newton and Euler about the centre of mass, moved to the root link's origin. Gravity is a force
    here, so accelerations are those of the bodies.
    """
    m = nodes[i].mass
    s = states[i]
    V, A, f, c, Ic = s.V, s.A, s.f, s.c, s.Ic
    if is_empty(m, Ic):
        for r in range(6):
            f[r] = 0.0
        return
    c0, c1, c2 = c[0], c[1], c[2]
    w0, w1, w2 = V[3], V[4], V[5]
    a0, a1, a2 = A[3], A[4], A[5]
    # Newton: the velocity v of the centre of mass, and its mass times acceleration.
    v0 = V[0] + w1 * c2 - w2 * c1
    v1 = V[1] + w2 * c0 - w0 * c2
    v2 = V[2] + w0 * c1 - w1 * c0
    f0 = m * (A[0] + a1 * c2 - a2 * c1 + w1 * v2 - w2 * v1 - gravity[0])
    f1 = m * (A[1] + a2 * c0 - a0 * c2 + w2 * v0 - w0 * v2 - gravity[1])
    f2 = m * (A[2] + a0 * c1 - a1 * c0 + w0 * v1 - w1 * v0 - gravity[2])
    # Euler: the angular momentum h about it, and its rate.
    xx, xy, xz, yy, yz, zz = Ic[0, 0], Ic[0, 1], Ic[0, 2], Ic[1, 1], Ic[1, 2], Ic[2, 2]
    h0 = xx * w0 + xy * w1 + xz * w2
    h1 = xy * w0 + yy * w1 + yz * w2
    h2 = xz * w0 + yz * w1 + zz * w2
    f[0], f[1], f[2] = f0, f1, f2
    f[3] = xx * a0 + xy * a1 + xz * a2 + w1 * h2 - w2 * h1 + c1 * f2 - c2 * f1
    f[4] = xy * a0 + yy * a1 + yz * a2 + w2 * h0 - w0 * h2 + c2 * f0 - c0 * f2
    f[5] = xz * a0 + yz * a1 + zz * a2 + w0 * h1 - w1 * h0 + c0 * f1 - c1 * f0


@inlined
def add_inertial_force(m, c, Ic, B, f):
    """Add the inertia of a body times an additional spatial acceleration B to a force (6,)."""
    if is_empty(m, Ic):
        return
    a0, a1, a2 = B[3], B[4], B[5]
    f0 = m * (B[0] + a1 * c[2] - a2 * c[1])
    f1 = m * (B[1] + a2 * c[0] - a0 * c[2])
    f2 = m * (B[2] + a0 * c[1] - a1 * c[0])
    f[0] += f0
    f[1] += f1
    f[2] += f2
    f[3] += Ic[0, 0] * a0 + Ic[0, 1] * a1 + Ic[0, 2] * a2 + c[1] * f2 - c[2] * f1
    f[4] += Ic[1, 0] * a0 + Ic[1, 1] * a1 + Ic[1, 2] * a2 + c[2] * f0 - c[0] * f2
    f[5] += Ic[2, 0] * a0 + Ic[2, 1] * a1 + Ic[2, 2] * a2 + c[0] * f1 - c[1] * f0

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Planes of memory, (PLANES, side, side), of a cycle that keeps limits of joints."""

# What joints feel of the stack, and of the rows that hold them; the joint forces of these rows'
# units, what constraints bear of them, their coupling with the stack and with each other, and the
# forces that hold against those of the stack; two of scratch; numbers a row; and what directions
# near singularities are led by; what nodes carry, and how loads of joints grow.
(FEELING, FELT, TORQUES, BORNE, COUPLING, OWN_MOBILITY, AGAINST, FACTORED, ROTATION, NUMBERS,
 LEADING, CARRIED, LOADS) = range(13)
PLANES = 13

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Linear algebra of levels in strict priority: matrices only, no robot.

Without bounds, `level_inverse` is the inverse of one level, and `semidefinite` the pseudo-inverse
of redundant rows, those of constraints or of a level. With bounds, `levels` solves the levels of a
prioritised problem from the highest to the lowest, or `attainable` at once where all can be met.
`active_set` finds which bounds are active, `start` factorises the rows to begin with, and
`truncation` makes nearly singular directions soft. `cholesky` has the triangular factors.
"""

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
The solver of prioritised problems: matrices only, no robot.

The rows of all levels say what a motion must or shall do; `levels` goes through them in order of
priority, `active_set` finds which bounds are active, `truncation` makes nearly singular
directions soft.
"""

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Recursive dynamics of branching robots: one compiled recursion per file, and their wrappers.

Conventions of all functions: ``model`` is a RobotModel with its ``passive`` and ``locked`` joints,
and ``state`` a RobotState of it, else they raise a StateError. ``frames`` is one name or a sequence
of m names; an unknown name raises a ModelError that gives the nearest ones. A joint vector (nv,) is
in the order of ``dof_names``; a StateError names an element that is not finite. Rows of frames are
three linear, then three angular ones, in world axes. Returned arrays are new.
"""

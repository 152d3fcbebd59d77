# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The compiler of kernels: Numba with another front end. Nothing here is needed at run time."""

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Tasks, and their compiled laws.

What cannot be used, such as a gain, an axis or a goal of a wrong shape or not finite, raises a
TaskError that names it, and a ModelError names an unknown frame or joint; then nothing changes.
Goals and gains are copied. A gain is one number for all axes, or one for each; those not given
stay.
"""

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The force task: a frame exerts a given force along some axes and is free along the others."""

from opspace_control.tasks.targets import AXES
from opspace_control.tasks.task import OperationalTask


class ForceTask(OperationalTask):
    """
    Exert force with a frame along ``force_axes``; the others stay free for other tasks.

    For a frame that moves along some axes and exerts force along others, give a `PoseTask` its
    ``force_axes`` instead. Other keywords are ``name``, ``axes_frame``, ``axes_rotation``,
    ``force`` and ``priority`` of an `OperationalTask`.
    """

    def __init__(self, frame, *, force_axes=AXES, **specification):
        super().__init__(frame, axes=(), force_axes=force_axes, **specification)

    def set_target(self, wrench=None):
        """Set the wrench that the robot applies, (6,), N and N·m: `ForceControl.set_target`."""
        self.force.set_target(wrench)

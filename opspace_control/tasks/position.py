# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The position task: a frame's origin goes to a goal, its orientation is free."""

from opspace_control.tasks.pose import PoseTask
from opspace_control.tasks.targets import part_of_six, pose_at


class PositionTask(PoseTask):
    """
    Take a frame's origin to a goal; a `PoseTask` without rotation.

    Parameters
    ----------
    frame : str
        Link whose frame's origin is the operational point.
    axes : sequence of str
        Which of ``x y z``.
    **options
        Of a `PoseTask`.

    """

    possible_axes = ('x', 'y', 'z')

    def __init__(self, frame, *, axes=possible_axes, **options):
        super().__init__(frame, axes=axes, **options)

    def set_target(self, position, velocity=None, acceleration=None):
        """
        Set the goal, in the base frame (the world's for a floating base).

        Parameters
        ----------
        position : (3,) array, or a pose as `PoseTask.set_target` takes it
            m.
        velocity, acceleration : (3,) or (6,) array, optional
            Feed-forward, m/s and m/s²; zero if not given. Angular parts do not count.

        Raises
        ------
        TaskError
            If anything is malformed or not finite; then the goal has not changed.

        """
        super().set_target(pose_at(position), part_of_six(velocity, 0),
                           part_of_six(acceleration, 0))

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The orientation task: a frame turns to a goal, wherever it is."""

from opspace_control.tasks.pose import PoseTask
from opspace_control.tasks.targets import part_of_six, pose_turned


class OrientationTask(PoseTask):
    """
    Turn a frame to a goal; a `PoseTask` without translation.

    Parameters
    ----------
    frame : str
        Link whose frame it is.
    axes : sequence of str
        Which of ``rx ry rz``.
    **options
        Of a `PoseTask`.

    """

    possible_axes = ('rx', 'ry', 'rz')

    def __init__(self, frame, *, axes=possible_axes, **options):
        super().__init__(frame, axes=axes, **options)

    def set_target(self, orientation, velocity=None, acceleration=None):
        """
        Set the goal, in the base frame (the world's for a floating base).

        Parameters
        ----------
        orientation : (4,) or (3, 3) array, or a pose as `PoseTask.set_target` takes it
            Quaternion ``[x y z w]``, or rotation matrix.
        velocity, acceleration : (3,) or (6,) array, optional
            Angular feed-forward, rad/s and rad/s²; zero if not given. Linear parts do not count.

        Raises
        ------
        TaskError
            If anything is malformed or not finite; then the goal has not changed.

        """
        super().set_target(pose_turned(orientation), part_of_six(velocity, 3),
                           part_of_six(acceleration, 3))

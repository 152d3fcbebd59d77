# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A recorded robot as lines from link to link."""

import numpy as np

from opspace_control.dynamics.robot_model import RobotModel
from opspace_control.model import RobotState
from opspace_control.model.topology import depth_first
from opspace_control.model.urdf import read_urdf


class Skeleton:
    """
    A robot as lines.

    Parameters
    ----------
    text : str
        URDF text.
    floating_base : bool

    """

    def __init__(self, text, floating_base=False):
        self._model = RobotModel.from_urdf(text, floating_base=floating_base)
        _, joints = depth_first(read_urdf(text))
        self._lines = [(joint.parent, joint.child) for joint in joints]

    def lines(self, positions, base=None):
        """
        Return lines (k, 2, 3), m, from each link to the one that carries it.

        Parameters
        ----------
        positions : dict of str to float
            By joint, rad or m; others are as in ``model.neutral()``.
        base : (7,) array, optional
            Pose of a floating base.

        """
        model = self._model
        q = model.neutral()
        if model.floating_base and base is not None:
            q[:7] = base
        for joint, position in positions.items():
            if joint in model.dof_names:
                q[model.q_index[model.dof_index(joint)]] = position
        poses = model.forward_kinematics(RobotState(model, q, np.zeros(model.nv)))
        return np.array([[poses[parent][:3, 3], poses[child][:3, 3]]
                         for parent, child in self._lines])

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Pink's differential inverse kinematics, as in its examples of arms: no dynamics, no V_max."""

import numpy as np
import pink
import pinocchio
from pink.limits import ConfigurationLimit, VelocityLimit
from pink.tasks import FrameTask, PostureTask

TIMESTEP = 5e-3  # s
POSTURE_COST, DAMPING = 1e-3, 1.0  # of the posture task, and Levenberg-Marquardt of the hand's


class PinkArm:
    """
    A hand sent to poses, the posture being that of the start.

    Parameters
    ----------
    path : path
        Its URDF file.
    hand : str
        A link.
    start : dict of str to float
        Positions of joints, rad; the others are at zero, or at the limit next to it.

    """

    def __init__(self, path, hand, start):
        model, self._hand = pinocchio.buildModelFromUrdf(str(path)), hand
        home = pinocchio.neutral(model)
        for name, position in start.items():
            home[model.joints[model.getJointId(name)].idx_q] = position
        self._home = np.clip(home, model.lowerPositionLimit, model.upperPositionLimit)
        self._configuration = pink.Configuration(model, model.createData(), self._home)
        self._limits = ConfigurationLimit(model), VelocityLimit(model)
        self._task = FrameTask(hand, 1.0, 1.0, lm_damping=DAMPING)
        self._posture = PostureTask(POSTURE_COST)
        self._posture.set_target(self._home)

    def reset(self):
        """Go back to the start."""
        self._configuration.update(self._home)

    def seek(self, goal, seconds):
        """Move for some seconds towards a pose (4, 4); return what is left, m and rad."""
        self._task.set_target(pinocchio.SE3(goal[:3, :3], goal[:3, 3]))
        for _ in range(round(seconds / TIMESTEP)):
            velocity = pink.solve_ik(
                self._configuration, [self._task, self._posture], TIMESTEP, solver='daqp',
                limits=self._limits, safety_break=False)
            self._configuration.integrate_inplace(velocity, TIMESTEP)
        hand = self._configuration.get_transform_frame_to_world(self._hand)
        return (np.linalg.norm(goal[:3, 3] - hand.translation),
                np.linalg.norm(pinocchio.log3(goal[:3, :3] @ hand.rotation.T)))

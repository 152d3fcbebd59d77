# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What a gait has to know of a robot: its symmetric stance."""

from typing import NamedTuple

import numpy as np

from opspace_control.control.planning.postures import named_posture
from opspace_control.dynamics.center_of_mass import center_of_mass
from opspace_control.model import RobotState


class SymmetricStance(NamedTuple):
    """A robot that stands on its feet, its centre of mass above their middle."""

    height: float        # of the trunk's origin above the feet, m
    center: np.ndarray   # (3,) centre of mass from the trunk's origin, horizontally, m
    arms: np.ndarray     # (n, 3) feet from the centre of mass, horizontally, m
    inertia: np.ndarray  # (2,) of the robot about its centre of mass, roll and pitch, by mass, m²

    @classmethod
    def of(cls, model, posture, feet):
        """
        Return that of a posture, a dict of joint positions in rad; see `named_posture`.

        The feet keep their distances; they are shifted below the centre of mass. A ModelError
        names an unknown joint or foot.
        """
        q = named_posture(model, posture)
        state = RobotState(model, q, np.zeros(model.nv))
        poses = model.forward_kinematics(state, feet)
        places = np.array([poses[foot][:3, 3] for foot in feet]) - q[:3]
        x, y, z = center_of_mass(model, state)[0] - q[:3]
        A = model.mass_matrix(state)
        mass = A[0, 0]
        inertia = np.array([A[3, 3] / mass - y * y - z * z, A[4, 4] / mass - x * x - z * z])
        level = [1.0, 1.0, 0.0]
        return cls(-float(places[:, 2].mean()), np.array([x, y, 0.0]),
                   (places - places.mean(axis=0)) * level, inertia)

    def hips(self, feet, turns):
        """
        Return where k hips are from the trunk's origin, horizontally, (k, 3), m, in its axes.

        The trunk has turned by angles (k,), rad, since it had these axes; ``feet`` are indices.
        """
        arms, hips = self.arms[feet], np.zeros((len(feet), 3))
        c, s = np.cos(turns), np.sin(turns)
        hips[:, 0] = self.center[0] + c * arms[:, 0] - s * arms[:, 1]
        hips[:, 1] = self.center[1] + s * arms[:, 0] + c * arms[:, 1]
        return hips

    def excursions(self, place, heading, feet):
        """
        Return how far feet are from their places below a trunk, horizontally, (n,), m.

        ``place`` (3,) is the trunk's origin, ``heading`` (3, 3) its rotation about the vertical
        axis, ``feet`` are (n, 3), m, world axes.
        """
        away = feet - place - (self.center + self.arms) @ heading.T
        return np.hypot(away[:, 0], away[:, 1])

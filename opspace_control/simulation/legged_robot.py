# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A robot on legs, on a floor that only pushes, and its state as an estimator would tell it."""

import mujoco
import numpy as np

from opspace_control.dynamics.robot_model import RobotModel
from opspace_control.simulation.lockstep import ModelledRobot
from opspace_control.simulation.reality import Reality
from opspace_control.simulation.simulated_robot import SimulatedRobot

# Standard deviations of a good estimator: of the base m, rad, m/s, rad/s, of joints rad, rad/s.
_BASE, _JOINT_POSITION, _JOINT_VELOCITY = np.array([2e-3, 3e-3, 0.03, 0.02]), 2e-4, 0.03


class LeggedRobot(ModelledRobot):
    """
    A robot with a passive floating base on a floor with friction, in MuJoCo.

    Drives cut efforts at the limits of the URDF. Raises a ModelError or SimulationError for a URDF
    that cannot be used.

    Parameters
    ----------
    urdf_text : str
        The robot; feet that are meshes need ``shapes``.
    friction, shapes :
        As of a `SimulatedRobot`.
    elliptic : bool
        Whether friction cones are round or pyramids.
    noise : float
        Scale of the errors of `observed`, white, Gaussian, with a seed: 2 mm, 3 mrad, 0.03 m/s and
        0.02 rad/s of the base, 0.2 mrad and 0.03 rad/s of joints (standard deviations).
    delay : int
        Steps by which the base is observed late.
    objects : sequence of Box
        They touch the robot, too.
    timestep : float
        s.

    Attributes
    ----------
    simulated : SimulatedRobot
    model : RobotModel
        With the passive joint ``base``.

    """

    def __init__(self, urdf_text, *, friction=0.7, elliptic=False, noise=0.0, delay=0, objects=(),
                 shapes=(), timestep=1e-3):
        simulated = SimulatedRobot(
            urdf_text, floating_base=True, floor=True, friction=friction, shapes=shapes,
            contacts=bool(objects), objects=objects, timestep=timestep, reality=Reality(
                position_noise=noise * _JOINT_POSITION, velocity_noise=noise * _JOINT_VELOCITY,
                base_noise=noise * _BASE, base_delay=delay * timestep))
        if elliptic:
            simulated.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        super().__init__(simulated, RobotModel.from_urdf(
            urdf_text, floating_base=True, passive_joints=('base',)))

    def reset(self, positions=None, **motion):
        """Reset robot and noise; arguments are those of `SimulatedRobot.reset`."""
        self.simulated.reset(positions, **motion)

    def step(self, tau):
        """Advance by one time step under generalized forces (nv,), N·m; those of the base are 0."""
        self.command(tau)
        self.simulated.step()

    def shove(self, vx, vy):
        """Change the velocity of the whole robot, m/s, world axes."""
        self.simulated.data.qvel[:2] += vx, vy

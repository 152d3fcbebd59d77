# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A robot on legs, on a floor that only pushes, and its state as an estimator would tell it."""

import mujoco
import numpy as np

from opspace_control.dynamics.robot_model import RobotModel
from opspace_control.simulation.simulated_robot import SimulatedRobot

# Standard deviations of a good estimator: of the base m, half angles in rad, m/s and rad/s, of
# joints rad and rad/s.
_POSITION, _HALF_ANGLE, _VELOCITY, _ANGULAR_VELOCITY = 2e-3, 1.5e-3, 0.03, 0.02
_JOINT_POSITION, _JOINT_VELOCITY = 2e-4, 0.03


class LeggedRobot:
    """
    A robot with a passive floating base on a floor with friction, in MuJoCo.

    Drives cut efforts at the limits of the URDF.

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

    Raises
    ------
    ModelError, SimulationError
        For a URDF that cannot be used.

    """

    def __init__(self, urdf_text, *, friction=0.7, elliptic=False, noise=0.0, delay=0, objects=(),
                 shapes=(), timestep=1e-3):
        self.simulated = SimulatedRobot(
            urdf_text, floating_base=True, floor=True, friction=friction, shapes=shapes,
            contacts=bool(objects), objects=objects, timestep=timestep)
        if elliptic:
            self.simulated.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        self.model = RobotModel.from_urdf(urdf_text, floating_base=True, passive_joints=('base',))
        self._order = [self.simulated.joint_names.index(joint)
                       for joint in self.model.dof_names[6:]]
        self._noise, self._delay = noise, delay
        self.reset()

    def reset(self, positions=None, **motion):
        """Reset robot and noise; arguments are those of `SimulatedRobot.reset`."""
        self.simulated.reset(positions, **motion)
        self._rng, self._bases = np.random.default_rng(0), []

    def in_order(self, values):
        """Return values by joint of ``simulated``, (n,), in the order of the model's joints."""
        return values[self._order]

    def observed(self):
        """
        Return q and v of the model with noise and delay; call it once in a step.

        q is ``[x y z qx qy qz qw, joints]``, v ``[v; ω, joints]``, world axes, m, rad and s.
        """
        robot, rng, n = self.simulated, self._rng, self._noise
        self._bases = [*self._bases[-self._delay:], (robot.base_pose, robot.base_twist)][
            -1 - self._delay:]
        pose, twist = (part.copy() for part in self._bases[0])
        positions, velocities = (self.in_order(each) for each in (robot.positions,
                                                                  robot.velocities))
        if n:
            pose[:3] += n * rng.normal(0.0, _POSITION, 3)
            pose[3:6] += n * rng.normal(0.0, _HALF_ANGLE, 3)
            pose[3:] /= np.linalg.norm(pose[3:])
            twist += n * rng.normal(0.0, 1.0, 6) * np.repeat([_VELOCITY, _ANGULAR_VELOCITY], 3)
            positions += n * rng.normal(0.0, _JOINT_POSITION, len(positions))
            velocities += n * rng.normal(0.0, _JOINT_VELOCITY, len(velocities))
        return np.concatenate([pose, positions]), np.concatenate([twist, velocities])

    def step(self, tau):
        """Advance by one time step under generalized forces (nv,), N·m; those of the base are 0."""
        effort = np.empty(len(self._order))
        effort[self._order] = tau[6:]
        self.simulated.set_effort(effort)
        self.simulated.step()

    def shove(self, vx, vy):
        """Change the velocity of the whole robot, m/s, world axes."""
        self.simulated.data.qvel[:2] += vx, vy

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The same robot, law, goals and states for our controller and for its peers."""

import math
from dataclasses import dataclass

import numpy as np
from numpy_law import NumpyController

from opspace_control import (
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.spatial.rotations import matrix_from_quaternion

# The law that everybody computes.
TASK = {'kp': 100.0, 'kd': 20.0, 'max_linear_velocity': 0.3, 'max_angular_velocity': 1.0}
POSTURE = {'kp': 25.0, 'kd': 10.0}
AGREEMENT = 1e-8  # of the largest torque


SWING = 0.05  # rad, of all joints, once a second


def swing(model, start, period=1e-3):
    """Yield the states of a second in which all joints of a model swing about a start, q (nq,)."""
    for k in range(round(1.0 / period)):
        angle = 2.0 * math.pi * period * k
        yield RobotState(model, start + SWING * math.sin(angle),
                         np.full(model.nv, SWING * 2.0 * math.pi * math.cos(angle)))


class DisagreementError(Exception):
    """Two contenders do not compute the same law, so their times say nothing."""


@dataclass(frozen=True)
class Contest:
    """
    A controller of ours, with goals, and states to run it at.

    Attributes
    ----------
    urdf_text : str
        The robot.
    frames : tuple of str
        Links that are operational points.
    controller : OperationalSpaceController
        With a pose task for each of them and a posture.
    states : list of RobotState
        Random, around a posture, away from singularities: peers would need more code there.
    targets : list of (4, 4) array
        Goal of each frame, near enough that V_max is in force at some states and not at others.

    """

    urdf_text: str
    frames: tuple
    controller: OperationalSpaceController
    states: list
    targets: list

    @classmethod
    def set_up(cls, urdf_text, frames, posture, states=50, deviation=0.2):
        """
        Return a contest; always the same one for the same arguments.

        Parameters
        ----------
        urdf_text : str
            The robot.
        frames : sequence of str
            Links to control.
        posture : dict of str to float
            rad or m; joints not named are at zero.
        states : int
            How many states.
        deviation : float
            Of their joint positions from the posture, rad or m.

        """
        model = RobotModel.from_urdf(urdf_text)
        middle = model.neutral()
        for name, value in posture.items():
            middle[model.dof_index(name)] = value
        controller = OperationalSpaceController(
            model, [PoseTask(frame, **TASK) for frame in frames],
            PostureTask(**POSTURE, target=middle))
        random = np.random.default_rng(seed=0)
        poses = model.forward_kinematics(RobotState(model, middle, np.zeros(model.nv)), frames)
        targets = [near_goal(pose, random) for pose in poses.values()]
        for task, target in zip(controller.tasks.values(), targets, strict=True):
            task.set_target(target)
        chosen = []
        while len(chosen) < states:
            state = RobotState(model, middle + deviation * random.normal(size=model.nq),
                               0.3 * random.normal(size=model.nv))
            controller.compute_torque(state)
            if controller.least_eigenvalue > 0.0:
                chosen.append(state)
        return cls(urdf_text, tuple(frames), controller, chosen, targets)

    def ours(self):
        """Return our function and its inputs."""
        return self.controller.compute_torque, [(state,) for state in self.states]

    def peer(self, engine_class):
        """
        Return a peer's function and its inputs, (q, v) in its own order of joints.

        Parameters
        ----------
        engine_class : type
            PinocchioEngine or MujocoEngine.

        Raises
        ------
        DisagreementError
            Its torques are not ours.

        """
        engine = engine_class(self.urdf_text, self.frames)
        engine.set_targets(self.targets)
        order = self.order(engine.joint_names)
        law = NumpyController(
            engine, **TASK, posture_kp=POSTURE['kp'], posture_kd=POSTURE['kd'],
            posture=self.controller.posture.target[order],
            effort_limits=self.controller.effort_limits[order])
        inputs = [(state.q[order], state.v[order]) for state in self.states]
        for state, (q, v) in zip(self.states, inputs, strict=True):
            ours, theirs = self.controller.compute_torque(state)[order], law.compute_torque(q, v)
            difference = abs(ours - theirs).max() / abs(ours).max()
            if not difference < AGREEMENT:
                raise DisagreementError(
                    f'{engine_class.__name__} differs by {difference:.1e} of the largest torque.')
        return law.compute_torque, inputs

    def order(self, joint_names):
        """Return where each of a peer's joints is in our vectors."""
        return np.array([self.controller.model.dof_index(name) for name in joint_names])


def near_goal(pose, random):
    """Return a goal some 20 cm and half a radian from a pose (4, 4)."""
    quaternion = np.array([0.0, 0.0, 0.0, 5.0]) + random.normal(size=4)
    target = pose.copy()
    target[:3, :3] = matrix_from_quaternion(
        quaternion / np.linalg.norm(quaternion)) @ pose[:3, :3]
    target[:3, 3] += 0.1 * random.normal(size=3)
    return target

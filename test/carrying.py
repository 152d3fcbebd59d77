# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Robots that carry things, in lock-step with the simulator: the physical grasp and the law's."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from own_ramps import Ramps

from opspace_control import (
    CollisionModel,
    DistanceLimits,
    Grasp,
    GraspForce,
    JointLimits,
    OperationalSpaceController,
    PoseTask,
    PostureTask,
    RobotModel,
    RobotState,
)
from opspace_control.dynamics.virtual_linkage import VirtualLinkage, members
from opspace_control.simulation import SimulatedRobot
from opspace_control.spatial.rotations import (
    matrix_from_quaternion,
    matrix_from_vector,
    quaternion_from_matrix,
    vector_from_matrix,
)
from opspace_control.tasks.trajectory import PoseTrajectory

# The real tensions are looked at once in so many cycles: it takes longer than they do.
_RARELY = 10
_MOVED = 1e-5  # m, of a place in the object, of 0.1 m and more: tensions change by 1e-4 of them
_NOWHERE = np.full(7, np.nan)


@dataclass(frozen=True)
class Carried:
    """What was seen, a row for each cycle; by the simulator, not by the law."""

    times: np.ndarray     # (k,) s
    efforts: np.ndarray   # (k, nv)
    objects: np.ndarray   # (k, 7) pose of the object
    targets: np.ndarray   # (k, 7) where its grasp was to be; NaN while there is none
    tensions: np.ndarray  # (k, members) N, of the real forces
    positions: np.ndarray  # (k, nv) of the joints, rad or m
    residuals: np.ndarray  # (k, 2) m and rad
    in_grasp: np.ndarray  # (4, 4) the object in the frame of its grasp

    @cached_property
    def goals(self):
        """Where the object was to be, (k, 7)."""
        return np.array([as_pose(as_transform(target) @ self.in_grasp) for target in self.targets])

    def misses(self):
        """Return how far the object was from its goals: distances, m, and angles, rad, (k,)."""
        distance = np.linalg.norm(self.objects[:, :3] - self.goals[:, :3], axis=1)
        angle = [np.linalg.norm(vector_from_matrix(
            matrix_from_quaternion(goal) @ matrix_from_quaternion(seen).T))
            for goal, seen in zip(self.goals[:, 3:], self.objects[:, 3:], strict=True)]
        return distance, np.array(angle)


class Carriers:
    """
    A robot whose effectors can take hold of an object, under control in lock-step.

    Parameters
    ----------
    path : path
        URDF file.
    effectors : sequence of str
        The first one carries.
    objects : sequence of Box
        The first one is what is grasped.
    payload : Payload
        What the controller takes it for, in the frame in the middle of the effectors.
    start : dict of str to float
        As in `SimulatedRobot.reset`.
    tasks : sequence of tasks, optional
        Beside one for each effector.
    ramp_time : float
        Of every switch, s.
    around : sequence of Shape, optional
        Shapes on links and in the world, between which distances are kept; needs ``limited``.
    shapes : sequence of Shape, optional
        Of the object, in the frame in the middle of the effectors.

    """

    def __init__(self, path, effectors, objects, payload, start, *, tasks=(), posture=None,
                 ramp_time=0.5, locked_joints=(), joint_friction=True, kp=100.0, contacts=False,
                 gravity=True, axes='x y z rx ry rz', limited=False, around=(), shapes=(), **grasp):
        self.model = RobotModel.from_urdf_file(path, locked_joints=locked_joints)
        self.robot = SimulatedRobot(path.read_text(), objects=objects, locked_joints=locked_joints,
                                    joint_friction=joint_friction, contacts=contacts,
                                    gravity=(0.0, 0.0, -9.81 * gravity))
        self.robot.reset(start)
        self.object = objects[0].name
        self.effectors = tuple(effectors)
        self.grasp = make_grasp(effectors, payload=payload, kp=kp, axes=axes, **grasp)
        self.grasp.set_shapes(shapes)
        own = [PoseTask(effector, kp=kp, axes=axes) for effector in effectors]
        self.controller = OperationalSpaceController(
            self.model, [*own, *tasks], PostureTask() if posture is None else posture,
            grasps=[self.grasp], gravity_compensation=gravity,
            limits=JointLimits(self.model) if limited else None,
            distances=DistanceLimits(CollisionModel(self.model, around)) if around else None)
        self.ramps = Ramps(self.controller.gradual, ramp_time)
        self.state = RobotState(self.model, self.robot.positions, self.robot.velocities)
        self.controller.compute_torque(self.state)
        self._held, self._object_in_grasp, self._linkage = False, None, None

    def hold(self, kind='rigid'):
        """Let the effectors take hold, and tell the controller."""
        for k, effector in enumerate(self.effectors):
            rigid = kind == 'rigid' or (k == 0 and kind == 'point')
            self.robot.grip(effector, self.object, rigid=rigid)
        self._held = True
        self.engage()

    def engage(self):
        """Tell the controller that the effectors hold the object."""
        self.state.update(self.robot.positions, self.robot.velocities)
        with self.ramps.smoothly():
            self.grasp.engage(self.state)
        self.controller.compute_torque(self.state)
        frame = as_transform(self.grasp.task.pose)
        self._object_in_grasp = np.linalg.inv(frame) @ as_transform(
            self.robot.frame_pose(self.object))

    def disengage(self):
        """Tell the controller that the object is let go."""
        with self.ramps.smoothly():
            self.grasp.disengage()

    def release(self):
        """Open the grips."""
        for effector in self.effectors:
            self.robot.release(effector, self.object)
        self._held = False

    def pose(self, name):
        """Return where a link or object is, (4, 4), as the simulator knows it."""
        return as_transform(self.robot.frame_pose(name))

    def way(self, *moves, seconds=2.0):
        """
        Return a smooth trajectory of the object from its goal, through points at rest.

        Each move is (3,) m and an angle, rad, about the vertical through the object.
        """
        pose = as_transform(self.grasp.task.target)
        poses = [pose]
        for shift, angle in moves:
            pose = pose.copy()
            pose[:3, 3] += shift
            pose[:3, :3] = matrix_from_vector(np.array([0.0, 0.0, angle])) @ pose[:3, :3]
            poses.append(pose)
        k = len(poses)
        return PoseTrajectory(np.arange(k) * seconds, poses, np.zeros((k, 6)), np.zeros((k, 6)))

    def run(self, seconds, trajectory=None):
        """Go on for some time, the object's goal moving along a trajectory; return `Carried`."""
        rows, begin, task = [], self.robot.time, self.grasp.task
        for _ in range(round(seconds / self.robot.timestep)):
            if trajectory is not None:
                now = min(self.robot.time - begin, trajectory.duration)
                task.set_target(*trajectory.sample(now))
            positions = self.robot.positions
            self.state.update(positions, self.robot.velocities)
            self.ramps.advance(self.robot.timestep)
            efforts = self.controller.compute_torque(self.state, dt=self.robot.timestep)
            rows.append((self.robot.time, efforts, self.robot.frame_pose(self.object),
                         task.target if self.grasp.engaged else _NOWHERE,
                         rows[-1][4] if len(rows) % _RARELY else self._tensions(),
                         positions, self.grasp.closure_residual))
            self.robot.set_effort(efforts)
            self.robot.step()
        return Carried(*(np.array(column) for column in zip(*rows, strict=True)),
                       self._object_in_grasp)

    def _tensions(self):
        """Return the real internal tensions, of what the grips bear in the simulator."""
        if not self._held:
            return np.zeros(len(members(len(self.effectors))))
        seen = self.robot.frame_pose(self.object)
        R = matrix_from_quaternion(seen[3:])
        places = np.array([self.robot.frame_pose(name)[:3] - seen[:3]
                           for name in self.effectors]) @ R
        if self._linkage is None or abs(self._linkage.points - places).max() > _MOVED:
            self._linkage = VirtualLinkage(places)
        forces = [(self.robot.grip_wrench(name, self.object).reshape(2, 3) @ R).ravel()
                  for name in self.effectors]
        return self._linkage.internal(forces)[0]


def make_grasp(effectors, **options):
    """Return the grasp 'carry'; fields of its GraspForce are among the options."""
    force = {key: options.pop(key) for key in GraspForce.__dataclass_fields__ if key in options}
    return Grasp(effectors, name='carry', grasp_force=GraspForce(**force), **options)


def as_transform(pose):
    """Return (4, 4) of (7,) ``[x y z qx qy qz qw]``."""
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = matrix_from_quaternion(pose[3:]), pose[:3]
    return transform


def as_pose(transform):
    """Return (7,) of (4, 4)."""
    return np.concatenate([transform[:3, 3], quaternion_from_matrix(transform[:3, :3])])

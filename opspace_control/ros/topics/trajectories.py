# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of one frame from trajectory_msgs."""

import numpy as np

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.conversions import matrix_from_pose, six_from_message
from opspace_control.tasks.trajectory import PoseTrajectory


def read_trajectory(message, task, frame):
    """
    Return the PoseTrajectory of a trajectory_msgs/MultiDOFJointTrajectory for a task.

    It starts at rest at the task's present goal, unless its first point is at 0 s.

    Parameters
    ----------
    message : MultiDOFJointTrajectory
        Of one joint with the name of the task or its frame, or without a name.
    task : PoseTask
        The task that follows it.
    frame : (4, 4) array
        The pose of the message's frame in the base frame.

    Raises
    ------
    OpspaceError
        The message is not such a trajectory, or is faster than the task's limits.

    """
    if any(name not in (task.name, task.frame) for name in message.joint_names):
        raise RosInterfaceError(
            f'The trajectory is one of {", ".join(message.joint_names)}.',
            cure=f"This topic is for '{task.name}' only.", value=message.joint_names)
    start = task.target if task.target is not None else task.pose
    trajectory = PoseTrajectory(
        [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
         for point in message.points],
        [frame @ matrix_from_pose(pose) for pose in _poses(message.points)],
        _motions(message.points, 'velocities', frame[:3, :3]),
        _motions(message.points, 'accelerations', frame[:3, :3]), start=start)
    check_speed(task, *trajectory.fastest())
    return trajectory


def check_speed(task, linear, angular):
    """Raise a RosInterfaceError if a goal is faster, in m/s and rad/s, than its task's limits."""
    for speed, limit, unit in ((linear, task.max_linear_velocity, 'm/s'),
                               (angular, task.max_angular_velocity, 'rad/s')):
        if speed > limit:
            raise RosInterfaceError(
                f'It moves at {speed:.3g} {unit}, above the limit of {limit:.3g} {unit}.',
                cure='Slow it down, or raise the limit of the task.', value=speed)


def _poses(points):
    poses = []
    for i, point in enumerate(points):
        if len(point.transforms) != 1:
            raise RosInterfaceError(f'Point {i} has {len(point.transforms)} transforms.',
                                    cure='Give one.')
        p, o = point.transforms[0].translation, point.transforms[0].rotation
        pose = np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w])
        norm = np.linalg.norm(pose[3:])
        if not np.isfinite(pose).all() or abs(norm - 1.0) > 1e-2:
            raise RosInterfaceError(f'The transform of point {i} cannot be used.', value=pose,
                                    cure='Give finite numbers and a unit quaternion.')
        pose[3:] /= norm
        poses.append(pose)
    return poses


def _motions(points, name, R):
    """Return the points' velocities or accelerations (k, 6) in base axes; None if not given."""
    counts = {len(getattr(point, name)) for point in points}
    if counts <= {0}:
        return None
    if counts != {1}:
        raise RosInterfaceError(f'Not every point has {name}.', cure='Give one each, or none.')
    six = np.array([six_from_message(getattr(point, name)[0]) for point in points])
    return (six.reshape(-1, 2, 3) @ R.T).reshape(-1, 6)

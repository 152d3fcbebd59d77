# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of joints to and from trajectory_msgs."""

import numpy as np
from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory as Message
from trajectory_msgs.msg import JointTrajectoryPoint

from opspace_control.errors import RosInterfaceError
from opspace_control.tasks.joint_trajectory import JointTrajectory


def read_joint_trajectory(message):
    """
    Return the JointTrajectory of a trajectory_msgs/JointTrajectory.

    Raises
    ------
    OpspaceError
        It is malformed, not finite or not in order; says where.

    """
    n = len(message.joint_names)
    parts = []
    for name in ('positions', 'velocities', 'accelerations', 'effort'):
        rows = [getattr(point, name) for point in message.points]
        counts = {len(row) for row in rows}
        if counts <= {0} and name != 'positions':
            parts.append(None)
        elif counts != {n}:
            wrong = next((i for i, row in enumerate(rows) if len(row) != n), 0)
            raise RosInterfaceError(
                f'The plan is refused: point {wrong} has not {n} {name}.',
                cure='Give one for each joint at every point, or no velocities, accelerations, '
                'efforts at all.')
        else:
            parts.append(np.array(rows))
    times = [point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
             for point in message.points]
    return JointTrajectory(message.joint_names, times, *parts)


def write_joint_trajectory(trajectory, tag=''):
    """Return the trajectory_msgs/JointTrajectory of a JointTrajectory; ``tag`` is its frame_id."""
    parts = {'positions': trajectory.positions, 'velocities': trajectory.velocities,
             'accelerations': trajectory.accelerations, 'effort': trajectory.efforts}
    message = Message(joint_names=trajectory.joints)
    message.header.frame_id = tag
    for i, time in enumerate(trajectory.times):
        point = JointTrajectoryPoint(**{
            name: part[i].tolist() for name, part in parts.items() if part is not None})
        seconds, nanoseconds = divmod(round(1e9 * time), 1_000_000_000)
        point.time_from_start = Duration(sec=seconds, nanosec=nanoseconds)
        message.points.append(point)
    return message

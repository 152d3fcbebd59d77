# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Where a floating base is and how it moves, from nav_msgs/Odometry."""

import math
import time

import numpy as np
from nav_msgs.msg import Odometry

from opspace_control.errors import OpspaceError, RosInterfaceError, SafetyError
from opspace_control.model import RobotState
from opspace_control.model.topology import nearest
from opspace_control.ros.middleware.conversions import (
    finite_six,
    matrix_from_pose,
    unit_pose,
)
from opspace_control.ros.middleware.endpoints import Endpoints
from opspace_control.ros.middleware.qos import NEWEST
from opspace_control.ros.middleware.serialized import MessageReader
from opspace_control.safety.trips import ODOM_INVALID, ODOM_TIMEOUT
from opspace_control.spatial.rotations import quaternion_from_matrix

# For the first odometry, which may be discovered later than the first joint state.
_TIMEOUT = 2.0  # s
# An estimator that is further than this from a unit quaternion has lost its way.
_NORM_TOLERANCE = 1e-2
# Of an Odometry's numbers, between which there are covariances.
_POSE, _TWIST = slice(0, 7), slice(43, 49)


class BaseOdometry:
    """
    The state of a floating base at the time of each joint state.

    The message gives the pose of a link, ``child_frame_id``, in the world, ``header.frame_id``,
    and its twist in the link's own axes. The base is the root link: where that is another one, it
    is found by the robot's own kinematics. From the time of the odometry to that of the joint
    state, which may well come more often, the base is carried on by its twist.

    Parameters
    ----------
    model : RobotModel
        With a floating base.
    frame : str
        What the world's frame is called.
    prefix : str
        What the robot's links begin with in messages.

    Attributes
    ----------
    timeout : float
        Largest difference of the time stamps of odometry and joint state, s, 0 for any. Where one
        of them has none, that of their arrivals counts.
    """

    def __init__(self, model, frame, prefix=''):
        self._model = model
        self._frame = frame
        self._prefix = prefix
        self._bent = RobotState(model, model.neutral(), np.zeros(model.nv))
        self.timeout = 0.1
        self._reader = MessageReader(Odometry)
        self._endpoints = self._subscription = None
        self.forget()

    def listen(self, node, clock=time.perf_counter):
        """Subscribe to ``odom``; ``clock`` returns the steady time at which it arrives, s."""
        self._endpoints = Endpoints(node)
        self._subscription = self._endpoints.listen(
            Odometry, 'odom', lambda data: self.take(data, clock()), NEWEST, raw=True)

    def ignore(self):
        """End the subscription."""
        if self._subscription is not None:
            self._endpoints.withdraw()
            self._subscription = None

    def forget(self):
        """Wait for the first message anew."""
        self._base = None       # (child link, its pose (7,), its twist (6,) in world axes)
        self._fault = ''
        self._stamp = 0         # ns
        self._arrived = self._awaited = None  # steady time, s

    def take(self, data, now):
        """Take a serialized message that has arrived at ``now``, s of a steady clock."""
        try:
            opened = self._reader.open(data)
        except RosInterfaceError:
            return  # as good as no message
        self._arrived = now
        self._stamp = opened.stamp
        try:
            self._base, self._fault = self._read(opened), ''
        except OpspaceError as error:
            self._fault = str(error)

    def expected(self, stamp, now):
        """
        Look for news; return whether the first message of all may still be on its way.

        Parameters
        ----------
        stamp : int
            Of the joint state, ns.
        now : float
            Steady time, s.

        """
        # The robot may have sent both at once, and the joint state been delivered first.
        if self._stamp < stamp or self._arrived is None:
            self.poll(now)
        if self._awaited is None:
            self._awaited = now
        return self._arrived is None and now - self._awaited <= _TIMEOUT

    def complete(self, positions, velocities, stamp, now):
        """
        Return q (nq,) and v (nv,) of the whole robot at a joint state.

        Parameters
        ----------
        positions, velocities : (nv - 6,) arrays
            Of the joints, in the order of the model.
        stamp : int
            Of the joint state, ns, 0 for none.
        now : float
            Steady time, s.

        Raises
        ------
        SafetyError
            ODOM_TIMEOUT: there is none, or it is too old; ODOM_INVALID: it cannot be used.

        """
        if self._arrived is None:
            raise SafetyError(ODOM_TIMEOUT, 'No odometry has come yet.')
        if self._fault:
            raise SafetyError(ODOM_INVALID, self._fault)
        behind = 1e-9 * (stamp - self._stamp) if stamp and self._stamp else now - self._arrived
        if self.timeout and abs(behind) > self.timeout:
            which = 'behind' if behind > 0.0 else 'ahead of'
            raise SafetyError(
                ODOM_TIMEOUT, f'The odometry is {abs(behind):.3f} s {which} the joint states.',
                value=behind)
        link, pose, twist = self._base
        q, v = np.concatenate([pose, positions]), np.concatenate([twist, velocities])
        if link != self._model.root_link:
            q[:7], v[:6] = self._root(link, q, v)
        if behind and stamp and self._stamp:
            carried = v.copy()
            carried[6:] = 0.0
            q = self._model.integrate(q, carried, behind)
        return q, v

    def poll(self, now):
        """Take a message that has arrived but has not been delivered yet."""
        if self._subscription is not None:
            with self._subscription.handle:
                taken = self._subscription.handle.take_message(Odometry, True)
            if taken is not None:
                self.take(taken[0], now)

    def _read(self, opened):
        """Return link, pose and world twist of a message, or raise a RosInterfaceError."""
        message = opened.like
        frame, child = message.header.frame_id.lstrip('/'), message.child_frame_id.lstrip('/')
        if frame != self._frame:
            raise RosInterfaceError(
                f"The odometry is given in '{frame}', not in '{self._frame}'.", frame=frame,
                cure='Correct odom_frame, or what publishes odom.')
        link = child.removeprefix(self._prefix) if child else self._model.root_link
        if link not in self._model.frame_names:
            raise RosInterfaceError(
                f"The odometry is that of '{child}', which is no link of the robot.", frame=child,
                cure=nearest(link, self._model.frame_names))
        numbers, = opened.numbers
        pose, twist = numbers[_POSE], numbers[_TWIST]
        norm = math.sqrt(pose[3:] @ pose[3:])
        if abs(norm - 1.0) > _NORM_TOLERANCE:  # NaN is told by unit_pose
            raise RosInterfaceError(f"The odometry's quaternion has norm {norm:.3g}, not 1.",
                                    cure='Correct what publishes odom.', value=norm)
        pose, twist = unit_pose(pose), finite_six(twist, 'motion')
        R = matrix_from_pose(pose)[:3, :3]
        return link, pose, (twist.reshape(2, 3) @ R.T).reshape(6)

    def _root(self, link, q, v):
        """Return pose (7,) and twist (6,) of the root link, where q and v begin with a link's."""
        q, v = q.copy(), v.copy()
        pose, twist = matrix_from_pose(q[:7]), v[:6].copy()
        # The link as seen from the root, which here neither turns nor moves.
        q[:7], v[:6] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), 0.0
        self._bent.update(q, v)
        seen = self._model.forward_kinematics(self._bent, [link])[link]
        root = pose @ np.linalg.inv(seen)
        R, way = root[:3, :3], root[:3, :3] @ seen[:3, 3]
        own = ((self._model.jacobian(self._bent, [link]) @ v).reshape(2, 3) @ R.T).reshape(6)
        angular = twist[3:] - own[3:]
        linear = twist[:3] - own[:3] - np.cross(angular, way)
        return (np.concatenate([root[:3, 3], quaternion_from_matrix(R)]),
                np.concatenate([linear, angular]))

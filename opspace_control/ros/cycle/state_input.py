# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The state input of the nodes: joint states and odometry, checked before they are accepted."""

import math
import time

import numpy as np
from nav_msgs.msg import Odometry

from opspace_control.errors import OpspaceError, RosInterfaceError, SafetyError
from opspace_control.model import RobotState
from opspace_control.model.topology import nearest
from opspace_control.ros.middleware.conversions import finite_six, matrix_from_pose, unit_pose
from opspace_control.ros.middleware.endpoints import NEWEST, Endpoints, take
from opspace_control.ros.middleware.joint_messages import JointStateReader
from opspace_control.ros.middleware.serialized import MessageReader
from opspace_control.safety.accepted_state import AcceptedState
from opspace_control.safety.supervisor import (
    ODOM_INVALID,
    ODOM_TIMEOUT,
    STATE_INVALID,
    STATE_TIMEOUT,
    TIME_STOPPED,
)
from opspace_control.spatial.rotations import quaternion_from_matrix

# For the first odometry, whose discovery may take longer than that of joint states.
_TIMEOUT = 2.0  # s
_NORM_TOLERANCE = 1e-2  # of a quaternion
# Slices of an Odometry's numbers; the others are covariances.
_POSE, _TWIST = slice(0, 7), slice(43, 49)


class BaseOdometry:
    """
    The state of a floating base of a RobotModel at the time of each joint state.

    The message gives the pose of a link, ``child_frame_id``, in the world, whose name is ``frame``,
    and its twist in the link's own axes. If that is not the root link, the pose of the root link
    follows by forward kinematics. From the time of the odometry to that of the joint state the pose
    is extrapolated by the twist. These times, without stamps those of arrival, may differ by
    ``timeout``, s, 0 for any. Links have ``prefix`` before their names in messages.
    """

    def __init__(self, model, frame, prefix=''):
        self._model, self._frame, self._prefix = model, frame, prefix
        self._bent = RobotState(model, model.neutral(), np.zeros(model.nv))
        self.timeout = 0.1
        self._reader = MessageReader(Odometry)
        self._endpoints = self._subscription = None
        self.forget()

    @classmethod
    def of(cls, model, parameters):
        """Return it for the parameters of a node; None for a model without a floating base."""
        return (model.floating_base and cls(
            model, parameters['odom_frame'], parameters['frame_prefix'])) or None

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
        """Reset: wait for a first message."""
        self._base = None       # (child link, its pose (7,), its twist (6,) in world axes)
        self._fault = ''
        self._stamp = 0         # ns
        self._arrived = self._awaited = None  # steady time, s

    def take(self, data, now):
        """Read a serialized message that arrived at the steady time ``now``, s."""
        try:
            opened = self._reader.open(data)
        except RosInterfaceError:
            return  # ignored
        self._arrived = now
        self._stamp = opened.stamp
        try:
            self._base, self._fault = self._read(opened), ''
        except OpspaceError as error:
            self._fault = str(error)

    def expected(self, stamp, now):
        """Poll at ``now``, s; return whether a first message, for a stamp, ns, may still come."""
        # Of two messages sent at once the joint state may be delivered first.
        if self._stamp < stamp or self._arrived is None:
            self.poll(now)
        if self._awaited is None:
            self._awaited = now
        return self._arrived is None and now - self._awaited <= _TIMEOUT

    def complete(self, positions, velocities, stamp, now):
        """
        Return q (nq,) and v (nv,) of the robot with its base at a joint state.

        ``positions`` and ``velocities``, (nv - 6,), are those of the joints, in the order of the
        model; ``stamp`` is that of the joint state, ns, 0 for none, and ``now`` the steady time, s.
        A SafetyError is raised: ODOM_TIMEOUT without odometry, or if it is too old; ODOM_INVALID if
        it cannot be used.
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
            base_velocity = v.copy()
            base_velocity[6:] = 0.0
            q = self._model.integrate(q, base_velocity, behind)
        return q, v

    def poll(self, now):
        """Read a message that has arrived and has not been delivered."""
        if self._subscription is not None:
            data = take(self._subscription)
            if data is not None:
                self.take(data, now)

    def _read(self, opened):
        """Return link, pose and world twist of a message, or raise a RosInterfaceError."""
        message = opened.like
        frame, child = message.header.frame_id.lstrip('/'), message.child_frame_id.lstrip('/')
        if frame != self._frame:
            raise RosInterfaceError(
                f"The odometry is given in '{frame}', not in '{self._frame}'.", frame=frame,
                cure='Correct odom_frame, or the publisher of odom.')
        link = child.removeprefix(self._prefix) if child else self._model.root_link
        if link not in self._model.frame_names:
            raise RosInterfaceError(
                f"The odometry is that of '{child}', which is not a link of the robot.",
                frame=child,
                cure=nearest(link, self._model.frame_names))
        numbers, = opened.numbers
        pose, twist = numbers[_POSE], numbers[_TWIST]
        norm = math.sqrt(pose[3:] @ pose[3:])
        if abs(norm - 1.0) > _NORM_TOLERANCE:  # unit_pose raises for NaN
            raise RosInterfaceError(f"The odometry's quaternion has norm {norm:.3g}, not 1.",
                                    cure='Correct the publisher of odom.', value=norm)
        pose, twist = unit_pose(pose), finite_six(twist, 'motion')
        R = matrix_from_pose(pose)[:3, :3]
        return link, pose, (twist.reshape(2, 3) @ R.T).reshape(6)

    def _root(self, link, q, v):
        """Return pose (7,) and twist (6,) of the root link from those of a link in q and v."""
        q, v = q.copy(), v.copy()
        pose, twist = matrix_from_pose(q[:7]), v[:6].copy()
        # The link relative to a fixed root link.
        q[:7], v[:6] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), 0.0
        self._bent.update(q, v)
        seen = self._model.forward_kinematics(self._bent, [link])[link]
        root = pose @ np.linalg.inv(seen)
        R, offset = root[:3, :3], root[:3, :3] @ seen[:3, 3]
        own = ((self._model.jacobian(self._bent, [link]) @ v).reshape(2, 3) @ R.T).reshape(6)
        angular = twist[3:] - own[3:]
        linear = twist[:3] - own[:3] - np.cross(angular, offset)
        return (np.concatenate([root[:3, 3], quaternion_from_matrix(R)]),
                np.concatenate([linear, angular]))


class StateInput(AcceptedState):
    """
    Reads joint states, and accepts them.

    BaseOdometry, if given, has the state of a floating base. Without odometry ``state`` has the
    joints last seen with the last known base, at rest.
    """

    def __init__(self, model, odometry=None):
        self._reader = JointStateReader(model)
        self._odometry = odometry
        super().__init__(model)
        self._joints = ((self._q[7:], self._v[6:]) if model.floating_base else (self._q, self._v))

    def restart(self, now):
        """Reset: the state is unknown until the next one arrives."""
        super().restart(now)
        if self._odometry:
            self._odometry.forget()

    def open(self, data):
        """Return a serialized JointState as an OpenedMessage; None for anything else."""
        try:
            return self._reader.open(data)
        except RosInterfaceError:
            return None

    def expects(self, opened, now):
        """Return whether the odometry for a first joint state may still arrive."""
        return self._odometry is not None and self._odometry.expected(opened.stamp, now)

    def take(self, opened, now):
        """
        Read and check an opened JointState that arrived at the steady time ``now``, s.

        A SafetyError says why the state is refused: TIME_BACKWARDS, STATE_INVALID, ODOM_TIMEOUT,
        ODOM_INVALID, POSITION_JUMP. After VELOCITY_LIMIT it is accepted.
        """
        fault = self.read(opened, now)
        try:
            self.judge(now, fault)
        except SafetyError as error:
            if error is fault:
                self.see(fault, now)
            raise

    def read(self, opened, now):
        """Note the state of an opened JointState; return the SafetyError of one that is none."""
        self._record['stamp'] = opened.stamp
        try:
            self._reader.read(opened, *self._joints)
            if self._odometry:
                self._q[:], self._v[:] = self._odometry.complete(*self._joints, opened.stamp, now)
        except SafetyError as error:
            return error
        except OpspaceError as error:
            return SafetyError(STATE_INVALID, str(error))
        return None

    def see(self, fault, now):
        """Note finite numbers of joints whose base is not known, for this fault: what to damp."""
        if (fault.trip in (ODOM_TIMEOUT, ODOM_INVALID) and self.known
                and all(np.isfinite(part).all() for part in self._joints)):
            self.see_joints(*self._joints, now)

    def is_paused(self, time_now, timeout):
        """Return whether the last state is as new as /clock, ns, None or 0 if it is not known."""
        return bool(time_now) and abs(time_now - self.stamp) <= 1e9 * timeout

    def overdue(self, trip, now, timeout, time_now):
        """
        Return the SafetyError of a ``trip``, TIME_STOPPED or STATE_TIMEOUT after a timeout, s.

        ``now`` is steady time, s, ``time_now`` that of /clock, ns, None if the node ignores it.
        """
        if trip is TIME_STOPPED:
            return SafetyError(TIME_STOPPED, 'Joint states arrive, their stamps do not '
                               'advance: is /clock published?')
        reason = f'No new joint state for {1e3 * (now - self.last_change):.0f} ms.'
        if now - self.last_arrival <= timeout:
            reason += ' The same one arrives again: ' + (
                'is /clock published?' if time_now is not None else
                'has a simulation paused? With use_sim_time that is no fault.')
        return SafetyError(STATE_TIMEOUT, reason)

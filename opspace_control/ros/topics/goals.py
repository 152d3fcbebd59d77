# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Goals on topics: poses and wrenches of the tasks, positions of the joints."""

import time
from functools import partial

import numpy as np
from geometry_msgs.msg import AccelStamped, PoseStamped, TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import MultiDOFJointTrajectory

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware import conversions
from opspace_control.ros.middleware.endpoints import RELIABLE, Part
from opspace_control.ros.topics.moving_goals import MovingGoals, check_speed, read_trajectory
from opspace_control.safety.goal_limits import GoalLimits, GoalPace
from opspace_control.tasks.joint import JointTask
from opspace_control.tasks.pose import PoseTask

_RARELY = 10.0  # s, between two warnings of fast goals
_LONGEST_WAIT = 60.0  # s, a trajectory that begins later than this has the stamp of another clock

# The waiting goals that a new goal replaces.
_SUPERSEDED = {'target_pose': ('target_trajectory',),
               'target_trajectory': ('target_pose', 'target_twist', 'target_accel')}


class Goals(Part):
    """
    Subscriptions that check goals, in any of ``frames``, and set them; services that switch tasks.

    A goal that cannot be used, or of a task that the gait of ``legs`` sets, is refused with a
    throttled warning, and the old one stays.
    """

    def __init__(self, frames, legs, *common):
        super().__init__(*common)
        self._frames, self._legs, controller = frames, legs, self._controller
        self.moving = MovingGoals()
        self.limits = GoalLimits(controller.model)
        self.pace = GoalPace(1000.0)
        for task in controller.tasks.values():
            for name, kind, take in self._kinds_of_goals(task):
                self._listen(kind, f'~/{task.name}', name, take, task)
            if task.name not in controller.grasps:  # grasps are engaged instead
                self._endpoints.serve(SetBool, f'~/{task.name}/enable', partial(self._enable, task))
        self._listen(JointState, '~', 'target_joint', self._on_joints, controller.posture)

    def hold(self):
        """Make the present pose every goal; discard waiting goals."""
        self.pace.forget()
        self.moving.stop(reason='the robot holds')
        self._controller.hold()

    def forget_cleared(self):
        """Discard the waiting and moving goals of tasks whose goals a switch has cleared."""
        for task in self._controller.tasks.values():
            if task.target is None:
                self.pace.forget(task)
                self.moving.stop(task)

    def take_due(self):
        """Set waiting goals that are due; to be called often."""
        for take in self.pace.due(time.perf_counter()):
            take()

    def _kinds_of_goals(self, task):
        """Yield topic, message type and callback of each kind of goal of a task."""
        if isinstance(task, JointTask):
            yield 'target_joint', JointState, self._on_joints
            return
        if isinstance(task, PoseTask):
            yield 'target_pose', PoseStamped, self._on_pose
            yield 'target_twist', TwistStamped, self._on_twist
            yield 'target_accel', AccelStamped, self._on_acceleration
            yield 'target_trajectory', MultiDOFJointTrajectory, self._on_trajectory
        yield 'target_wrench', WrenchStamped, self._on_wrench

    def _listen(self, kind, owner, name, take, task):
        topic, superseded = f'{owner}/{name}', _SUPERSEDED.get(name)

        def checked(message):
            with self._refusing('A goal'):
                self._legs.check_free(getattr(task, 'name', ''))
                take(message, task)

        def callback(message):
            if superseded:
                self.pace.forget(task, superseded)
            if self.pace.may_pass((task, name), partial(checked, message), time.perf_counter()):
                checked(message)
            else:
                self._warn(
                    f'Goals on {topic} come faster than limits.goal_rate: check its publishers.',
                    topic, _RARELY)
        self._endpoints.listen(kind, topic, callback, RELIABLE)

    def _on_pose(self, message, task):
        pose = self._goal_frame(message.header.frame_id, task) @ conversions.matrix_from_pose(
            conversions.pose_from_message(message.pose))
        self.limits.check_position(task, pose[:3, 3])
        task.set_target(pose)
        if self.moving.following(task):
            self.moving.stop(task)

    def _on_twist(self, message, task):
        twist = self._in_goal_axes(message.twist, message.header, task)
        check_speed(task, *np.linalg.norm(twist.reshape(2, 3), axis=1))
        self._feed_forward(task, 'twist', twist)

    def _on_acceleration(self, message, task):
        self._feed_forward(task, 'acceleration', self._in_goal_axes(
            message.accel, message.header, task))

    def _feed_forward(self, task, name, values):
        self._need_state()
        if self.moving.following(task):
            raise RosInterfaceError(f"'{task.name}' follows a trajectory.", task=task.name,
                                    cure='Send it a pose first.')
        self.moving.feed_forward(task, name, values, self._cycle.time)

    def _on_trajectory(self, message, task):
        self._need_state()
        trajectory = read_trajectory(message, task, self._goal_frame(message.header.frame_id, task))
        for position in trajectory.positions:
            self.limits.check_position(task, position)
        self.moving.follow(task, trajectory,
                           self.start_of(message.header.stamp, trajectory.duration))

    def _on_wrench(self, message, task):
        """Set the wrench that a task applies, given in any axes, along the task's axes."""
        if not task.force_axes:
            raise RosInterfaceError(f"No axis of '{task.name}' controls force.", task=task.name,
                                    cure=f'Name some in {task.name}.force_axes.')
        self._need_state()
        wrench = conversions.six_from_message(message.wrench).reshape(2, 3)
        frame = message.header.frame_id
        if frame:
            R = self._frames.in_base(frame)[:3, :3]
            wrench = np.einsum('kbt,bf,kf->kt', self._axes_of(task), R, wrench)
        task.force.set_target(wrench.reshape(6))

    def _axes_of(self, task):
        """Return the axes of a task at the present state, by column, in the base, (2, 3, 3)."""
        if task.reference:
            return np.repeat(self._frames.of_link(task.reference)[None, :3, :3], 2, axis=0)
        return np.array([self._frames.of_link(link)[:3, :3] @ rotation if link else rotation
                         for link, rotation in zip(task.axes_frame, task.axes_rotation,
                                                   strict=True)])

    def start_of(self, stamp, duration):
        """Return the start of a trajectory with this time stamp, ns: now without a stamp."""
        now, start = self._cycle.time, conversions.nanoseconds(stamp)
        if not start:
            return now
        ahead = 1e-9 * (start - now)
        if not self._cycle.stamp:
            reason = 'The trajectory has a time stamp, but the joint states have none.'
        elif ahead > _LONGEST_WAIT:
            reason = f'The trajectory begins in {ahead:.0f} s, by the time of the joint states.'
        elif ahead + duration < 0.0:
            reason = f'The trajectory ended {-ahead - duration:.3g} s ago.'
        else:
            return start
        raise RosInterfaceError(reason, cure='Leave the time stamp empty to start it at once.',
                                value=ahead)

    def _on_joints(self, message, task):
        """Set positions by name, for a joint task or the posture."""
        if not message.name or len(message.name) != len(message.position):
            raise RosInterfaceError(
                f'It names {len(message.name)} joints and gives {len(message.position)} positions.',
                cure='Give one position for each name.')
        positions = dict(zip(message.name, message.position.tolist(), strict=True))
        self.limits.check_posture(positions, self._controller.position_limits)
        task.set_target(positions)
        self.moving.end_plan()

    def _enable(self, task, on):
        self._legs.check_free(task.name)
        with self._cycle.ramps.smoothly():
            # Inside `smoothly` a task that is ramping down is disabled.
            if on and not task.enabled:
                self.pace.forget(task)
                self.moving.stop(task, f"'{task.name}' is switched on")
                task.clear_target()
            task.enabled = on
        return (f"'{task.name}' is on; its goal is the present pose." if on else
                f"'{task.name}' is off: its axes belong to the posture.")

    def _goal_frame(self, frame, task):
        """Return the pose (4, 4) of a frame in the frame of a task's goals."""
        if not task.reference:
            return self._frames.in_base(frame)
        if frame in ('', self._frames.named(task.reference)):
            return np.eye(4)
        return np.linalg.inv(self._frames.of_link(task.reference)) @ self._frames.in_base(frame)

    def _in_goal_axes(self, message, header, task):
        """Return a Twist or Accel in the axes of a task's goals, (6,)."""
        six = conversions.six_from_message(message)
        R = self._goal_frame(header.frame_id, task)[:3, :3]
        return (six.reshape(2, 3) @ R.T).reshape(6)

    def _need_state(self):
        if not self._cycle.known:
            raise RosInterfaceError('A goal cannot move before the first joint state.',
                                    cure='Send it again when joint states arrive.')

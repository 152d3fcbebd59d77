# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Feedback of tasks and joints on topics, computed only for subscribers; markers for RViz."""

import array
from functools import partial

import numpy as np
from geometry_msgs.msg import Point, PoseStamped, TransformStamped, TwistStamped, WrenchStamped
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from opspace_control.control.split import SOURCES, split_efforts
from opspace_control.ros.middleware.conversions import TFMessage, fill_pose, fill_twist, fill_wrench
from opspace_control.ros.middleware.qos import RELIABLE
from opspace_control.tasks import CenterOfMassTask, JointTask, PoseTask


class Feedback:
    """
    Publishers whose messages are filled only for subscribers.

    Parameters
    ----------
    node : rclpy.node.Node

    """

    def __init__(self, node):
        self._node = node
        self._outlets = []

    def add(self, topic, message, fill, qos=RELIABLE):
        """
        Add a topic: ``fill(stamp)`` writes the last cycle's values to its message.

        If it returns False, the message is not published.
        """
        publisher = self._node.create_publisher(type(message), topic, qos)
        self._outlets.append((publisher, message, fill))

    def publish(self, stamp):
        """Publish the results of the last cycle, for a joint state of this time stamp."""
        for publisher, message, fill in self._outlets:
            if publisher.get_subscription_count() and fill(stamp) is not False:
                publisher.publish(message)

    def destroy(self):
        """Withdraw the topics."""
        for publisher, *_ in self._outlets:
            self._node.destroy_publisher(publisher)


def add_task_topics(feedback, controller, frames):
    """
    Add each task's ``current_pose``, ``error``, ``wrench`` and ``measured_wrench``.

    Pose and error are in the base frame, or in that of a relative task's reference; ``error`` is
    goal minus pose: metres, and the rotation vector in radians. ``wrench`` is the task's command at
    its frame's origin, in its axes; ``measured_wrench``, of tasks with sensor readings, the applied
    wrench there. That of an object or a centre of mass is moved to the frame's origin, or to the
    base's without a link. A joint task has ``joint_error`` instead: goal minus position, and its
    efforts.

    Parameters
    ----------
    feedback : Feedback
        Receives the topics.
    controller : OperationalSpaceController
        Has the tasks.
    frames : Frames
        Names of frames in messages.

    """
    objects = [grasp.task for grasp in controller.grasps.values()]
    for task in controller.tasks.values():
        if isinstance(task, JointTask):
            zeros = [array.array('d', bytes(8 * len(task.joints))) for _ in range(2)]
            message = JointState(name=list(task.joints), position=zeros[0], effort=zeros[1])
            feedback.add(f'~/{task.name}/joint_error', message,
                         partial(_fill_joint_error, task, message))
            continue
        for topic, kind, fill, there in (
                ('current_pose', PoseStamped, _fill_current_pose, True),
                ('error', TwistStamped, _fill_error, isinstance(task, PoseTask))):
            if there:
                message = kind()
                message.header.frame_id = frames.of_goals(task)
                feedback.add(f'~/{task.name}/{topic}', message, partial(fill, task, message))
        own = frames.named(task.frame) if task.frame and not task.unattached else frames.base
        elsewhere = isinstance(task, CenterOfMassTask) or task in objects
        place = partial(frames.in_base, own) if elsewhere else None
        for topic, wrench_of, there in (('wrench', _commanded, True),
                                        ('measured_wrench', _measured, task.force.sensor)):
            if there:
                message = WrenchStamped()
                message.header.frame_id = own
                feedback.add(f'~/{task.name}/{topic}', message,
                             partial(_fill_wrench, wrench_of, place, task, message))


def _fill_current_pose(task, message, stamp):
    message.header.stamp = stamp
    fill_pose(message.pose, task.pose)


def _fill_error(task, message, stamp):
    message.header.stamp = stamp
    fill_twist(message.twist, task.error)


def _commanded(task):
    """Return the commanded wrench of a task at its point, (2, 3), base axes."""
    return task.wrench.reshape(2, 3)


def _measured(task):
    """Return the applied wrench there, (2, 3), base axes; None if unknown."""
    measured = task.force.measured
    return None if measured is None else np.einsum('kbt,kt->kb', task.axes_in_base,
                                                   measured.reshape(2, 3))


def _fill_wrench(wrench_of, place, task, message, stamp):
    """Write a wrench along the axes of a frame: that of the task, or one that is at ``place()``."""
    wrench = wrench_of(task)
    if wrench is None:
        return False
    R = task.rotation_in_base
    if place is not None:
        pose = place()
        R = pose[:3, :3]
        wrench[1] += np.cross(task.pose[:3] - pose[:3, 3], wrench[0])
    message.header.stamp = stamp
    fill_wrench(message.wrench, (wrench @ R).reshape(6))
    return True


def _fill_joint_error(task, message, stamp):
    message.header.stamp = stamp
    np.frombuffer(message.position)[:] = task.error
    np.frombuffer(message.effort)[:] = task.force


class JointEfforts:
    """
    ``controller_state``: the commanded joint forces; a topic below it for each of their sources.

    Parameters
    ----------
    controller : OperationalSpaceController
    cycle : ControlCycle
        Has the last state and command.
    joints : sequence of str
        The commanded joints, in the order of the command.

    """

    def __init__(self, controller, cycle, joints):
        self._controller = controller
        self._cycle = cycle
        self._joints = list(joints)
        self._index = np.array([controller.model.dof_index(name) for name in joints])
        self._parts, self._parts_of = {}, None

    def add_to(self, feedback):
        """Add the topics to a Feedback."""
        message = self._message()
        feedback.add('~/controller_state', message, partial(self._fill_command, message))
        for source in SOURCES:
            message = self._message()
            feedback.add(f'~/controller_state/{source}', message,
                         partial(self._fill_part, source, message))

    def _message(self):
        zeros = array.array('d', bytes(8 * len(self._joints)))
        return JointState(name=self._joints, effort=zeros)

    def _fill_command(self, message, stamp):
        self._fill(message, stamp, self._cycle.commanded)

    def _fill_part(self, source, message, stamp):
        if self._parts_of is not stamp:  # computed once for all sources of a cycle
            self._parts_of = stamp
            self._parts = split_efforts(
                self._controller, self._cycle.state, self._cycle.commanded)
        self._fill(message, stamp, self._parts[source])

    def _fill(self, message, stamp, efforts):
        message.header.stamp = stamp
        np.frombuffer(message.effort)[:] = efforts[self._index]


_AXIS = 0.1            # m, of a goal's axes
_LINE = 0.006          # m, thickness
_PER_NEWTON = 0.005    # m, of a force's arrow
_LEAST_FORCE = 0.5     # N
_LIFETIME = Duration(seconds=1).to_msg()  # they disappear with the controller
_RED, _GREEN, _BLUE, _YELLOW = (
    ColorRGBA(r=r, g=g, b=b, a=0.9) for r, g, b in (
        (0.9, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.3, 1.0), (1.0, 0.8, 0.1)))


class TaskMarkers:
    """
    The markers of active tasks: the goal's axes, a line from the frame to it, and the force.

    Each task has a namespace. The arrow is the commanded force of the task, 5 mm per newton.

    Parameters
    ----------
    controller : OperationalSpaceController
    frames : Frames
        Names of frames in messages.

    """

    def __init__(self, controller, frames):
        self.message = MarkerArray()
        self._sets = []
        for task in _with_a_place(controller):
            here = frames.of_goals(task)
            goal = _marker(here, task, 0, Marker.LINE_LIST, _LINE)
            for color, tip in ((_RED, (_AXIS, 0.0, 0.0)), (_GREEN, (0.0, _AXIS, 0.0)),
                               (_BLUE, (0.0, 0.0, _AXIS))):
                goal.points += [Point(), _point(tip)]
                goal.colors += [color, color]
            error = _marker(here, task, 1, Marker.LINE_STRIP, _LINE / 2.0)
            force = _marker(here, task, 2, Marker.ARROW, _LINE, 2.0 * _LINE)
            self._sets.append((task, goal, error, force))

    def fill(self, stamp):
        """Write the results of the last cycle, for a joint state of this time stamp."""
        self.message.markers.clear()
        for task, goal, error, force in self._sets:
            if not task.enabled or task.target is None or task.pose is None:
                continue
            shown = [goal, error]
            here, applied = task.pose[:3], task.wrench[:3]
            if task.reference:
                applied = task.axes_in_base[0].T @ applied
            fill_pose(goal.pose, task.target)
            error.points = [_point(here), _point(task.target[:3])]
            if np.linalg.norm(applied) > _LEAST_FORCE:
                force.points = [_point(here), _point(here + _PER_NEWTON * applied)]
                shown.append(force)
            for marker in shown:
                marker.header.stamp = stamp
            self.message.markers += shown


class GoalTransforms:
    """
    The goals as children ``<task>_target`` of the base frame.

    Parameters
    ----------
    controller : OperationalSpaceController
    frames : Frames
        Names of frames in messages.

    """

    def __init__(self, controller, frames):
        self.message = TFMessage()
        self._pairs = []
        for task in _with_a_place(controller):
            stamped = TransformStamped(child_frame_id=frames.named(f'{task.name}_target'))
            stamped.header.frame_id = frames.of_goals(task)
            self._pairs.append((task, stamped))

    def fill(self, stamp):
        """Write the goals of the last cycle, for a joint state of this time stamp."""
        self.message.transforms.clear()
        for task, stamped in self._pairs:
            if task.target is None:
                continue
            stamped.header.stamp = stamp
            p, o = stamped.transform.translation, stamped.transform.rotation
            p.x, p.y, p.z, o.x, o.y, o.z, o.w = task.target.tolist()
            self.message.transforms.append(stamped)


def _with_a_place(controller):
    """Return the tasks at points: all but joint tasks."""
    return [task for task in controller.tasks.values() if not isinstance(task, JointTask)]


def _marker(frame, task, number, kind, *scale):
    marker = Marker(ns=task.name, id=number, type=kind, color=_YELLOW, lifetime=_LIFETIME)
    marker.header.frame_id = frame
    marker.pose.orientation.w = 1.0
    for axis, value in zip('xyz', scale, strict=False):
        setattr(marker.scale, axis, value)
    return marker


def _point(position):
    x, y, z = position
    return Point(x=float(x), y=float(y), z=float(z))

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Feedback of tasks and joints on topics, and goals, errors and forces as markers for RViz."""

from functools import partial

import numpy as np
from geometry_msgs.msg import Point, PoseStamped, TransformStamped, TwistStamped, WrenchStamped
from visualization_msgs.msg import Marker, MarkerArray

from opspace_control.control.split import SOURCES, split_efforts
from opspace_control.ros.middleware.conversions import TFMessage, fill_message, point_message
from opspace_control.ros.middleware.endpoints import TF
from opspace_control.ros.topics.markers import BLUE, GREEN, RED, YELLOW, make_marker
from opspace_control.tasks.joint import JointTask
from opspace_control.tasks.pose import PoseTask
from opspace_control.tasks.pose_kinds import CenterOfMassTask

_AXIS = 0.1            # m, of a goal's axes
_LINE = 0.006          # m, thickness
_PER_NEWTON = 0.005    # m, of a force's arrow
_LEAST_FORCE = 0.5     # N
_LIFETIME = 1.0        # s: they disappear with the controller


def add_task_topics(feedback, controller, frames):
    """
    Add each task's ``current_pose``, ``error``, ``wrench`` and ``measured_wrench`` to a Feedback.

    Pose and error are in the base frame, or in that of a relative task's reference; ``error`` is
    goal minus pose: metres, and the rotation vector in radians. ``wrench`` is the task's command at
    its frame's origin, in its axes; ``measured_wrench``, of tasks with sensor readings, the applied
    wrench there. That of an object or a centre of mass is moved to the frame's origin, or to the
    base's without a link. A joint task has ``joint_error`` instead: goal minus position, and its
    efforts. ``frames``, a Frames, has the names of frames in messages.
    """
    objects = [grasp.task for grasp in controller.grasps.values()]
    for task in controller.tasks.values():
        topic = f'~/{task.name}'
        if isinstance(task, JointTask):
            feedback.add_joints(f'{topic}/joint_error', task.joints,
                                position=lambda task=task: task.error,
                                effort=lambda task=task: task.force)
            continue
        goals = frames.of_goals(task)
        feedback.add_numbers(f'{topic}/current_pose', PoseStamped, goals,
                             lambda task=task: task.pose)
        if isinstance(task, PoseTask):
            feedback.add_numbers(f'{topic}/error', TwistStamped, goals,
                                 lambda task=task: task.error)
        own = frames.named(task.frame) if task.frame and not task.unattached else frames.base
        elsewhere = isinstance(task, CenterOfMassTask) or task in objects
        place = partial(frames.in_base, own) if elsewhere else None
        for name, wrench_of, there in (('wrench', _commanded, True),
                                       ('measured_wrench', _measured, task.force.sensor)):
            if there:
                feedback.add_numbers(f'{topic}/{name}', WrenchStamped, own,
                                     partial(_wrench, task, wrench_of, place))


def _commanded(task):
    """Return the commanded wrench of a task at its point, (2, 3), base axes."""
    return task.wrench.reshape(2, 3)


def _measured(task):
    """Return the applied wrench there, (2, 3), base axes; None if unknown."""
    measured = task.force.measured
    return None if measured is None else np.einsum('kbt,kt->kb', task.axes_in_base,
                                                   measured.reshape(2, 3))


def _wrench(task, wrench_of, place):
    """Return a wrench (6,) along the axes of the task's frame, or of one that is at ``place()``."""
    wrench = wrench_of(task)
    if wrench is None:
        return None
    R = task.rotation_in_base
    if place is not None:
        pose = place()
        R = pose[:3, :3]
        wrench[1] += np.cross(task.pose[:3] - pose[:3, 3], wrench[0])
    return (wrench @ R).reshape(6)


def add_joint_efforts(feedback, controller, cycle, joints):
    """Add ``controller_state``, the commanded joint forces, and a topic for each of their parts."""
    index = np.array([controller.model.dof_index(name) for name in joints])
    parts = feedback.once(lambda: split_efforts(controller, cycle.state, cycle.commanded))
    feedback.add_joints('~/controller_state', joints, effort=lambda: cycle.commanded[index])
    for source in SOURCES:
        feedback.add_joints(f'~/controller_state/{source}', joints, effort=(
            lambda source=source: parts()[source][index]))


def add_markers(feedback, controller, frames, broadcast, further):
    """
    Add ``markers``, and with ``broadcast`` the goals on TF, ``<task>_target`` below the base frame.

    The markers of each active task have a namespace: the goal's axes, a line from the frame to it,
    and the commanded force as an arrow, 5 mm per newton. Each of ``further``, of a stamp, returns
    more.
    """
    tasks = [(task, frames.of_goals(task)) for task in controller.tasks.values()
             if not isinstance(task, JointTask)]
    markers = MarkerArray()
    feedback.add('~/markers', markers, partial(
        _fill_markers, markers, [(task, *_markers(task, frame)) for task, frame in tasks], further))
    if broadcast:
        transforms, pairs = TFMessage(), []
        for task, frame in tasks:
            stamped = TransformStamped(child_frame_id=frames.named(f'{task.name}_target'))
            stamped.header.frame_id = frame
            pairs.append((task, stamped))
        feedback.add('/tf', transforms, partial(_fill_transforms, transforms, pairs), TF)


def _markers(task, frame):
    """Return the markers of a task: goal, error and force."""
    goal, error, force = (
        make_marker(frame, kind, YELLOW, scale, namespace=task.name, number=number,
                    lifetime=_LIFETIME)
        for number, (kind, scale) in enumerate((
            (Marker.LINE_LIST, [_LINE]), (Marker.LINE_STRIP, [_LINE / 2.0]),
            (Marker.ARROW, (_LINE, 2.0 * _LINE)))))
    for color, tip in ((RED, (_AXIS, 0.0, 0.0)), (GREEN, (0.0, _AXIS, 0.0)),
                       (BLUE, (0.0, 0.0, _AXIS))):
        goal.points += [Point(), point_message(tip)]
        goal.colors += [color, color]
    return goal, error, force


def _fill_markers(message, sets, further, stamp):
    message.markers.clear()
    for task, goal, error, force in sets:
        if not task.enabled or task.target is None or task.pose is None:
            continue
        shown = [goal, error]
        here, applied = task.pose[:3], task.wrench[:3]
        if task.reference:
            applied = task.axes_in_base[0].T @ applied
        fill_message(goal.pose, task.target)
        error.points = [point_message(here), point_message(task.target[:3])]
        if np.linalg.norm(applied) > _LEAST_FORCE:
            force.points = [point_message(here), point_message(here + _PER_NEWTON * applied)]
            shown.append(force)
        for marker in shown:
            marker.header.stamp = stamp
        message.markers += shown
    for more in further:
        message.markers += more(stamp)


def _fill_transforms(message, pairs, stamp):
    message.transforms.clear()
    for task, stamped in pairs:
        if task.target is not None:
            stamped.header.stamp = stamp
            fill_message(stamped.transform, task.target)
            message.transforms.append(stamped)

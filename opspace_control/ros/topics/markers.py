# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Goals, errors and forces of the tasks as markers for RViz, and goals as frames of TF."""

import numpy as np
from geometry_msgs.msg import Point, TransformStamped
from rclpy.duration import Duration
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from opspace_control.ros.middleware.conversions import fill_pose
from opspace_control.ros.middleware.transforms import TFMessage
from opspace_control.tasks import JointTask

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

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A node that shows the goals of a controller as interactive markers in RViz.

Dragged markers are sent as goals to the controller's topics. A second after the drag the marker
moves to the controller's goal, so a refused goal is visible.
"""

import math
import time

import numpy as np
from geometry_msgs.msg import Pose
from rclpy.executors import SingleThreadedExecutor
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from visualization_msgs import msg
from visualization_msgs.srv import GetInteractiveMarkers

from opspace_control.arguments import add_controller, make_parser
from opspace_control.ros.clients.remote import Remote, look_for_offer
from opspace_control.ros.middleware.conversions import fill_message, numbers_of
from opspace_control.ros.middleware.endpoints import TF, Endpoints
from opspace_control.ros.middleware.executor import parse, run

_HALF = math.sqrt(0.5)
# Quaternions that turn a control's own axis, x, onto each axis of the marker.
_AXES = {'x': (_HALF, 0.0, 0.0, _HALF), 'y': (0.0, 0.0, _HALF, _HALF),
         'z': (0.0, _HALF, 0.0, _HALF)}
_EVERY_ONE = TF  # reliable: updates are counted, and the end of a drag is sent once


class InteractiveMarkers:
    """
    A set of markers with handles, as displays of the type InteractiveMarkers show them.

    A display asks the service once for all of them, and then listens to updates, which are numbered
    so that it notices when it has lost one. While the user drags a marker, ``touched(name, frame,
    pose, moved)`` is called with a geometry_msgs/Pose in a frame.
    """

    def __init__(self, node, touched):
        self._name = node.get_fully_qualified_name()
        self._touched = touched
        self._markers = {}
        self._number = 0
        self._updates = node.create_publisher(msg.InteractiveMarkerUpdate, '~/update', _EVERY_ONE)
        node.create_subscription(
            msg.InteractiveMarkerFeedback, '~/feedback', self._on_feedback, _EVERY_ONE)
        node.create_service(GetInteractiveMarkers, '~/get_interactive_markers', self._on_request)

    def __contains__(self, name):
        return name in self._markers

    def add(self, name, frame, scale):
        """Add a marker that moves along and turns about its axes; scale in m."""
        marker = msg.InteractiveMarker(name=name, description=name, scale=scale)
        marker.header.frame_id = frame
        for word, kind in (('move', msg.InteractiveMarkerControl.MOVE_AXIS),
                           ('turn', msg.InteractiveMarkerControl.ROTATE_AXIS)):
            for axis, (x, y, z, w) in _AXES.items():
                control = msg.InteractiveMarkerControl(name=f'{word} {axis}', interaction_mode=kind)
                o = control.orientation
                o.x, o.y, o.z, o.w = x, y, z, w
                marker.controls.append(control)
        self._markers[name] = marker
        self._publish(markers=[marker])

    def move(self, poses):
        """Put markers to poses: geometry_msgs/Pose by name."""
        changed = []
        for name, pose in poses.items():
            marker = self._markers[name]
            marker.pose = pose
            changed.append(msg.InteractiveMarkerPose(header=marker.header, pose=pose, name=name))
        if changed:
            self._publish(poses=changed)

    def clear(self):
        """Remove all markers."""
        if self._markers:
            names = list(self._markers)
            self._markers.clear()
            self._publish(erases=names)

    def _publish(self, **what):
        self._number += 1
        self._updates.publish(msg.InteractiveMarkerUpdate(
            server_id=self._name, seq_num=self._number, type=msg.InteractiveMarkerUpdate.UPDATE,
            **what))

    def _on_request(self, _request, response):
        response.sequence_number = self._number
        response.markers = list(self._markers.values())
        return response

    def _on_feedback(self, feedback):
        if feedback.marker_name in self._markers:
            self._touched(feedback.marker_name, feedback.header.frame_id, feedback.pose,
                          feedback.event_type in (msg.InteractiveMarkerFeedback.POSE_UPDATE,
                                                  msg.InteractiveMarkerFeedback.MOUSE_UP))


_PERIOD = 0.05     # s
_LOOK = 1.0        # s, between two looks at the graph
_TIMEOUT = 1.0    # s, for the controller to take a goal
_SCALE = 0.25      # m, of a marker
_SAME = 1e-4       # m, and parts of a quaternion


class GoalMarkersNode(Node):
    """The node ``opspace_goal_markers``, for a controller's node of this name."""

    def __init__(self, controller):
        super().__init__('opspace_goal_markers')
        self._controller = expand_topic_name(controller, self.get_name(), self.get_namespace())
        self._markers = InteractiveMarkers(self, self._on_touch)
        self._offer = self._remote = None
        self._looked, self._shown, self._touched = -np.inf, {}, {}
        Endpoints(self).repeat(_PERIOD, self._on_timer)

    def leave(self):
        """Remove the markers."""
        self._markers.clear()

    def _on_timer(self):
        now = time.monotonic()
        if now - self._looked > _LOOK:
            self._looked = now
            self._look_for_controller()
        if self._remote:
            self._markers.move(dict(self._news(now)))

    def _look_for_controller(self):
        offer = look_for_offer(self, self._controller)
        if offer == self._offer:
            return
        if self._remote:
            self._remote.destroy()
        self._markers.clear()
        self._shown, self._touched = {}, {}
        self._offer = offer
        self._remote = offer and Remote(self, self._controller, offer)

    def _news(self, now):
        """Yield the poses of markers that differ from the controller's goals."""
        for task in self._offer.movable:
            goal = self._remote.goal(task)
            if goal is None or now - self._touched.get(task, -np.inf) < _TIMEOUT:
                continue
            frame, pose = goal
            if not np.isfinite(pose).all():
                continue
            if task not in self._markers:
                if not self._remote.hears(task):
                    continue
                self._markers.add(task, frame, _SCALE)
            elif task in self._shown and np.allclose(pose, self._shown[task], rtol=0.0, atol=_SAME):
                continue
            self._shown[task] = pose
            message = Pose()
            fill_message(message, pose)
            yield task, message

    def _on_touch(self, task, frame, pose, moved):
        self._touched[task] = time.monotonic()
        if not moved or self._remote is None:
            return
        self._remote.send_goal(task, frame, numbers_of(pose))
        self._shown.pop(task, None)  # update the other displays, also if the goal is refused


def main(arguments):
    """Run the node until SIGINT or SIGTERM; return the exit code."""
    parser = make_parser('goal_markers', __doc__)
    add_controller(parser)
    options = parse(parser, arguments)
    return run(lambda stop: GoalMarkersNode(options.controller), arguments, SingleThreadedExecutor)

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Interactive markers of RViz: the server's side of their protocol."""

import math

from visualization_msgs.msg import (
    InteractiveMarker,
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    InteractiveMarkerPose,
    InteractiveMarkerUpdate,
)
from visualization_msgs.srv import GetInteractiveMarkers

from opspace_control.ros.middleware.qos import TF

_HALF = math.sqrt(0.5)
# Quaternions that turn a control's own axis, x, onto each axis of the marker.
_AXES = {'x': (_HALF, 0.0, 0.0, _HALF), 'y': (0.0, 0.0, _HALF, _HALF),
         'z': (0.0, _HALF, 0.0, _HALF)}
# Reliable: updates are counted, and the end of a drag is sent once.
_EVERY_ONE = TF


class InteractiveMarkers:
    """
    A set of markers with handles, as displays of the type InteractiveMarkers show them.

    A display asks the service once for all of them, and then listens to updates, which are
    numbered so that it notices when it has lost one.

    Parameters
    ----------
    node : rclpy.node.Node
    touched : callable
        Called with a marker's name, a frame and a geometry_msgs/Pose in it while the user drags
        the marker, and with whether it was moved there.

    """

    def __init__(self, node, touched):
        self._name = node.get_fully_qualified_name()
        self._touched = touched
        self._markers = {}
        self._number = 0
        self._updates = node.create_publisher(InteractiveMarkerUpdate, '~/update', _EVERY_ONE)
        node.create_subscription(
            InteractiveMarkerFeedback, '~/feedback', self._on_feedback, _EVERY_ONE)
        node.create_service(GetInteractiveMarkers, '~/get_interactive_markers', self._on_request)

    def __contains__(self, name):
        return name in self._markers

    def add(self, name, frame, scale, turns):
        """Add a marker that moves along, and with ``turns`` about, its axes; scale in m."""
        marker = InteractiveMarker(name=name, description=name, scale=scale)
        marker.header.frame_id = frame
        kinds = [('move', InteractiveMarkerControl.MOVE_AXIS)]
        if turns:
            kinds.append(('turn', InteractiveMarkerControl.ROTATE_AXIS))
        for word, kind in kinds:
            for axis, (x, y, z, w) in _AXES.items():
                control = InteractiveMarkerControl(name=f'{word} {axis}', interaction_mode=kind)
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
            changed.append(InteractiveMarkerPose(header=marker.header, pose=pose, name=name))
        if changed:
            self._publish(poses=changed)

    def clear(self):
        """Take all markers away."""
        if self._markers:
            names = list(self._markers)
            self._markers.clear()
            self._publish(erases=names)

    def _publish(self, **what):
        self._number += 1
        self._updates.publish(InteractiveMarkerUpdate(
            server_id=self._name, seq_num=self._number, type=InteractiveMarkerUpdate.UPDATE,
            **what))

    def _on_request(self, _request, response):
        response.sequence_number = self._number
        response.markers = list(self._markers.values())
        return response

    def _on_feedback(self, feedback):
        if feedback.marker_name in self._markers:
            self._touched(feedback.marker_name, feedback.header.frame_id, feedback.pose,
                          feedback.event_type in (InteractiveMarkerFeedback.POSE_UPDATE,
                                                  InteractiveMarkerFeedback.MOUSE_UP))

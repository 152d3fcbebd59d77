# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the markers of goals, contacts and shapes have in common."""

from rclpy.duration import Duration
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

RED, GREEN, BLUE, YELLOW, GREY, ORANGE = (ColorRGBA(r=r, g=g, b=b, a=0.9) for r, g, b in (
    (0.9, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.3, 1.0), (1.0, 0.8, 0.1), (0.6, 0.6, 0.6),
    (1.0, 0.5, 0.0)))


def make_marker(frame, kind, color, scale, *, namespace, number, lifetime, stamp=None):
    """Return a Marker at the origin of a frame; ``scale`` are up to three, m, ``lifetime`` is s."""
    marker = Marker(ns=namespace, id=number, type=kind, color=color,
                    lifetime=Duration(seconds=lifetime).to_msg())
    marker.header.frame_id = frame
    if stamp:
        marker.header.stamp = stamp
    marker.pose.orientation.w = 1.0
    for axis, value in zip('xyz', scale, strict=False):
        setattr(marker.scale, axis, value)
    return marker

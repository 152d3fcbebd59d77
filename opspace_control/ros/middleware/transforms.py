# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Transforms of TF between frames that are not the robot's, deserialized on demand."""

import time
from collections import deque

import numpy as np
from rclpy.serialization import deserialize_message

from opspace_control.ros.middleware.conversions import matrix_from_pose
from opspace_control.ros.middleware.endpoints import Endpoints
from opspace_control.ros.middleware.qos import TF, TF_STATIC

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # on no package index; part of every installed ROS 2
    TFMessage = None

# Messages of /tf that are kept: seconds of them at any usual rate.
_CAPACITY = 2000


class Transforms:
    """
    The newest transform from each frame to its parent.

    A robot's own /tf is some 20 messages a second of all its links, and rclpy takes more than a
    millisecond to make Python objects of one, a whole control cycle. So they are kept as they
    arrive, and only those that may tell of a wanted frame are ever opened. For the same reason this
    is not tf2_ros, whose listener opens them all.

    Parameters
    ----------
    node : rclpy.node.Node

    """

    def __init__(self, node):
        self._static = {}
        self._heard = deque(maxlen=_CAPACITY)  # [steady time, message as bytes or as a dict]
        self._endpoints = Endpoints(node)
        if TFMessage is not None:
            self._endpoints.listen(TFMessage, '/tf_static', self._on_static, TF_STATIC)
            self._endpoints.listen(TFMessage, '/tf', self._on_dynamic, TF, raw=True)

    @property
    def available(self):
        """Whether there is TF at all."""
        return TFMessage is not None

    def parent(self, frame, oldest):
        """
        Return the name of a frame's parent and the transform (4, 4) to it, or None.

        Parameters
        ----------
        frame : str
            As TF calls it.
        oldest : float
            Age in s since it was received, up to which a transform that moves counts.

        """
        if frame in self._static:
            return self._static[frame]
        start = time.perf_counter() - oldest
        name = frame.encode() + b'\0'
        for entry in reversed(self._heard):
            received, message = entry
            if received < start:
                break
            if isinstance(message, bytes):
                if name not in message:
                    continue
                message = entry[1] = _by_child(deserialize_message(message, TFMessage))
            if frame in message:
                return message[frame]
        return None

    def destroy(self):
        """Stop listening."""
        self._endpoints.withdraw()

    def _on_static(self, message):
        self._static.update(_by_child(message))

    def _on_dynamic(self, message):
        self._heard.append([time.perf_counter(), message])


def _by_child(message):
    """Return child -> (parent, transform) of a TFMessage, without what is not a transform."""
    transforms = {}
    for stamped in message.transforms:
        p, o = stamped.transform.translation, stamped.transform.rotation
        numbers = np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w])
        if np.isfinite(numbers).all() and numbers[3:].any():
            numbers[3:] /= np.linalg.norm(numbers[3:])
            transforms[stamped.child_frame_id.lstrip('/')] = (
                stamped.header.frame_id.lstrip('/'), matrix_from_pose(numbers))
    return transforms

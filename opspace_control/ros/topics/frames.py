# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Poses of frames of messages, in the base frame or, with a floating base, in the world."""

import time
from collections import deque

import numpy as np
from rclpy.serialization import deserialize_message

from opspace_control.errors import RosInterfaceError
from opspace_control.model.topology import nearest
from opspace_control.ros.middleware.conversions import (
    TFMessage,
    matrix_from_pose,
    nanoseconds,
    numbers_of,
)
from opspace_control.ros.middleware.endpoints import TF, TF_STATIC

_CAPACITY = 2000  # messages of /tf that are kept: seconds of them at any usual rate
_LONGEST_CHAIN = 100  # a longer chain of transforms is circular


class Transforms:
    """
    The newest transform of TF from each frame to its parent.

    A robot's own /tf is some 20 messages a second of all its links, and rclpy takes more than a
    millisecond to make Python objects of one, a whole control cycle. So they are kept as they
    arrive, and only those that may tell of a wanted frame are ever opened. For the same reason this
    is not tf2_ros, whose listener opens them all.
    """

    available = TFMessage is not None

    def __init__(self, endpoints):
        self._static = {}
        self._heard = deque(maxlen=_CAPACITY)  # [steady time, message as bytes or as a dict]
        if self.available:
            endpoints.listen(TFMessage, '/tf_static', lambda message: self._static.update(
                _by_child(message, moves=False)), TF_STATIC)
            endpoints.listen(TFMessage, '/tf', lambda data: self._heard.append(
                [time.perf_counter(), data]), TF, raw=True)

    def parent(self, frame, oldest):
        """
        Return the name of a frame's parent, the transform (4, 4) to it and its stamp, ns, or None.

        A transform that moves counts up to the age ``oldest``, s, since it was received. The stamp
        of one that does not is 0.
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
                message = entry[1] = _by_child(
                    deserialize_message(message, TFMessage), moves=True)
            if frame in message:
                return message[frame]
        return None


def _by_child(message, *, moves):
    """Return child -> (parent, transform, stamp) of a TFMessage, without what is no transform."""
    transforms = {}
    for stamped in message.transforms:
        numbers = numbers_of(stamped.transform)
        if np.isfinite(numbers).all() and numbers[3:].any():
            numbers[3:] /= np.linalg.norm(numbers[3:])
            transforms[stamped.child_frame_id.lstrip('/')] = (
                stamped.header.frame_id.lstrip('/'), matrix_from_pose(numbers),
                nanoseconds(stamped.header.stamp) if moves else 0)
    return transforms


class Frames:
    """
    Frames of messages: links of the robot by its kinematics, all others by TF.

    The base frame of tasks is that of the root link, or of the world with a floating base; ``base``
    is its name in messages. The ControlCycle has the state of the robot. Links have ``prefix``,
    robot_state_publisher's frame_prefix, before their names in messages, and ``world`` is that of
    the world. A transform of TF that moves is used up to the age ``timeout``, s.
    """

    def __init__(self, model, cycle, transforms, prefix='', world='odom'):
        self._model, self._cycle, self._transforms = model, cycle, transforms
        self._prefix = prefix
        self._links = {self.named(link): link for link in model.frame_names}
        for link in model.frame_names:  # the URDF's names, too
            self._links.setdefault(link, link)
        self.base = world if model.floating_base else self.named(model.root_link)
        # The root link of a floating base is a link like any other.
        self._here = {'', self.base} | (set() if model.floating_base else {model.root_link})
        self._own = self._links.keys() | self._here  # TF is not asked what these are on
        self.timeout = 1.0

    def named(self, link):
        """Return the name of a link of the robot in messages."""
        return self._prefix + link

    def of_goals(self, task):
        """Return the name in messages of the frame of a task's goals and poses."""
        return self.named(task.reference) if task.reference else self.base

    def of_link(self, link):
        """Return the present pose (4, 4) of a link of the robot in the base frame."""
        return self.in_base(self.named(link))

    def carrier(self, frame):
        """
        Return the link that carries a frame of messages, and the pose (4, 4) of the frame on it.

        A frame that TF connects with the robot is on the first link above it. The link is None for
        the base frame, and for frames that no link carries.
        """
        frame = frame.lstrip('/')
        if frame in self._here:
            return None, np.eye(4)
        top, transform, _ = self._ancestors(frame, self._own)[-1]
        return None if top in self._here else self._links.get(top), transform

    def in_base(self, frame):
        """
        Return the present pose (4, 4) of a frame in the base frame.

        The name is that of a message header; empty is the base frame. A frame that is unknown to
        the robot and to TF is a RosInterfaceError.
        """
        return self.in_base_since(frame)[0]

    def in_base_since(self, frame):
        """
        Return the present pose (4, 4) of a frame in the base frame, and its newest stamp in TF, ns.

        The stamp is 0 where no transform of TF moves the frame; raises as `in_base`.
        """
        frame = frame.lstrip('/')
        chain = self._ancestors(frame, self._own)
        top, transform, stamp = chain[-1]
        if top in self._here:
            return transform, stamp
        if top in self._links:
            link = self._links[top]
            if not self._cycle.known:
                raise RosInterfaceError(
                    f"The pose of '{link}' is unknown before the first joint state.",
                    cure='Send it again when joint states arrive.', frame=link)
            link_pose = self._model.forward_kinematics(self._cycle.state, [link])[link]
            return link_pose @ transform, stamp
        # Not on the robot: look for a common ancestor of this frame and of the base.
        there = {name: (transform, stamp) for name, transform, stamp in chain}
        common, base, newest = self._ancestors(self.base, there)[-1]
        if common not in there:
            raise self._unknown(frame, top)
        transform, stamp = there[common]
        return np.linalg.inv(base) @ transform, max(newest, stamp)

    def _ancestors(self, frame, until):
        """
        Return a frame and its ancestors, up to one of ``until``.

        Each is a name, the frame's pose (4, 4) in it, and the newest stamp on the way to it, ns.
        """
        chain = [(frame, np.eye(4), 0)]
        while chain[-1][0] not in until and len(chain) < _LONGEST_CHAIN:
            name, transform, newest = chain[-1]
            above = self._transforms.parent(name, self.timeout)
            if above is None:
                break
            parent, step, stamp = above
            chain.append((parent, step @ transform, max(stamp, newest)))
        return chain

    def _unknown(self, frame, top):
        cure = nearest(frame, self._links)
        if not self._transforms.available:
            reason = (f"The robot has no frame '{frame}', and TF cannot be used without tf2_msgs, "
                      'which is not installed.')
        elif top == frame:
            reason = (f"There is no frame '{frame}': it is not a link of the robot, and TF has not "
                      f'published it in the last {self.timeout:g} s.')
        else:
            reason = (f"The frame '{frame}' is not connected to the robot: its topmost ancestor in "
                      f"TF is '{top}'.")
            cure = f"Publish a transform between '{top}' and '{self.base}'."
        return RosInterfaceError(reason, cure=cure, frame=frame)

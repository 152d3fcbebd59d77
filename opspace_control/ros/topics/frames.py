# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Poses of frames of messages, in the base frame or, with a floating base, in the world."""

import math
import time
from collections import deque
from functools import reduce
from typing import NamedTuple

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
from opspace_control.spatial.rotations import cross_matrix

_CAPACITY = 2000  # messages of /tf that are kept: seconds of them at any usual rate
_LONGEST_CHAIN = 100  # a longer chain of transforms is circular
_SHORTEST_QUATERNION = 1e-6  # a shorter one is no rotation


class Step(NamedTuple):
    """A transform of TF from a frame to its parent."""

    frame: str
    parent: str
    pose: np.ndarray  # of the frame in its parent, (4, 4)
    stamp: int        # ns; 0 of one that does not move


class Chain(NamedTuple):
    """How a frame is connected with the robot: by steps up to a link, or else to the base frame."""

    link: str | None   # that carries the frame
    steps: tuple       # from the frame up to the link, or to what it has in common with the base
    base_steps: tuple  # from the base frame up to there


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

    def step(self, frame, oldest):
        """
        Return the `Step` from a frame to its parent, or None.

        A transform that moves counts up to the age ``oldest``, s, since it was received.
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
    """Return `Step` by frame of a TFMessage, without what is no transform."""
    steps = {}
    for stamped in message.transforms:
        numbers, frame = numbers_of(stamped.transform), stamped.child_frame_id.lstrip('/')
        norm = math.sqrt(numbers[3:] @ numbers[3:])
        if np.isfinite(numbers).all() and _SHORTEST_QUATERNION < norm < math.inf:
            numbers[3:] /= norm
            steps[frame] = Step(frame, stamped.header.frame_id.lstrip('/'), matrix_from_pose(
                numbers), nanoseconds(stamped.header.stamp) if moves else 0)
    return steps


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

    def in_base(self, frame):
        """
        Return the present pose (4, 4) of a frame in the base frame.

        The name is that of a message header; empty is the base frame. A frame that is unknown to
        the robot and to TF is a RosInterfaceError.
        """
        chain = self.chain(frame)
        pose = pose_above(chain.steps)
        if chain.link:
            return self._link_pose(chain.link) @ pose
        return np.linalg.inv(pose_above(chain.base_steps)) @ pose

    def chain(self, frame):
        """Return the `Chain` that connects a frame of messages with the robot; raises as above."""
        frame = frame.lstrip('/')
        steps = self._steps(frame, self._own)
        names = [frame, *(step.parent for step in steps)]
        if names[-1] in self._here:
            return Chain(None, steps, ())
        if names[-1] in self._links:
            return Chain(self._links[names[-1]], steps, ())
        # Not on the robot: look for a common ancestor of this frame and of the base.
        base_steps = self._steps(self.base, names)
        common = base_steps[-1].parent if base_steps else self.base
        if common not in names:
            raise self._unknown(*names)
        return Chain(None, steps[:names.index(common)], base_steps)

    def link_motion(self, link):
        """Return the present pose (4, 4) of a link in the base frame, and its rate (4, 4), 1/s."""
        pose, state = self._link_pose(link), self._cycle.state
        return pose, pose_rate(pose, self._model.jacobian(state, [link]) @ state.v)

    def _link_pose(self, link):
        if not self._cycle.known:
            raise RosInterfaceError(
                f"The pose of '{link}' is unknown before the first joint state.",
                cure='Send it again when joint states arrive.', frame=link)
        return self._model.forward_kinematics(self._cycle.state, [link])[link]

    def _steps(self, frame, until):
        """Return the `Step` from a frame to its parent, and so on, up to one of ``until``."""
        steps = []
        while frame not in until and len(steps) < _LONGEST_CHAIN:
            step = self._transforms.step(frame, self.timeout)
            if step is None:
                break
            steps.append(step)
            frame = step.parent
        return tuple(steps)

    def _unknown(self, frame, *ancestors):
        cure = nearest(frame, self._links)
        if not self._transforms.available:
            reason = (f"The robot has no frame '{frame}', and TF cannot be used without tf2_msgs, "
                      'which is not installed.')
        elif not ancestors:
            reason = (f"There is no frame '{frame}': it is not a link of the robot, and TF has not "
                      f'published it in the last {self.timeout:g} s.')
        else:
            reason = (f"The frame '{frame}' is not connected to the robot: its topmost ancestor in "
                      f"TF is '{ancestors[-1]}'.")
            cure = f"Publish a transform between '{ancestors[-1]}' and '{self.base}'."
        return RosInterfaceError(reason, cure=cure, frame=frame)


def pose_above(steps):
    """Return the pose (4, 4) of the first frame of some `Step` in the parent of the last."""
    return reduce(lambda pose, step: step.pose @ pose, steps, np.eye(4))


def pose_rate(pose, twist):
    """Return the rate (4, 4), 1/s, of a pose whose origin has the twist (6,) ``[v; ω]``."""
    rate = np.zeros((4, 4))
    rate[:3, :3], rate[:3, 3] = cross_matrix(twist[3:]) @ pose[:3, :3], twist[:3]
    return rate

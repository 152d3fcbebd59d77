# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Poses of frames of messages, in the base frame or, with a floating base, in the world."""

import numpy as np

from opspace_control.errors import RosInterfaceError
from opspace_control.model.topology import nearest

# A longer chain of transforms is circular.
_LONGEST_CHAIN = 100


class Frames:
    """
    Frames of messages: links of the robot by its kinematics, all others by TF.

    The base frame of tasks is that of the root link, or of the world with a floating base.

    Parameters
    ----------
    model : RobotModel
    cycle : ControlCycle
        Has the state of the robot.
    transforms : Transforms
    prefix : str
        Prefix of the robot's links in messages, as robot_state_publisher's frame_prefix.
    world : str
        Name of the world's frame in messages, for a floating base.

    Attributes
    ----------
    timeout : float
        Age in s up to which a transform of TF that moves is used.
    base : str
        The base frame's name in messages.

    """

    def __init__(self, model, cycle, transforms, prefix='', world='odom'):
        self._model = model
        self._cycle = cycle
        self._transforms = transforms
        self._prefix = prefix
        self._links = {self.named(link): link for link in model.frame_names}
        for link in model.frame_names:  # the URDF's names, too
            self._links.setdefault(link, link)
        self.base = world if model.floating_base else self.named(model.root_link)
        # The root link of a floating base is a link like any other.
        self._here = {'', self.base} | (set() if model.floating_base else {model.root_link})
        self.timeout = 1.0

    def named(self, link):
        """Return the name of a link of the robot in messages."""
        return self._prefix + link

    def of_goals(self, task):
        """Return the name in messages of the frame of a task's goals and poses."""
        return self.named(task.reference) if task.reference else self.base

    def in_base(self, frame):
        """
        Return the present pose (4, 4) of a frame in the base frame.

        Parameters
        ----------
        frame : str
            As in a message header; empty is the base frame.

        Raises
        ------
        RosInterfaceError
            The frame is unknown to the robot and to TF.

        """
        frame = frame.lstrip('/')
        if frame in self._here:
            return np.eye(4)
        chain = self._ancestors(frame, self._links)
        top, transform = chain[-1]
        if top in self._links:
            return self._link(self._links[top]) @ transform
        # Not on the robot: look for a common ancestor of this frame and of the base.
        there = dict(chain)
        for name, base in self._ancestors(self.base):
            if name in there:
                return np.linalg.inv(base) @ there[name]
        raise self._unknown(frame, top)

    def _ancestors(self, frame, until=()):
        """Return a frame and its ancestors, up to one of ``until``, with its pose in each."""
        chain = [(frame, np.eye(4))]
        while chain[-1][0] not in until and len(chain) < _LONGEST_CHAIN:
            name, transform = chain[-1]
            above = self._transforms.parent(name, self.timeout)
            if above is None:
                break
            chain.append((above[0], above[1] @ transform))
        return chain

    def _link(self, link):
        if not self._cycle.known:
            raise RosInterfaceError(
                f"The pose of '{link}' is unknown before the first joint state.",
                cure='Send it again when joint states arrive.', frame=link)
        return self._model.forward_kinematics(self._cycle.state, [link])[link]

    def _unknown(self, frame, top):
        near = nearest(frame, self._links)
        if not self._transforms.available:
            return RosInterfaceError(
                f"The robot has no frame '{frame}', and TF cannot be used without tf2_msgs, which "
                'is not installed.', cure=near, frame=frame)
        if top == frame:
            return RosInterfaceError(
                f"There is no frame '{frame}': it is not a link of the robot, and TF has not "
                f'published it in the last {self.timeout:g} s.', cure=near, frame=frame)
        return RosInterfaceError(
            f"The frame '{frame}' is not connected to the robot: its topmost ancestor in TF is "
            f"'{top}'.", frame=frame,
            cure=f"Publish a transform between '{top}' and '{self.base}'.")

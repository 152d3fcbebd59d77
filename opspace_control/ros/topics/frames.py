# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Where a frame that a message names is, seen from the base or, if that floats, the world."""

import numpy as np

from opspace_control.errors import RosInterfaceError
from opspace_control.model.topology import nearest

# A chain of transforms longer than this goes round in circles.
_LONGEST_CHAIN = 100


class Frames:
    """
    Frames of messages: links of the robot by its own kinematics, all others by TF.

    What tasks call the base frame is the root link's, or that of the world if the base floats.

    Parameters
    ----------
    model : RobotModel
    cycle : ControlCycle
        Knows the state of the robot.
    transforms : Transforms
    prefix : str
        What the robot's links begin with in messages, as robot_state_publisher's frame_prefix.
    world : str
        What the world's frame is called in messages; for a floating base.

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
        for link in model.frame_names:  # also as the URDF calls them
            self._links.setdefault(link, link)
        self.base = world if model.floating_base else self.named(model.root_link)
        # The root link of a floating base is a link like any other.
        self._here = {'', self.base} | (set() if model.floating_base else {model.root_link})
        self.timeout = 1.0

    def named(self, link):
        """Return how messages call a link of the robot."""
        return self._prefix + link

    def of_goals(self, task):
        """Return what messages call the frame that the goals and poses of a task are in."""
        return self.named(task.reference) if task.reference else self.base

    def in_base(self, frame):
        """
        Return the pose (4, 4) in the base frame that a frame has now.

        Parameters
        ----------
        frame : str
            As in a message header; empty is the base frame.

        Raises
        ------
        RosInterfaceError
            Nobody knows where the frame is.

        """
        frame = frame.lstrip('/')
        if frame in self._here:
            return np.eye(4)
        chain = self._ancestors(frame, self._links)
        top, transform = chain[-1]
        if top in self._links:
            return self._link(self._links[top]) @ transform
        # Not carried by the robot: perhaps the robot and this frame stand on something common.
        there = dict(chain)
        for name, base in self._ancestors(self.base):
            if name in there:
                return np.linalg.inv(base) @ there[name]
        raise self._unknown(frame, top)

    def _ancestors(self, frame, ends=()):
        """Return a frame and those above it, and its pose in each; no further than ``ends``."""
        chain = [(frame, np.eye(4))]
        while chain[-1][0] not in ends and len(chain) < _LONGEST_CHAIN:
            name, transform = chain[-1]
            above = self._transforms.parent(name, self.timeout)
            if above is None:
                break
            chain.append((above[0], above[1] @ transform))
        return chain

    def _link(self, link):
        if not self._cycle.known:
            raise RosInterfaceError(
                f"Where '{link}' is cannot be known before the first joint state.",
                cure='Send it again when the robot is there.', frame=link)
        return self._model.forward_kinematics(self._cycle.state, [link])[link]

    def _unknown(self, frame, top):
        near = nearest(frame, self._links)
        if not self._transforms.available:
            return RosInterfaceError(
                f"The robot has no frame '{frame}', and TF cannot be asked, since tf2_msgs is not "
                'installed.', cure=near, frame=frame)
        if top == frame:
            return RosInterfaceError(
                f"There is no frame '{frame}': no link of the robot is called so, and TF has not "
                f'told of it in the last {self.timeout:g} s.', cure=near, frame=frame)
        return RosInterfaceError(
            f"The frame '{frame}' is not connected to the robot: TF leads from it to '{top}' and "
            'no further.', frame=frame,
            cure=f"Publish a transform between '{top}' and '{self.base}'.")

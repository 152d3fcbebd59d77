# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Everything a configured controller hears and says beside joint states and commands."""

from opspace_control.ros.feedback import Feedback
from opspace_control.ros.frames import Frames
from opspace_control.ros.goals import Goals
from opspace_control.ros.transforms import Transforms


class Interface:
    """
    The topics and services of the tasks.

    Parameters
    ----------
    node : rclpy.node.Node
    controller : OperationalSpaceController
    cycle : ControlCycle
        Calls back before each cycle, for goals that move, and for feedback.
    joints : sequence of str
        Those that are commanded, in the order of the command.
    parameters : mapping
        Values of the controller node's parameters.

    """

    def __init__(self, node, controller, cycle, joints, parameters):
        self._transforms = Transforms(node)
        self._frames = Frames(controller.model, cycle, self._transforms,
                              parameters['frame_prefix'])
        self._goals = Goals(node, controller, cycle, self._frames)
        self._feedback = Feedback(node, controller, cycle, self._frames, joints)
        cycle.move_goals = self._goals.moving.advance
        cycle.feedback = self._feedback.publish
        self.apply(parameters)

    def apply(self, parameters):
        """Take over the present values of parameters."""
        self._goals.moving.timeout = parameters['goals.feed_forward_timeout']
        self._frames.timeout = parameters['goals.transform_timeout']

    def hold(self):
        """Make the present pose every goal."""
        self._goals.hold()

    def destroy(self):
        """Withdraw all of it."""
        for part in (self._goals, self._feedback, self._transforms):
            part.destroy()

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The topics and services of a configured controller, except joint states and commands."""

import contextlib
import time
from functools import partial

from std_srvs.srv import Trigger

from opspace_control.ros.middleware.endpoints import Endpoints
from opspace_control.ros.middleware.qos import TF
from opspace_control.ros.topics.diagnostics import Diagnostics, UnreachedGoals
from opspace_control.ros.topics.feedback import (
    Feedback,
    GoalTransforms,
    JointEfforts,
    TaskMarkers,
    add_task_topics,
)
from opspace_control.ros.topics.frames import Frames, Transforms
from opspace_control.ros.topics.goals import Goals
from opspace_control.ros.topics.grasps import Grasps
from opspace_control.ros.topics.plans import Plans
from opspace_control.ros.topics.sensors import Sensors


class Interface:
    """
    The topics and services of a controller and its tasks.

    Parameters
    ----------
    node : rclpy.node.Node
    controller : OperationalSpaceController
    cycle : ControlCycle
        Calls back before each cycle for moving goals, and for feedback.
    joints : sequence of str
        The commanded joints, in the order of the command.
    parameters : mapping
        Values of the controller node's parameters.
    is_active : callable
        Returns whether the controller is commanding.

    """

    def __init__(self, node, controller, cycle, joints, parameters, is_active):
        with contextlib.ExitStack() as undo:
            self._make(undo, node, controller, cycle, joints, parameters, is_active)
            self._made = undo.pop_all()
        cycle.move_goals = self._goals.moving.advance
        cycle.hold_goals = self._goals.hold
        cycle.drop_plan = self.drop_plan
        cycle.feedback = self._feedback.publish
        self.apply(parameters)

    def _make(self, undo, node, controller, cycle, joints, parameters, is_active):
        self._transforms = Transforms(node)
        undo.callback(self._transforms.destroy)
        self._frames = Frames(controller.model, cycle, self._transforms,
                              parameters['frame_prefix'], parameters['odom_frame'])
        self._goals = Goals(node, controller, cycle, self._frames)
        undo.callback(self._goals.destroy)
        self._plans = Plans(node, controller, cycle, self._goals, is_active)
        undo.callback(self._plans.destroy)
        self._sensors = Sensors(node, controller, self._frames)
        undo.callback(self._sensors.destroy)
        self._feedback = Feedback(node)
        undo.callback(self._feedback.destroy)
        add_task_topics(self._feedback, controller, self._frames)
        self._grasps = Grasps(node, controller, cycle, self._goals, is_active)
        undo.callback(self._grasps.destroy)
        self._grasps.add_to(self._feedback)
        self._parameters = parameters
        JointEfforts(controller, cycle, joints).add_to(self._feedback)
        markers = TaskMarkers(controller, self._frames)
        self._feedback.add('~/markers', markers.message, markers.fill)
        if parameters['broadcast_targets']:
            self._broadcast_targets(node, controller)
        self._unreached = UnreachedGoals(node, controller, cycle, is_active)
        undo.callback(self._unreached.destroy)
        undo.callback(Diagnostics(node, controller, cycle, is_active).destroy)
        endpoints = Endpoints(node)
        undo.callback(endpoints.withdraw)
        endpoints.serve(Trigger, '~/hold', partial(_on_hold, cycle, is_active))

    def apply(self, parameters):
        """Apply the present values of parameters."""
        self._goals.moving.timeout = parameters['goals.feed_forward_timeout']
        self._goals.limits.lower[:] = parameters['limits.workspace_lower']
        self._goals.limits.upper[:] = parameters['limits.workspace_upper']
        self._goals.pace.rate = parameters['limits.goal_rate']
        self._frames.timeout = parameters['goals.transform_timeout']
        self._unreached.tolerances = self._plans.tolerances = (
            parameters['goals.position_tolerance'], parameters['goals.rotation_tolerance'])

    def watch(self):
        """Do periodic work; to be called often."""
        self._goals.take_due()
        self._plans.watch(time.perf_counter())
        self._sensors.watch()
        self._grasps.tell()

    def drop_plan(self, reason):
        """End a plan for this reason; return whether there was one."""
        followed = self._goals.moving.played is not None
        if followed:
            self._goals.moving.stop(reason=reason)
        return followed

    def hold(self):
        """Make the present pose every goal, and close constraints at present poses again."""
        self._goals.hold()
        self._grasps.renew(self._parameters)

    def destroy(self):
        """Withdraw all of it."""
        self._made.close()

    def _broadcast_targets(self, node, controller):
        if not self._transforms.available:
            node.get_logger().warning(
                'broadcast_targets does nothing: tf2_msgs is not installed.')
            return
        goals = GoalTransforms(controller, self._frames)
        self._feedback.add('/tf', goals.message, goals.fill, TF)


def _on_hold(cycle, is_active, _request, response):
    response.success = is_active()
    if response.success:
        cycle.hold()
    response.message = ('Every goal is now the present pose.' if response.success
                        else 'The controller is not active.')
    return response

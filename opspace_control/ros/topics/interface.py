# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The topics and services of a configured controller, except joint states and commands."""

import time

from std_srvs.srv import Trigger

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.middleware.endpoints import Feedback, Part
from opspace_control.ros.topics.collision_markers import CollisionMarkers
from opspace_control.ros.topics.collision_objects import CollisionObjects
from opspace_control.ros.topics.contact_markers import ContactMarkers
from opspace_control.ros.topics.contacts import ContactBounds, ContactSchedule, add_contact_state
from opspace_control.ros.topics.diagnostics import Diagnostics, UnreachedGoals
from opspace_control.ros.topics.external_effort import ExternalEffort
from opspace_control.ros.topics.feedback import add_joint_efforts, add_markers, add_task_topics
from opspace_control.ros.topics.frames import Frames, Transforms
from opspace_control.ros.topics.goals import Goals
from opspace_control.ros.topics.grasps import Grasps
from opspace_control.ros.topics.legs import Legs
from opspace_control.ros.topics.near_pairs_log import NearPairsLog
from opspace_control.ros.topics.plans import Plans
from opspace_control.ros.topics.sensors import Sensors


class Interface(Part):
    """
    All parts of the interface, and the service ``~/hold``.

    The parameters are values of the controller node's; ``joints`` the commanded ones, in the order
    of the command. The cycle calls back before each cycle for moving goals, and for feedback.
    """

    def __init__(self, parameters, joints, *common):
        super().__init__(*common)
        controller, cycle = self._controller, self._cycle
        transforms = Transforms(self._endpoints)
        self._parameters = parameters
        self._frames = Frames(controller.model, cycle, transforms, parameters['frame_prefix'],
                              parameters['odom_frame'])
        self._legs = Legs(parameters, *common)
        self._goals = Goals(self._frames, self._legs, *common)
        self._plans = Plans(self._goals, *common)
        self._sensors = Sensors(self._frames, *common)
        self._grasps = Grasps(self._goals, self._legs, *common)
        self._schedule = ContactSchedule(self._goals, self._legs, *common)
        ContactBounds(self._frames, self._legs, *common)
        self.collision = CollisionObjects(self._frames, *common)
        NearPairsLog(*common)
        self._grasps.put_objects = self.collision.put_grasped
        self._unreached = UnreachedGoals(*common)
        Diagnostics((self._sensors, self._grasps, self._legs, self._schedule, self.collision),
                    *common)
        feedback = Feedback(self._endpoints)
        add_task_topics(feedback, controller, self._frames)
        self._grasps.add_to(feedback)
        add_contact_state(feedback, controller, cycle)
        add_joint_efforts(feedback, controller, cycle, joints)
        self._external_effort = ExternalEffort(self._frames, *common)
        self._external_effort.add_to(feedback)
        broadcast = parameters['broadcast_targets']
        if broadcast and not transforms.available:
            self._logger.warning('broadcast_targets does nothing: tf2_msgs is not installed.')
        add_markers(
            feedback, controller, self._frames, broadcast and transforms.available,
            (ContactMarkers(controller, cycle, self._frames, self._legs.footholds),
             CollisionMarkers(controller, cycle, self._frames)))
        self._endpoints.serve(Trigger, '~/hold', self._hold_robot)
        cycle.move_goals, cycle.clear_goals = self._move_goals, self._clear_goals
        self.end_plan = self._goals.moving.end_plan
        # A robot on legs does not go on where it was interrupted.
        cycle.end_plan = lambda reason: self.end_plan(reason) or self._legs.present
        cycle.feedback = feedback.publish
        self.apply(parameters)

    def apply(self, parameters):
        """Apply the present values of parameters."""
        self._goals.moving.timeout = parameters['goals.feed_forward_timeout']
        self._goals.limits.lower[:] = parameters['limits.workspace_lower']
        self._goals.limits.upper[:] = parameters['limits.workspace_upper']
        self._goals.pace.rate = parameters['limits.goal_rate']
        self._legs.apply(parameters)
        self.collision.apply(parameters)
        self._external_effort.apply(parameters)
        self._frames.timeout = parameters['goals.transform_timeout']
        self._unreached.tolerances = self._plans.tolerances = (
            parameters['goals.position_tolerance'], parameters['goals.rotation_tolerance'])

    def watch(self):
        """Do periodic work; to be called often."""
        self._goals.take_due()
        self._plans.watch(time.perf_counter())
        self.collision.watch()
        self._sensors.watch()
        self._grasps.tell()

    def hold(self):
        """Make the present pose every goal, and close constraints at present poses again."""
        self.collision.follow()
        self._goals.hold()
        self._schedule.clear()
        self._grasps.renew(self._parameters)
        self._legs.restart()

    def check_gait(self, gait):
        """Raise an OpspaceError if the robot cannot change to a gait of this name now."""
        self._legs.check(gait)

    def _move_goals(self, time):
        self._goals.moving.advance(time)
        self._schedule.advance(time)
        self._legs.advance(time)

    def _clear_goals(self, interrupted):
        self._goals.hold()
        self._schedule.clear()
        (self._legs.restart if interrupted else self._legs.stop)()

    def _hold_robot(self):
        if not self._is_active():
            raise RosInterfaceError('The controller is not active.')
        self._cycle.hold()
        return 'Every goal is now the present pose.'

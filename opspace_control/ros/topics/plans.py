# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Plans on a topic: checked as a whole, then followed, with a status topic."""

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory as Message

from opspace_control.control.planning.playback import TOLERANCES, Playback
from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.ros.middleware.endpoints import LATCHED, RELIABLE, Part
from opspace_control.ros.middleware.joint_messages import read_joint_trajectory
from opspace_control.ros.middleware.serialized import open_message

TOPIC, STATUS = '~/joint_trajectory', '~/joint_trajectory/status'
# Largest message, bytes: to read and check it takes some 20 ms, in which there is no cycle.
LARGEST = 500_000
_HEADER = 1000  # bytes of a message that hold its header, and the tag of the plan in it
_PERIOD = 0.1  # s, of progress
_LEVELS = {'refused': DiagnosticStatus.ERROR, 'interrupted': DiagnosticStatus.WARN,
           'outside_tolerance': DiagnosticStatus.WARN}


class Plans(Part):
    """
    ``~/joint_trajectory``: all ``goals`` follow it; ``~/joint_trajectory/status`` has its progress.

    ``tolerances`` at beginning and end are those of prismatic, m, and of revolute joints, rad.
    """

    def __init__(self, goals, *common):
        super().__init__(*common)
        self._goals = goals
        self.tolerances = TOLERANCES
        self._playback, self._message, self._tag, self._told = None, None, '', -np.inf
        self._endpoints.listen(Message, TOPIC, self._on_plan, RELIABLE, raw=True)
        self._status = self._endpoints.publisher(DiagnosticStatus, STATUS, LATCHED)

    def watch(self, now):
        """Publish progress periodically; to be called often, with a steady time in s."""
        if self._playback and now - self._told >= _PERIOD:
            self._told = now
            time = self._goals.moving.played
            self._tell('following' if time >= 0.0 else 'waiting', 'The robot follows the plan.')

    def _on_plan(self, data):
        tag = ''
        try:
            if len(data) > LARGEST:
                tag = open_message(data[:_HEADER], Header).frame_id
                raise RosInterfaceError(
                    f'The plan is refused: it has {len(data)} bytes, and {LARGEST} are allowed.',
                    cure='Send fewer points, with velocities and accelerations.')
            message = open_message(data, Message)
            tag = message.header.frame_id
            if not self._playback or message != self._message:  # ignore a repeated message
                self._begin(message)
        except OpspaceError as error:
            self._logger.warning(str(error))
            self._tell('refused', str(error), tag)

    def _begin(self, message):
        self._need_control()
        velocities = self._cycle.velocity_limits
        playback = Playback(self._controller, read_joint_trajectory(message), self._cycle.state,
                            tolerances=self.tolerances, velocity_limits=velocities)
        start = self._goals.start_of(message.header.stamp, playback.duration)
        self._goals.pace.forget()
        self._goals.moving.play(playback, start, self._on_end)
        self._playback, self._message, self._tag = playback, message, message.header.frame_id
        self._told = -np.inf
        self._logger.info(
            f'A plan of {playback.duration:.3g} s is followed: '
            f'{len(playback.trajectory.times)} points of {len(playback.trajectory.joints)} joints.')

    def _on_end(self, reason):
        """Publish the end of the plan, with the distance of the joints from it."""
        if reason:
            self._tell('interrupted', f'The plan is interrupted: {reason}.')
        else:
            outside = self._playback.outside(self._cycle.state, self.tolerances)
            self._tell('outside_tolerance' if outside else 'succeeded', 'The plan is over. ' + (
                f"'{outside[0]}' is {outside[1]:.3g} rad or m from its end." if outside
                else 'The joints are at its end.'))
        self._logger.info(self._last)
        self._playback = None

    def _tell(self, state, text, tag=None):
        self._last = text
        values = {'state': state}
        if self._playback and tag is None:
            time = self._goals.moving.played
            values |= {'duration [s]': f'{self._playback.duration:.3f}'}
            if time is not None:
                values['time [s]'] = f'{min(time, self._playback.duration):.3f}'
            joint, distance = self._playback.furthest(self._cycle.state)
            values |= {'furthest joint': joint, 'distance [rad or m]': f'{distance:.3g}'}
        self._status.publish(DiagnosticStatus(
            level=_LEVELS.get(state, DiagnosticStatus.OK), name='joint_trajectory', message=text,
            hardware_id=self._tag if tag is None else tag,
            values=[KeyValue(key=key, value=value) for key, value in values.items()]))

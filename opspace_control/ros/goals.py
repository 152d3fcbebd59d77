# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Goals that arrive on topics: poses of the tasks, positions of the joints."""

import numpy as np
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState

from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.ros.conversions import pose_from_message
from opspace_control.ros.qos import RELIABLE
from opspace_control.spatial.rotations import matrix_from_quaternion

_COMPLAIN_EVERY = 1.0  # s


class Goals:
    """
    Subscriptions that check goals and hand them to a controller's tasks.

    A goal that cannot be used is refused with a throttled warning, and the old one stays.

    Parameters
    ----------
    node : rclpy.node.Node
    controller : OperationalSpaceController
    cycle : ControlCycle
        Knows where the robot is, for goals in frames that move.

    """

    def __init__(self, node, controller, cycle):
        self._node = node
        self._controller = controller
        self._cycle = cycle
        self._subscriptions = [
            node.create_subscription(
                PoseStamped, f'~/{task.name}/target_pose', self._checked(self._on_pose, task),
                RELIABLE)
            for task in controller.tasks.values()]
        self._subscriptions.append(node.create_subscription(
            JointState, '~/target_joint', self._checked(self._on_joints, controller.posture),
            RELIABLE))

    def advance(self, stamp):
        """Let goals that move by themselves be where they are at this stamp of a state, ns."""

    def destroy(self):
        """Stop listening."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _checked(self, take, task):
        def callback(message):
            try:
                take(message, task)
            except OpspaceError as error:
                self._node.get_logger().warning(
                    f'A goal is refused: {error}', throttle_duration_sec=_COMPLAIN_EVERY)
        return callback

    def _on_pose(self, message, task):
        pose = pose_from_message(message.pose)
        frame = message.header.frame_id.lstrip('/')
        task.set_target(self._in_base(pose, frame))

    def _on_joints(self, message, posture):
        if not message.name or len(message.name) != len(message.position):
            raise RosInterfaceError(
                f'It names {len(message.name)} joints and gives {len(message.position)} positions.',
                cure='Give one position for each name.')
        posture.set_target(dict(zip(message.name, message.position.tolist(), strict=True)))

    def _in_base(self, pose, frame):
        """Return a pose (7,) given in a frame of the robot as a transform (4, 4) in the base."""
        transform = np.eye(4)
        transform[:3, :3] = matrix_from_quaternion(pose[3:])
        transform[:3, 3] = pose[:3]
        model = self._controller.model
        if frame in ('', model.root_link):
            return transform
        model.frame_index(frame)  # names the nearest frames if there is none
        if not self._cycle.known:
            raise RosInterfaceError(
                f"Where '{frame}' is cannot be known before the first joint state.",
                cure='Send the goal again when the robot is there.', frame=frame)
        return model.forward_kinematics(self._cycle.state, [frame])[frame] @ transform

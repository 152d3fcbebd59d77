# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Clients of other nodes, and of one run of a controller: topics, polled, and services."""

import array

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rclpy.callback_groups import CallbackGroup
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from opspace_control.ros.middleware.conversions import fill_pose, fill_wrench
from opspace_control.ros.middleware.qos import NEWEST, RELIABLE
from opspace_control.spatial.quaternions import turned


class _NeverCalled(CallbackGroup):
    """A group whose members no executor waits for."""

    def can_execute(self, entity):
        return False

    def beginning_execution(self, entity):
        return False

    def ending_execution(self, entity):
        pass


class Outlook:
    """
    The newest message of a topic, taken when it is looked for.

    Nothing is called back: who looks some thirty times a second at what is said a thousand times
    leaves the processor to others. A SingleThreadedExecutor does not touch it.

    Parameters
    ----------
    node : rclpy.node.Node
    kind : type
        Of the messages.
    topic : str
    qos : rclpy.qos.QoSProfile

    """

    def __init__(self, node, kind, topic, qos=NEWEST):
        self._node = node
        self._kind = kind
        self._subscription = node.create_subscription(
            kind, topic, lambda message: None, qos, callback_group=_NeverCalled())
        self.newest = None

    def look(self):
        """Return the newest message so far, or None."""
        return self.take() or self.newest

    def take(self):
        """Return the newest message if it has come since the last time, else None."""
        newest = None
        handle = self._subscription.handle
        with handle:
            while (taken := handle.take_message(self._kind, False)) is not None:
                newest = taken[0]
        self.newest = newest or self.newest
        return newest

    def destroy(self):
        """Stop listening."""
        self._node.destroy_subscription(self._subscription)


class RemoteNode:
    """The client, of a node, of the private topics and services of another one, by full name."""

    def __init__(self, node, name):
        self._node, self._name = node, name
        self._outlooks, self._publishers, self._clients = [], [], {}

    def look_at(self, kind, topic):
        """Return an `Outlook` on ``~/<topic>``."""
        outlook = Outlook(self._node, kind, f'{self._name}/{topic}')
        self._outlooks.append(outlook)
        return outlook

    def trigger(self, service, answered):
        """Call ``~/<service>``, a std_srvs/Trigger; ``answered(success, text)``."""
        self._call(Trigger, service, Trigger.Request(), answered)

    def switch(self, service, on, answered):
        """Call ``~/<service>``, a std_srvs/SetBool; ``answered(success, text)``."""
        self._call(SetBool, service, SetBool.Request(data=on), answered)

    def destroy(self):
        """Destroy all subscriptions, publishers and service clients."""
        for outlook in self._outlooks:
            outlook.destroy()
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)
        for client in self._clients.values():
            self._node.destroy_client(client)

    def _publish(self, kind, topic):
        publisher = self._node.create_publisher(kind, f'{self._name}/{topic}', RELIABLE)
        self._publishers.append(publisher)
        return publisher

    def _call(self, kind, service, request, answered):
        if service not in self._clients:
            self._clients[service] = self._node.create_client(kind, f'{self._name}/{service}')
        client = self._clients[service]
        if not client.service_is_ready():
            answered(False, f'{self._name}/{service} does not answer.')
            return

        def done(future):
            answer = future.result()
            answered(answer.success, answer.message)
        client.call_async(request).add_done_callback(done)


class Remote(RemoteNode):
    """The client, of a node, of a controller by its full name, and its `Offer`."""

    def __init__(self, node, controller, offer):
        super().__init__(node, controller)
        self._poses = self._look_at_all(offer.tasks, PoseStamped, 'current_pose')
        self._errors = self._look_at_all(offer.tasks, TwistStamped, 'error')
        self._joint_errors = self._look_at_all(offer.groups, JointState, 'joint_error')
        self._wrenches = self._look_at_all(offer.wrenches, WrenchStamped, 'wrench')
        self._measured = self._look_at_all(offer.measured, WrenchStamped, 'wrench')
        self._efforts = self.look_at(JointState, 'controller_state')
        self._goals = self._publish_all(offer.movable, PoseStamped, 'target_pose')
        self._forces = self._publish_all(offer.forces, WrenchStamped, 'target_wrench')
        # The posture's and, by name, those of tasks of joints; what others tell them, too.
        owners = {'': 'target_joint', **{task: f'{task}/target_joint' for task in offer.groups}}
        self._joints = {owner: self._publish(JointState, topic) for owner, topic in owners.items()}
        self._told = {owner: self.look_at(JointState, topic) for owner, topic in owners.items()}

    def pose(self, task):
        """
        Return where a task's frame is, or None before it is told.

        Returns
        -------
        frame : str
            That the pose is given in.
        position : (3,) array
            m
        quaternion : (4,) array
            xyzw

        """
        return _pose(self._poses[task].look())

    def error(self, task):
        """Return goal minus pose of a task, (6,), m and a rotation vector in rad, or None."""
        message = self._errors[task].look()
        return message and _six(message.twist.linear, message.twist.angular)

    def joint_error(self, task):
        """
        Return (goal minus position, effort) by joint of a task of joints, or None.

        rad or m; N·m or N.
        """
        message = self._joint_errors[task].look()
        return message and dict(zip(
            message.name, zip(message.position, message.effort, strict=True), strict=True))

    def goal(self, task):
        """Return the goal of a task, as `pose` does its frame, or None."""
        pose, error = self.pose(task), self.error(task)
        if pose is None or error is None:
            return None
        frame, position, quaternion = pose
        return frame, position + error[:3], turned(quaternion, error[3:])

    def wrenches(self):
        """Yield (what, frame, six, measured) of each wrench that is told: N and N·m."""
        for outlooks, measured in ((self._wrenches, False), (self._measured, True)):
            for what, outlook in outlooks.items():
                if message := outlook.look():
                    yield (what, message.header.frame_id,
                           _six(message.wrench.force, message.wrench.torque), measured)

    def efforts(self):
        """Return the efforts commanded by joint, N·m or N."""
        message = self._efforts.look()
        return dict(zip(message.name, message.effort, strict=True)) if message else {}

    def new_positions(self, task=''):
        """Return what a task of joints, '' for the posture, has been told since the last time."""
        message = self._told[task].take()
        return dict(zip(message.name, message.position, strict=False)) if message else {}

    def hears(self, task):
        """Return whether a goal that is sent to a task would be heard."""
        return self._goals[task].get_subscription_count() > 0

    def send_goal(self, task, frame, position, quaternion):
        """Send a task its goal: position (3,), m, and quaternion xyzw in a frame."""
        message = PoseStamped()
        message.header.frame_id = frame
        fill_pose(message.pose, np.array([*position, *quaternion]))
        self._goals[task].publish(message)

    def send_force(self, task, six):
        """Send a task the wrench (6,), N and N·m, to be applied along the task's own axes."""
        message = WrenchStamped()
        fill_wrench(message.wrench, np.asarray(six, dtype=float))
        self._forces[task].publish(message)

    def send_position(self, task, joint, position):
        """Send a task of joints, '' for the posture, the position of one of them, rad or m."""
        self._joints[task].publish(JointState(name=[joint], position=array.array('d', [position])))

    def _look_at_all(self, names, kind, topic):
        return {name: self.look_at(kind, f'{name}/{topic}') for name in names}

    def _publish_all(self, names, kind, topic):
        return {name: self._publish(kind, f'{name}/{topic}') for name in names}


def _pose(message):
    if message is None:
        return None
    p, o = message.pose.position, message.pose.orientation
    return (message.header.frame_id, np.array([p.x, p.y, p.z]),
            np.array([o.x, o.y, o.z, o.w]))


def _six(first, second):
    return np.array([first.x, first.y, first.z, second.x, second.y, second.z])

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Clients of other nodes, and of one run of a controller: discovery, polled topics, services."""

import array
from dataclasses import dataclass
from functools import partial

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import MarkerArray

from opspace_control.ros.middleware.conversions import fill_message, numbers_of
from opspace_control.ros.middleware.endpoints import NEWEST, Endpoints, NeverCalled, take
from opspace_control.ros.middleware.graph import endpoints_of
from opspace_control.spatial.quaternions import turned

_STATE = 'controller_state'
_WRENCH = 'geometry_msgs/msg/WrenchStamped'


@dataclass(frozen=True)
class Offer:
    """The topics and services of a running controller: names of what they belong to."""

    identity: bytes   # another one after each start of the controller
    tasks: tuple      # that take poses or forces as goals
    movable: tuple    # tasks that take poses
    optional: tuple   # tasks that are switched on and off
    forces: tuple     # tasks that take a force
    groups: tuple     # tasks of joints, which take their positions
    switches: tuple   # grasps, which may be tasks too, and contacts: engaged and disengaged
    wrenches: tuple   # whose wrench is published
    measured: tuple   # whose wrench is subscribed to
    estimated: tuple  # tasks at whose frames the wrench of unknown forces is published
    sensors: tuple    # whose bias is set by a service


def look_for_offer(node, controller):
    """Return the `Offer` of a controller by its full name; None if absent or not configured."""
    # Another publisher of the state is another controller, or the same one configured anew.
    publishers = node.get_publishers_info_by_topic(f'{controller}/{_STATE}')
    if not publishers:
        return None
    found = endpoints_of(node, controller)
    if found is None:
        return None
    published, subscribed, services = found
    those = partial(between, controller)
    movable = those(subscribed, 'target_pose')
    forces = those(subscribed, 'target_wrench', _WRENCH)
    return Offer(identity=bytes(publishers[0].endpoint_gid),
                 tasks=tuple(sorted({*movable, *forces})), movable=movable,
                 optional=those(services, 'enable'), forces=forces,
                 groups=those(subscribed, 'target_joint', 'sensor_msgs/msg/JointState'),
                 switches=those(services, 'engage'), wrenches=those(published, 'wrench', _WRENCH),
                 measured=those(subscribed, 'wrench', _WRENCH),
                 estimated=those(published, 'estimated_wrench', _WRENCH),
                 sensors=those(services, 'zero'))


def between(name, endpoints, ending, kind=None):
    """Return the parts of endpoints, of a type if given, between a node's name and an ending."""
    prefix, ending = f'{name}/', f'/{ending}'
    return tuple(sorted(
        topic[len(prefix):-len(ending)] for topic, kinds in endpoints.items()
        if topic.startswith(prefix) and topic.endswith(ending)
        and len(topic) > len(prefix) + len(ending) and kind in (None, *kinds)))


def controllers(node):
    """Return the full names of all controllers in the graph."""
    return sorted(topic.removesuffix(f'/{_STATE}')
                  for topic, kinds in node.get_topic_names_and_types()
                  if topic.endswith(f'/{_STATE}') and 'sensor_msgs/msg/JointState' in kinds)


class Outlook:
    """
    The newest message of a topic, taken when it is looked for; ``kind`` is its type.

    Nothing is called back: a client that looks some thirty times a second at a topic of a thousand
    messages leaves the processor to others. A SingleThreadedExecutor does not touch it.
    """

    def __init__(self, node, kind, topic):
        self._node = node
        self._subscription = node.create_subscription(
            kind, topic, lambda message: None, NEWEST, callback_group=NeverCalled())
        self.newest = None

    def look(self):
        """Return the newest message so far, or None."""
        return self.take() or self.newest

    def take(self):
        """Return the newest message if it has come since the last time, else None."""
        newest = None
        while (message := take(self._subscription)) is not None:
            newest = message
        self.newest = newest or self.newest
        return newest

    def destroy(self):
        """Stop listening."""
        self._node.destroy_subscription(self._subscription)


class RemoteNode:
    """The client, of a node, of the private topics and services of another one, by full name."""

    def __init__(self, node, name):
        self._node, self._name = node, name
        self._endpoints, self._outlooks, self._clients = Endpoints(node), [], {}

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
        self._endpoints.withdraw()
        for client in self._clients.values():
            self._node.destroy_client(client)

    def _publish(self, kind, topic):
        return self._endpoints.publisher(kind, f'{self._name}/{topic}')

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
    """
    The client, of a node, of a controller by its full name, and its `Offer`.

    Markers are only looked at with ``markers``: they take a fourth of the time that the controller
    has for its feedback, and tell nothing of tasks that other topics do not.
    """

    def __init__(self, node, controller, offer, markers=False):
        super().__init__(node, controller)
        self._poses = self._look_at_all(offer.tasks, PoseStamped, 'current_pose')
        self._errors = self._look_at_all(offer.tasks, TwistStamped, 'error')
        self._joint_errors = self._look_at_all(offer.groups, JointState, 'joint_error')
        self._wrenches = {kind: self._look_at_all(names, WrenchStamped, topic)
                          for kind, names, topic in (
                              ('commanded', offer.wrenches, 'wrench'),
                              ('measured', offer.measured, 'wrench'),
                              ('estimated', offer.estimated, 'estimated_wrench'))}
        self._efforts = self.look_at(JointState, 'controller_state')
        self._markers = self.look_at(MarkerArray, 'markers') if markers else None
        self._goals = self._publish_all(offer.movable, PoseStamped, 'target_pose')
        self._forces = self._publish_all(offer.forces, WrenchStamped, 'target_wrench')
        # Goals of the posture and, by name, of tasks of joints; those of other clients, too.
        owners = {'': 'target_joint', **{task: f'{task}/target_joint' for task in offer.groups}}
        self._joints = {owner: self._publish(JointState, topic) for owner, topic in owners.items()}
        self._told = {owner: self.look_at(JointState, topic) for owner, topic in owners.items()}

    def markers(self):
        """Return the newest MarkerArray of goals and contacts if it is a new one, or None."""
        return self._markers and self._markers.take()

    def pose(self, task):
        """Return the frame and (7,) ``[x y z qx qy qz qw]`` of a task's pose, or None."""
        message = self._poses[task].look()
        return message and (message.header.frame_id, numbers_of(message.pose))

    def error(self, task):
        """Return goal minus pose of a task, (6,), m and a rotation vector in rad, or None."""
        message = self._errors[task].look()
        return message and numbers_of(message.twist)

    def joint_error(self, task):
        """Return by joint (goal minus position, rad or m; effort, N·m or N); or None."""
        message = self._joint_errors[task].look()
        return message and dict(zip(
            message.name, zip(message.position, message.effort, strict=True), strict=True))

    def goal(self, task):
        """Return the goal of a task in the form of `pose`, or None."""
        pose, error = self.pose(task), self.error(task)
        if pose is None or error is None:
            return None
        frame, pose = pose
        return frame, np.concatenate([pose[:3] + error[:3], turned(pose[3:], error[3:])])

    def wrenches(self):
        """
        Yield (name, frame, six, kind) of each published wrench, N and N·m.

        The kind is 'commanded', 'measured' or 'estimated'.
        """
        for kind, outlooks in self._wrenches.items():
            for what, outlook in outlooks.items():
                if message := outlook.look():
                    yield what, message.header.frame_id, numbers_of(message.wrench), kind

    def efforts(self):
        """Return the efforts commanded by joint, N·m or N."""
        message = self._efforts.look()
        return dict(zip(message.name, message.effort, strict=True)) if message else {}

    def new_positions(self, task=''):
        """Return new goals of a task of joints, '' for the posture: positions by joint."""
        message = self._told[task].take()
        return dict(zip(message.name, message.position, strict=False)) if message else {}

    def hears(self, task):
        """Return whether a goal that is sent to a task would be received."""
        return self._goals[task].get_subscription_count() > 0

    def send_goal(self, task, frame, pose):
        """Send a task its goal (7,) ``[x y z qx qy qz qw]`` in a frame."""
        message = PoseStamped()
        message.header.frame_id = frame
        fill_message(message.pose, pose)
        self._goals[task].publish(message)

    def send_force(self, task, six):
        """Send a task the wrench (6,), N and N·m, to apply along its own axes."""
        message = WrenchStamped()
        fill_message(message.wrench, np.asarray(six, dtype=float))
        self._forces[task].publish(message)

    def send_position(self, task, joint, position):
        """Send a task of joints, '' for the posture, the position of one of them, rad or m."""
        self._joints[task].publish(JointState(name=[joint], position=array.array('d', [position])))

    def _look_at_all(self, names, kind, topic):
        return {name: self.look_at(kind, f'{name}/{topic}') for name in names}

    def _publish_all(self, names, kind, topic):
        return {name: self._publish(kind, f'{name}/{topic}') for name in names}

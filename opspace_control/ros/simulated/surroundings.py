# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Odometry, sensors and boxes of a simulated robot, on topics; grips between robot and boxes."""

import time
from collections import deque
from functools import partial

import numpy as np
from geometry_msgs.msg import PoseStamped, TransformStamped, WrenchStamped
from nav_msgs.msg import Odometry
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.model.topology import nearest
from opspace_control.ros.middleware.conversions import TFMessage, fill_message, time_message
from opspace_control.ros.middleware.endpoints import LATCHED, TF
from opspace_control.ros.parameters.simulator_parameters import (
    OBJECT,
    SHAPE,
    simulator_table,
)
from opspace_control.simulation import Box, Shape
from opspace_control.spatial.rotations import (
    matrix_from_quaternion,
    matrix_from_vector,
    quaternion_from_matrix,
)

_TF_PERIOD = 0.02  # s


class SimulatedOdometry:
    """
    Publisher of ``odom``, of the root link, twist in its own axes, and of its transform.

    Delay and errors are those of the parameters, which may change; the transform has neither.
    """

    def __init__(self, endpoints, robot, parameters):
        self._robot, self._parameters = robot, parameters
        self.forget()
        self._message = Odometry(child_frame_id=robot.link_names[0])
        self._message.header.frame_id = parameters['odom_frame']
        self._odom = endpoints.publisher(Odometry, 'odom', LATCHED)
        self._tf = None
        if parameters['broadcast_base'] and TFMessage is not None:
            self._tf = endpoints.publisher(TFMessage, '/tf', TF)
            self._told = np.inf, -np.inf  # when, s of the robot and of a steady clock

    def forget(self):
        """Forget earlier states, and begin with the first errors, as after a reset."""
        self._states, self._rng = deque(), np.random.default_rng(0)

    def publish(self, stamp):
        """Publish pose and twist; ``stamp`` is the present time."""
        robot, message = self._robot, self._message
        if self._states and self._states[-1][0] == robot.time:  # it stands still
            self._states.pop()
        self._states.append((robot.time, robot.base_pose, robot.base_twist))
        latest = robot.time - self._parameters['odom_delay'] + 1e-9
        while len(self._states) > 1 and self._states[1][0] <= latest:
            self._states.popleft()
        time_seen, *seen = self._states[0]
        pose, twist = self._with_errors(*seen)
        message.header.stamp = time_message(round(1e9 * time_seen))
        fill_message(message.pose.pose, pose)
        R = matrix_from_quaternion(pose[3:])
        fill_message(message.twist.twist, (twist.reshape(2, 3) @ R).reshape(6))
        self._odom.publish(message)
        if self._tf and self._is_tf_due():
            stamped = TransformStamped(child_frame_id=message.child_frame_id)
            stamped.header.stamp, stamped.header.frame_id = stamp, message.header.frame_id
            fill_message(stamped.transform, robot.base_pose)
            self._tf.publish(TFMessage(transforms=[stamped]))

    def _with_errors(self, pose, twist):
        """Return pose (7,) and twist (6,), world axes, with the errors of ``odom_noise``."""
        noise = self._parameters['odom_noise']
        if not any(noise):
            return pose, twist
        errors = self._rng.normal(0.0, np.repeat(noise, 3))
        R = matrix_from_vector(errors[3:6]) @ matrix_from_quaternion(pose[3:])
        return (np.concatenate([pose[:3] + errors[:3], quaternion_from_matrix(R)]),
                twist + errors[6:])

    def _is_tf_due(self):
        """Return whether a period has passed in simulated or in steady time."""
        now = self._robot.time, time.perf_counter()
        if all(0.0 <= t - told < _TF_PERIOD for t, told in zip(now, self._told, strict=True)):
            return False
        self._told = now
        return True


def add_sensors(feedback, robot, parameters):
    """Add the wrenches at ``wrench_sensors`` and the contacts of ``contact_sensors``."""
    def add_wrench(topic, link, measure):
        measure(link)  # unknown links are refused now
        feedback.add_numbers(topic, WrenchStamped, link, partial(measure, link))
    for link in parameters['wrench_sensors']:
        add_wrench(f'{link}/wrench', link, robot.wrench)
    for link in parameters['contact_sensors']:
        add_wrench(f'{link}/contact_wrench', link, robot.contact_wrench)
        flag = Bool()
        feedback.add(f'{link}/in_contact', flag, partial(_fill_flag, flag, link, robot))


def _fill_flag(message, link, robot, _stamp):
    message.data = bool(np.any(robot.contact_wrench(link)))


def read_bodies(parameters):
    """
    Declare the blocks of objects, shapes and grasps; return ``objects`` and ``shapes``, a dict.

    They are arguments of `SimulatedRobot`. An OpspaceError refuses what cannot be used.
    """
    parameters.declare(simulator_table(parameters))
    values = {name: value if not isinstance(value, list) else tuple(value)
              for name, value in parameters.items()}
    return {kind: [make(name, **{part.name: values[f'{name}.{part.name}'] for part in rows})
                   for name in parameters[kind]]
            for kind, make, rows in (('objects', Box, OBJECT), ('shapes', Shape, SHAPE))}


class SimulatedObjects:
    """
    The services ``~/<grasp>/engage`` and, in a Feedback, the topics ``~/<object>/pose``.

    A grip also closes when the controller engages its grasp, and opens when the controller has
    disengaged it: not before, because hands that still exert forces would jump. An unknown link or
    object of a grasp is an OpspaceError.
    """

    def __init__(self, endpoints, feedback, robot, parameters):
        self._robot = robot
        self._logger = endpoints.node.get_logger()
        self._closed = {}
        self._engaged = {}
        for name in robot.objects:
            feedback.add_numbers(f'~/{name}/pose', PoseStamped, 'world',
                                 partial(robot.frame_pose, name))
        for grasp in parameters['grasps']:
            switch = self._switch(grasp, parameters)
            endpoints.serve(SetBool, f'~/{grasp}/engage', partial(self._engage, grasp, switch))
            if parameters[f'{grasp}.follow_controller']:
                endpoints.listen(Bool, f'{parameters["controller"]}/{grasp}/engaged',
                                 partial(self._on_engaged, grasp, switch), LATCHED)

    def forget(self):
        """Regard all grips as open, as after a reset."""
        self._closed.clear()

    def _switch(self, grasp, parameters):
        links = list(parameters[f'{grasp}.effectors'])
        grasped = parameters[f'{grasp}.object'] or (links.pop(0) if links else '')
        for name in (*links, grasped):
            if name not in (*self._robot.link_names, *self._robot.objects):
                raise RosInterfaceError(
                    f"{grasp}: there is no link or object '{name}'.", name=name,
                    cure=nearest(name, [*self._robot.link_names, *self._robot.objects]))
        if not links:
            raise RosInterfaceError(f'{grasp}: it has no effectors.', name=grasp,
                                    cure=f'Name the links in {grasp}.effectors.')
        kind = parameters[f'{grasp}.kind']
        carrier = links[0] if kind == 'point' and grasped in self._robot.objects else None
        rigid = [kind == 'rigid' or link == carrier for link in links]
        return partial(self._set, grasp, [(link, grasped) for link in links], rigid,
                       parameters[f'{grasp}.reach'])

    def _engage(self, grasp, switch, on):
        switch(on)
        return f"'{grasp}' is {'closed' if on else 'open'}."

    def _on_engaged(self, grasp, switch, message):
        """Close or open a grip after the controller engages or disengages its grasp."""
        before, self._engaged[grasp] = self._engaged.get(grasp, False), message.data
        if message.data != before:
            try:
                switch(message.data)
            except OpspaceError as error:
                self._logger.warning(f"'{grasp}' does not close: {error}")

    def _set(self, grasp, pairs, rigid, reach, on):
        """Close or open the grips of a grasp, if necessary."""
        if on and grasp not in self._closed:
            self._check_reach(pairs, reach)
            for (link, grasped), is_rigid in zip(pairs, rigid, strict=True):
                self._robot.grip(link, grasped, rigid=is_rigid)
            self._closed[grasp] = pairs
        elif not on:
            for link, grasped in self._closed.pop(grasp, ()):
                self._robot.release(link, grasped)

    def _check_reach(self, pairs, reach):
        """Raise an error if a link is too far from the box that it grips."""
        for link, grasped in pairs:
            box = self._robot.objects.get(grasped)
            if box is None:
                continue
            pose = self._robot.frame_pose(grasped)
            away = self._robot.frame_pose(link)[:3] - pose[:3]
            distance = box.distance(matrix_from_quaternion(pose[3:]).T @ away)
            if distance > reach:
                raise RosInterfaceError(f"'{link}' is {1e3 * distance:.0f} mm from '{grasped}'.",
                                        name=link, cure=f'Move it within {1e3 * reach:.0f} mm.')

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Odometry, sensors and boxes of a simulated robot, on topics; its grips, and its reality."""

import time
from dataclasses import replace
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
    DRIVE_FRICTION,
    OBJECT,
    REALITY,
    SHAPE,
    simulator_table,
)
from opspace_control.simulation import Box, Reality, Shape
from opspace_control.spatial.rotations import matrix_from_quaternion

_TF_PERIOD = 0.02  # s


class SimulatedOdometry:
    """
    Publisher of ``odom``, of the root link, twist in its own axes, and of its transform.

    ``odom`` has the state that is measured, the transform the true one.
    """

    def __init__(self, endpoints, robot, parameters):
        self._robot = robot
        self._message = Odometry(child_frame_id=robot.link_names[0])
        self._message.header.frame_id = parameters['odom_frame']
        self._odom = endpoints.publisher(Odometry, 'odom', LATCHED)
        self._tf = None
        if parameters['broadcast_base'] and TFMessage is not None:
            self._tf = endpoints.publisher(TFMessage, '/tf', TF)
            self._told = np.inf, -np.inf  # when, s of the robot and of a steady clock

    def publish(self, stamp):
        """Publish pose and twist; ``stamp`` is the present time."""
        robot, message, seen = self._robot, self._message, self._robot.measured
        message.header.stamp = time_message(round(1e9 * seen.base_time))
        fill_message(message.pose.pose, seen.base_pose)
        R = matrix_from_quaternion(seen.base_pose[3:])
        fill_message(message.twist.twist, (seen.base_twist.reshape(2, 3) @ R).reshape(6))
        self._odom.publish(message)
        if self._tf and self._is_tf_due():
            stamped = TransformStamped(child_frame_id=message.child_frame_id)
            stamped.header.stamp, stamped.header.frame_id = stamp, message.header.frame_id
            fill_message(stamped.transform, robot.base_pose)
            self._tf.publish(TFMessage(transforms=[stamped]))

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


def read_reality(parameters):
    """Return the `Reality` of the parameters."""
    kinds = {row.name.split('.')[1]: row.name.removesuffix('<joint>') for row in DRIVE_FRICTION}
    return Reality(
        base_noise=tuple(parameters['odom_noise']), base_delay=parameters['odom_delay'],
        **{row.name.removeprefix('reality.'): parameters[row.name] for row in REALITY},
        **{kind: {name.removeprefix(block): value for name, value in parameters.items()
                  if name.startswith(block)} for kind, block in kinds.items()})


def declare_friction(parameters, robot):
    """
    Declare the friction of each drive, by default as the ratios say, and apply the `Reality`.

    An OpspaceError names a joint without an effort limit that a ratio refers to.
    """
    def rows(frictions):
        return [replace(row, name=row.name.replace('<joint>', joint), default=float(friction))
                for row, values in zip(DRIVE_FRICTION, frictions, strict=True)
                for joint, friction in zip(robot.joint_names, values, strict=True)]
    parameters.declare([row for row in rows(robot.drive_friction) if row.name in parameters.given])
    robot.reality = read_reality(parameters)
    parameters.declare(rows(robot.drive_friction))


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

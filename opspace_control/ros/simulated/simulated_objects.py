# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Boxes around a simulated robot: their poses, and the grips between robot and boxes."""

from functools import partial

from geometry_msgs.msg import PoseStamped
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.model.topology import nearest
from opspace_control.ros.middleware.conversions import fill_pose
from opspace_control.ros.middleware.qos import LATCHED, RELIABLE
from opspace_control.ros.parameters.simulator_parameters import GRASP, OBJECT, blocks
from opspace_control.simulation import Box
from opspace_control.spatial.rotations import matrix_from_quaternion

_WORLD = 'world'


def read_objects(parameters):
    """
    Declare the blocks of ``objects`` and ``grasps``; return the boxes.

    Raises
    ------
    OpspaceError
        For a name or number that cannot be used.

    """
    parameters.declare(blocks(parameters['objects'], OBJECT, 'object'))
    parameters.declare(blocks(parameters['grasps'], GRASP, 'grasp'))
    return [Box(name, **{part.name: _value(parameters[f'{name}.{part.name}']) for part in OBJECT})
            for name in parameters['objects']]


def _value(value):
    return tuple(value) if isinstance(value, list) else value


class SimulatedObjects:
    """
    The services ``~/<grasp>/engage`` and the topics ``~/<object>/pose``.

    A grip also closes when the controller engages its grasp, and opens when the controller has
    disengaged it: not before, because hands that still exert forces would jump.

    Parameters
    ----------
    node : rclpy.node.Node
    robot : SimulatedRobot
        With the boxes of `read_objects`.
    parameters : mapping
        Values of the simulator node's parameters.

    Raises
    ------
    OpspaceError
        A grasp names an unknown link or object.

    """

    def __init__(self, node, robot, parameters):
        self._robot = robot
        self._logger = node.get_logger()
        self._closed = {}
        self._engaged = {}
        self._outlets = []
        for name in robot.objects:
            message = PoseStamped()
            message.header.frame_id = _WORLD
            self._outlets.append(
                (node.create_publisher(PoseStamped, f'~/{name}/pose', RELIABLE), message, name))
        self._connections = []
        for grasp in parameters['grasps']:
            switch = self._switch(grasp, parameters)
            self._connections.append(node.create_service(
                SetBool, f'~/{grasp}/engage', partial(self._on_engage, grasp, switch)))
            if parameters[f'{grasp}.follow_controller']:
                self._connections.append(node.create_subscription(
                    Bool, f'{parameters["controller"]}/{grasp}/engaged',
                    partial(self._on_engaged, grasp, switch), LATCHED))

    def publish(self, stamp):
        """Publish the poses of objects with subscribers, at this time stamp."""
        for publisher, message, name in self._outlets:
            if publisher.get_subscription_count():
                message.header.stamp = stamp
                fill_pose(message.pose, self._robot.frame_pose(name))
                publisher.publish(message)

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

    def _on_engage(self, grasp, switch, request, response):
        try:
            switch(request.data)
            response.success = True
            response.message = f"'{grasp}' is {'closed' if request.data else 'open'}."
        except OpspaceError as error:
            response.success, response.message = False, str(error)
        return response

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
                raise RosInterfaceError(
                    f"'{link}' is {1e3 * distance:.0f} mm from '{grasped}'.", name=link,
                    cure=f'Move it within {1e3 * reach:.0f} mm.')

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Boxes around a simulated robot, where they are, and the grips that hold them."""

from functools import partial

from geometry_msgs.msg import PoseStamped
from std_srvs.srv import SetBool

from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.model.topology import nearest
from opspace_control.ros.conversions import fill_pose
from opspace_control.ros.qos import RELIABLE
from opspace_control.ros.simulator_parameters import GRASP, OBJECT, blocks
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
        A grasp names what is not there.

    """

    def __init__(self, node, robot, parameters):
        self._robot = robot
        self._closed = {}
        self._outlets = []
        for name in robot.objects:
            message = PoseStamped()
            message.header.frame_id = _WORLD
            self._outlets.append(
                (node.create_publisher(PoseStamped, f'~/{name}/pose', RELIABLE), message, name))
        self._services = [
            node.create_service(SetBool, f'~/{grasp}/engage', self._switch(grasp, parameters))
            for grasp in parameters['grasps']]

    def publish(self, stamp):
        """Publish where the objects are, at this time stamp, if anybody listens."""
        for publisher, message, name in self._outlets:
            if publisher.get_subscription_count():
                message.header.stamp = stamp
                fill_pose(message.pose, self._robot.frame_pose(name))
                publisher.publish(message)

    def forget(self):
        """Take it that all grips are open, as after a reset."""
        self._closed.clear()

    def _switch(self, grasp, parameters):
        links = parameters[f'{grasp}.effectors']
        held = parameters[f'{grasp}.object'] or (links.pop(0) if links else '')
        for name in (*links, held):
            if name not in (*self._robot.link_names, *self._robot.objects):
                raise RosInterfaceError(
                    f"{grasp}: there is no '{name}' to grasp with or to be grasped.", name=name,
                    cure=nearest(name, [*self._robot.link_names, *self._robot.objects]))
        if not links:
            raise RosInterfaceError(f'{grasp}: no link grasps.', name=grasp,
                                    cure=f'Name the links in {grasp}.effectors.')
        rigid = parameters[f'{grasp}.kind'] == 'rigid'
        return partial(self._on_switch, grasp, [(link, held) for link in links], rigid,
                       parameters[f'{grasp}.reach'])

    def _on_switch(self, grasp, pairs, rigid, reach, request, response):
        try:
            if request.data and grasp not in self._closed:
                self._check_reach(pairs, reach)
                for link, held in pairs:
                    self._robot.grip(link, held, rigid=rigid)
                self._closed[grasp] = pairs
            elif not request.data:
                for link, held in self._closed.pop(grasp, ()):
                    self._robot.release(link, held)
            response.success = True
            response.message = f"'{grasp}' is {'closed' if request.data else 'open'}."
        except OpspaceError as error:
            response.success, response.message = False, str(error)
        return response

    def _check_reach(self, pairs, reach):
        """Refuse to grip a box from afar."""
        for link, held in pairs:
            box = self._robot.objects.get(held)
            if box is None:
                continue
            pose = self._robot.frame_pose(held)
            away = self._robot.frame_pose(link)[:3] - pose[:3]
            distance = box.distance(matrix_from_quaternion(pose[3:]).T @ away)
            if distance > reach:
                raise RosInterfaceError(
                    f"'{link}' is {1e3 * distance:.0f} mm from '{held}'.", name=link,
                    cure=f'Bring it within {1e3 * reach:.0f} mm.')

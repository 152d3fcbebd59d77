# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What links keep a distance from, beside each other: shapes by parameters, markers on a topic."""

import time
from dataclasses import dataclass

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from visualization_msgs.msg import Marker, MarkerArray

from opspace_control.collision import Shape
from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.model.topology import nearest
from opspace_control.ros.middleware.conversions import (
    listed,
    matrix_from_pose,
    nanoseconds,
    pose_from_message,
)
from opspace_control.ros.middleware.endpoints import Part
from opspace_control.ros.middleware.serialized import open_message
from opspace_control.ros.parameters.shape_blocks import Grasped, make_shapes, may_touch
from opspace_control.ros.topics.collision_markers import marker_dimensions
from opspace_control.ros.topics.refusals import Refusals
from opspace_control.spatial.rotations import matrix_from_vector, vector_from_matrix

TOPIC = '~/collision_objects'
# Each message may have objects that no other one has.
_ALL = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
# What seems to be faster has jumped, m/s and rad/s.
_FASTEST = 10.0, 50.0
# Two stamps that are nearer tell no velocity, s.
_SHORTEST = 1e-3
_LOOK_PERIOD = 0.25  # s, between two looks for pairs that are too near
# Parts of the margin: a nearer pair is logged, and again after it was further than the second.
_VIOLATED, _KEPT = 0.5, 0.9
_MOST_LOGGED = 10  # pairs in a message of the log
# A new object takes some 0.3 ms of the cycles of the node, one that moves 0.1 ms.
_MOST_OBJECTS = 100
_LARGEST = 50_000  # bytes of a message: some 200 markers, which rclpy takes 15 ms to open


@dataclass
class _Object:
    """A marker that is a shape, and what its last message said."""

    shape: Shape          # as it was when it came
    position: np.ndarray  # (3,), in the base frame, m
    rotation: np.ndarray  # (3, 3)
    stamp: int            # ns
    received: int         # ns, time of the joint states
    twist: np.ndarray     # (6,), m/s and rad/s
    silent: bool = False  # whether it moved until its messages ceased


class CollisionObjects(Part):
    """
    ``~/collision_objects``: boxes, spheres and cylinders of the world, and the parameters' shapes.

    A MarkerArray adds, moves and deletes objects, in any of ``frames``; of several markers with one
    name the last counts. One that is locked to a frame on a link is on this link. The velocity of
    an object is that between its last two markers; where they cease it stays where it is. The
    robot's own shapes are those that the controller has at first; without any limits of distances
    there is no topic.
    """

    def __init__(self, frames, *common):
        super().__init__(*common)
        distances = self._controller.distances
        self._frames, self._base, self._objects = frames, None, {}
        self._parameters = [], []  # shapes, and pairs that may touch
        self._possible = [], []    # the same, while all grasps are engaged
        self._values, self._engaged = None, ()  # of parameters, and names of engaged grasps
        self._timeout = np.inf
        self._violated = set()  # pairs of names, until they are apart
        self._refusals = Refusals()
        if distances and distances.capacity > 0:
            self._base = distances.collision
            self._endpoints.repeat(_LOOK_PERIOD, self._look_for_violations)
            self._endpoints.listen(MarkerArray, TOPIC, self._on_message, _ALL, raw=True)

    def check(self, parameters):
        """Raise an OpspaceError if the shapes of the parameters cannot be used."""
        self._model(*self._described(parameters, self._controller.grasps))

    def apply(self, parameters):
        """Apply the present values of parameters; raises as `check`."""
        self._timeout = parameters['collision.object_timeout']
        possible = self._described(parameters, self._controller.grasps)
        if self._controller.grasps and possible != self._possible:
            self._model(*possible)  # so that no grasp is engaged whose shapes are refused
        self._values, self._possible = parameters, possible
        self._renew()

    def put_grasped(self, names):
        """Put the shapes of objects into grasps of these names, those of others nowhere."""
        self._engaged = tuple(names)
        self._renew()

    def _described(self, parameters, engaged):
        """Return the shapes of parameters that are there, and pairs that may touch, or raise."""
        grasps = self._controller.grasps
        grasped = {name: Grasped(grasps[name].pose_in_carrier, grasps[name].hand_links)
                   for name in engaged}
        return make_shapes(parameters, grasped), may_touch(parameters, grasped)

    def _renew(self):
        """Keep distances from the shapes that are there now."""
        present = self._described(self._values, self._engaged)
        if present != self._parameters:
            model = self._model(*present)
            self._parameters = present
            self._use(model)

    def watch(self):
        """Say which moving objects have no messages any more, and stop them; to be called often."""
        oldest = self._cycle.time - 1e9 * self._timeout
        silent = [name for name, thing in self._objects.items()
                  if thing.twist.any() and thing.received < oldest]
        for name in silent:
            self._controller.move_shape(name)
            self._objects[name].twist, self._objects[name].silent = np.zeros(6), True
        if silent:
            self._logger.warning(
                f'No marker of {listed(silent)} on {TOPIC} for {self._timeout:g} s: taken to stay '
                'where it is. Send markers of what moves, or delete it.')

    def _look_for_violations(self):
        """Log pairs that have become much nearer than their margin."""
        pairs = self._controller.urgent_pairs if self._is_active() and self._cycle.known else ()
        margin = self._controller.distances.margin
        near = {pair[:2]: pair.distance for pair in pairs if pair.distance < _KEPT * margin}
        new = [names for names in sorted(near, key=near.get)
               if near[names] < _VIOLATED * margin and names not in self._violated]
        self._violated = self._violated.intersection(near).union(new)
        if new:
            said = [f"'{first}' and '{second}' ({1e3 * near[first, second]:.0f} mm)"
                    for first, second in new[:_MOST_LOGGED]]
            more = f', and {len(new) - len(said)} more' if len(new) > len(said) else ''
            self._logger.warning(
                f'Nearer than half of collision.margin: {", ".join(said)}{more}. The robot moves '
                'until they are further apart. Lower collision.margin, correct shapes that are '
                'too large, or name the pair in may_touch.')

    def facts(self):
        """Return diagnostics, a dict of text."""
        if not self._base:
            return {}
        silent = [name for name, thing in self._objects.items() if thing.silent]
        kept = self._controller.limits.keep
        return {'distances': 'kept' if kept else 'not kept: limits.keep is false',
                'collision objects': str(len(self._objects)),
                'collision objects without messages': listed(silent) if silent else 'none'}

    def _model(self, shapes, touching):
        """Return the CollisionModel of all shapes, or raise an OpspaceError."""
        self._check_capacity(len(shapes), len(self._objects))
        shapes = [*shapes, *(thing.shape for thing in self._objects.values())]
        if not self._base:
            if shapes:
                raise RosInterfaceError('shapes: the controller keeps no distances.',
                                        cure='Set limits.keep and contact_model exact.')
            return None
        for shape in shapes:
            if shape.name in self._base.names:
                raise RosInterfaceError(
                    f"There is a shape '{shape.name}' in collision.file.", name=shape.name,
                    cure='Give it another name.')
        known = {shape.name for shape in shapes}.union(self._base.names)
        links = self._controller.model.frame_names
        for name in set().union(*touching).difference(known, links):
            if '/' not in name:  # else a marker that may come
                raise RosInterfaceError(
                    f"may_touch: there is neither a shape nor a link '{name}'.", name=name,
                    cure=nearest(name, [*known, *links]))
        return self._base.with_shapes(shapes, touching=[
            pair for pair in touching if known.union(links).issuperset(pair)])

    def _check_capacity(self, shapes, objects):
        """Raise a RosInterfaceError if there is no room for so many shapes, and for objects."""
        if objects > _MOST_OBJECTS:
            raise RosInterfaceError(f'There are {_MOST_OBJECTS} objects, as many as can be.',
                                    cure='Send fewer, larger ones, or delete some.')
        most = self._controller.shape_capacity - len(self._base.names) if self._base else 0
        if self._cycle.is_fixed and shapes + objects > most:
            raise RosInterfaceError(
                f'The plug-in has room for {most} shapes beside those of collision.file.',
                cure='Delete some; or set plugin.shapes, and configure this node again.')

    def _use(self, model):
        if model:
            self._controller.distances = self._controller.distances.changed(collision=model)

    def _on_message(self, data):
        try:
            if len(data) > _LARGEST:
                raise RosInterfaceError(
                    f'A message on {TOPIC} is refused: it has {len(data)} bytes, and {_LARGEST} '
                    'are allowed.',
                    cure='Send fewer markers at once, without meshes, textures and points.')
            self._on_markers(open_message(data, MarkerArray).markers)
        except RosInterfaceError as error:
            self._warn(str(error), TOPIC)

    def _on_markers(self, markers):
        gone, new, refusals, newest = set(), False, {}, {}
        for marker in markers:
            if marker.action == Marker.DELETEALL:  # those of its namespace, of all without one
                gone.update(name for name in self._objects if _is_of(marker.ns, name))
                newest = {name: one for name, one in newest.items() if not _is_of(marker.ns, name)}
            else:
                newest[f'{marker.ns}/{marker.id}'] = marker
        for name, marker in newest.items():
            if marker.action == Marker.DELETE:
                gone.add(name)
            else:
                try:
                    new |= self._take(name, marker, gone)
                    gone.discard(name)
                except OpspaceError as error:
                    refusals[name] = str(error)
        gone.intersection_update(self._objects)
        for name in gone:
            del self._objects[name]
        if new or gone:
            self._use(self._model(*self._parameters))
        if said := self._refusals.newest(refusals, time.monotonic()):
            self._logger.warning(f'Markers on {TOPIC} are refused: {said}')

    def _take(self, name, marker, gone):
        """
        Add, change or move an object; return whether the model changes, or raise.

        Those that are ``gone`` need no room any more.
        """
        if marker.action != Marker.ADD:
            raise RosInterfaceError(f'There is no action {marker.action}.',
                                    cure='Send ADD, DELETE or DELETEALL.')
        if name in self._base.names or name in (shape.name for shape in self._possible[0]):
            raise RosInterfaceError('The robot has a shape of this name.',
                                    cure='Choose another namespace.')
        kind, size = marker_dimensions(marker)
        pose, link = matrix_from_pose(pose_from_message(marker.pose)), None
        if marker.frame_locked:
            link, there = self._frames.carrier(marker.header.frame_id)
        if link is None:
            there = self._frames.in_base(marker.header.frame_id)
        pose = there @ pose
        shape = Shape(name, link, kind, size, pose[:3, 3], pose[:3, :3])
        stamp = nanoseconds(marker.header.stamp) or self._node.get_clock().now().nanoseconds
        before = self._objects.get(name)
        if before and link is None and (None, kind, shape.size) == (
                before.shape.link, before.shape.kind, before.shape.size):
            self._move(before, shape.name, pose, stamp)
            return False
        self._check_capacity(len(self._possible[0]), len((self._objects.keys() - gone) | {name}))
        self._objects[name] = _Object(
            shape, pose[:3, 3], pose[:3, :3], stamp, self._cycle.time, np.zeros(6))
        return before is None or before.shape != shape

    def _move(self, thing, name, pose, stamp):
        """Move an object in the world: at the velocity that its last two markers tell."""
        elapsed = 1e-9 * (stamp - thing.stamp)
        if elapsed < 0.0:
            raise RosInterfaceError(
                'Its stamp is older than that of its last marker.',
                cure='Send markers in their order, from one clock; if that was set back, DELETE '
                     'it first.')
        position, rotation = pose[:3, 3], pose[:3, :3]
        if elapsed >= _SHORTEST:
            twist = np.concatenate([position - thing.position, vector_from_matrix(
                rotation @ thing.rotation.T)]) / elapsed
            speeds = np.linalg.norm(twist.reshape(2, 3), axis=1)
            has_jumped = elapsed > self._timeout or (speeds > _FASTEST).any()
            thing.twist = np.zeros(6) if has_jumped else twist
            thing.position, thing.rotation, thing.stamp = position, rotation, stamp
        thing.received, thing.silent = self._cycle.time, False
        # It has moved on since the stamp, unless that is of another clock.
        age = 1e-9 * (self._cycle.time - stamp) if self._cycle.known else 0.0
        if 0.0 < age < self._timeout:
            position = position + age * thing.twist[:3]
            rotation = matrix_from_vector(age * thing.twist[3:]) @ rotation
        self._controller.move_shape(name, position, rotation, thing.twist)


def _is_of(namespace, name):
    return not namespace or name.rpartition('/')[0] == namespace

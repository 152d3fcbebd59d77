# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What links keep a distance from, beside each other: shapes by parameters, markers on a topic."""

import time
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from visualization_msgs.msg import Marker, MarkerArray

from opspace_control.collision import Shape
from opspace_control.errors import OpspaceError, RosInterfaceError
from opspace_control.model.topology import nearest
from opspace_control.ros.middleware.conversions import listed, nanoseconds
from opspace_control.ros.middleware.endpoints import Part
from opspace_control.ros.middleware.serialized import open_message
from opspace_control.ros.parameters.shape_blocks import make_shapes, may_touch
from opspace_control.ros.topics.frame_followers import Follower, FrameFollowers
from opspace_control.ros.topics.marker_shapes import shape_of_marker
from opspace_control.ros.topics.object_motion import CollisionObject, Motion
from opspace_control.ros.topics.refusals import Refusals

TOPIC = '~/collision_objects'
# Each message may have objects that no other one has.
_ALL = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
# A new object takes 0.5 to 7 ms of the cycles of the node, one that moves 0.03 ms.
_MOST_OBJECTS = 100
_LARGEST = 50_000  # bytes of a message: some 200 markers, which rclpy takes 15 ms to open


class _Described(NamedTuple):
    """What parameters say of shapes."""

    shapes: tuple = ()     # on links and in the world
    touching: tuple = ()   # pairs of names that may touch
    followers: dict = MappingProxyType({})  # `Follower` of those in frames of TF, by name


class CollisionObjects(Part):
    """
    ``~/collision_objects``: what stands in the world, and the parameters' shapes.

    A MarkerArray adds, moves and deletes objects, in any of ``frames``; of several markers with one
    name the last counts. One that is locked to a frame follows it, as a shape of the parameters
    does, see `FrameFollowers`. Without any limits of distances there is no topic.
    """

    def __init__(self, frames, *common):
        super().__init__(*common)
        distances = self._controller.distances
        self._base, self._objects, self._followers = None, {}, FrameFollowers(frames)
        self._parameters = self._possible = _Described()  # the latter with all grasps engaged
        self._values, self._engaged = None, ()  # of parameters, and names of engaged grasps
        self._timeout = np.inf
        self._silent = set()  # names of objects whose messages have ceased
        self._refusals = Refusals()
        if distances and distances.capacity > 0:
            self._base = distances.collision
            self._endpoints.listen(MarkerArray, TOPIC, self._on_message, _ALL, raw=True)

    def check(self, parameters):
        """Raise an OpspaceError if the shapes of the parameters cannot be used."""
        described = self._described(parameters, self._controller.grasps)
        for name, follower in described.followers.items():
            if follower != self._followers.get(name):
                try:
                    self._followers.place(follower, self._cycle.time, self._timeout)
                except OpspaceError as error:
                    raise RosInterfaceError(f'{name}.frame: {error}', name=name) from None
        self._model(described)

    def apply(self, parameters):
        """Apply the present values of parameters; raises as `check`."""
        self._timeout = parameters['collision.object_timeout']
        possible = self._described(parameters, self._controller.grasps)
        if self._controller.grasps and possible != self._possible:
            self._model(possible)  # so that no grasp is engaged whose shapes are refused
        self._values, self._possible = parameters, possible
        self._renew()

    def put_grasped(self, names):
        """Put the shapes of objects into grasps of these names, those of others nowhere."""
        self._engaged = tuple(names)
        self._renew()

    def _described(self, parameters, engaged):
        """Return the shapes of parameters that are there, and pairs that may touch, or raise."""
        grasped = {name: self._controller.grasps[name] for name in engaged}
        shapes, links = make_shapes(parameters, grasped), self._controller.model.frame_names
        followers = {shape.name: Follower(replace(shape, link=None), shape.link)
                     for shape in shapes if shape.link and shape.link not in links}
        return _Described(tuple(shape for shape in shapes if shape.name not in followers),
                          tuple(may_touch(parameters, grasped)), followers)

    def _renew(self):
        """Keep distances from the shapes that are there now."""
        present, before = self._described(self._values, self._engaged), self._parameters.followers
        if present != self._parameters:
            self._forget(before.keys() - present.followers.keys())
            self._followers.update(present.followers)
            self._parameters = present
            self._move_followers()
            self._use(self._model(present))

    def follow(self):
        """Put what follows frames where these are; return the `Look`."""
        changes, look = self._move_followers()
        if changes:
            self._use(self._model(self._parameters))
        return look

    def watch(self):
        """Follow frames, and stop what no message tells of; to be called often."""
        _, refusals, silent = self.follow()
        if said := self._refusals.newest({name: reason for name, reason in refusals.items()
                                          if name not in self._objects}, time.monotonic()):
            self._logger.warning(f'Shapes are not there yet: {said}')
        silent = silent.intersection(self._objects).union(
            name for name, thing in self._objects.items() if thing.motion.twist.any()
            and thing.motion.is_silent(self._cycle.time, self._timeout))
        new = sorted(silent - self._silent)
        for name in new:
            self._objects[name].motion.stop()
            if self._objects[name].shape.link is None:
                self._controller.move_shape(name)
        if new:
            self._silent.update(new)
            self._logger.warning(
                f'No marker of {listed(new)} on {TOPIC}, nor a transform of its frame, for '
                f'{self._timeout:g} s: taken to stay where it is. Send markers or transforms of '
                'what moves, or delete it.')

    def _move_followers(self):
        """Return whether the model changes, and the `Look`."""
        changes, look = False, self._followers.look(self._cycle.time, self._timeout)
        for name, place in look.places.items():
            try:
                changes |= self._put(name, place)
            except OpspaceError as error:
                look.refusals[name] = str(error)
        return changes, look

    def facts(self):
        """Return diagnostics, a dict of text, and warnings."""
        if not self._base:
            return {}, []
        lost = listed(sorted(self._followers.keys() - self._objects.keys()))
        kept = self._controller.limits.keep
        return {
            'distances': 'kept' if kept else 'not kept: limits.keep is false',
            'collision objects': str(len(self._markers())),
            'collision objects without messages': listed(sorted(self._silent)) or 'none',
            'shapes without a frame': lost or 'none'}, [
                f'Shapes are not there, their frames are unknown: {lost}.'] if lost else []

    def _model(self, described):
        """Return the CollisionModel of all shapes, None without distances, or raise."""
        if not self._base:
            return None
        markers = self._markers()
        shapes = [*described.shapes, *(
            thing.shape for name, thing in self._objects.items()
            if name in described.followers or name in markers)]
        names = [shape.name for shape in described.shapes] + list(described.followers)
        self._check_capacity(len(names), len(markers))
        for name in names:
            if name in self._base.names:
                raise RosInterfaceError(
                    f"There is a shape '{name}' in collision.file.", name=name,
                    cure='Give it another name.')
        known = {shape.name for shape in shapes}.union(self._base.names, names)
        links = self._controller.model.frame_names
        for name in set().union(*described.touching).difference(known, links):
            if '/' not in name:  # else a marker that may come
                raise RosInterfaceError(
                    f"may_touch: there is neither a shape nor a link '{name}'.", name=name,
                    cure=nearest(name, [*known, *links]))
        present = {shape.name for shape in shapes}.union(self._base.names, links)
        return self._base.with_shapes(shapes, touching=[
            pair for pair in described.touching if present.issuperset(pair)])

    def _markers(self):
        """Return the names of objects that markers have put here."""
        return self._objects.keys() - self._parameters.followers.keys()

    def _forget(self, names):
        """Take objects of these names away."""
        for name in list(names):
            self._objects.pop(name, None)
            self._followers.forget(name)
            self._silent.discard(name)

    def _check_capacity(self, shapes, objects):
        """Raise a RosInterfaceError if there is no room for so many shapes, and for objects."""
        if objects > _MOST_OBJECTS:
            raise RosInterfaceError(f'There are {_MOST_OBJECTS} objects, as many as can be.',
                                    cure='Send fewer, larger ones, or delete some.')
        most = self._controller.shape_capacity - len(self._base.names)
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
                gone.update(name for name in self._markers() if _is_of(marker.ns, name))
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
        self._forget(gone)
        if new or gone:
            self._use(self._model(self._parameters))
        if said := self._refusals.newest(refusals, time.monotonic()):
            self._logger.warning(f'Markers on {TOPIC} are refused: {said}')

    def _take(self, name, marker, gone):
        """Take a marker; return whether the model changes, or raise; as `_put`."""
        if marker.action != Marker.ADD:
            raise RosInterfaceError(f'There is no action {marker.action}.',
                                    cure='Send ADD, DELETE or DELETEALL.')
        if name in self._base.names or name in (
                *(shape.name for shape in self._possible.shapes), *self._possible.followers):
            raise RosInterfaceError('The robot has a shape of this name.',
                                    cure='Choose another namespace.')
        kind, size, pose = shape_of_marker(marker)
        stamp = nanoseconds(marker.header.stamp) or self._node.get_clock().now().nanoseconds
        follower = Follower(Shape(name, None, kind, size, pose[:3, 3], pose[:3, :3]),
                            marker.header.frame_id)
        if marker.frame_locked:
            place = self._followers.place(follower, self._cycle.time, self._timeout)
        else:
            place = self._followers.place_in_world(follower)
        changes = self._put(name, place, stamp, gone)
        self._followers.forget(name)
        if marker.frame_locked:
            self._followers[name] = follower
        return changes

    def _put(self, name, place, stamp=None, gone=frozenset()):
        """
        Put an object to a `Place`; return whether the model changes, or raise an OpspaceError.

        The stamp, ns, is that of a marker. Objects that are ``gone`` need no room any more.
        """
        before, now, (_, twist), pose = self._objects.get(name), self._cycle.time, place, place.pose
        self._silent.discard(name)
        if before and before.is_moved_to(place.shape):
            if twist is None and stamp is not None:
                before.motion.take(pose, stamp, now, self._timeout)
                pose, twist = before.motion.at(now, self._timeout), before.motion.twist
            self._controller.move_shape(name, pose[:3, 3], pose[:3, :3], twist)
            return False
        self._check_capacity(
            len(self._possible.shapes) + len(self._possible.followers),
            len((self._markers() - gone) | ({name} - self._parameters.followers.keys())))
        self._objects[name] = CollisionObject(place.shape, Motion(pose, stamp or 0, now))
        return before is None or before.shape != place.shape


def _is_of(namespace, name):
    return not namespace or name.rpartition('/')[0] == namespace

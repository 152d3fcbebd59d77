# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes that follow frames of messages: links, and what TF knows."""

from dataclasses import replace
from typing import NamedTuple

from opspace_control.collision import Shape
from opspace_control.errors import RosInterfaceError


class Follower(NamedTuple):
    """A shape in a frame of messages, which it follows."""

    shape: Shape  # in that frame
    frame: str
    stamp: int = 0  # of the marker that told of it, ns; 0 of a parameter


class Place(NamedTuple):
    """Where a shape is: on a link, or in the world, at a stamp."""

    shape: Shape
    stamp: int  # ns; 0 where nothing moves it


class FrameFollowers(dict):
    """`Follower` by name, and where each was last. ``frames`` is as of `Frames`."""

    def __init__(self, frames):
        super().__init__()
        self._frames, self._places = frames, {}

    def add(self, name, follower, place):
        """Let a shape follow its frame, from a `Place` on."""
        self[name], self._places[name] = follower, place

    def forget(self, name):
        """Let a shape follow nothing any more."""
        self.pop(name, None)
        self._places.pop(name, None)

    def moved(self, refusals):
        """
        Yield (name, `Place`, the last one or None) of each shape whose frame has moved.

        Of those whose frame is unknown ``refusals``, a dict by name, gets the reason.
        """
        known = {}
        for name, follower in self.items():
            try:
                if follower.frame not in known:
                    known[follower.frame] = self._carrier(follower.frame)
                place = _placed(follower, *known[follower.frame])
            except RosInterfaceError as error:
                refusals[name] = str(error)
                continue
            last, self._places[name] = self._places.get(name), place
            if place != last:
                yield name, place, last

    def place(self, follower):
        """Return the `Place` of a follower now, or raise as `Frames.in_base`."""
        return _placed(follower, *self._carrier(follower.frame))

    def place_in_world(self, follower):
        """Return the `Place` of a shape that stays in the world where its frame is now."""
        return _placed(follower, None, self._frames.in_base(follower.frame), 0)

    def _carrier(self, frame):
        """Return the link that carries a frame or None, its pose there, and its stamp, ns."""
        link, there = self._frames.carrier(frame)
        return (link, there, 0) if link else (None, *self._frames.in_base_since(frame))


def _placed(follower, link, there, stamp):
    shape = follower.shape
    return Place(replace(
        shape, link=link, position=there[:3, :3] @ shape.position + there[:3, 3],
        rotation=there[:3, :3] @ shape.rotation), max(stamp, follower.stamp))

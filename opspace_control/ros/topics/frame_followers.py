# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes that follow frames of messages: links, and what TF knows."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from opspace_control.collision import Shape
from opspace_control.errors import OpspaceError
from opspace_control.ros.topics.frames import pose_above, pose_rate
from opspace_control.ros.topics.object_motion import Motion


class Follower(NamedTuple):
    """A shape in a frame of messages, which it follows."""

    shape: Shape  # in that frame
    frame: str


class Place(NamedTuple):
    """Where a shape is: on a link or in the world, and its twist (6,) if a transform moves it."""

    shape: Shape
    twist: np.ndarray | None = None

    @property
    def pose(self):
        """Its pose (4, 4) there."""
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = self.shape.rotation, self.shape.position
        return pose


class Look(NamedTuple):
    """What has become of followers, by name."""

    places: dict    # `Place` of those that have moved
    refusals: dict  # why frames are unknown
    silent: set     # of these, and those whose transforms have ceased


class FrameFollowers(dict):
    """
    `Follower` by name, and what is known of their frames. ``frames`` is as of `Frames`.

    A shape is on a link where transforms that do not move connect its frame with the link. Else it
    is in the world, also if a camera on a link sees it: each transform that moves has the velocity
    between its last two stamps, and the link its own.
    """

    def __init__(self, frames):
        super().__init__()
        self._frames, self._motions, self._placed = frames, {}, {}

    def look(self, now, timeout):
        """
        Return the `Look` at the time ``now`` of the joint states, ns.

        Transforms have ceased after the ``timeout``, s.
        """
        look, known, lost = Look({}, {}, set()), {}, {}
        for name, follower in self.items():
            frame = follower.frame
            try:
                if frame in lost:
                    raise lost[frame]
                if frame not in known:
                    known[frame] = self._known(frame, now, timeout)
                chain, state, is_silent = known[frame]
                if is_silent:
                    look.silent.add(name)
                if self._placed.get(name) != (follower, state):
                    look.places[name] = self._place(follower, chain, now, timeout)
                    self._placed[name] = follower, state
            except OpspaceError as error:
                if frame not in known:
                    lost[frame] = error
                look.refusals[name] = str(error)
                look.silent.add(name)
                self._placed.pop(name, None)
        return look

    def place(self, follower, now, timeout):
        """Return the `Place` of a follower, or raise an OpspaceError."""
        return self._place(follower, self._known(follower.frame, now, timeout)[0], now, timeout)

    def place_in_world(self, follower):
        """Return the `Place` of a shape that stays in the world where its frame is now."""
        return _placed(follower, None, self._frames.in_base(follower.frame))

    def forget(self, name):
        """Let a shape follow nothing any more."""
        self.pop(name, None)
        self._placed.pop(name, None)

    def _known(self, frame, now, timeout):
        """
        Return the `Chain` of a frame, what it depends on, and whether a transform has ceased.

        Raises as `Frames.chain`.
        """
        chain = self._frames.chain(frame)
        state, is_silent = [chain.link], False
        for step in (*chain.steps, *chain.base_steps):
            if step.stamp:
                motion = self._motion(step, now, timeout)
                if motion.is_silent(now, timeout):
                    motion.stop()
                    is_silent = True
                state.append((step.frame, motion.stamp))
            else:
                state.append((step.frame, step.pose.tobytes()))
        return chain, state, is_silent

    def _motion(self, step, now, timeout):
        """Return the `Motion` of a frame in its parent, with its newest transform."""
        parent, motion = self._motions.get(step.frame, (None, None))
        if parent != step.parent or step.stamp < motion.stamp - 1e9 * timeout:
            motion = Motion(step.pose, step.stamp, now)  # new, or by a clock that was set back
        elif step.stamp > motion.stamp:  # an older one has come out of order
            motion.take(step.pose, step.stamp, now, timeout)
        self._motions[step.frame] = step.parent, motion
        return motion

    def _place(self, follower, chain, now, timeout):
        if not any(step.stamp for step in (*chain.steps, *chain.base_steps)):
            if chain.link:
                return _placed(follower, chain.link, pose_above(chain.steps))
            return self.place_in_world(follower)
        pose, rate = self._moved(chain.base_steps, now, timeout)
        pose = np.linalg.inv(pose)
        rate = -pose @ rate @ pose
        if chain.link:
            pose, rate = self._frames.link_motion(chain.link)
        inner, inner_rate = self._moved(chain.steps, now, timeout)
        return _placed(follower, None, pose @ inner, rate @ inner + pose @ inner_rate)

    def _moved(self, steps, now, timeout):
        """Return `pose_above` of steps now, and its rate (4, 4), 1/s."""
        pose, rate = np.eye(4), np.zeros((4, 4))
        for step in steps:
            here, here_rate = step.pose, np.zeros((4, 4))
            if step.stamp:
                motion = self._motions[step.frame][1]
                here = motion.at(now, timeout)
                here_rate = pose_rate(here, motion.twist)
            pose, rate = here @ pose, here_rate @ pose + here @ rate
        return pose, rate


def _placed(follower, link, pose, rate=None):
    """Return the `Place` of a shape whose frame has a pose (4, 4), and a rate (4, 4), 1/s."""
    shape, twist = follower.shape, None
    if rate is not None:
        turn = rate[:3, :3] @ pose[:3, :3].T
        twist = np.array([*(rate[:3, :3] @ shape.position + rate[:3, 3]),
                          turn[2, 1], turn[0, 2], turn[1, 0]])
    return Place(replace(
        shape, link=link, position=pose[:3, :3] @ shape.position + pose[:3, 3],
        rotation=pose[:3, :3] @ shape.rotation), twist)

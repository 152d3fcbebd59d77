# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A node that shows the goals of a controller as interactive markers in RViz.

Dragged markers are sent as goals to the controller's topics. A second after the drag the marker
moves to the controller's goal, so a refused goal is visible.
"""

import argparse
import time

import numpy as np
from geometry_msgs.msg import Pose
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node

from opspace_control.ros.clients.interactive_markers import InteractiveMarkers
from opspace_control.ros.clients.offer import look_for_offer
from opspace_control.ros.clients.remote import Remote
from opspace_control.ros.middleware.arguments import parse
from opspace_control.ros.middleware.conversions import fill_pose
from opspace_control.ros.middleware.executor import run

_PERIOD = 0.05     # s
_LOOK = 1.0        # s, between two looks at the graph
_TIMEOUT = 1.0    # s, for the controller to take a goal
_SCALE = 0.25      # m, of a marker
_SAME = 1e-4       # m, and parts of a quaternion


class GoalMarkersNode(Node):
    """
    The node ``opspace_goal_markers``.

    Parameters
    ----------
    controller : str
        Name of the controller's node.
    **options
        Of a Node.

    """

    def __init__(self, controller, **options):
        super().__init__('opspace_goal_markers', **options)
        self._controller = expand_topic_name(controller, self.get_name(), self.get_namespace())
        self._markers = InteractiveMarkers(self, self._on_touch)
        self._offer = self._remote = None
        self._looked, self._shown, self._touched = -np.inf, {}, {}
        self.create_timer(_PERIOD, self._on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def leave(self):
        """Remove the markers."""
        self._markers.clear()

    def _on_timer(self):
        now = time.monotonic()
        if now - self._looked > _LOOK:
            self._looked = now
            self._look_for_controller()
        if self._remote:
            self._markers.move(dict(self._news(now)))

    def _look_for_controller(self):
        offer = look_for_offer(self, self._controller)
        if offer == self._offer:
            return
        if self._remote:
            self._remote.destroy()
        self._markers.clear()
        self._shown, self._touched = {}, {}
        self._offer = offer
        self._remote = offer and Remote(self, self._controller, offer)

    def _news(self, now):
        """Yield the poses of markers that differ from the controller's goals."""
        for task in self._offer.movable:
            goal = self._remote.goal(task)
            if goal is None or now - self._touched.get(task, -np.inf) < _TIMEOUT:
                continue
            frame, position, quaternion = goal
            pose = np.array([*position, *quaternion])
            if not np.isfinite(pose).all():
                continue
            if task not in self._markers:
                if not self._remote.hears(task):
                    continue
                self._markers.add(task, frame, _SCALE, turns=True)
            elif task in self._shown and np.allclose(
                    pose, self._shown[task], rtol=0.0, atol=_SAME):
                continue
            self._shown[task] = pose
            message = Pose()
            fill_pose(message, pose)
            yield task, message

    def _on_touch(self, task, frame, pose, moved):
        self._touched[task] = time.monotonic()
        if not moved or self._remote is None:
            return
        p, o = pose.position, pose.orientation
        self._remote.send_goal(task, frame, (p.x, p.y, p.z), (o.x, o.y, o.z, o.w))
        # Update the other displays, also if the goal is refused.
        self._shown.pop(task, None)


def main(arguments):
    """Run the node until SIGINT or SIGTERM; return the exit code."""
    parser = argparse.ArgumentParser(prog='opspace goal_markers', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--controller', metavar='NAME', default='opspace_controller',
                        help='the controller node, if it is not called opspace_controller')
    options = parse(parser, arguments)
    return run(lambda stop: GoalMarkersNode(options.controller), arguments,
               SingleThreadedExecutor)

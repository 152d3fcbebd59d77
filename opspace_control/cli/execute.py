# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
`opspace execute`: send a stored plan to a running controller, which follows it.

The plan is a file of `opspace plan`. The controller looks at all of it before anything moves: its
joints, where it begins, limits of positions, velocities and efforts; what it refuses it refuses
with joint, time and cure. Another pose, trajectory or goal of joints, ~/hold, a trip or Ctrl-C here
ends it, and the robot holds. The exit code is 0 if the robot gets to its end.
"""

import argparse
import sys
from pathlib import Path

_TURN = 0.05  # s
_LEAVE = 2.0  # s, for the answer of a controller that is to hold


def main(arguments=None):
    """Send a plan and wait for its end; return 0 if the robot gets there."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    from opspace_control.control.plan import Plan
    from opspace_control.ros.clients.plan_sender import PlanSender
    from opspace_control.ros.middleware.executor import Stop, initialize

    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parse(arguments)
    plan = Plan.load(options.plan)
    trajectory = plan.joint_trajectory()
    initialize(arguments)
    try:
        stop, executor = Stop(), SingleThreadedExecutor()
        node = PlanSender(trajectory, options.controller, options.timeout)
        executor.add_node(node)
        print(f'{plan.robot}: {trajectory.duration:g} s, {len(trajectory.times)} points of '
              f'{len(trajectory.joints)} joints', flush=True)
        _wait(node, executor, stop)
        executor.shutdown()
        node.destroy_node()
    finally:
        rclpy.try_shutdown()
    return 0 if node.status.get('state') == 'succeeded' else 1


def _wait(node, executor, stop):
    """Spin until the plan is over, and tell how it goes; on Ctrl-C let the robot hold."""
    told = None
    while not (node.over or stop.wanted):
        node.look()
        executor.spin_once(_TURN)
        second = int(float(node.status.get('time [s]', 0.0)))
        if node.status and not node.over and told != second:
            told = second
            print(f'  {node.status["time [s]"]} s of {node.status["duration [s]"]} s: '
                  f'{node.status["distance [rad or m]"]} rad or m from the plan at most '
                  f'({node.status["furthest joint"]})', flush=True)
    if node.sent and not node.over:
        executor.spin_until_future_complete(node.hold(), timeout_sec=_LEAVE)
        executor.spin_once(_TURN)
    print(node.status.get('message', 'Nothing was sent.'), flush=True)


def _parse(arguments):
    from opspace_control.ros.middleware.executor import parse

    parser = argparse.ArgumentParser(prog='opspace execute', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('plan', type=Path, metavar='FILE', help='a file of opspace plan')
    parser.add_argument('--controller', metavar='NAME', default='opspace_controller',
                        help='the controller node, if it is not called opspace_controller')
    parser.add_argument('--timeout', type=float, metavar='S', default=10.0,
                        help='how long to wait for the controller (default: %(default)g)')
    return parse(parser, arguments)

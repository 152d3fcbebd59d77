# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A run of the planar arm, recorded by the recorder as users start it."""

import fcntl
import os
import signal

import ros_nodes
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter

from opspace_control.cli.parameters import controller_values, simulator_values
from opspace_control.cli.robots import demo_robot
from opspace_control.ros.middleware.conversions import nanoseconds

ROBOT = demo_robot('planar_3r')
LEAN = 'lean'           # a task of the shoulder, below the hand's
GOAL = (1.1, -0.1, 0.9)  # of the hand, m
SECONDS = 3.0           # of simulated time after the goal


def seconds(stamp):
    """Return a time stamp as a number."""
    return 1e-9 * nanoseconds(stamp)


def shared(factory):
    """Return a file (a Path) that `record` has written, once for all workers of the tests."""
    folder = factory.getbasetemp()
    folder = (folder.parent if 'PYTEST_XDIST_WORKER' in os.environ else folder) / 'recorded'
    folder.mkdir(exist_ok=True)
    path = folder / 'run.mcap'
    with open(folder / 'lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            recorder = record(folder / 'new.mcap')
            assert recorder.exit_code() == 0, recorder.said()
            (folder / 'new.mcap').rename(path)
    return path


def record(path, arguments=(), number=signal.SIGINT):
    """Record a robot whose hand goes to a goal; return the recorder's process, which has ended."""
    text = ROBOT.path().read_text()
    values = controller_values(ROBOT)
    with ros_nodes.network() as network:
        recorder = network.start('record', {}, ['--', '--output', str(path), *arguments])
        network.start('controller', {
            'robot_description': text, **values, 'safety.state_timeout': 0.0,
            'tasks': [*values['tasks'], LEAN], f'{LEAN}.type': 'joint',
            f'{LEAN}.joints': ['shoulder'], f'{LEAN}.priority': 1,
            'hand.kp': 64.0, 'publish_rate': 200.0, 'payloads': ['tool'], 'tool.frame': 'hand'})
        network.start('simulator', {'robot_description': text, **simulator_values(ROBOT),
                                    'pace': 'patient'})
        states = network.states()
        poses = network.listen(PoseStamped, f'{ros_nodes.CONTROLLER}/hand/current_pose')
        network.expect(lambda: poses and 'Recording /opspace_controller' in recorder.said(),
                       ros_nodes.COMPILING)
        goal = PoseStamped()
        goal.pose.orientation.w = 1.0
        goal.pose.position.x, goal.pose.position.y, goal.pose.position.z = GOAL
        goals = network.publisher(PoseStamped, f'{ros_nodes.CONTROLLER}/hand/target_pose')
        network.expect(lambda: goals.get_subscription_count() == 2)  # the recorder is the other one
        goals.publish(goal)
        network.expect(lambda: states)
        begin = seconds(states[-1].header.stamp)
        # By then the recorder has found what tells of changes of parameters.
        network.expect(lambda: seconds(states[-1].header.stamp) > begin + 0.5 * SECONDS, 240.0)
        network.call(SetParameters, f'{ros_nodes.CONTROLLER}/set_parameters', parameters=[
            Parameter('hand.kp', value=81.0).to_parameter_msg()])
        network.expect(lambda: seconds(states[-1].header.stamp) > begin + SECONDS, 240.0)
        recorder.end(number)
        return recorder

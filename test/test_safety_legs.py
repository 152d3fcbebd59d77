# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A robot on legs that can fall: it lies down, damped, and does not kick; on a MuJoCo floor."""

import contextlib
import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes
from legged_nodes import STEP, Legged

FREE_FALL = 2.2  # m/s, of a trunk of go2 that nothing carries
SINKING = 1.3    # m/s: damped, it sinks at g/rate = 1 m/s
TUMBLING = 1.8   # parts of velocity limits, of joints of legs that hit the ground


@contextlib.contextmanager
def trotting(**parameters):
    """Yield a robot that has just begun to go; its efforts stay bounded whatever happens."""
    with ros_nodes.network() as network:
        robot = Legged(network, 'go2', parameters)
        robot.run(0.1)
        robot.go(0.6, 0.5)
        assert robot.tilt < 0.1
        del robot.speeds[:], robot.efforts[:], robot.heights[:]
        yield robot
        assert max(robot.efforts) <= 1.0 + 1e-9


def lies_down(robot):
    """The trunk sinks to the ground, slower than it falls, and then nothing moves."""
    fall = -np.diff(robot.heights) / STEP
    assert np.max(robot.speeds) < 1.1
    assert np.convolve(fall, np.full(20, 0.05), 'valid').max() < SINKING < FREE_FALL
    assert robot.heights[-1] < 0.2
    assert np.ptp(robot.heights[-100:]) < 2e-3


def test_lost_odometry_and_it_comes_again():
    """It lies with its feet apart, and does not try to stand up before they are below it."""
    with trotting() as robot:
        robot.run(1.0, odometry=False)
        assert robot.said('odom_timeout')
        for _ in range(100):  # its release goes by the clock on the wall
            robot.run(0.1, odometry=False)
            if max(robot.efforts[-50:]) == 0.0:
                break
        lies_down(robot)
        assert max(robot.efforts[-50:]) == 0.0
        robot.run(0.3)
        assert robot.said('odom_timeout is over') and robot.said('fallen:')
        assert np.max(robot.speeds[-250:]) < 0.1 and max(robot.efforts[-250:]) < 0.2
        # A user folds its legs.
        robot.put({joint: 1.3 if 'thigh' in joint else -2.6 if 'calf' in joint else 0.0
                   for joint in robot.physics.joint_names},
                  [0.0, 0.0, 0.14, 0.0, 0.0, 0.0, 1.0])
        robot.hold()
        robot.run(1.6)
        assert robot.position[2] == pytest.approx(0.34, abs=0.02) and robot.tilt < 0.1
        assert np.max(robot.speeds[-1600:]) < 0.6


def test_a_drive_dies():
    """The robot falls over the leg; the others do not kick."""
    with trotting() as robot:
        robot.physics.set_status(passive=['FL_calf_joint'])
        for _ in range(6):
            robot.go(0.2, 0.5)
        assert robot.said('fallen:') or robot.said('velocity_limit:')
        others = [joint != 'FL_calf_joint' for joint in robot.physics.joint_names]
        assert np.max(np.array(robot.speeds)[:, others]) < TUMBLING
        robot.run(1.5)
        assert np.max(robot.speeds[-100:]) < 0.1 and max(robot.efforts[-100:]) < 0.3


def test_lost_joint_states():
    with trotting() as robot:
        assert robot.change(safety__state_timeout=0.05) == ''
        robot.live(1.6, states=False)
        assert robot.said('state_timeout')
        assert np.max(robot.speeds) < TUMBLING
        assert robot.heights[-1] < 0.2 and max(robot.efforts[-100:]) == 0.0


def test_it_is_stopped():
    with trotting() as robot:
        robot.process.send_signal(signal.SIGINT)
        robot.live(1.6, states=True)
        lies_down(robot)
        assert max(robot.efforts[-10:]) == 0.0

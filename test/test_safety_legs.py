# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A robot on legs that can fall: it lies down, damped, and does not kick; on a MuJoCo floor."""

import contextlib
import math
import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes
from legged_nodes import Legged, fastest_fall, steps

KICK = 1.25  # times the joint speeds of a fall without efforts: more is an effort's


@contextlib.contextmanager
def trotting(**parameters):
    """
    Yield a robot that has just begun to go, and what `Legged.fall` tells of it.

    Its efforts stay bounded whatever happens.
    """
    with ros_nodes.network() as network:
        robot = Legged(network, 'go2', parameters)
        robot.run(0.1)
        robot.go(0.6, 0.5)
        assert robot.tilt < 0.1
        del robot.speeds[:], robot.efforts[:], robot.heights[:]
        yield robot, robot.fall()
        assert max(robot.efforts) <= 1.0 + 1e-9


def lies_down(robot, free):
    """Damping takes half of the energy of a free fall at least; at last nothing moves."""
    joints, trunk = free
    assert np.max(robot.speeds) < joints
    assert fastest_fall(robot.heights) < math.sqrt(0.5) * trunk
    assert robot.heights[-1] < 0.2
    assert np.ptp(robot.heights[-steps(0.1):]) < 2e-3


def test_lost_odometry_and_it_comes_again():
    """It lies until ~/hold, as after a fall, and does not try to stand up on feet apart."""
    with trotting(**{'safety.release_time': 10.0}) as (robot, free):  # by the clock on the wall
        robot.run(1.5, odometry=False)
        assert robot.said('odom_timeout')
        lies_down(robot, free)
        assert robot.change(safety__release_time=0.0) == ''
        robot.run(0.5, odometry=False)
        assert max(robot.efforts[-steps(0.05):]) == 0.0
        robot.hold()
        robot.run(0.3)
        assert robot.said('odom_timeout is over') and robot.said('fallen:')
        stays(robot, 0.25)
        fold(robot)
        stands_up(robot)


def test_a_folded_robot_does_not_stand_up_when_odometry_comes_again():
    with trotting() as (robot, _):
        assert robot.change(safety__release_time=0.0) == ''
        robot.run(0.2, odometry=False)
        assert robot.said('odom_timeout') and robot.said('Once the robot is released, ~/hold')
        fold(robot)
        robot.run(0.2, odometry=False)
        robot.run(0.5)
        stays(robot, 0.3)
        assert not robot.said('odom_timeout is over')
        stands_up(robot)


def stays(robot, seconds):
    """It has not moved for some seconds."""
    last = steps(seconds)
    assert np.max(robot.speeds[-last:]) < 0.1 and max(robot.efforts[-last:]) < 0.2


def fold(robot):
    """Fold its legs below it, as a user does."""
    robot.put({joint: 1.3 if 'thigh' in joint else -2.6 if 'calf' in joint else 0.0
               for joint in robot.physics.joint_names}, [0.0, 0.0, 0.14, 0.0, 0.0, 0.0, 1.0])


def stands_up(robot):
    """It does so when the user wants it."""
    robot.hold()
    robot.run(1.6)
    assert robot.position[2] == pytest.approx(0.34, abs=0.02) and robot.tilt < 0.1
    assert np.max(robot.speeds[-steps(1.6):]) < 0.6


def test_a_drive_dies():
    """The robot falls over the leg; the others do not kick."""
    with trotting() as (robot, (free, _)):
        robot.physics.set_status(passive=['FL_calf_joint'])
        for _ in range(6):
            robot.go(0.2, 0.5)
        assert robot.said('fallen:') or robot.said('velocity_limit:')
        others = [joint != 'FL_calf_joint' for joint in robot.physics.joint_names]
        assert np.max(np.array(robot.speeds)[:, others]) < KICK * free
        robot.run(1.5)
        assert np.max(robot.speeds[-steps(0.1):]) < 0.1 and max(robot.efforts[-steps(0.1):]) < 0.3


def test_lost_joint_states():
    """Nothing can be damped without velocities, and no effort makes it worse."""
    with trotting() as (robot, (free, _)):
        assert robot.change(safety__state_timeout=0.05) == ''
        robot.live(1.6, states=False)
        assert robot.said('state_timeout')
        assert np.max(robot.speeds) < KICK * free
        assert robot.heights[-1] < 0.2 and max(robot.efforts[-steps(0.1):]) == 0.0


def test_it_is_stopped():
    with trotting() as (robot, free):
        robot.process.send_signal(signal.SIGINT)
        robot.live(1.6, states=True)
        lies_down(robot, free)
        assert max(robot.efforts[-steps(0.01):]) == 0.0

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A humanoid stands on two flat feet, as its parameter file says, over topics and in lock-step."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

import ros_nodes
from geometry_msgs.msg import PoseStamped
from legged_nodes import Legged
from ros_nodes import CONTROLLER
from sensor_msgs.msg import JointState

from opspace_control.ros.middleware.conversions import fill_message


def test_it_gives_up_the_reach_and_not_the_balance():
    """A hand is sent half a metre beyond reach: the feet stay, and bear the weight."""
    with ros_nodes.network() as network:
        robot = Legged(network, 'talos_standing', {'publish_rate': 500.0})
        states = network.listen(JointState, f'{CONTROLLER}/contact_state')
        robot.run(0.8)
        assert np.max(robot.speeds) < 1.0 and np.ptp(robot.heights) < 0.02
        assert np.max(robot.speeds[-50:]) < 0.05
        hand = robot.physics.frame_pose('gripper_left_base_link')
        goal, message = hand.copy(), PoseStamped()
        goal[:3] += 1.0, 0.2, -0.1
        fill_message(message.pose, goal)
        publisher = network.publisher(PoseStamped, f'{CONTROLLER}/left_hand/target_pose')
        for _ in range(5):
            publisher.publish(message)
            robot.run(0.3)
        reached = robot.physics.frame_pose('gripper_left_base_link')
        assert reached[0] - hand[0] > 0.15 and robot.tilt < 0.3
        assert np.linalg.norm(reached[:3] - goal[:3]) > 0.3
        loads = np.array([list(state.effort) for state in states[-300:]])
        assert (loads > 19.0).all()
        assert loads.sum(axis=1).mean() == pytest.approx(90.3 * 9.81, rel=0.05)
        assert max(max(state.velocity) for state in states[-300:]) < 0.02
        assert max(robot.efforts) <= 1.0 + 1e-9

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What is known of the robot is what was believed."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from controller_bench import MODEL, START
from rclpy.serialization import serialize_message
from ros_nodes import joint_state

from opspace_control import SafetyError
from opspace_control.ros.cycle.state_input import StateInput
from opspace_control.safety.supervisor import POSITION_JUMP, STATE_INVALID, VELOCITY_LIMIT

ELBOW = MODEL.dof_index('l_elbow')
STEP = 1_000_000  # ns


class Stream:
    """States at 1 kHz, as they come from a publisher."""

    def __init__(self):
        self.state_input = StateInput(MODEL)
        self.state_input.set_limits(velocity_scale=1.0, position_jump=0.1)
        self._stamp = 0

    def take(self, later=STEP, velocity=0.0, **positions):
        """Take a state whose stamp is ``later`` ns after the last one."""
        self._stamp += later
        velocities = np.where(np.arange(MODEL.nv) == ELBOW, velocity, 0.0)
        message = joint_state(START | positions, velocities)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self._stamp, 10**9)
        opened = self.state_input.open(serialize_message(message))
        self.state_input.take(opened, 0.001 * self._stamp / STEP)

    def refusal(self, **state):
        """Return the trip that such a state causes."""
        with pytest.raises(SafetyError) as error:
            self.take(**state)
        return error.value.trip

    def elbow(self):
        return self.state_input.state.q[ELBOW], self.state_input.state.v[ELBOW]


@pytest.fixture
def stream():
    stream = Stream()
    stream.take(l_elbow=-1.4, velocity=0.1)
    return stream


def test_what_is_not_believed_is_not_kept(stream):
    assert stream.refusal(l_elbow=-0.4) is POSITION_JUMP
    assert stream.refusal(l_elbow=np.nan) is STATE_INVALID
    assert stream.elbow() == (-1.4, 0.1)
    stream.take(l_elbow=-1.39)
    assert stream.elbow() == (-1.39, 0.0)


def test_what_is_too_fast_is_kept(stream):
    """It is damped, and for that must be known."""
    assert stream.refusal(l_elbow=-1.4, velocity=100.0) is VELOCITY_LIMIT
    assert stream.elbow() == (-1.4, 100.0)


def test_time_is_spent_once(stream):
    stream.state_input.elapsed()
    for _ in range(3):
        stream.take(l_elbow=-1.4)
    assert stream.state_input.elapsed() == pytest.approx(0.003)
    assert stream.state_input.elapsed() == 0.0

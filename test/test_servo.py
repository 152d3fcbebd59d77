# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The servo without ROS: whole cycles of a controller, and what it does first."""

import numpy as np
import pytest

from opspace_control import JointLimits, OperationalSpaceController, PoseTask, RobotModel
from opspace_control.control.brake import Brake
from opspace_control.safety.envelope import LONGEST_STEP
from opspace_control.safety.servo import Servo
from opspace_control.safety.servo_data import BRAKED, CONTROL, RESUME
from opspace_control.safety.supervisor import (
    EFFORT_NOT_FINITE,
    STATE_TIMEOUT,
    TIME_STOPPED,
    VELOCITY_LIMIT,
)
from opspace_control.share import share_directory

RATE = 20.0  # 1/s
TIMEOUT = 0.2  # s
MODEL = RobotModel.from_urdf_file(share_directory() / 'urdf' / 'dual_arm.urdf')


@pytest.fixture
def servo():
    controller = OperationalSpaceController(MODEL, [PoseTask('l_hand')], limits=JointLimits(MODEL))
    servo = Servo(controller)
    servo.set(effort_rate=RATE, velocity_scale=1.0)
    servo.restart(1.0)
    return servo


def cycles(servo, count, v=0.0, first=1):
    """Run cycles at 1 kHz; return the last result."""
    v = np.full(MODEL.nv, v)
    return [servo.cycle(k * 1_000_000, MODEL.neutral(), v, 1.0 + 1e-3 * k)
            for k in range(first, first + count)][-1]


def weight(servo):
    tau = np.zeros(MODEL.nv)
    Brake(servo.controller).weight(servo.state.state, tau)
    return tau


def test_a_brake_that_is_the_first_command_changes_efforts_at_their_rate(servo):
    """It damps a fast robot, with efforts that begin at those of its weight."""
    assert cycles(servo, 1, v=20.0) == BRAKED
    assert servo.supervisor.trip is VELOCITY_LIMIT
    change = abs(servo.tau - weight(servo)) / servo.controller.effort_limits
    assert 0.9 * RATE * 1e-3 < change.max() <= RATE * LONGEST_STEP * (1.0 + 1e-9)


def test_a_weight_that_is_not_finite_trips(servo):
    """Before the first command: zero is sent, and after `hold` a finite one is controlled."""
    nodes = servo.controller._arguments.robot.nodes
    mass = nodes['mass'].copy()
    nodes['mass'] = np.nan
    assert cycles(servo, 1) == BRAKED
    assert servo.supervisor.trip is EFFORT_NOT_FINITE
    assert not servo.tau.any()
    nodes['mass'] = mass
    servo.hold()
    assert cycles(servo, 10, first=2) == RESUME
    assert cycles(servo, 100, first=12) == CONTROL
    assert np.allclose(servo.tau, weight(servo), atol=1e-6)


def test_an_effort_that_is_not_finite_trips(servo):
    """The robot is held in position until `hold`, which gives up what made it so."""
    cycles(servo, 100)
    servo.controller._arguments.demand.dofs['effort'][-1] = np.nan
    assert cycles(servo, 100, first=101) == BRAKED
    assert servo.supervisor.trip is EFFORT_NOT_FINITE
    assert np.allclose(servo.tau, weight(servo), atol=1e-6)
    servo.hold()
    assert cycles(servo, 1, first=201) == RESUME
    assert cycles(servo, 100, first=202) == CONTROL
    assert np.allclose(servo.tau, weight(servo), atol=1e-6)


@pytest.mark.parametrize(('states', 'paused', 'trip'), [
    (5, True, None), (5, False, STATE_TIMEOUT), (300, True, TIME_STOPPED)])
def test_states_of_one_stamp(servo, states, paused, trip):
    """A few are the last ones before a pause; many tell that their clock has stopped."""
    servo.set(state_timeout=TIMEOUT)
    cycles(servo, 20)
    begin = now = 1.020
    for k in range(round(3e3 * TIMEOUT)):
        now = begin + 1e-3 * k
        if k < states:
            servo.cycle(20_000_000, MODEL.neutral(), np.full(MODEL.nv, 1e-6 * k), now)
        servo.watch(now, paused)
        if servo.supervisor.trip:
            break
    assert servo.supervisor.trip is trip
    if trip is STATE_TIMEOUT:
        assert now - begin == pytest.approx(1e-3 * (states - 1) + TIMEOUT, abs=2.1e-3)

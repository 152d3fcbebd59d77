# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""External efforts and wrenches on topics: what the observer of the library says of the states."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from controller_bench import MODEL, PARAMETERS, Bench, moved, robot_state
from geometry_msgs.msg import WrenchStamped
from ros_nodes import CONTROLLER
from sensor_msgs.msg import JointState

from opspace_control import OperationalSpaceController, PoseTask, estimated_wrench
from opspace_control.identification.residual_parts import PARTS, ResidualSplitter

RATE = 80.0
GAP = 500            # ms
FORGOTTEN = 25_000   # ms, longer than what parts are told apart from


@pytest.fixture(scope='module')
def node():
    with Bench.around(PARAMETERS | {'publish_rate': 1000.0, 'observer.rate': RATE}) as bench:
        yield bench


def still(node, steps, positions, observer, command):
    """Let the robot rest for so many milliseconds; return the last command."""
    state = robot_state(positions)
    for _ in range(steps):
        observer.update(state, command, 1e-3)
        command = node.after(1, positions)
    return command


def told(heard, stamp):
    """Return the newest message, of this time, ms."""
    message = heard[-1]
    assert 1000 * message.header.stamp.sec + message.header.stamp.nanosec // 1_000_000 == stamp
    return message


def wait(node, topics):
    """Spin until each topic has a message of the last state."""
    node.network.expect(lambda: node.network.spin(0.01) or all(
        topic and 1000 * topic[-1].header.stamp.sec
        + topic[-1].header.stamp.nanosec // 1_000_000 == node.now for topic in topics))


def test_efforts_and_wrenches_are_those_of_the_library(node):
    """A robot that rests, whatever is commanded, is held by something: that is the estimate."""
    controller = OperationalSpaceController(MODEL, [PoseTask('l_hand')])
    efforts = node.network.listen(JointState, f'{CONTROLLER}/external_effort')
    wrenches = node.network.listen(WrenchStamped, f'{CONTROLLER}/left/estimated_wrench')
    node.after(1)  # where its goals are
    here = moved()
    node.network.expect(lambda: node.after(1, here) is not None and efforts and wrenches)
    for _ in range(2):  # after a gap the observer begins anew
        node.now += GAP
        observer = controller.momentum_observer(RATE)
        observer.update(robot_state(here), np.zeros(MODEL.nv), 0.0)
        command = node.after(1, here)
        command = still(node, 20, here, observer, command)
        observer.update(robot_state(here), command, 0.0)
        wait(node, (efforts, wrenches))
        expected = observer.residual
        assert abs(expected).max() > 1.0
        effort = told(efforts, node.now)
        assert list(effort.name) == list(MODEL.dof_names)
        np.testing.assert_allclose(effort.effort, expected, rtol=1e-6, atol=1e-9)
        state = robot_state(here)
        R = MODEL.forward_kinematics(state, 'l_hand')['l_hand'][:3, :3]
        found = estimated_wrench(MODEL, state, 'l_hand', expected)
        message = told(wrenches, node.now)
        assert message.header.frame_id == 'l_hand'
        f, n = message.wrench.force, message.wrench.torque
        np.testing.assert_allclose(R @ [f.x, f.y, f.z], -found.wrench[:3], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(R @ [n.x, n.y, n.z], -found.wrench[3:], rtol=1e-5, atol=1e-6)


def test_parts_are_those_of_the_library(node):
    """After a gap longer than the time span they are those of the messages since then."""
    efforts, *parts = heard = [
        node.network.listen(JointState, f'{CONTROLLER}/external_effort{part}')
        for part in ('', *(f'/{part}' for part in PARTS))]
    node.after(1)
    here, rng = moved(), np.random.default_rng(0)
    node.network.expect(lambda: node.after(1, here) is not None and all(heard))
    node.now += FORGOTTEN
    splitter, begun = ResidualSplitter(MODEL, ['l_hand', 'r_hand'], RATE), len(efforts)
    velocities = {}
    for _ in range(8):
        v = rng.choice([-1.0, 1.0], MODEL.nv) * rng.uniform(0.3, 0.6, MODEL.nv)
        velocities |= dict.fromkeys(range(node.now + 1, node.now + 61), v)
        node.after(60, here, v)
        wait(node, heard)
        for message in efforts[begun:]:
            stamp = message.header.stamp
            time = stamp.sec + 1e-9 * stamp.nanosec
            expected = splitter.split(time, robot_state(here, velocities[round(1e3 * time)]),
                                      np.array(message.effort))
        begun = len(efforts)
        for part, messages in zip(PARTS, parts, strict=True):
            assert list(messages[-1].name) == list(MODEL.dof_names)
            np.testing.assert_allclose(messages[-1].effort, expected[part], rtol=1e-4, atol=1e-5)
    assert min(abs(expected[part]).max() for part in PARTS) > 0.1


def test_the_limit_bounds_the_efforts(node):
    """In parts of effort limits, by default both; never below twice a threshold."""
    efforts = node.network.listen(JointState, f'{CONTROLLER}/external_effort')
    here, elbow = moved(), MODEL.dof_index('l_elbow')
    node.network.expect(lambda: node.after(1, here) is not None and efforts)
    free = abs(np.array(still_efforts(node, here, efforts)))
    assert (free <= 2.0 * MODEL.effort_limits).all()
    bounds = 0.2 * free.max() / MODEL.effort_limits[free.argmax()] * MODEL.effort_limits
    limit = bounds[0] / MODEL.effort_limits[0]
    assert node.change(observer__limit=limit, **{
        'observer__joints__l_elbow__threshold': bounds[elbow]}).successful
    bounds[elbow] *= 2.0
    bounded = abs(np.array(still_efforts(node, here, efforts)))
    np.testing.assert_allclose(bounded, np.minimum(free, bounds), rtol=0.02, atol=1e-3)
    assert bounded.max() < 0.5 * free.max()
    assert node.change(observer__limit=2.0, observer__joints__l_elbow__threshold=-1.0).successful


def still_efforts(node, positions, heard):
    """Return the efforts after the robot has rested for so long that they no longer change."""
    for _ in range(200):
        node.after(1, positions)
    wait(node, (heard,))
    return told(heard, node.now).effort


def test_rate_zero_tells_nothing(node):
    efforts = node.network.listen(JointState, f'{CONTROLLER}/external_effort')
    here = moved()
    node.network.expect(lambda: node.after(1, here) is not None and efforts)
    assert node.change(observer__rate=0.0).successful
    node.after(1, here)
    node.network.spin(0.1)
    del efforts[:]
    for _ in range(5):
        node.after(1, here)
    node.network.spin(0.1)
    assert not efforts
    assert node.change(observer__rate=RATE).successful
    node.network.expect(lambda: node.after(1, here) is not None and efforts)

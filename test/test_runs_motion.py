# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The motion of a recorded run: other clocks, gaps, efforts by name, joints that wrap."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mcap_ros2', reason='mcap-ros2-support is not installed')

from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from robots import joint, link, robot
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from opspace_control.cli.preflight.facts import look_at_loop
from opspace_control.model import KinematicTree
from opspace_control.runs.motion import read_motion
from opspace_control.runs.page import page
from opspace_control.runs.run import Run, RunError
from opspace_control.runs.summary import Summary
from opspace_control.runs.writer import ROBOT, RunWriter

URDF = robot(link('base'), link('turret'), link('arm'), link('tip'),
             joint('turn', 'base', 'turret', 'continuous'),
             joint('lift', 'turret', 'arm', 'continuous'),
             joint('slide', 'arm', 'tip', 'prismatic',
                   '<limit lower="0.1" upper="1" effort="9" velocity="1"/>'))
TREE = KinematicTree.from_urdf(URDF)
NODE = '/opspace_controller'
STATES, COMMANDS, EFFORTS = '/joint_states', '/commands', f'{NODE}/controller_state'
RATE = 100.0
SLOWDOWN = 3.0  # of the system clock that messages are sent by
DELAY = 0.002   # s, from a state to its command


def write(path, seconds=3.0, *, by_name=False, stamped=True, lost=(), by_plugin=False):
    """
    Write a run: turn = 4 t in (-π, π], lift = sin t, and commands 10 t and -t from DELAY on.

    ``by_plugin`` efforts are those of a plug-in: without DELAY, every fifth one is published.
    """
    writer = RunWriter(path)
    writer.attach(ROBOT, URDF)
    kinds = {STATES: 'sensor_msgs/msg/JointState',
             COMMANDS: f'{"sensor" if by_name else "std"}_msgs/msg/'
                       f'{"JointState" if by_name else "Float64MultiArray"}'}
    if by_plugin:
        writer.describe(
            controller=NODE, hears={}, services={}, parameters={
                'route': 'plugin', 'tasks': ['a'], 'a.type': 'joint', 'a.joints': ['turn']},
            says=dict.fromkeys((f'{NODE}/a/joint_error', EFFORTS), kinds[STATES]))
        kinds = dict.fromkeys((STATES, EFFORTS), kinds[STATES])
    else:
        writer.describe(controller=NODE, parameters={}, says={COMMANDS: kinds[COMMANDS]},
                        hears={STATES: kinds[STATES]}, services={})
    channels = {topic: writer.channel(topic, kind, QoSProfile(depth=1))
                for topic, kind in kinds.items()}
    for k in range(round(seconds * RATE)):
        t = k / RATE
        if lost and lost[0] <= t < lost[1]:
            continue
        message = JointState(
            name=['lift', 'turn', 'wheel'], effort=[1.0, 2.0, 3.0],
            position=[np.sin(t), (4.0 * t + np.pi) % (2.0 * np.pi) - np.pi, 7.0])
        if stamped:
            message.header.stamp.sec, message.header.stamp.nanosec = 50 + int(t), round(
                1e9 * (t - int(t)))
        clock = SLOWDOWN if stamped else 1.0
        sent = round(1e9 * clock * t)
        writer.write(channels[STATES], serialize_message(message), sent, sent)
        sent += round(1e9 * clock * DELAY)
        efforts = [10.0 * t, -t]
        command = (JointState(name=['turn', 'lift'], effort=efforts) if by_name or by_plugin
                   else Float64MultiArray(data=efforts))
        if not by_plugin:
            writer.write(channels[COMMANDS], serialize_message(command), sent, sent)
        elif k % 5 == 0:
            command.header.stamp = message.header.stamp
            writer.write(channels[EFFORTS], serialize_message(command), sent, sent)
    writer.close({})
    return read_motion(Run(path), TREE, ['turn', 'lift'])


@pytest.mark.parametrize('by_name', [False, True], ids=['numbers', 'names'])
@pytest.mark.parametrize('stamped', [False, True], ids=['no stamps', 'another clock'])
def test_states_and_commands_are_of_one_clock(tmp_path, by_name, stamped):
    motion = write(tmp_path / 'run.mcap', by_name=by_name, stamped=stamped)
    assert motion.rate == pytest.approx(RATE)
    # It begins with the first command; linear courses are met exactly.
    t = motion.time + DELAY
    np.testing.assert_allclose(motion.q[:, 0] - motion.q[0, 0], 4.0 * motion.time, atol=1e-6)
    np.testing.assert_allclose(motion.q[:, 1], np.sin(t), atol=2e-5)
    np.testing.assert_allclose(motion.q[:, 2], 0.1)  # nobody tells it: nearest to zero
    # A command acts for a period; in its middle it is what it was sent as.
    inner = t > DELAY + 0.5 / RATE
    since = t[inner] - DELAY - 0.5 / RATE
    np.testing.assert_allclose(motion.commanded[inner, 0], 10.0 * since, atol=1e-6)
    np.testing.assert_allclose(motion.commanded[inner, 1], -since, atol=1e-6)
    assert np.isnan(motion.commanded[:, 2]).all()
    np.testing.assert_allclose(motion.measured[:, :2], [[2.0, 1.0]] * len(t))
    assert np.isnan(motion.measured[:, 2]).all()
    assert motion.valid.all()


def test_gaps_are_told(tmp_path):
    motion = write(tmp_path / 'run.mcap', lost=(1.0, 1.5))
    t = motion.time + DELAY
    assert not motion.valid[(t > 1.01) & (t < 1.48)].any()
    assert motion.valid[(t < 0.98) | (t > 1.52)].all()


def test_efforts_of_the_plugin_are_of_their_state(tmp_path):
    motion = write(tmp_path / 'run.mcap', by_plugin=True)
    assert motion.rate == pytest.approx(RATE)
    inner = (motion.time > 0.1) & (motion.time < motion.time[-1] - 0.1)
    # Each acts from its joint state to the next one, not to the next that is told.
    np.testing.assert_allclose(
        motion.commanded[inner, 0], 10.0 * (motion.time[inner] - 0.5 / RATE), atol=1e-6)
    assert motion.valid.all()


def test_a_run_of_the_plugin_has_no_time_from_state_to_command(tmp_path):
    write(tmp_path / 'run.mcap', by_plugin=True)
    summary = Summary(Run(tmp_path / 'run.mcap'))
    assert summary.joints == ('turn', 'lift')
    assert summary.efforts.values[-1] == pytest.approx([29.5, -2.95])
    assert np.median(summary.period) == pytest.approx(SLOWDOWN / RATE)
    assert not len(summary.latency) and not summary.unanswered
    assert len(summary.states) == Summary.pictures
    assert 'joint state to joint state' in page(summary)
    findings = []
    loop = look_at_loop(tmp_path / 'run.mcap', {'update_rate': 0.0, 'margins': []}, findings)
    assert not findings and loop['hold'] == pytest.approx(SLOWDOWN / RATE) and loop['delay'] == 0.0


@pytest.mark.parametrize('by_plugin', [False, True], ids=['node', 'plug-in'])
def test_a_run_with_one_command_has_no_period(tmp_path, by_plugin):
    """It was NaN; the rate of the parameters is assumed instead."""
    path, findings = tmp_path / 'run.mcap', []
    with pytest.raises(RunError):
        write(path, seconds=0.01, by_plugin=by_plugin)
    loop = look_at_loop(path, {'update_rate': 250.0, 'margins': []}, findings)
    assert (loop['hold'], loop['delay'], loop['source']) == (0.004, 0.004, 'assumed')
    found, = findings
    assert found['level'] == 'FAIL' and 'too few cycles' in found['what']
    assert 'Record for some seconds' in found['cure']


def test_a_run_without_motion_is_refused(tmp_path):
    with pytest.raises(RunError, match='2 joint states and 2 commands'):
        write(tmp_path / 'run.mcap', seconds=0.02)

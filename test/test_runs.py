# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A run is recorded, read back by others' code, told on a page, and shown again."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip('mcap_ros2', reason='mcap-ros2-support is not installed')

import ros_nodes
from geometry_msgs.msg import PoseStamped
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from opspace_control.cli.parameters import controller_values, simulator_values
from opspace_control.cli.robots import demo_robot
from opspace_control.errors import RosInterfaceError
from opspace_control.ros.message_definitions import message_class, message_definition
from opspace_control.runs.course import Course
from opspace_control.runs.recording import Recording, RecordingError

ROBOT = demo_robot('planar_3r')
OPSPACE = [sys.executable, '-m', 'opspace_control.cli.main']
ROOT = Path(__file__).parents[1]


def opspace(*arguments):
    return subprocess.run([*OPSPACE, *map(str, arguments)], capture_output=True, text=True,
                          check=False, cwd=ROOT, timeout=120)


class TestDefinitions:

    def test_every_part_is_there_once(self):
        text = message_definition('diagnostic_msgs/msg/DiagnosticArray')
        assert re.findall('^MSG: (.*)$', text, re.MULTILINE) == [
            'std_msgs/Header', 'builtin_interfaces/Time', 'diagnostic_msgs/DiagnosticStatus',
            'diagnostic_msgs/KeyValue']

    def test_unknown_type(self):
        with pytest.raises(RosInterfaceError, match='Install no_such_msgs'):
            message_definition('no_such_msgs/msg/Thing')
        with pytest.raises(RosInterfaceError):
            message_class('no_such_msgs/msg/Thing')


@pytest.fixture(scope='module')
def path(tmp_path_factory):
    """Record a hand that goes to a goal."""
    path = tmp_path_factory.mktemp('runs') / 'run.mcap'
    with ros_nodes.network() as network:
        description = {'robot_description': ROBOT.path().read_text()}
        recorder = network.start('record', {}, ['--', '--output', str(path)])
        network.start('controller', {**description, **controller_values(ROBOT),
                                     'safety.state_timeout': 0.0})
        network.start('simulator', {**description, **simulator_values(ROBOT), 'pace': 'patient'})
        poses = network.listen(
            PoseStamped, f'{ros_nodes.CONTROLLER}/hand/current_pose', ros_nodes.NEWEST)
        network.expect(lambda: poses, ros_nodes.COMPILING)
        network.spin(3.0)
        goal = poses[-1]
        goal.pose.position.z += 0.1
        publisher = network.publisher(
            PoseStamped, f'{ros_nodes.CONTROLLER}/hand/target_pose')
        publisher.publish(goal)
        network.spin(4.0)
        goal.pose.position.x += 9.0
        publisher.publish(goal)
        network.spin(1.0)
        recorder.end()
        assert 'messages of' in recorder.said(), recorder.said()
    return path


def test_others_read_what_was_said(path):
    recording = Recording(path)
    topics = {'/joint_states', '/effort_controller/commands', '/opspace_controller/hand/error',
              '/robot_description', '/diagnostics', '/clock', '/rosout'}
    assert topics <= set(recording.counts)
    assert all(recording.counts[topic] for topic in topics)
    # Another reader, of another decoder, finds the same as rclpy in the same bytes.
    raw = {topic: data.data for topic, data in (
        (channel.topic, message) for _, channel, message in recording.raw(['/joint_states']))}
    ours = deserialize_message(raw['/joint_states'], JointState)
    with path.open('rb') as stream:
        theirs = [message for *_, message in make_reader(
            stream, decoder_factories=[DecoderFactory()]).iter_decoded_messages(['/joint_states'])]
    assert len(theirs) == recording.counts['/joint_states']
    assert list(theirs[-1].name) == list(ours.name) == ['shoulder', 'elbow', 'wrist']
    np.testing.assert_array_equal(theirs[-1].position, ours.position)
    stamps = [message.header.stamp for message in theirs]
    times = np.array([stamp.sec + 1e-9 * stamp.nanosec for stamp in stamps])
    # A thousand a second, none lost.
    np.testing.assert_allclose(np.diff(times[times > times[0]]), 1e-3, atol=1e-9)


def test_recording_knows_what_ran(path):
    recording = Recording(path)
    assert recording.controller == '/opspace_controller'
    assert recording.tasks == ['hand']
    assert recording.parameters['hand.axes'] == 'x z'
    assert recording.machine['opspace_control']
    assert '<robot name="planar_3r"' in recording.description()


def test_course_is_what_happened(path):
    course = Course(Recording(path))
    (hand,) = course.tasks
    # The goal jumps away by 10 cm, and is reached.
    assert 0.09 < hand.largest[0] < 0.15
    assert hand.last[0] < 2e-3
    assert np.ptp(hand.path[:, 2]) == pytest.approx(0.1, abs=0.05)
    times, joints, loads = course.loads
    assert joints == ['shoulder', 'elbow', 'wrist']
    assert loads.shape == (len(times), 3)
    assert 0.01 < abs(loads).max() <= 1.0
    assert len(course.periods) == course.recording.counts['/effort_controller/commands'] - 1
    assert any('A goal is refused' in text for *_, text in course.complaints)
    lines = course.links_at(1.0)
    np.testing.assert_allclose(lines[-1, 1, 2], hand.path[-1, 2], atol=0.02)


def test_page_has_everything_in_it(path, tmp_path):
    out = tmp_path / 'page.html'
    done = opspace('report', path, '--output', out)
    assert done.returncode == 0, done.stderr
    page = out.read_text()
    for text in ('planar_3r, 3 degrees of freedom', 'A goal is refused', 'largest error',
                 'hand.axes', '/joint_states', '% of its limit', 'Condition number'):
        assert text in page, text
    assert page.count('<img') == page.count('src="data:image/png;base64,') == 5
    assert not re.search('(src|href)="(?!data:)', page)  # nothing is fetched


def test_replay_shows_it_in_the_view(path):
    pytest.importorskip('viser', reason='viser is not installed')
    from viewer import Viewer
    replay = subprocess.Popen(
        [*OPSPACE, 'replay', str(path), '--port', '18300'], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, cwd=ROOT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # noqa: PLW1509
    viewer = Viewer(re.search(r'http://[^ ]+', replay.stdout.readline()).group())
    goal = '/robot/goal of hand'
    viewer.expect(lambda: goal in viewer.nodes and viewer.has('time'), 30.0)
    assert not viewer.has('kp')  # what was cannot be changed
    # It moves on, and where it is told to go to.
    at = viewer.controls[viewer.control('time')]
    assert at['max'] == pytest.approx(Recording(path).length)
    viewer.set(viewer.control('time'), at['max'] - 1.5)
    viewer.set(viewer.control('rate'), 0.2)
    viewer.expect(lambda: at['value'] > at['max'] - 1.5)
    last = Course(Recording(path)).tasks[0].path[-1]
    viewer.expect(lambda: np.linalg.norm(viewer.nodes[goal]['position'] - last) < 3e-3)
    viewer.close()
    replay.send_signal(signal.SIGINT)
    out, _ = replay.communicate(timeout=30)
    assert replay.returncode == 0, out


def test_mistakes_are_explained(tmp_path):
    with pytest.raises(RecordingError, match='cannot be read'):
        Recording(tmp_path / 'nothing.mcap')
    (tmp_path / 'text.mcap').write_text('no mcap')
    with pytest.raises(RecordingError, match=r'text\.mcap'):
        Recording(tmp_path / 'text.mcap')
    done = opspace('report', tmp_path / 'nothing.mcap')
    assert (done.returncode, done.stdout) == (1, '')
    assert 'nothing.mcap cannot be read' in done.stderr
    (tmp_path / 'there.mcap').touch()
    done = opspace('record', '--output', tmp_path / 'there.mcap')
    assert done.returncode == 1
    assert 'another --output' in done.stderr

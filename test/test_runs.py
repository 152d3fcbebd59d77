# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Runs that are kept: recorded as users do it, read by the format's own reader, and reported."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')
pytest.importorskip('mcap_ros2', reason='mcap-ros2-support is not installed')

import recorded
import yaml
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from opspace_control.cli.main import main
from opspace_control.runs.page import page
from opspace_control.runs.pictures import envelope, thinned
from opspace_control.runs.run import Run, RunError
from opspace_control.runs.summary import Summary
from opspace_control.runs.writer import definition

OWN = '/opspace_controller'
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope='module')
def path(tmp_path_factory):
    return recorded.shared(tmp_path_factory)


@pytest.fixture(scope='module')
def summary(path):
    return Summary(Run(path))


class TestFile:
    """By the reader of those who made the format, not by ours."""

    @pytest.fixture
    def reader(self, path):
        with open(path, 'rb') as file:
            yield make_reader(file, decoder_factories=[DecoderFactory()])

    def test_is_one_of_ros_2(self, reader):
        assert reader.get_header().profile == 'ros2'
        summary = reader.get_summary()
        assert {schema.encoding for schema in summary.schemas.values()} == {'ros2msg'}
        assert {channel.message_encoding for channel in summary.channels.values()} == {'cdr'}
        for channel in summary.channels.values():
            profile, = yaml.safe_load(channel.metadata['offered_qos_profiles'])
            assert profile['history'] == 1 and profile['reliability'] in (1, 2)

    def test_has_what_is_said_around_the_controller(self, reader):
        summary = reader.get_summary()
        there = {channel.topic: summary.schemas[channel.schema_id].name
                 for channel in summary.channels.values()}
        assert there.items() >= {
            '/joint_states': 'sensor_msgs/msg/JointState',
            '/effort_controller/commands': 'std_msgs/msg/Float64MultiArray',
            '/robot_description': 'std_msgs/msg/String',
            '/diagnostics': 'diagnostic_msgs/msg/DiagnosticArray',
            '/rosout': 'rcl_interfaces/msg/Log',
            f'{OWN}/hand/target_pose': 'geometry_msgs/msg/PoseStamped',
            f'{OWN}/hand/error': 'geometry_msgs/msg/TwistStamped',
            f'{OWN}/controller_state': 'sensor_msgs/msg/JointState',
            f'{OWN}/markers': 'visualization_msgs/msg/MarkerArray'}.items()

    def test_messages_can_be_decoded(self, reader):
        count, last = 0, {}
        for _, channel, message, decoded in reader.iter_decoded_messages():
            assert message.publish_time <= message.log_time
            last[channel.topic] = decoded
            count += 1
        assert count == reader.get_summary().statistics.message_count
        assert last['/robot_description'].data == recorded.ROBOT.path().read_text()
        assert list(last['/joint_states'].name) == list(recorded.ROBOT.start)
        position = last[f'{OWN}/hand/current_pose'].pose.position
        assert position.x == pytest.approx(recorded.GOAL[0], abs=1e-3)
        assert position.z == pytest.approx(recorded.GOAL[2], abs=1e-3)

    def test_latched_topics_are_so_when_played_back(self, reader):
        profiles = {channel.topic: yaml.safe_load(channel.metadata['offered_qos_profiles'])[0]
                    for channel in reader.get_summary().channels.values()}
        assert profiles['/robot_description']['durability'] == 1
        assert profiles['/joint_states']['durability'] == 1  # as the real broadcaster's
        assert profiles['/effort_controller/commands']['durability'] == 2

    def test_has_robot_and_parameters_as_files(self, reader):
        files = {file.name: file.data.decode() for file in reader.iter_attachments()}
        assert files['robot.urdf'] == recorded.ROBOT.path().read_text()
        parameters = yaml.safe_load(files['parameters.yaml'])[OWN]['ros__parameters']
        assert parameters['hand.kp'] == 64.0

    def test_says_what_ran_on_what(self, reader):
        facts = [record.metadata for record in reader.iter_metadata()
                 if record.name == 'opspace_run'][-1]
        assert json.loads(facts['controller']) == OWN
        assert json.loads(facts['says'])['/effort_controller/commands']
        assert json.loads(facts['services'])[f'{OWN}/hold'] == 'std_srvs/srv/Trigger'
        assert json.loads(facts['machine'])['processor']


class TestDefinition:

    def test_has_what_it_contains_once(self):
        text = definition('geometry_msgs/msg/PoseStamped')
        names = re.findall(r'^=+\nMSG: (\S+)$', text, re.MULTILINE)
        assert sorted(names) == sorted(set(names)) == [
            'builtin_interfaces/Time', 'geometry_msgs/Point', 'geometry_msgs/Pose',
            'geometry_msgs/Quaternion', 'std_msgs/Header']

    def test_of_an_unknown_type(self):
        with pytest.raises(Exception, match='Install no_such_msgs'):
            definition('no_such_msgs/msg/Thing')


class TestSummary:

    def test_errors_are_those_of_the_task(self, summary):
        task, = summary.tasks
        assert (task.name, summary.run.parameters['hand.frame']) == ('hand', 'hand')
        assert len(task.goals) == 1
        sizes = task.sizes()
        start = np.array([0.8794, 1.0385])
        way = 1e3 * np.linalg.norm(np.array(recorded.GOAL)[[0, 2]] - start)
        assert sizes[:, 0].max() == pytest.approx(way, rel=0.1)
        assert task.left()[0, 0] < 1.0
        assert not sizes[:, 1].any()  # not controlled

    def test_a_task_of_joints_is_told_by_joint(self, summary):
        """Its goal is where the shoulder was; the hand, which is above it, takes it along."""
        task, = summary.joint_tasks
        assert (task.name, task.joints) == (recorded.LEAN, ('shoulder',))
        start, *_, end = task.error.values[:, 0]
        positions = [state['shoulder'] for _, state in summary.states]
        assert len(task.error) > 100 and abs(start) < 0.01
        assert end == pytest.approx(positions[0] - positions[-1], abs=1e-2)
        assert abs(end) > 0.1

    def test_efforts_are_held_against_the_limits_of_the_robot(self, summary):
        assert summary.joints == tuple(recorded.ROBOT.start)
        model = summary.model
        assert summary.effort_limits == pytest.approx(model.effort_limits)
        loads = abs(summary.loads()).max(axis=0)
        assert (loads > 0.0).all() and (loads <= 1.0).all()

    def test_every_command_has_its_joint_state(self, summary):
        run = summary.run
        assert len(summary.latency) == len(run.sent[run.commands])
        assert (summary.latency > 0.0).all()
        assert np.median(summary.latency) < 0.1
        assert len(summary.period) == len(summary.latency) - 1
        assert summary.unanswered < 0.5 * len(summary.latency)

    def test_the_loop_is_held_against_what_its_gains_bear(self, summary, path, tmp_path, capsys):
        assert len(summary.ages) == len(summary.run.sent[summary.run.states])
        urdf = tmp_path / 'robot.urdf'
        urdf.write_text(summary.run.robot)
        main(['check', str(urdf), '--frames', 'hand', '--run', str(path), '--json'])
        loop = json.loads(capsys.readouterr().out)['loop']
        assert loop['source'] == 'measured'
        assert loop['hold'] == pytest.approx(np.median(summary.period))
        assert loop['time'] >= 0.5 * loop['hold'] + np.median(summary.latency) - 1e-9

    def test_parameters_and_their_changes(self, summary):
        assert summary.run.parameters['hand.kp'] == 64.0
        assert 'hand.kp = 81.0' in [said.text for said in summary.said]

    def test_what_was_said(self, summary):
        assert any(said.who == 'opspace_controller' and 'Active' in said.text
                   for said in summary.said)
        assert summary.health and summary.health[-1][3]['condition number']

    def test_a_few_states_from_first_to_last(self, summary):
        times = [time for time, _ in summary.states]
        assert len(times) == 3 and times == sorted(times)
        assert times[-1] - times[0] > 0.5 * (summary.ended - summary.began)
        assert summary.states[0][1] != summary.states[-1][1]


def test_without_joint_states_there_is_no_latency(path):
    run = Run(path)
    run.states = ''
    summary = Summary(run)
    assert len(summary.latency) == len(summary.states) == 0
    assert 'command to command' in page(summary)


class Reader(HTMLParser):
    """What a page asks of the world, and what it shows."""

    def __init__(self):
        super().__init__()
        self.asked, self.pictures, self.words = [], 0, []

    def handle_starttag(self, tag, attributes):
        self.pictures += tag == 'svg'
        self.asked += [value for name, value in attributes
                       if name in ('src', 'href', 'xlink:href') and not value.startswith('#')]

    def handle_data(self, data):
        self.words.append(data.strip())


class TestReport:

    @pytest.fixture(scope='class')
    def text(self, path):
        assert main(['report', str(path)]) == 0
        return path.with_suffix('.html').read_text()

    def test_needs_nothing_beside_it(self, text):
        reader = Reader()
        reader.feed(text)
        assert reader.asked == []
        assert reader.pictures >= 5
        assert '@import' not in text and 'url(http' not in text and '<script' not in text

    def test_tells_what_ran_on_what_and_how_well(self, text, summary):
        reader = Reader()
        reader.feed(text)
        words = set(reader.words)
        assert words >= {'planar_3r under /opspace_controller', 'shoulder', 'elbow', 'wrist',
                         'joint state to command', 'hand.kp = 81.0',
                         summary.run.machine['processor']}
        assert {'hand.kp', 'tool.frame'} <= words
        assert words.isdisjoint({'posture.kp', 'tool.mass'})  # at their defaults
        task, = summary.tasks
        assert f'{task.sizes()[:, 0].max():.3g}' in words
        lean, = summary.joint_tasks
        assert f'{lean.error.values[-1, 0]:.3g}' in words
        assert 'Active: a cycle on each message of /joint_states.' in words

    def test_warnings_trips_and_losses_come_first(self, path):
        run = Run(path)
        run.lost = {'/joint_states': 7}
        summary = Summary(run)
        summary.health.append((1.0, 2, 'state_timeout', {'fault': 'state_timeout'}))
        head = page(summary).split('<h2>')[0]
        assert 'The controller tripped: state_timeout.' in head
        assert 'lost 7 messages' in head
        assert 'No trip' not in head


class TestCutOff:

    @pytest.fixture
    def cut(self, path):
        """Return the file as it is when its writer is killed: in the middle of a record."""
        data = path.read_bytes()
        cut = path.with_name('cut.mcap')
        cut.write_bytes(data[:int(0.9 * len(data))])
        return cut

    def test_is_read_as_far_as_it_goes(self, path, cut):
        whole, part = Run(path), Run(cut)
        assert whole.complete and not part.complete
        assert part.controller == OWN and part.parameters == whole.parameters
        assert 0 < len(part.received['/joint_states']) <= len(whole.received['/joint_states'])
        assert 'cut off' in page(Summary(part)).split('<h2>')[0]


def test_pictures_keep_the_peaks():
    times = np.linspace(0.0, 1.0, 100_001)
    values = np.sin(40.0 * times)
    values[33_333], values[66_666] = 9.0, -8.0
    few_times, few = envelope(times, values)
    assert len(few) <= 1500
    assert (np.diff(few_times) >= 0.0).all()
    assert few.max() == 9.0 and few.min() == -8.0
    rows = thinned(np.arange(100_001))
    assert (rows[0], rows[-1]) == (0, 100_000) and len(rows) <= 1500


@pytest.mark.parametrize('content', [b'', b'no such thing' * 100])
def test_other_files_are_refused(tmp_path, content):
    other = tmp_path / 'other.mcap'
    other.write_bytes(content)
    with pytest.raises(RunError, match='opspace record'):
        Run(other)
    with pytest.raises(RunError, match='No such file'):
        Run(tmp_path / 'none.mcap')


def test_without_a_controller_it_says_so(tmp_path):
    """And ends after the time that was asked for."""
    done = subprocess.run(
        [sys.executable, '-m', 'opspace_control.cli.main', 'record', '--seconds', '0.5',
         '--output', str(tmp_path / 'run.mcap'), '--controller', 'nobody'],
        cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 1, done.stderr
    assert 'There was no controller /nobody' in done.stderr
    done = subprocess.run(
        [sys.executable, '-m', 'opspace_control.cli.main', 'record', '--output', '/no/such/dir/x'],
        cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 1 and 'cannot be written' in done.stderr

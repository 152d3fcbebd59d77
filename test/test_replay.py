# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A recorded run, replayed as users do it: for the view, and for whoever looks at topics."""

import math
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
pytest.importorskip('viser', reason='viser is not installed')

import recorded
import ros_nodes
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from viewer import Viewer

from opspace_control.ros.clients.player import PlayerNode
from opspace_control.ros.clients.remote_parameters import RemoteParameters
from opspace_control.ros.middleware.endpoints import LATCHED
from opspace_control.runs.run import Run

GOAL = '/robot/goal of hand'
OWN = ros_nodes.CONTROLLER
LABEL = 'position'  # of replay.position, in the view
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope='module')
def path(tmp_path_factory):
    return recorded.shared(tmp_path_factory)


@pytest.fixture(scope='module')
def run(path):
    return Run(path)


@pytest.fixture(scope='module')
def truth(run):
    """Return when joint states came, s, and where the joints were then."""
    states = list(run.messages({'/joint_states'}))
    return (np.array([time for _, time, _ in states]),
            np.array([message.position for _, _, message in states]))


def value(name, number):
    return Parameter(name, value=number).to_parameter_msg()


@pytest.fixture(scope='module')
def network():
    with ros_nodes.network() as network:
        yield network


@pytest.fixture(scope='module')
def player(network, run):
    player = PlayerNode(run, 0.0, context=network.node.context)
    network.add(player)
    yield player
    network.remove(player)
    player.destroy_node()


class TestNode:
    """The node that plays, and one that looks on."""

    def put(self, network, **parameters):
        """Set parameters of the player; return whether they were taken, and why not."""
        result, = network.call(SetParameters, f'{OWN}/set_parameters', parameters=[
            value(name.replace('_', '.'), number) for name, number in parameters.items()]).results
        return result.successful, result.reason

    def test_is_called_as_the_controller_was(self, network, player, run):
        assert player.get_fully_qualified_name() == run.controller == OWN
        remote, loaded = RemoteParameters(network.node, OWN, lambda name: None), []
        network.expect(remote.ready)
        remote.load(lambda: loaded.append(True))
        network.expect(lambda: loaded)
        assert remote.values['hand.kp'] == 64.0
        assert remote.values['tasks'] == ['hand', 'lean']
        changeable = [name for name, descriptor in remote.descriptors.items()
                      if name in run.parameters and not descriptor.read_only]
        assert [name for name in changeable if name != 'use_sim_time'] == []

    def test_late_subscribers_get_the_robot(self, network, player):
        heard = network.listen(String, 'robot_description', LATCHED)
        network.expect(lambda: heard)
        assert heard[0].data == recorded.ROBOT.path().read_text()

    @pytest.mark.parametrize('part', [0.9, 0.3, 0.7])
    def test_shows_the_moment_that_it_is_set_to(self, network, player, run, truth, part):
        states = network.listen(JointState, 'joint_states')
        network.expect(lambda: network.node.count_publishers('/joint_states'))
        times, positions = truth
        position = times[0] + part * (run.duration - times[0])
        expected = positions[np.searchsorted(times, position, side='right') - 1]

        def there():
            assert self.put(network, replay_position=position)[0]
            network.spin(0.1)
            return states and np.allclose(states[-1].position, expected, atol=1e-12)
        network.expect(there)
        del states[:]
        network.expect(lambda: states)  # it says so again to those who come late
        assert all(np.allclose(state.position, expected, atol=1e-12) for state in states)

    def test_goes_on_at_its_pace_to_the_end(self, network, player, run, truth):
        states = network.states()
        network.expect(lambda: self.put(network, replay_position=run.duration - 1.0)[0] and states)
        network.spin(0.2)
        del states[:]
        assert self.put(network, replay_rate=2.0) == (True, '')
        network.expect(lambda: player.at_the_end)
        network.expect(lambda: states and np.allclose(states[-1].position, truth[1][-1]))
        stamps = [recorded.seconds(state.header.stamp) for state in states]
        assert stamps == sorted(stamps)
        # Every message of the last second, but for what a busy machine drops.
        assert len(states) > 0.5 * np.count_nonzero(truth[0] > run.duration - 1.0)
        self.put(network, replay_rate=0.0)

    def test_refuses_what_would_move_the_robot(self, network, player):
        said = network.listen(Log, '/rosout')
        goals = network.publisher(PoseStamped, f'{OWN}/hand/target_pose')
        goal = PoseStamped()
        goal.pose.orientation.w = 1.0
        network.send(goals, goal, lambda: 'This is a recording.' in [log.msg for log in said])
        answer = network.call(Trigger, f'{OWN}/hold')
        assert (answer.success, answer.message) == (False, 'This is a recording.')
        assert not self.put(network, hand_kp=1.0)[0]
        assert not self.put(network, replay_rate=11.0)[0]

    def test_its_own_goals_are_no_complaint(self, network, player, run):
        said = network.listen(Log, '/rosout')
        goals = network.listen(PoseStamped, f'{OWN}/hand/target_pose')
        time, = run.times(f'{OWN}/hand/target_pose')
        self.put(network, replay_position=max(time - 0.2, 0.0))
        self.put(network, replay_rate=1.0)
        network.expect(lambda: goals)
        self.put(network, replay_rate=0.0)
        network.spin(0.3)
        assert 'This is a recording.' not in [log.msg for log in said]


def test_a_file_that_is_cut_off_is_played_as_far_as_it_goes(path, tmp_path):
    cut = tmp_path / 'cut.mcap'
    cut.write_bytes(path.read_bytes()[:-500])
    run = Run(cut)
    assert not run.complete
    with ros_nodes.network() as network:
        player = PlayerNode(run, 10.0, context=network.node.context)
        network.add(player)
        heard = network.listen(String, 'robot_description', LATCHED)
        network.expect(lambda: heard and player.at_the_end)
        network.remove(player)
        player.destroy_node()


def test_is_seen_in_the_view(path, run, truth):
    process = subprocess.Popen(
        [sys.executable, '-m', 'opspace_control.cli.main', 'replay', str(path), '--rate', '0',
         '--port', '18300'], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said = []
        while not said or 'Look: ' not in said[-1]:
            said.append(process.stdout.readline())
            assert said[-1], ''.join(said)
        viewer = Viewer(re.search(r'http://[^ ]+', said[-1]).group())
        viewer.expect(lambda: viewer.has(LABEL), 240.0)

        def shows_the_goal():
            return GOAL in viewer.nodes and viewer.nodes[GOAL].get('visible')

        viewer.set_until(viewer.control(LABEL), run.duration, shows_the_goal)
        viewer.expect(lambda: np.allclose(np.array(viewer.nodes[GOAL]['position'])[[0, 2]],
                                          np.array(recorded.GOAL)[[0, 2]], atol=2e-3))
        elbow = next(name for name in viewer.nodes if name.endswith('/elbow'))
        angle = truth[1][-1][list(recorded.ROBOT.start).index('elbow')]
        viewer.expect(lambda: 'wxyz' in viewer.nodes[elbow] and abs(
            2.0 * math.acos(min(abs(viewer.nodes[elbow]['wxyz'][0]), 1.0)) - abs(angle)) < 1e-3)
        viewer.drag(GOAL, [0.5, 0.0, 0.5], [1.0, 0.0, 0.0, 0.0])
        viewer.expect(lambda: any('This is a recording' in notice for notice in viewer.notices))
        viewer.close()
    finally:
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, out
    assert 'Traceback' not in out


@pytest.mark.parametrize(('arguments', 'complaint'), [
    (['--rate', '-1'], '--rate must be'),
    (['/no/such/run.mcap'], 'cannot be read'),
])
def test_mistakes_are_explained(path, arguments, complaint):
    done = subprocess.run(
        [sys.executable, '-m', 'opspace_control.cli.main', 'replay', *(
            arguments if arguments[0].startswith('/') else [str(path), *arguments])],
        cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode in (1, 2)
    assert complaint in done.stderr
    assert 'Traceback' not in done.stderr

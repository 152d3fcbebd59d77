# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Goals that RViz drags: the test does what its display of InteractiveMarkers does."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import ros_nodes
from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile
from ros_nodes import joint_state, robot_text
from sensor_msgs.msg import JointState
from visualization_msgs.msg import InteractiveMarkerFeedback as Feedback
from visualization_msgs.msg import InteractiveMarkerUpdate as Update
from visualization_msgs.srv import GetInteractiveMarkers

SERVER = '/opspace_goal_markers'
PARAMETERS = {
    'robot_description': robot_text('planar_3r'), 'tasks': ['hand'], 'hand.axes': 'x z',
    'safety.state_timeout': 0.0, 'limits.velocity_scale': 1e6, 'safety.position_jump': 1e6}


class Display:
    """A robot that stands still, its controller, the markers, and a display of them."""

    def __init__(self, network):
        self.network = network
        network.commands()  # goals of a controller that nobody listens to do not move
        network.start('controller', PARAMETERS)
        network.start('goal_markers', {})
        self.updates = network.listen(Update, f'{SERVER}/update', QoSProfile(depth=100))
        self.goals = network.listen(PoseStamped, f'{ros_nodes.CONTROLLER}/hand/target_pose')
        self.feedback = network.publisher(Feedback, f'{SERVER}/feedback')
        self.states = network.publisher(JointState, 'joint_states', ros_nodes.LATCHED)
        network.node.create_timer(0.02, lambda: self.states.publish(joint_state(
            {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6})))

    def request(self):
        return self.network.call(GetInteractiveMarkers, f'{SERVER}/get_interactive_markers')

    def marker(self):
        """Return the one marker, once it is there."""
        found = []

        def there():
            found[:] = self.request().markers
            return bool(found)
        self.network.expect(there, ros_nodes.COMPILING)
        return found[0]

    def send(self, kind, position):
        message = Feedback(marker_name='hand', event_type=kind)
        message.header.frame_id = self.marker().header.frame_id
        p = message.pose.position
        p.x, p.y, p.z = position
        message.pose.orientation.w = 1.0
        self.feedback.publish(message)

    def place(self):
        """Return where the last update has put the marker."""
        pose = next(pose for update in reversed(self.updates) for pose in update.poses).pose
        return np.array([pose.position.x, pose.position.y, pose.position.z])


@pytest.fixture(scope='module')
def display():
    with ros_nodes.network() as network:
        yield Display(network)


def test_marker_is_at_the_goal_with_handles(display):
    marker = display.marker()
    assert (marker.name, marker.header.frame_id) == ('hand', 'base_link')
    assert [control.name for control in marker.controls] == [
        'move x', 'move y', 'move z', 'turn x', 'turn y', 'turn z']
    for control in marker.controls:
        o = control.orientation
        assert o.x ** 2 + o.y ** 2 + o.z ** 2 + o.w ** 2 == pytest.approx(1.0)
    poses = display.network.listen(
        PoseStamped, f'{ros_nodes.CONTROLLER}/hand/current_pose', ros_nodes.NEWEST)
    display.network.expect(lambda: poses)
    here = poses[-1].pose.position
    p = display.marker().pose.position
    np.testing.assert_allclose([p.x, p.y, p.z], [here.x, here.y, here.z], atol=1e-3)


def test_dragged_marker_is_a_goal_and_stays(display):
    p = display.marker().pose.position
    wanted = np.array([p.x + 0.05, p.y, p.z - 0.04])
    del display.goals[:]
    display.send(Feedback.MOUSE_DOWN, (p.x, p.y, p.z))
    display.send(Feedback.POSE_UPDATE, wanted.tolist())
    display.send(Feedback.MOUSE_UP, wanted.tolist())
    display.network.expect(lambda: display.goals)
    display.network.spin(2.0)
    # Taking hold is no goal.
    for goal in display.goals:
        o = goal.pose.position
        np.testing.assert_allclose([o.x, o.y, o.z], wanted)
    p = display.marker().pose.position
    np.testing.assert_allclose([p.x, p.y, p.z], wanted, atol=1e-3)


def test_refused_goal_comes_back(display):
    p = display.marker().pose.position
    before = np.array([p.x, p.y, p.z])
    display.send(Feedback.MOUSE_UP, [9.0, 0.0, 0.0])
    display.network.expect(lambda: np.allclose(display.place(), before, atol=1e-3))


def test_updates_are_numbered_without_a_gap(display):
    numbers = [update.seq_num for update in display.updates]
    assert len(numbers) > 1
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert display.request().sequence_number >= numbers[-1]
    assert {update.server_id for update in display.updates} == {SERVER}


def test_markers_go_with_the_controller(display):
    display.network.processes['controller'].end()
    display.network.expect(lambda: not display.request().markers)
    display.network.expect(lambda: any(list(update.erases) == ['hand']
                                       for update in display.updates))

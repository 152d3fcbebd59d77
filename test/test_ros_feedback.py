# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""What the controller says of itself: tasks, joint forces, markers, diagnostics."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import ros_nodes
from controller_bench import MODEL, PARAMETERS, START, Bench, moved, reference, robot_state, torque
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from ros_nodes import CONTROLLER
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from visualization_msgs.msg import Marker, MarkerArray

from opspace_control import CenterOfMassTask, OperationalSpaceController, PostureTask
from opspace_control.control.split import SOURCES, split_efforts
from opspace_control.ros.middleware.endpoints import Endpoints, Feedback
from opspace_control.ros.topics.feedback import add_task_topics
from opspace_control.ros.topics.frames import Frames

EFFORT_SCALE = 0.5


def test_nothing_is_worked_out_for_nobody():
    filled = []
    with ros_nodes.network() as network:
        endpoints = Endpoints(network.node)
        feedback = Feedback(endpoints)
        feedback.add('told', JointState(), filled.append)
        for stamp in range(3):
            feedback.publish(stamp)
        assert not filled
        heard = network.listen(JointState, 'told')
        network.expect(lambda: feedback.publish('now') or heard)
        assert set(filled) == {'now'}
        endpoints.withdraw()


class FeedbackBench(Bench):

    def hear(self, heard, positions=None, velocities=None):
        """Send new states until each of these lists has a message of the newest; return them."""
        def told():
            self.after(1, positions, velocities)
            stamp = self.now
            return all(topic and _milliseconds(topic[-1]) == stamp for topic in heard)
        self.network.expect(told)
        return [topic[-1] for topic in heard]


def _milliseconds(message):
    header = message.markers[0].header if isinstance(message, MarkerArray) else message.header
    return 1000 * header.stamp.sec + header.stamp.nanosec // 1_000_000


@pytest.fixture(scope='module')
def node():
    with FeedbackBench.around(
            PARAMETERS | {'publish_rate': 1000.0, 'limits.effort_scale': EFFORT_SCALE,
                          'frame_prefix': 'robot/'}) as bench:
        bench.after(1)
        yield bench


@pytest.fixture(scope='module')
def there():
    """Return a reference that was where the node was and is now somewhere else, and moving."""
    controller = reference()
    torque(controller, START)
    positions, velocities = moved(scale=0.05), np.linspace(-0.1, 0.1, MODEL.nv)
    state = robot_state(positions, velocities)
    return controller, state, positions, velocities, controller.compute_torque(state)


def test_wrench_is_that_of_the_task_in_the_axes_of_its_frame(node, there):
    controller, state, positions, velocities, _ = there
    heard = node.network.listen(WrenchStamped, f'{CONTROLLER}/left/wrench')
    message, = node.hear([heard], positions, velocities)
    assert message.header.frame_id == 'robot/l_hand'
    R = MODEL.forward_kinematics(state, ['l_hand'])['l_hand'][:3, :3]
    wrench = controller.tasks['left'].wrench
    f, n = message.wrench.force, message.wrench.torque
    np.testing.assert_allclose(R @ [f.x, f.y, f.z], wrench[:3], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(R @ [n.x, n.y, n.z], wrench[3:], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('frame', [None, 'l_upper_arm'])
def test_wrench_of_a_center_of_mass_is_moved_to_where_it_is_told(frame):
    """A force there, without a moment: seen along the axes of a link, or of the base."""
    task = CenterOfMassTask(frame)
    controller = OperationalSpaceController(MODEL, [task], PostureTask())
    state = robot_state(moved())
    task.set_target([1.0, 0.2, 0.3])
    controller.compute_torque(state)
    told = {}
    add_task_topics(
        SimpleNamespace(add_numbers=lambda topic, kind, *told_by: told.update({topic: told_by})),
        controller, Frames(MODEL, SimpleNamespace(known=True, state=state), None))
    named, numbers = told['~/center_of_mass/wrench']
    assert named == (frame or MODEL.root_link)
    link = MODEL.forward_kinematics(state)[named]
    f, n = numbers().reshape(2, 3) @ link[:3, :3].T
    np.testing.assert_allclose(f, task.wrench[:3], rtol=1e-9)
    assert np.linalg.norm(f) > 10.0
    np.testing.assert_allclose(n, np.cross(task.pose[:3] - link[:3, 3], f), atol=1e-9)


def test_joint_forces_by_source(node, there):
    controller, state, positions, velocities, tau = there
    topics = ['', *(f'/{source}' for source in SOURCES)]
    heard = [node.network.listen(JointState, f'{CONTROLLER}/controller_state{topic}')
             for topic in topics]
    whole, *parts = node.hear(heard, positions, velocities)
    assert list(whole.name) == list(MODEL.dof_names)
    assert not whole.position
    assert not whole.velocity
    limits = EFFORT_SCALE * MODEL.effort_limits
    np.testing.assert_allclose(whole.effort, np.clip(tau, -limits, limits), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sum(np.array(part.effort) for part in parts), whole.effort,
                               rtol=0.0, atol=1e-10)
    expected = split_efforts(controller, state, tau)
    for source, part in zip(SOURCES[:-1], parts, strict=False):
        np.testing.assert_allclose(part.effort, expected[source], rtol=1e-9, atol=1e-9)


def test_markers(node, there):
    controller, _, positions, velocities, _ = there
    heard = node.network.listen(MarkerArray, f'{CONTROLLER}/markers')
    message, = node.hear([heard], positions, velocities)
    markers = {(marker.ns, marker.type): marker for marker in message.markers}
    assert {ns for ns, _ in markers} == {'left', 'right'}
    assert all(marker.header.frame_id == 'robot/base_link' for marker in message.markers)
    task = controller.tasks['left']
    goal = markers['left', Marker.LINE_LIST]
    p, o = goal.pose.position, goal.pose.orientation
    np.testing.assert_allclose([p.x, p.y, p.z, o.x, o.y, o.z, o.w], task.target, atol=1e-9)
    assert len(goal.points) == len(goal.colors) == 6
    here, goal_point = markers['left', Marker.LINE_STRIP].points
    np.testing.assert_allclose([here.x, here.y, here.z], task.pose[:3], atol=1e-9)
    np.testing.assert_allclose([goal_point.x, goal_point.y, goal_point.z], task.target[:3],
                               atol=1e-9)
    tail, tip = markers['left', Marker.ARROW].points
    np.testing.assert_allclose(np.subtract([tip.x, tip.y, tip.z], [tail.x, tail.y, tail.z]),
                               0.005 * task.wrench[:3], atol=1e-9)
    assert node.network.call(SetBool, f'{CONTROLLER}/left/enable', data=False).success
    message, = node.hear([heard], positions, velocities)
    assert {marker.ns for marker in message.markers} == {'right'}
    assert node.network.call(SetBool, f'{CONTROLLER}/left/enable', data=True).success


class TestDiagnostics:

    @pytest.fixture
    def heard(self, node):
        return node.network.listen(DiagnosticArray, '/diagnostics')

    def told(self, node, heard, condition, run=lambda: None):
        """Return the first status that a condition holds of; ``run`` is called meanwhile."""
        del heard[:]

        def look():
            run()
            return any(condition(values(message)) for message in heard)
        node.network.expect(look)
        return next(message.status[0] for message in heard if condition(values(message)))

    def run(self, node):
        """Let a quick robot send some states, none left out."""
        for _ in range(20):
            node.after(1)

    def test_active(self, node, heard):
        status = self.told(node, heard, lambda values: 'period mean [ms]' in values,
                           lambda: self.run(node))
        assert status.name == 'opspace_controller: control cycle'
        assert status.hardware_id == 'dual_arm'
        facts = {item.key: item.value for item in status.values}
        assert facts['fault'] == 'none'
        assert facts['active tasks'] == 'left, right'
        assert facts['singular or nearly singular directions'] == 'none'
        assert float(facts['condition number']) > 1.0
        assert 0.0 < float(facts['least eigenvalue']) < 2.0
        periods = [float(facts[f'period {which} [ms]']) for which in ('min', 'mean', 'p99', 'max')]
        assert periods == sorted(periods)
        assert float(facts['rate [Hz]']) > 1.0
        assert facts['missed cycles'].isdigit()
        assert 0.0 <= float(facts['state age [s]']) < 2.0

    def test_missed_states(self, node, heard):
        def leave_some_out():
            self.run(node)
            node.after(5)
        status = self.told(node, heard, lambda values: int(values.get('missed cycles', 0)) > 3,
                           leave_some_out)
        assert status.level == DiagnosticStatus.WARN
        assert 'were skipped' in status.message

    def test_a_loop_that_is_slow_for_its_gains(self, node, heard):
        """Of a hand: kp of 10^4 tolerates 6.5 ms; efforts of 10 ms are late by 5."""
        assert node.change(left__kp=1e4).successful

        def seldom():
            for _ in range(20):
                node.after(10)
        status = self.told(node, heard, lambda values: float(
            values.get('loop delay [ms]', 0.0)) == 5.0, seldom)
        assert status.level == DiagnosticStatus.WARN
        assert 'the loop of task left is unstable above 6.5 ms' in status.message
        assert node.change(left__kp=100.0).successful
        status = self.told(node, heard, lambda values: float(
            values.get('delay margin of task left [ms]', 0.0)) == 64.7, seldom)
        assert 'is unstable' not in status.message

    def test_limits(self, node, heard):
        limited = dict(START) | {'l_elbow': -0.5, 'torso_pitch': 0.5}

        def pull():
            node.after(1, limited)
        status = self.told(node, heard, lambda values: (
            values.get('joints at an effort limit', 'none') != 'none'), pull)
        assert status.level == DiagnosticStatus.WARN
        facts = {item.key: item.value for item in status.values}
        assert int(facts['cycles at an effort limit']) > 0
        assert set(facts['joints at an effort limit'].split(', ')) <= set(MODEL.dof_names)

    def test_lost_directions(self, node, heard):
        """Straight elbows cannot pull the hands in."""
        straight = dict(START) | {'l_elbow': 0.0, 'r_elbow': 0.0}
        lost = 'singular or nearly singular directions'
        status = self.told(node, heard, lambda values: values.get(lost, 'none') != 'none',
                           lambda: node.after(1, straight))
        facts = {item.key: item.value for item in status.values}
        assert 'left' in facts[lost]
        assert 'truncated directions' in facts

    def test_no_states(self, node, heard):
        node.after(1)
        status = self.told(node, heard, lambda values: 'period mean [ms]' not in values)
        assert status.level == DiagnosticStatus.WARN
        assert 'No joint states' in status.message

    def test_a_fault_by_name(self, node, heard):
        node.after(1)
        assert node.change(safety__state_timeout=0.1).successful
        status = self.told(node, heard, lambda values: values['fault'] != 'none')
        assert status.level == DiagnosticStatus.ERROR
        assert status.message.startswith('state_timeout')


def values(message):
    return {item.key: item.value for item in message.status[0].values}

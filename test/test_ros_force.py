# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Force, impedance and wrench sensors over DDS: goals, readings, parameters, feedback."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import ros_nodes
from controller_bench import MODEL, PARAMETERS, START, GoalBench, close, moved, robot_state, torque
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from ros_nodes import CONTROLLER
from std_srvs.srv import Trigger

from opspace_control import (
    ForceControl,
    ForceSensor,
    Impedance,
    OperationalSpaceController,
    Payload,
    PoseTask,
    PostureTask,
)
from opspace_control.ros.middleware.conversions import fill_message, six_from_message
from opspace_control.spatial.rotations import matrix_from_vector

WRENCH = np.array([3.0, -2.0, 1.0, 0.3, 0.2, -0.1])
TOOL = {'tool_mass': 0.5, 'tool_center': [0.0, 0.0, -0.09]}
AT_ONCE = {'approach_velocity': 0.0, 'approach_rate': 0.0}
FORCE_PARAMETERS = PARAMETERS | {
    'publish_rate': 1000.0, 'left.force_axes': 'x z ry', 'left.axes_frame': 'l_hand',
    **{f'left.force.{name}': value for name, value in AT_ONCE.items()},
    'payloads': ['tool'], 'tool.frame': 'l_hand',
    'sensors': ['wrist'], 'left.sensor': 'wrist', 'wrist.frame': 'l_palm', 'wrist.cutoff': 1e6,
    **{f'wrist.{name}': value for name, value in TOOL.items()}}


def stamped(wrench, frame=''):
    message = WrenchStamped()
    message.header.frame_id = frame
    fill_message(message.wrench, np.asarray(wrench, float))
    return message


def controller_like_the_nodes(**left):
    """Return a controller in this process, its tasks where they begin, and its sensor."""
    sensor = ForceSensor('l_palm', name='wrist', cutoff=1e6, **TOOL)
    options = {'axes_frame': 'l_hand', 'force_axes': 'x z ry', **left}
    controller = OperationalSpaceController(
        MODEL, [PoseTask('l_hand', name='left', force=ForceControl(
            sensor, approach=(0.0, 0.0)), **options),
                PoseTask('r_hand', name='right')], PostureTask())
    torque(controller, START)
    return controller, sensor


class ForceBench(GoalBench):

    def refused_wrench(self, message, complaint):
        self.refused('target_wrench', message, complaint)

    def feel(self, wrench, frame=''):
        """Let the sensor read this, for certain."""
        if not hasattr(self, 'sensor'):
            self.sensor = self.network.publisher(WrenchStamped, f'{CONTROLLER}/wrist/wrench',
                                                 ros_nodes.NEWEST)
        message = stamped(wrench, frame)
        for _ in range(3):
            self.sensor.publish(message)
            self.network.spin(0.02)


@pytest.fixture(scope='module')
def running():
    with ForceBench.around(FORCE_PARAMETERS) as bench:
        yield bench


@pytest.fixture
def node(running):
    """Return a bench, its robot at the start, wanting no force; its sensor is never heard."""
    running.after(1000)
    running.hold()
    running.send('target_wrench', stamped(np.zeros(6)))
    running.after(1)
    return running


@pytest.fixture(scope='module')
def sensing():
    """Return another bench, whose sensor is heard."""
    with ForceBench.around(FORCE_PARAMETERS) as bench:
        bench.after(1)
        yield bench


class TestGoals:
    def expected(self, wrench, positions=START):
        controller, _ = controller_like_the_nodes()
        controller.tasks['left'].force.set_target(wrench)
        return torque(controller, positions)

    def test_without_a_frame_it_is_along_the_axes_of_the_task(self, node):
        node.send('target_wrench', stamped(WRENCH))
        assert close(node.after(1), self.expected(WRENCH))
        there = moved(scale=0.05)
        assert close(node.after(1, there), self.expected(WRENCH, there))  # and goes on with it

    @pytest.mark.parametrize('frame', ['base_link', 'r_palm', 'l_hand'])
    def test_it_is_given_along_the_axes_of_any_frame(self, node, frame):
        state = robot_state(START)
        poses = MODEL.forward_kinematics(state, [frame, 'l_hand'])
        R = poses['l_hand'][:3, :3].T @ poses[frame][:3, :3]
        expected = (WRENCH.reshape(2, 3) @ R.T).reshape(6)
        node.send('target_wrench', stamped(WRENCH, frame))
        assert close(node.after(1), self.expected(expected))

    @pytest.mark.parametrize('wrench, complaint', [
        ([np.nan, 0, 0, 0, 0, 0], 'The wrench is not finite'),
        ([0, 0, 101.0, 0, 0, 0], 'is more than max_force = 100 N'),
        ([0, 0, 0, 0, 10.5, 0], 'max_moment = 10 N·m')], ids=['nan', 'force', 'moment'])
    def test_what_cannot_be_wanted_is_refused_and_the_old_one_stays(self, node, wrench, complaint):
        node.send('target_wrench', stamped(WRENCH))
        before = node.after(1)
        node.refused_wrench(stamped(wrench), complaint)
        assert close(node.after(1), before)

    def test_an_unknown_frame_is_refused(self, node):
        node.refused_wrench(stamped(WRENCH, 'l_hnd'), "There is no frame 'l_hnd'"
                            if 'not installed' not in node.process.said() else "no frame 'l_hnd'")

    def test_a_task_that_controls_no_force_says_so(self, node):
        publisher = node.network.publisher(WrenchStamped, f'{CONTROLLER}/right/target_wrench')
        node.network.send(publisher, stamped(WRENCH), lambda: (
            "No axis of 'right' controls force. Name some in right.force_axes."
            in node.process.said()))

    def test_to_hold_is_to_press_no_more_and_without_a_jump(self, node):
        node.send('target_wrench', stamped(10.0 * np.eye(6)[2]))
        pressing = node.after(1)
        node.hold()
        course = [pressing, *(node.after(10) for _ in range(80))]
        swing = abs(course[-1] - pressing).max()
        assert swing > 1.0
        assert abs(np.diff(course, axis=0)).max() < 0.11 * swing
        assert close(course[-1], self.expected(np.zeros(6)))


class TestSensor:
    def weight(self):
        """Return what the sensor reads of its tool at the start."""
        R = MODEL.forward_kinematics(robot_state(START), ['l_palm'])['l_palm'][:3, :3]
        force = R.T @ [0.0, 0.0, -9.81 * TOOL['tool_mass']]
        return np.r_[force, np.cross(TOOL['tool_center'], force)]

    def heard_of(self, sensing):
        """Return a list of measured wrenches, at the left hand and in its axes."""
        if not hasattr(sensing, 'measured'):
            sensing.measured = sensing.network.listen(
                WrenchStamped, f'{CONTROLLER}/left/measured_wrench')
        return sensing.measured

    def measure(self, sensing, reading, frame=''):
        """Let the sensor read something and return the wrench that is measured of it."""
        heard = self.heard_of(sensing)
        for _ in range(20):  # until readings are valid
            sensing.feel(reading, frame)
            sensing.after(10)
        del heard[:]

        def told():
            sensing.feel(reading, frame)
            sensing.after(1)
            return len(heard) > 2
        sensing.network.expect(told)
        assert heard[-1].header.frame_id == 'l_hand'
        return six_from_message(heard[-1].wrench)

    def test_what_is_measured_is_what_the_robot_applies_at_the_hand(self, sensing):
        """The palm's frame is 15 cm behind the hand's, and turned by half a turn about x."""
        assert np.allclose(self.measure(sensing, self.weight()), 0.0, atol=1e-9)
        felt = self.measure(sensing, np.add(self.weight(), [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]))
        poses = MODEL.forward_kinematics(robot_state(START), ['l_palm', 'l_hand'])
        R = poses['l_hand'][:3, :3].T @ poses['l_palm'][:3, :3]
        lever = poses['l_hand'][:3, :3].T @ (poses['l_palm'][:3, 3] - poses['l_hand'][:3, 3])
        force = R @ [1.0, 2.0, 3.0]
        assert np.allclose(felt, -np.r_[force, np.cross(lever, force)], atol=1e-9)

    def test_a_wrench_in_another_frame_is_taken_from_there(self, sensing):
        there = moved(scale=0.0)
        poses = MODEL.forward_kinematics(robot_state(there), ['l_palm', 'l_hand'])
        R = poses['l_hand'][:3, :3].T @ poses['l_palm'][:3, :3]
        weight = self.weight().reshape(2, 3)
        lever = poses['l_hand'][:3, :3].T @ (poses['l_palm'][:3, 3] - poses['l_hand'][:3, 3])
        force = R @ weight[0]
        in_hand = np.r_[force, R @ weight[1] + np.cross(lever, force)]
        measured = self.measure(sensing, np.add(in_hand, [0.0, 0.0, 5.0, 0.0, 0.0, 0.0]), 'l_hand')
        assert np.allclose(measured, [0.0, 0.0, -5.0, 0.0, 0.0, 0.0], atol=1e-9)

    def test_zero_takes_what_is_felt_for_bias(self, sensing):
        bias = np.array([1.0, -1.0, 0.5, 0.0, 0.1, 0.0])
        self.measure(sensing, self.weight() + bias)
        answer = sensing.network.call(Trigger, f'{CONTROLLER}/wrist/zero')
        assert answer.success and answer.message.startswith("The bias of 'wrist' is now [1, -1, 0.")
        assert np.allclose(self.measure(sensing, self.weight() + bias), 0.0, atol=1e-9)
        assert sensing.change(wrist__bias=[0.0] * 6).successful
        assert not np.allclose(self.measure(sensing, self.weight() + bias), 0.0, atol=0.1)

    def test_what_is_no_wrench_is_refused(self, sensing):
        self.measure(sensing, self.weight())
        sensing.feel([np.inf, 0, 0, 0, 0, 0])
        sensing.log("A wrench of 'wrist' is refused: The wrench is not finite")
        sensing.feel(self.weight(), 'nowhere')
        assert sensing.value('wrist.tool_mass') == TOOL['tool_mass']

    def test_silence_means_open_loop_a_warning_and_a_diagnostic_and_no_jump(self, sensing):
        self.measure(sensing, np.add(self.weight(), [5.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
        closed = sensing.after(1)
        course = [closed, *(sensing.after(10) for _ in range(30))]
        swing = abs(course[-1] - closed).max()
        assert swing > 0.05
        assert abs(np.diff(course, axis=0)).max() < 0.15 * swing
        sensing.log("sensor 'wrist'")
        sensing.log("'left' controls force open loop")
        status = self.diagnostic(sensing)
        assert status.level == DiagnosticStatus.WARN
        assert ("Sensor 'wrist' has no recent reading: force is controlled open loop."
                in status.message)
        values = {pair.key: pair.value for pair in status.values}
        assert values['force of left'].startswith('open loop')
        answer = sensing.network.call(Trigger, f'{CONTROLLER}/wrist/zero')
        assert not answer.success and 'no recent reading' in answer.message
        self.measure(sensing, self.weight())
        values = {pair.key: pair.value for pair in self.diagnostic(sensing).values}
        assert values['force of left'] == 'closed loop, contact: contact'

    def diagnostic(self, sensing):
        """Return the next status of the control cycle."""
        heard = sensing.network.listen(DiagnosticArray, '/diagnostics')
        sensing.network.expect(lambda: heard)
        return heard[-1].status[0]


BODY = {'tool__mass': 2.0, 'tool__center_of_mass': [0.0, 0.05, -0.1],
        'tool__inertia': [0.02, 0.03, 0.01, 0.001, 0.0, 0.0]}


class TestPayload:

    @pytest.fixture(autouse=True)
    def _take_off(self, node):
        yield
        node.change(tool__mass=0.0, tool__center_of_mass=[0.0] * 3, tool__inertia=[0.0] * 6,
                    safety__ramp_time=0.0)
        for _ in range(20):  # until it is off
            node.after(10)

    @staticmethod
    def loaded(positions=START):
        controller, _ = controller_like_the_nodes()
        controller.payloads.put('tool', 'l_hand', Payload(2.0, (0.0, 0.05, -0.1), [
            [0.02, 0.001, 0.0], [0.001, 0.03, 0.0], [0.0, 0.0, 0.01]]))
        return torque(controller, positions)

    def test_it_is_carried_and_taken_off_live(self, node):
        there = moved(scale=0.05)
        bare = node.after(1, there)
        assert node.change(**BODY).successful
        assert close(node.after(1, there), self.loaded(there))
        assert abs(self.loaded(there) - bare).max() > 3.0  # N m
        assert node.change(tool__mass=0.0, tool__inertia=[0.0] * 6).successful
        assert close(node.after(1, there), bare)

    def test_it_comes_gradually(self, node):
        assert node.change(safety__ramp_time=0.1).successful
        before = node.after(1)
        assert node.change(**BODY).successful
        for _ in range(10):
            steps = abs(node.after(10) - before).max()
            before = node.command_at(node.now)
            assert 0.02 < steps < 1.5
        assert close(node.after(10), self.loaded())

    @pytest.mark.parametrize('values, complaint', [
        ({'tool__mass': -1.0}, 'tool.mass'),
        ({'tool__mass': 1.0, 'tool__inertia': [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0]},
         'not positive semi-definite'),
        ({'tool__frame': 'r_hand'}, 'read-only')])
    def test_a_body_that_cannot_be_is_refused(self, node, values, complaint):
        before = node.after(1)
        result = node.change(**values)
        assert not result.successful and complaint in result.reason
        assert close(node.after(1), before)


class TestParameters:
    @staticmethod
    def turn(node, frame, rotation):
        """Change the axes and wait until they have turned, or the next test would begin in it."""
        assert node.change(left__axes_frame=frame, left__axes_rotation=rotation).successful
        for _ in range(60):  # more than half a second, of steps that count in full
            node.after(10)

    def test_axes_of_force_change_at_run_time(self, node):
        node.send('target_wrench', stamped(WRENCH))
        node.after(1)
        try:
            assert node.change(left__force_axes='z').successful
            controller, _ = controller_like_the_nodes()
            left = controller.tasks['left']
            left.force.set_target(WRENCH)
            torque(controller, START)
            left.set_axes(force_axes='z')
            assert close(node.after(1), torque(controller, START))
        finally:
            assert node.change(left__force_axes='x z ry').successful

    def test_axes_turn_at_run_time_and_a_wrench_is_taken_along_them(self, node):
        """The surface has no link: its normal is the axis that presses, wherever the hand is."""
        turn = [0.0, np.sin(0.4), 0.0, np.cos(0.4)]
        R = matrix_from_vector(np.array([0.0, 0.8, 0.0]))
        try:
            self.turn(node, '', turn)
            node.send('target_wrench', stamped([*(9.0 * R[:, 2]), 0, 0, 0], 'base_link'))
            controller, _ = controller_like_the_nodes(axes_frame=None, axes_rotation=R)
            controller.tasks['left'].force.set_target([0.0, 0.0, 9.0, 0.0, 0.0, 0.0])
            assert close(node.after(1), torque(controller, START))
        finally:
            self.turn(node, 'l_hand', [0.0, 0.0, 0.0, 1.0])

    def test_the_mode_and_its_numbers_change_at_run_time(self, node):
        there = moved(scale=0.05)
        try:
            assert node.change(left__mode='impedance', left__stiffness=[300.0] * 6,
                               left__damping_ratio=0.6).successful
            controller, _ = controller_like_the_nodes(impedance=Impedance(300.0, 0.6))
            controller.tasks['left'].max_linear_velocity = np.inf
            assert close(node.after(1, there), torque(controller, there))
        finally:
            assert node.change(left__mode='decoupled').successful

    @pytest.mark.parametrize('values, complaint', [
        ({'left__force_axes': 'x q'}, "axes 'x q' cannot be used"),
        ({'left__axes': '', 'left__force_axes': ''}, 'name no axis'),
        ({'left__axes_frame': 'l_hnd'}, "The robot has no link 'l_hnd'. Did you mean 'l_hand'"),
        ({'left__axes_frame': 'a b c'}, 'axes_frame'),
        ({'left__axes_rotation': [0.0, 0.0, 0.0, 0.5]}, 'axes_rotation'),
        ({'left__axes_rotation': [0.0, 0.0, 1.0]}, 'must have 4 values'),
        ({'left__mode': 'soft'}, 'must be one of decoupled, impedance'),
        ({'left__stiffness': -1.0}, 'left.stiffness'),
        ({'left__damping_ratio': 0.0}, 'left.damping_ratio'),
        ({'left__force__damping': 0.0}, 'left.force.damping'),
        ({'left__force__max_force': float('nan')}, 'left.force.max_force'),
        ({'wrist__tool_center': [0.0, 0.0]}, 'must have 3 values'),
        ({'wrist__bias': [float('inf')] * 6}, 'wrist.bias must be from -1e+06 to 1e+06'),
        ({'wrist__timeout': 0.0}, 'wrist.timeout')], ids=str)
    def test_a_bad_value_is_refused_with_a_reason_and_changes_nothing(
            self, node, values, complaint):
        before = node.after(1)
        result = node.change(**values)
        assert not result.successful
        assert complaint in result.reason
        assert close(node.after(1), before)

    @pytest.mark.parametrize('name, value', [
        ('left.sensor', 'other'), ('left.type', 'force'), ('left.priority', 1),
        ('wrist.frame', 'r_palm')])
    def test_what_is_structural_stays(self, node, name, value):
        assert not node.change(**{name.replace('.', '__'): value}).successful


@pytest.fixture(scope='module')
def kinds():
    """Return a bench with tasks of all kinds."""
    others = {name: value for name, value in PARAMETERS.items()
              if not name.startswith(('left.', 'right.'))}
    with ForceBench.around(others | {
            'tasks': ['place', 'turn', 'press', 'right'], 'place.type': 'position',
            'place.frame': 'l_hand', 'place.force_axes': 'x', 'turn.type': 'orientation',
            'turn.frame': 'l_hand', 'turn.priority': 1, 'press.type': 'force',
            'press.frame': 'r_hand', 'press.force_axes': 'x',
            'press.force.approach_velocity': 0.0, 'press.force.approach_rate': 0.0,
            'right.frame': 'r_hand', 'right.axes': 'y z rx ry rz', 'right.priority': 1,
            'publish_rate': 1000.0}) as bench:
        bench.after(1)
        yield bench


class TestKinds:
    """Position, orientation and force tasks, one below the other, and their topics."""

    def test_each_has_the_topics_that_it_understands(self, kinds):
        kinds.network.expect(lambda: any(
            'press/target_wrench' in name for name, _ in
            kinds.network.node.get_topic_names_and_types()))
        topics = {name for name, _ in kinds.network.node.get_topic_names_and_types()}
        for task in ('place', 'turn', 'right'):
            assert {f'{CONTROLLER}/{task}/{topic}' for topic in (
                'target_pose', 'target_wrench', 'error', 'wrench', 'current_pose')} <= topics
        assert f'{CONTROLLER}/press/target_pose' not in topics
        assert f'{CONTROLLER}/press/error' not in topics
        assert f'{CONTROLLER}/press/measured_wrench' not in topics  # it has no sensor

    def test_they_press_and_move(self, kinds):
        before = kinds.after(1)
        publisher = kinds.network.publisher(WrenchStamped, f'{CONTROLLER}/press/target_wrench')
        changed = []

        def pressed():
            publisher.publish(stamped([8.0, 0, 0, 0, 0, 0]))
            kinds.network.spin(0.02)
            changed[:] = [kinds.after(1) - before]
            return abs(changed[0]).max() > 0.1
        kinds.network.expect(pressed)
        J = MODEL.jacobian(robot_state(START), ['r_hand'])
        np.testing.assert_allclose(changed[0], 8.0 * J[0], atol=1e-9)


@pytest.mark.parametrize('parameters, complaint', [
    ({'left.sensor': 'wirst', 'sensors': ['wrist'], 'wrist.frame': 'l_palm'},
     "left.sensor: there is no sensor 'wirst'. Did you mean 'wrist'?"),
    ({'left.sensor': 'wrist'}, "left.sensor: there is no sensor 'wrist'. Name it in sensors."),
    ({'left.type': 'position', 'left.axes': 'rx'}, 'name no axis'),
    ({'left.type': 'force'}, "task 'left': axes"),
    ({'sensors': ['wrist'], 'wrist.frame': 'l_plam', 'left.sensor': 'wrist'}, "'l_plam'"),
    ({'sensors': ['left'], 'left.frame': 'l_hand'}, "No sensor can be called 'left'"),
    ({'wrist.frame': 'l_palm'}, 'There is no parameter wrist.frame')], ids=str)
def test_what_does_not_fit_ends_the_node_with_a_reason(parameters, complaint):
    with ros_nodes.network() as network:
        process = network.start('controller', PARAMETERS | parameters)
        network.expect(lambda: process.exit_code() is not None, ros_nodes.COMPILING)
        assert process.exit_code() == 1
        assert complaint in process.said()

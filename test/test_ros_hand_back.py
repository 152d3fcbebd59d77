# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The command watchdog and a controller manager: who has the joints when commands have stopped."""

import array
import contextlib
import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray
from test_ros_controller_manager import (
    ALONE,
    INTERFACES,
    ORDER,
    OURS,
    ROBOT,
    Bench,
    broadcaster,
    effort_controller,
    gravity,
    new_bench,
    position_controller,
)

from opspace_control.ros.commands import manager_client
from opspace_control.ros.commands.hand_back import HandBack

INPUT = 'opspace_command_watchdog/commands'
COMMAND = [1.0, 2.0, 3.0]
# Up to which states, of a thread of the test, are used as well.
DEADLINE = 0.5  # s
PARAMETERS = {
    'robot_description': ROBOT, 'controller_manager': 'controller_manager',
    'controller_manager_timeout': 2.0, 'deadline': DEADLINE, 'hold_time': 0.3,
    'release_time': 0.1, 'effort_rate': 1e6}
BROADCASTER = {'joint_state_broadcaster'}


class Stopped(Bench):
    """A watchdog and a manager; the test plays the controller that commands, and stops."""

    def watch(self, *controllers, **parameters):
        """Start the manager and the watchdog."""
        self.manage(*controllers)
        self.process = self.network.start('command_watchdog', PARAMETERS | parameters)
        self.log(f'from /{INPUT}')
        self.ours = self.manager['effort_controller']
        self.publisher = self.network.publisher(Float64MultiArray, INPUT)
        return self

    def take(self):
        """Have the effort controller switched on, as a controller does, and command something."""
        hangs, lists = not self.manager.free.is_set(), self.manager.lists
        # Without a gap, in which the manager would be asked as well, to hand the joints back.
        self.network.send(self.publisher, Float64MultiArray(data=array.array('d', COMMAND)),
                          lambda: hangs or self.manager.lists > lists)
        others = self.manager.active & {'position_controller', 'velocity_controller'}
        for name in others:
            self.manager[name].state = 'inactive'
        self.ours.state = 'active'
        self.manager.note_claims()
        self.send()

    def send(self):
        """Send commands until one has been passed on."""
        self.network.send(self.publisher, Float64MultiArray(data=array.array('d', COMMAND)),
                          lambda: self.ours.received and self.ours.received[-1][1] == COMMAND)

    def expect(self, condition):
        self.network.expect(condition)

    def carried(self):
        """Wait until the robot is carried, longer than hold_time."""
        self.expect(self.is_carried)
        self.network.spin(2.0 * PARAMETERS['hold_time'])
        assert self.is_carried()
        assert 'effort_controller' in self.manager.active

    def is_carried(self):
        return np.allclose(self.ours.received[-1][1], gravity(), atol=1e-9)

    def since_the_command(self):
        """Return the commands after the last one of the test, and when they came."""
        *_, last = (k for k, (_, command) in enumerate(self.ours.received) if command == COMMAND)
        return self.ours.received[last + 1:]

    @contextlib.contextmanager
    def parameter(self, name, value, usual):
        """Let a parameter have another value within this context."""
        self._set(name, value)
        try:
            yield
        finally:
            self._set(name, usual)

    def _set(self, name, value):
        result, = self.network.call(
            SetParameters, '/opspace_command_watchdog/set_parameters',
            parameters=[Parameter(name, value=value).to_parameter_msg()]).results
        assert result.successful, result.reason


@pytest.fixture
def bench(messages):
    with new_bench(messages, Stopped) as bench:
        yield bench


@pytest.fixture(scope='module')
def watched(messages):
    """A watchdog and its manager, for many tests."""
    from fake_controller_manager import Controller
    with new_bench(messages, Stopped) as bench:
        yield bench.watch(broadcaster(), position_controller(), effort_controller(), Controller(
            'velocity_controller', 'some/VelocityController', tuple(
                f'{joint}/velocity' for joint in ORDER)))


@pytest.fixture
def stopped(watched):
    """The same; the controllers are as at the start, and nothing is commanded."""
    watched.manager.reset()
    watched.network.send(
        watched.publisher, Float64MultiArray(data=array.array('d', [0.0] * 3)),
        lambda: watched.ours.received and watched.ours.received[-1][1] == [0.0] * 3)
    # In which the manager tells of its controllers, and after which commands are new.
    watched.network.spin(1.5 * DEADLINE)
    yield watched
    watched.manager.reset()


def test_the_joints_go_back_to_what_was_active_before(stopped):
    stopped.manager.slowness = 0.5
    with stopped.says("'position_controller' has the joints; effort_controller is inactive."):
        stopped.take()
        assert stopped.manager.active == OURS
    assert stopped.manager.active == ALONE
    request, = stopped.manager.requests
    assert request.strictness == request.STRICT
    assert list(request.activate_controllers) == ['position_controller']
    assert list(request.deactivate_controllers) == ['effort_controller']
    # The robot is carried while the switch is pending, and released at no time.
    commands = stopped.since_the_command()
    assert all(any(command) for _, command in commands)
    switching = [command for time, command in commands
                 if time > stopped.ours.deactivated - 0.3]
    assert len(switching) > 10
    np.testing.assert_allclose(switching, np.tile(gravity(), (len(switching), 1)), atol=1e-9)


def test_it_says_so_before(stopped):
    with stopped.says("held in position; after 0.3 s 'position_controller' gets the joints"), (
            stopped.says("Switching the joints to 'position_controller'")):
        stopped.take()
    stopped.expect(lambda: stopped.manager.active == ALONE)
    assert 'released' not in stopped.process.said()


@pytest.mark.parametrize('untold', [False, True])
def test_what_was_active_last_counts(stopped, untold):
    """Another client switched after the watchdog had started; old managers do not tell of it."""
    stopped.manager.untold = untold
    stopped.manager['position_controller'].state = 'inactive'
    stopped.manager['velocity_controller'].state = 'active'
    stopped.network.spin(0.3)
    stopped.take()
    stopped.expect(lambda: stopped.manager.active == {*BROADCASTER, 'velocity_controller'})


def test_a_refused_switch_is_tried_again_while_the_robot_is_carried(stopped):
    stopped.manager.refusal = 'prepare command mode switch was rejected'
    with stopped.says('not returned: The controller manager refuses to switch: prepare command'):
        stopped.take()
    stopped.carried()
    stopped.manager.refusal = ''
    stopped.expect(lambda: stopped.manager.active == ALONE)


def undone_once(stopped):
    stopped.carried()
    stopped.network.spin(1.5)  # it is not tried again: the robot would sink each time
    first, undo = stopped.manager.requests
    assert list(first.activate_controllers) == ['position_controller']
    assert list(undo.activate_controllers) == ['effort_controller']
    assert stopped.manager.active == OURS


def test_a_switch_that_fails_half_way_is_undone(stopped):
    """A manager deactivates first: the robot would be left without any controller."""
    stopped.manager.failing = {'position_controller'}
    with stopped.says('Unable to activate controllers: [ position_controller ]'):
        stopped.take()
    undone_once(stopped)


def test_nor_does_one_that_is_not_answered_leave_the_joints_alone(stopped):
    stopped.manager.failing, stopped.manager.mute = {'position_controller'}, True
    with stopped.says('left them without a controller. So effort_controller is active again'):
        stopped.take()
        stopped.expect(lambda: stopped.manager.unanswered)
        assert 'effort_controller' not in stopped.manager.active
        stopped.manager.mute = False
    undone_once(stopped)


def test_a_released_robot_is_not_handed_back_any_more(stopped):
    """It is limp, and whoever stands beside it does not expect that it moves."""
    stopped.manager.refusal = 'not now'
    with stopped.says('not returned: activate a controller by hand'):
        stopped.take()
        stopped.manager.silent = True
    stopped.manager.refusal, stopped.manager.silent = '', False
    count = len(stopped.manager.requests)
    stopped.network.spin(1.5)
    assert len(stopped.manager.requests) == count
    assert stopped.manager.active == OURS


def test_an_attempt_is_waited_for_that_has_to_wait_for_another_question(messages, monkeypatch):
    """A node that ends waits for its own attempt, not for what the manager was asked before."""
    from controller_manager_msgs import srv
    for name in ('ListControllers', 'SwitchController'):  # not on the path when it was imported
        monkeypatch.setattr(manager_client, name, getattr(srv, name))
    with new_bench(messages, Stopped) as bench:
        manager = bench.manage(position_controller(), effort_controller())
        hand_back = HandBack(bench.network.node, 'controller_manager', 'effort_controller', 2.0)
        try:
            hand_back.note(lambda: None)
            manager['position_controller'].state = 'inactive'
            manager['effort_controller'].state = 'active'
            manager.note_claims()
            manager.free.clear()
            hand_back.look(begins=True)
            hand_back.attempt(ORDER, 0.0)
            assert not hand_back.tried
            manager.free.set()
            bench.network.spin(0.5)
            assert not hand_back.tried  # the question is answered, the attempt not made
            hand_back.attempt(ORDER, 0.0)
            bench.expect(lambda: hand_back.tried)
            assert hand_back.done
            assert manager.active == {'position_controller'}
        finally:
            manager.free.set()
            hand_back.end()


def test_a_manager_that_hangs_is_waited_for(stopped):
    stopped.manager.free.clear()
    with stopped.says('does not answer within 2 s'):
        stopped.take()
    stopped.carried()
    stopped.manager.free.set()
    stopped.expect(lambda: stopped.manager.active == ALONE)


def test_a_controller_that_comes_back_keeps_the_joints(stopped):
    stopped.manager.refusal = 'not now'
    stopped.take()
    stopped.carried()
    del stopped.manager.requests[:]
    stopped.manager.free.clear()
    stopped.network.spin(1.5)  # another attempt has begun, and waits
    with stopped.says('Commands are back'):
        stopped.send()
    stopped.manager.refusal = ''
    stopped.manager.free.set()
    for _ in range(20):
        stopped.send()
        stopped.network.spin(0.05)
    assert stopped.manager.active == OURS
    assert not stopped.manager.requests


def test_another_client_that_takes_the_joints_has_them(stopped):
    stopped.manager.refusal = 'not now'
    stopped.take()
    stopped.carried()
    with stopped.says("effort_controller is no longer active: 'velocity_controller' has its"):
        stopped.ours.state, stopped.manager['velocity_controller'].state = 'inactive', 'active'
    stopped.network.spin(0.3)
    count = len(stopped.ours.received)
    stopped.network.spin(0.3)
    assert len(stopped.ours.received) == count
    assert stopped.manager.active == {*BROADCASTER, 'velocity_controller'}


def test_a_forward_controller_that_is_unloaded_has_the_joints_no_more(stopped):
    stopped.manager.refusal = 'not now'
    stopped.take()
    stopped.expect(lambda: stopped.manager.requests)
    controllers = stopped.manager.controllers
    stopped.manager.controllers = {
        name: each for name, each in controllers.items() if each is not stopped.ours}
    try:
        stopped.log('effort_controller is no longer active: no controller has its joints')
        stopped.network.spin(0.5)
        assert stopped.process.exit_code() is None
    finally:
        stopped.manager.controllers = controllers


def test_a_controller_beside_ours_gets_the_joints_alone(stopped):
    stopped.manager.refusal = 'not now'
    stopped.take()
    stopped.carried()
    stopped.manager.refusal = ''
    stopped.manager['velocity_controller'].state = 'active'
    stopped.expect(lambda: stopped.manager.active == {*BROADCASTER, 'velocity_controller'})


def test_no_joint_is_left_without_a_controller(stopped):
    position, usual = stopped.manager['position_controller'], INTERFACES['position']
    position.commands = usual[1:]
    stopped.manager.note_claims()
    try:
        with stopped.says("no previous controller of 'wrist' is known"):
            stopped.take()
        stopped.carried()
        assert not stopped.manager.requests
        # A joint with a brake does not fall for lack of a controller.
        with stopped.parameter('locked_joints', ['wrist'], ['']):
            stopped.expect(lambda: stopped.manager.active == ALONE)
    finally:
        position.commands = usual


def test_without_joint_states_at_once(stopped):
    """A robot that is not seen cannot be carried; a controller may hold it all the same."""
    with stopped.parameter('hold_time', 1000.0, PARAMETERS['hold_time']):
        stopped.take()
        stopped.expect(stopped.is_carried)
        stopped.manager.silent = True
        stopped.expect(lambda: stopped.manager.active == ALONE)


def test_a_robot_that_is_rather_dropped_than_carried(stopped):
    """Its joints are handed back all the same, at once."""
    with stopped.parameter('hold_time', 0.0, PARAMETERS['hold_time']):
        with stopped.says("damped, then released, unless 'position_controller' can have the"), (
                stopped.says("'position_controller' has the joints")):  # before it may hold again
            stopped.take()
        assert stopped.manager.active == ALONE
    assert not any(np.allclose(command, gravity(), atol=1e-3)
                   for _, command in stopped.since_the_command())


def test_switched_off_it_releases_the_robot_and_says_so_before(stopped):
    before = len(stopped.process.said())
    with stopped.parameter('hand_back', False, True), stopped.says('zero effort is commanded'):
        stopped.take()
    said = stopped.process.said()[before:]
    assert 'held in position; after 0.3 s it is released' in said
    released = said.index('is released now, after hold_time')
    assert released < said.index('zero effort is commanded')
    assert stopped.manager.active == OURS
    assert not stopped.manager.requests


def test_without_previous_controllers_it_holds_until_one_takes_the_joints(bench):
    from fake_controller_manager import Controller
    bench.watch(effort_controller(state='active'), Controller(
        'position_controller', 'some/PositionController', INTERFACES['position']), Controller(
        'wrist_controller', 'some/PositionController', ('wrist/position',)))
    with bench.says('held in position until a controller takes the joints'), bench.says(
            "no previous controller of 'elbow', 'shoulder', 'wrist' is known"), bench.says(
            '--deactivate effort_controller --activate position_controller'):
        bench.send()
    bench.carried()
    assert not bench.manager.requests  # none is activated that was not active before
    bench.ours.state, bench.manager['position_controller'].state = 'inactive', 'active'
    bench.log('effort_controller is no longer active')
    assert 'released' not in bench.process.said()


@pytest.mark.parametrize('refusal', ['', 'not now'])
def test_it_hands_back_when_it_ends(bench, refusal):
    bench.watch(position_controller(), effort_controller(), hold_time=1000.0)
    bench.manager.refusal = refusal
    bench.take()
    bench.expect(bench.is_carried)
    assert bench.process.end(signal.SIGINT) == 0
    if refusal:
        bench.log('is released now, as this node ends')
        bench.expect(lambda: not any(bench.ours.received[-1][1]))
    else:
        bench.expect(lambda: bench.manager.active == {'position_controller'})
        assert all(any(command) for _, command in bench.since_the_command())


def test_it_carries_the_robot_until_the_manager_answers_when_it_ends(bench):
    """By new joint states: those of before are too old after the deadline."""
    bench.watch(position_controller(), effort_controller(), hold_time=1000.0)
    bench.take()
    bench.expect(bench.is_carried)
    bench.manager.free.clear()
    bench.process.send_signal(signal.SIGINT)
    bench.network.spin(1.5 * DEADLINE)
    assert bench.is_carried()
    bench.manager.free.set()
    assert bench.process.end() == 0
    assert bench.manager.active == {'position_controller'}
    assert 'is released now' not in bench.process.said()

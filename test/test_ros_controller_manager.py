# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The controller node and a controller manager: who has the joints, and that nothing falls."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import interface_package
import ros_nodes
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from ros_nodes import CONTROLLER, robot_text
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from timing import wait_until

from opspace_control import RobotModel, RobotState
from opspace_control.safety.envelope import LONGEST_STEP

ROBOT = robot_text('planar_3r')
MODEL = RobotModel.from_urdf(ROBOT)
START = {'shoulder': 0.9, 'elbow': -1.2, 'wrist': -0.6}
ORDER = ('wrist', 'shoulder', 'elbow')
# The manager publishes the states in a thread of the test: a busy machine keeps it waiting.
STATE_TIMEOUT = 0.5  # s
PARAMETERS = {
    'robot_description': ROBOT, 'tasks': ['hand'], 'hand.axes': 'x z',
    'controller_manager': 'controller_manager', 'controller_manager_timeout': 2.0,
    'safety.state_timeout': STATE_TIMEOUT, 'safety.release_time': 0.1,
}
LIMITS = MODEL.effort_limits[[MODEL.dof_index(name) for name in ORDER]]
INTERFACES = {kind: tuple(f'{joint}/{kind}' for joint in ORDER) for kind in ('position', 'effort')}


@contextlib.contextmanager
def new_bench(messages, kind=None):
    """Open a network beside a manager, with a `Bench`, or with another kind of it."""
    # The manager ends last: nodes that leave hand the joints back to it.
    with contextlib.ExitStack() as last, ros_nodes.network() as network:
        network.environment = interface_package.environment(messages, network.environment)
        yield (kind or Bench)(network, last)


@pytest.fixture
def bench(messages):
    with new_bench(messages) as bench:
        yield bench


@pytest.fixture(scope='module')
def configured(messages):
    """A controller that is configured but not active, and its manager, for many tests."""
    with new_bench(messages) as bench:
        bench.manage(broadcaster(), position_controller(), effort_controller())
        bench.start(autostart=False)
        # A busy machine may not have found the manager in time; the node is then asked again.
        assert any(bench.transition(Transition.TRANSITION_CONFIGURE) for _ in range(3))
        yield bench


@pytest.fixture
def inactive(configured):
    """A controller that is inactive; the controllers of its manager are as at the start."""
    if configured.state() == State.PRIMARY_STATE_ACTIVE:
        assert configured.deactivate()
    configured.manager.reset()
    return configured


@pytest.fixture
def active(inactive):
    """The same controller, active; a machine that stalls is given another chance."""
    for _ in range(3):
        if inactive.activate():
            return inactive
        inactive.manager.reset()
    raise AssertionError(inactive.process.said())


class Bench:
    """A controller node, and a controller manager in a thread of the test."""

    def __init__(self, network, last):
        self.network = network
        self._last = last

    def manage(self, *controllers, **options):
        """Start a controller manager with these controllers."""
        from fake_controller_manager import FakeControllerManager
        self.manager = FakeControllerManager(
            controllers, int(self.network.environment['ROS_DOMAIN_ID']),
            **{'positions': START, 'component': 'planar_3r'} | options)
        self._last.callback(self.manager.close)
        return self.manager

    def start(self, arguments=(), **parameters):
        """Start the controller node."""
        self.process = self.network.start(
            'controller', PARAMETERS | {key.replace('__', '.'): value
                                        for key, value in parameters.items()}, arguments)

    def expect(self, condition):
        self.network.expect(condition, ros_nodes.COMPILING)

    def log(self, text):
        self.log_of(self.process, text)

    def log_of(self, process, text):
        self.expect(lambda: text in process.said())

    def log_active(self):
        """Wait until it is active; a machine that stalls is given another chance."""
        self.expect(lambda: any(text in self.process.said() for text in (
            'Active', 'stays inactive')))
        assert 'Active' in self.process.said() or any(self.activate() for _ in range(3)), (
            self.process.said())

    @contextlib.contextmanager
    def says(self, text):
        """Expect the node to say something new within this context or soon after it."""
        before = len(self.process.said())
        yield
        self.expect(lambda: text in self.process.said()[before:])

    def transition(self, number, node=CONTROLLER):
        """Ask for a lifecycle transition; return whether it succeeded."""
        return self.network.transition(node, number)

    def activate(self):
        return self.transition(Transition.TRANSITION_ACTIVATE)

    def deactivate(self):
        return self.transition(Transition.TRANSITION_DEACTIVATE)

    def state(self):
        return self.network.call(GetState, f'{CONTROLLER}/get_state').current_state.id


def effort_controller(**fields):
    from fake_controller_manager import forward
    return forward('effort_controller', ORDER, **fields)


def position_controller(**fields):
    from fake_controller_manager import Controller
    return Controller('position_controller', 'some/PositionController', INTERFACES['position'],
                      state='active', **fields)


def broadcaster():
    from fake_controller_manager import Controller
    return Controller('joint_state_broadcaster', 'joint_state_broadcaster/JointStateBroadcaster',
                      (), state='active')


def gravity():
    """Return the torque that holds the robot, in the order of the command."""
    state = RobotState(MODEL, [START[name] for name in MODEL.dof_names], np.zeros(MODEL.nv))
    torque = dict(zip(MODEL.dof_names, MODEL.gravity(state), strict=True))
    return [torque[joint] for joint in ORDER]


ALONE = {'joint_state_broadcaster', 'position_controller'}
OURS = {'joint_state_broadcaster', 'effort_controller'}


class TestHandover:

    def test_takes_the_joints_and_no_more(self, active):
        assert active.manager.active == OURS
        request, = active.manager.requests
        assert request.strictness == request.STRICT
        assert request.activate_asap
        assert 0.0 < request.timeout.sec + 1e-9 * request.timeout.nanosec < 2.0

    def test_holding_commands_flow_before_it_is_switched_on(self, active):
        ours = active.manager['effort_controller']
        active.expect(lambda: ours.received[-1][0] > ours.activated)
        before = [command for time, command in ours.received if time < ours.activated]
        first = next(time for time, _ in ours.received if time > ours.activated)
        assert before
        # In the order of the forward controller.
        np.testing.assert_allclose(before, np.tile(gravity(), (len(before), 1)), atol=1e-9)
        assert first - ours.activated < 0.1

    def test_zero_is_the_last_command_before_the_joints_are_given_back(self, active):
        assert active.deactivate()
        given_back(active.manager)
        # No cycle is run any more for states that were waiting.
        active.network.spin(0.2)
        assert not any(active.manager['effort_controller'].received[-1][1])

    def test_the_robot_is_carried_until_then(self, bench):
        """It is in nobody's hands for some periods of the manager alone, however long it may take
        to release a robot that nobody takes over."""
        manager = bench.manage(broadcaster(), position_controller(), effort_controller())
        bench.start(safety__release_time=5.0, safety__state_timeout=2.0)
        bench.log_active()
        for _ in range(5):
            assert bench.deactivate()
            given_back(manager)
            ours = manager['effort_controller']
            commands = np.array([command for time, command in ours.received
                                 if time < ours.deactivated])
            carried = np.flatnonzero(np.isclose(commands, gravity(), rtol=0.01).all(axis=1))
            steps = abs(np.diff(commands[carried[-1]:], axis=0)) / LIMITS
            # One each 2 ms: some for the ramp down, some of zero, some until the manager has
            # switched. A machine that stalls, and loses some, is given another chance.
            if 5 < len(commands) - carried[-1] < 75 and steps.max() <= 20.0 * LONGEST_STEP:
                return
            manager.reset()
            assert bench.activate()
        pytest.fail('It takes too long, or falls.')

    @pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
    def test_so_it_is_when_the_process_ends(self, bench, number):
        manager = bench.manage(broadcaster(), position_controller(), effort_controller())
        bench.start()
        bench.log_active()
        assert manager.active == OURS
        assert bench.process.end(number) == 0
        given_back(manager)

    def test_again_and_again(self, active):
        for _ in range(3):
            assert active.deactivate()
            assert active.manager.active == ALONE
            assert active.activate()
            assert active.manager.active == OURS

    @pytest.mark.parametrize('number', [Transition.TRANSITION_ACTIVATE,
                                        Transition.TRANSITION_CONFIGURE])
    def test_what_it_cannot_do_now_is_refused(self, active, number):
        assert not active.transition(number)
        assert active.state() == State.PRIMARY_STATE_ACTIVE
        assert active.manager.active == OURS

    def test_after_a_new_configuration(self, active):
        assert active.deactivate()
        assert active.transition(Transition.TRANSITION_CLEANUP)
        assert active.transition(Transition.TRANSITION_CONFIGURE)
        assert active.activate()
        assert active.manager.active == OURS

    def test_another_may_take_the_joints_from_us_for_good(self, active):
        """What we go on commanding would be obeyed at once when he is done."""
        with active.says('is no longer active'):
            active.manager['effort_controller'].state = 'inactive'
            active.manager['position_controller'].state = 'active'
        active.expect(lambda: active.state() == State.PRIMARY_STATE_INACTIVE)
        assert active.manager.active == ALONE
        assert len(active.manager.requests) == 1

    def test_a_fault_of_our_forward_controller_gives_the_joints_back(self, active):
        with active.says('is no longer active'):
            active.manager.erring = {'effort_controller'}
        active.expect(lambda: active.manager.active == ALONE)

    def test_hardware_set_inactive_ends_control(self, active):
        """The manager activates nothing meanwhile; what was active before is not forgotten."""
        with active.says("'position_controller' cannot be activated now"):
            active.manager.hardware = {'gripper': 'inactive', 'planar_3r': 'inactive'}
        active.expect(lambda: active.state() == State.PRIMARY_STATE_INACTIVE)
        # What it commanded last is not obeyed when the hardware is back.
        assert active.manager.active == {'joint_state_broadcaster'}
        asked = len(active.manager.requests)
        with active.says('ros2 control set_hardware_component_state planar_3r active'):
            assert not active.activate()
        assert len(active.manager.requests) == asked  # the manager is not asked in vain
        active.manager.hardware = {'gripper': 'inactive', 'planar_3r': 'active'}
        active.network.spin(0.3)
        assert any(active.activate() for _ in range(3))
        assert active.manager.active == OURS
        assert active.deactivate()
        given_back(active.manager)

    def test_a_refused_hand_back_is_made_up_for(self, active):
        """A manager that tells nothing of its hardware refuses all the same."""
        active.manager.refusal = 'prepare command mode switch was rejected'
        with active.says("'position_controller' cannot be activated now"):
            assert active.deactivate()
        assert active.manager.active == OURS  # this one refuses everything
        active.manager.refusal = ''
        assert any(active.activate() for _ in range(3))
        assert active.deactivate()
        given_back(active.manager)

    @pytest.mark.parametrize('interfaces', [INTERFACES['position'], ('elbow/position',)],
                             ids=['all joints', 'one joint'])
    def test_leaves_a_controller_that_becomes_active_beside_it(self, active, interfaces):
        rival = active.manager['position_controller']
        usual, rival.commands = rival.commands, interfaces
        with active.says("'position_controller' is active beside effort_controller"):
            rival.state = 'active'
        active.expect(lambda: active.state() == State.PRIMARY_STATE_INACTIVE)
        active.expect(lambda: active.manager.active == ALONE)
        rival.commands = usual

    def test_looks_for_such_a_controller_when_the_robot_is_too_fast(self, active):
        """Before March 2025 the manager told nothing of its own accord."""
        active.manager.untold = True
        active.manager['position_controller'].state = 'active'
        with active.says("'position_controller' is active beside effort_controller"):
            active.manager.velocity = 100.0
        active.expect(lambda: active.manager.active == ALONE)
        assert 'velocity_limit' in active.process.said()

    def test_is_not_activated_beside_another(self, inactive):
        """Its spawner may be just about to activate it."""
        inactive.manager.joining = {'position_controller'}
        with inactive.says("'position_controller' is active beside effort_controller"):
            assert not inactive.activate()
        inactive.manager.joining = set()
        assert inactive.manager.active == ALONE

    def test_hardware_of_others_is_no_matter(self, active):
        active.manager.hardware = {'gripper': 'inactive', 'planar_3r': 'active'}
        active.network.spin(0.3)
        assert active.state() == State.PRIMARY_STATE_ACTIVE

    def test_a_manager_that_comes_back_without_us_ends_control(self, active):
        with active.says('is no longer active'):
            active.manager.stalled = True
            active.network.spin(2.0 * STATE_TIMEOUT)
            active.manager['effort_controller'].state = 'inactive'
            active.manager.stalled = False
        active.expect(lambda: active.state() == State.PRIMARY_STATE_INACTIVE)

    def test_a_stop_of_the_states_alone_does_not(self, active):
        with active.says('control resumes'):
            active.manager.stalled = True
            active.network.spin(2.0 * STATE_TIMEOUT)
            active.manager.stalled = False
        active.network.spin(0.3)
        assert active.state() == State.PRIMARY_STATE_ACTIVE


def given_back(manager):
    # A manager that did not answer in time has been left the request.
    assert wait_until(lambda: manager.active == ALONE, ros_nodes.PATIENCE)
    ours = manager['effort_controller']
    assert {manager.efforts[interface] for interface in ours.commands} == {0.0}
    *_, last = (command for time, command in ours.received if time < ours.deactivated)
    assert not any(last)


class TestFaults:

    def cannot_activate(self, bench, reason):
        """Ask for it until this is the reason: a machine that stalls gives others before."""
        before = len(bench.process.said())

        def said():
            assert not bench.activate()
            return bench.network.until(lambda: reason in bench.process.said()[before:], 1.0)
        assert any(said() for _ in range(5)), bench.process.said()

    def nothing_has_changed(self, bench):
        assert bench.state() == State.PRIMARY_STATE_INACTIVE
        assert bench.manager.active == ALONE
        assert not any(bench.manager.efforts.values())

    def test_a_refusal_leaves_everything_as_it_was(self, inactive):
        inactive.manager.refusal = 'prepare command mode switch was rejected'
        self.cannot_activate(
            inactive, 'The controller manager refuses to switch: prepare command mode')
        self.nothing_has_changed(inactive)
        inactive.manager.refusal = ''
        assert inactive.activate()
        assert inactive.manager.active == OURS

    def test_a_failure_half_way_gives_the_joints_back(self, inactive):
        inactive.manager.failing = {'effort_controller'}
        self.cannot_activate(inactive, 'Unable to activate controllers: [ effort_controller ]')
        self.nothing_has_changed(inactive)

    def test_hardware_that_blocks(self, inactive):
        inactive.manager.stalled = True
        with inactive.says('No joint state'):
            assert not inactive.activate()
        inactive.manager.stalled = False
        self.nothing_has_changed(inactive)

    def test_no_joint_states(self, inactive):
        inactive.manager.silent = True
        with inactive.says('No joint state arrives'):
            assert not inactive.activate()
        self.nothing_has_changed(inactive)

    def test_useless_first_states_are_waited_out(self, inactive):
        inactive.manager.blind = True
        timer = threading.Timer(0.7, lambda: setattr(inactive.manager, 'blind', False))
        timer.start()
        assert inactive.activate()
        assert inactive.manager.active == OURS

    def test_a_gap_in_the_states_during_the_switch_is_waited_out(self, inactive):
        inactive.manager.slowness, inactive.manager.gap = 1.4, 2.0 * STATE_TIMEOUT
        with inactive.says('state_timeout is over'):
            assert inactive.activate()
        assert inactive.manager.active == OURS

    def test_states_that_stop_during_the_switch(self, inactive):
        inactive.manager.slowness, inactive.manager.gap = 0.8, 30.0
        with inactive.says('Is joint_state_broadcaster active'):
            assert not inactive.activate()
        assert wait_until(lambda: inactive.manager.active == ALONE, ros_nodes.PATIENCE)

    def test_useless_states(self, inactive):
        inactive.manager.blind = True
        with inactive.says('state_invalid'):
            assert not inactive.activate()
        self.nothing_has_changed(inactive)

    def test_a_manager_that_hangs_and_then_does_what_it_was_asked(self, inactive):
        inactive.manager.free.clear()
        with inactive.says('does not answer within'):
            assert not inactive.activate()
        inactive.manager.free.set()
        inactive.network.spin(1.0)
        self.nothing_has_changed(inactive)

    def test_a_manager_that_hangs_in_the_switch(self, inactive):
        inactive.manager.slowness = 4.0
        with inactive.says('does not answer within'):
            assert not inactive.activate()
        ours = inactive.manager['effort_controller']
        inactive.expect(lambda: ours.deactivated > ours.activated)
        self.nothing_has_changed(inactive)

    def test_a_lost_answer(self, inactive):
        inactive.manager.mute = True
        # A machine that stalls is given another chance.
        assert any(inactive.activate() for _ in range(3))
        assert inactive.manager.active == OURS

    def test_a_signal_ends_the_waiting(self, bench):
        manager = bench.manage(position_controller(), effort_controller())
        bench.start(controller_manager_timeout=60.0, autostart=False)
        assert bench.transition(Transition.TRANSITION_CONFIGURE)
        manager.free.clear()
        request = ChangeState.Request()
        request.transition.id = Transition.TRANSITION_ACTIVATE
        bench.network.node.create_client(
            ChangeState, f'{CONTROLLER}/change_state').call_async(request)
        bench.network.spin(0.5)
        assert bench.process.end(signal.SIGTERM) == 0
        bench.log('told to stop')


def test_death_of_the_manager(bench):
    """Killed: its services seem to be there for a long time, and never answer."""
    controllers = [{'name': 'effort_controller', 'type': 'forward', 'joints': ORDER,
                    'commands': INTERFACES['effort']}]
    with subprocess.Popen(
            [sys.executable, Path(__file__).with_name('fake_controller_manager.py'),
             bench.network.environment['ROS_DOMAIN_ID'], json.dumps(controllers)],
            env=bench.network.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE) as manager:
        assert manager.stdout.readline() == b'ready\n'
        states = bench.network.node.create_publisher(JointState, 'joint_states', 1)
        message = JointState(name=list(START), position=list(START.values()), velocity=[0.0] * 3)
        bench.network.node.create_timer(0.005, lambda: states.publish(message))
        heard = bench.network.commands()
        bench.start(autostart=False)
        assert bench.transition(Transition.TRANSITION_CONFIGURE)
        assert bench.activate()
        bench.expect(lambda: heard)
        manager.kill()
        manager.wait()
        assert bench.deactivate()
        bench.log('not returned')
        bench.expect(lambda: not any(heard[-1].data))
        assert not bench.activate()
        assert bench.state() == State.PRIMARY_STATE_INACTIVE


class TestScenes:

    def test_chains_are_switched_as_wholes(self, bench):
        from fake_controller_manager import Controller, forward
        manager = bench.manage(
            Controller('pid', 'some/Pid', INTERFACES['effort'], INTERFACES['position'], 'active'),
            Controller('trajectory', 'some/Trajectory',
                       tuple(f'pid/{name}' for name in INTERFACES['position']), state='active'),
            Controller('limiter', 'some/Limiter', INTERFACES['effort'], INTERFACES['effort']),
            forward('effort_controller', [f'limiter/{joint}' for joint in ORDER]))
        bench.start()
        bench.log_active()
        assert manager.active == {'limiter', 'effort_controller'}
        np.testing.assert_allclose(manager['effort_controller'].received[-1][1], gravity(),
                                   atol=1e-9)
        bench.process.end()
        assert manager.active == {'pid', 'trajectory'}

    def test_a_group_effort_controller_in_a_namespace(self, bench):
        from fake_controller_manager import GROUP_EFFORT
        manager = bench.manage(effort_controller(type=GROUP_EFFORT), namespace='left')
        bench.start(['-r', '__ns:=/left'])
        bench.log_active()
        bench.expect(lambda: manager.efforts.get('wrist/effort'))
        bench.process.end()
        assert manager.active == set()

    def test_a_manager_of_another_namespace(self, bench):
        manager = bench.manage(effort_controller(), namespace='left')
        bench.start(['-r', 'joint_states:=/left/joint_states'],
                    controller_manager='/left/controller_manager')
        bench.log_active()
        bench.expect(lambda: manager.efforts.get('wrist/effort'))

    def test_what_was_active_before_stays_active(self, bench):
        manager = bench.manage(effort_controller(state='active'))
        bench.start()
        bench.log_active()
        bench.process.end()
        assert manager.active == {'effort_controller'}
        assert manager.requests == []
        assert not any(manager.efforts.values())

    def test_a_fallback_controller_keeps_the_joints(self, bench):
        from fake_controller_manager import Controller
        manager = bench.manage(
            broadcaster(), position_controller(),
            Controller('hold', 'some/Hold', tuple(f'{joint}/velocity' for joint in ORDER)),
            effort_controller(fallbacks=('hold',)))
        bench.start()
        bench.log_active()
        manager.erring = {'effort_controller'}
        bench.log('The robot is released')
        assert manager.active == {'joint_state_broadcaster', 'hold'}
        assert len(manager.requests) == 1
        manager.erring = set()
        assert bench.activate()
        assert manager.active == OURS

    def test_a_watchdog_that_dies_ends_control(self, bench):
        """Past it the forward controller is released; then the joints are given back."""
        manager = bench.manage(broadcaster(), position_controller(), effort_controller())
        watchdog = bench.network.start('command_watchdog', {
            'robot_description': ROBOT, 'controller_manager': 'controller_manager'})
        bench.log_of(watchdog, 'effort_controller/commands')
        bench.start(command_topic='opspace_command_watchdog/commands')
        bench.log_active()
        assert manager.active == OURS
        bench.network.spin(1.0)  # until the controller has heard of commands that arrive
        os.kill(watchdog.pid, signal.SIGKILL)
        bench.log('no longer arrive')
        bench.expect(lambda: bench.state() == State.PRIMARY_STATE_INACTIVE)
        given_back(manager)

    def test_a_watchdog_gets_joints_that_no_controller_had(self, bench):
        """Gazebo obeys no positions any more once it has obeyed an effort."""
        manager = bench.manage(broadcaster(), effort_controller())
        watchdog = bench.network.start('command_watchdog', {
            'robot_description': ROBOT, 'controller_manager': 'controller_manager',
            'deadline': STATE_TIMEOUT})
        bench.log_of(watchdog, 'effort_controller/commands')
        bench.start(command_topic='opspace_command_watchdog/commands')
        bench.log_active()
        for _ in range(2):
            since, said = time.monotonic(), len(watchdog.said())
            assert bench.deactivate()
            bench.expect(lambda said=said: 'No command for' in watchdog.said()[said:])
            bench.network.spin(0.5)
            assert manager.active == OURS
            received = np.array([efforts for at, efforts in manager['effort_controller'].received
                                 if at > since])
            assert np.abs(received - gravity()).max() < 1e-3 * LIMITS.max()
            assert bench.activate()
        assert 'The robot is released' not in bench.process.said()

    def test_waits_for_a_watchdog_that_starts(self, bench):
        """Longer than for anything else: it may have to compile first."""
        manager = bench.manage(broadcaster(), position_controller(), effort_controller())
        bench.network.start('command_watchdog', {'controller_manager': 'controller_manager'})
        bench.expect(lambda: bench.network.node.count_publishers('opspace_command_watchdog/ready'))
        bench.start(command_topic='opspace_command_watchdog/commands')
        bench.log('it is not ready')
        assert manager.active == ALONE
        bench.network.publisher(String, 'robot_description', ros_nodes.LATCHED).publish(
            String(data=ROBOT))
        bench.log('Active')
        assert 'stays inactive' not in bench.process.said()
        assert manager.active == OURS

    def test_the_robot_does_not_fall_when_it_changes_hands(self, bench):
        """Behind topic-based hardware it is free from the first command on."""
        states = bench.network.states()
        bench.network.start('simulator', {
            'robot_description': ROBOT, 'command_topic': 'robot_joint_commands',
            'command_type': 'JointState', 'publish_clock': False,
            **{f'initial_positions.{name}': value for name, value in START.items()}})
        manager = bench.manage(position_controller(), effort_controller(), positions=None)
        bench.start()
        bench.log_active()
        bench.expect(lambda: manager.efforts.get('wrist/effort'))
        moving = len(states)
        bench.network.spin(1.0)
        positions = np.array([state.position for state in states])
        assert states[-1].header.stamp.sec + 1e-9 * states[-1].header.stamp.nanosec > 0.5
        assert len(states) > moving
        np.testing.assert_allclose(
            positions, np.tile([START[name] for name in states[0].name], (len(positions), 1)),
            atol=0.01)

    def test_waits_for_a_manager_and_its_controllers(self, bench):
        """Then it is active by itself: no machine stalls for as long as it has patience here."""
        bench.start(controller_manager_timeout=60.0, safety__state_timeout=10.0)
        bench.log('Waiting for the controller manager')
        manager = bench.manage(effort_controller(state='unconfigured'))
        bench.network.spin(1.0)
        manager['effort_controller'].state = 'inactive'
        bench.log('Active')
        assert 'stays inactive' not in bench.process.said()
        assert manager.active == {'effort_controller'}

    def test_somebody_is_quicker_than_autostart(self, bench):
        bench.start(controller_manager_timeout=20.0)
        bench.log('Waiting for the controller manager')
        request = ChangeState.Request()
        request.transition.id = Transition.TRANSITION_CONFIGURE
        client = bench.network.node.create_client(ChangeState, f'{CONTROLLER}/change_state')
        bench.expect(client.service_is_ready)
        answer = client.call_async(request)
        bench.network.spin(0.5)
        bench.manage(effort_controller())
        bench.log('joints commanded')
        bench.network.spin(0.5)  # in which autostart finds the manager too
        assert bench.process.exit_code() is None, bench.process.said()
        assert bench.state() == State.PRIMARY_STATE_INACTIVE
        bench.expect(answer.done)
        assert answer.result().success

    @pytest.mark.parametrize(('controller', 'parameters', 'complaint'), [
        ({'name': 'other'}, {}, "has no controller 'effort_controller'; it has 'other'"),
        ({'state': 'unconfigured'}, {}, "'effort_controller' is unconfigured"),
        ({'interface': 'position'}, {}, 'interface_name: effort'),
        ({}, {'command_joints': ['shoulder', 'elbow', 'wrist']}, 'Leave command_joints empty'),
        ({'joints': ('wrist', 'shoulder', 'ellbow')}, {}, "'ellbow'"),
    ])
    def test_what_cannot_work_is_said(self, bench, controller, parameters, complaint):
        from fake_controller_manager import forward
        bench.manage(forward(**{'name': 'effort_controller', 'joints': ORDER} | controller))
        bench.start(**{'controller_manager_timeout': 2.0} | parameters)
        bench.log(complaint)
        bench.expect(lambda: bench.process.exit_code() == 1)

    def test_a_manager_that_is_not_there_is_no_error_yet(self, bench):
        bench.start()
        bench.log('Waiting for the controller manager')
        assert bench.process.end() == 0, bench.process.said()


def test_without_the_messages_it_says_so_once_and_goes_on():
    with ros_nodes.network() as network:
        network.environment['PYTHONPATH'] = os.pathsep.join(
            path for path in network.environment.get('PYTHONPATH', '').split(os.pathsep)
            if not Path(path, 'controller_manager_msgs').is_dir())
        heard = network.listen(Float64MultiArray, ros_nodes.COMMANDS)
        process = network.start('controller', PARAMETERS)
        states = network.publisher(JointState, 'joint_states', ros_nodes.LATCHED)
        if 'controller_manager_msgs is not installed' not in process.said():
            pytest.skip('controller_manager_msgs is installed')
        network.send(states, ros_nodes.joint_state(START), lambda: heard)
        assert process.said().count('controller_manager_msgs is not installed') == 1

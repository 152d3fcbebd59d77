# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
A controller manager of ros2_control, as far as a client can tell: services, nodes, semantics.

Services wait for each other and for the update loop, which runs in a thread of its own and does
the switching, as in the real one. The hardware is a mock: it does not move under effort. Or it is
elsewhere, and takes efforts from a topic as with topic-based hardware. Faults are attributes
that a test sets.
"""

import contextlib
import json
import math
import sys
import threading
import time
from dataclasses import dataclass, field

import rclpy
from controller_manager_msgs.msg import (
    ControllerManagerActivity,
    ControllerState,
    NamedLifecycleState,
)
from controller_manager_msgs.srv import ListControllers, SwitchController
from lifecycle_msgs.msg import State
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

FORWARD = 'forward_command_controller/ForwardCommandController'
GROUP_EFFORT = 'effort_controllers/JointGroupEffortController'
_PERIOD = 0.01  # s, the controller manager's default


@dataclass
class Controller:
    name: str
    type: str
    commands: tuple         # required command interfaces
    references: tuple = ()  # of a chainable one, without its name
    state: str = 'inactive'
    joints: tuple = ()      # parameter of a forward controller
    latched: list = field(default_factory=list)  # its last command
    received: list = field(default_factory=list)  # (time, command), all of them
    activated: float = math.nan  # when
    deactivated: float = math.nan
    claimed: tuple = ()     # command interfaces, as noted at the last switch that was asked for
    fallbacks: tuple = ()   # names of those that step in where its update fails

    @property
    def active(self):
        return self.state == 'active'


def forward(name, joints, interface='effort', **fields):
    """Return a forward controller of these joints."""
    return Controller(name, fields.pop('type', FORWARD), tuple(f'{j}/{interface}' for j in joints),
                      joints=tuple(joints), **fields)


class RefusedError(Exception):
    pass


class UnansweredError(Exception):
    pass


class FakeControllerManager:
    """
    Parameters
    ----------
    controllers : sequence of Controller
    domain : int
    namespace : str
    positions : dict, optional
        Of the joints of the mock hardware; without it nobody publishes joint states here.
    component : str
        Name of the hardware that has all command interfaces.
    """

    def __init__(self, controllers, domain, namespace='', positions=None, component=''):
        self._component = component
        self.controllers = {each.name: each for each in controllers}
        self._states_at_start = {each.name: each.state for each in controllers}
        self.free = threading.Event()  # cleared: services hang, and go on when it is set again
        self._pending = None
        self._done = threading.Event()
        self.reset()
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._nodes = []
        self._manager = self._node('controller_manager', namespace)
        self._manager.declare_parameter('update_rate', round(1.0 / _PERIOD))
        self._manager.create_service(ListControllers, '~/list_controllers', self._on_list)
        self._manager.create_service(SwitchController, '~/switch_controller', self._on_switch)
        self._loop = self._node('hardware', namespace)
        self._loop.create_timer(_PERIOD, self._update)
        self._hardware = self._loop.create_publisher(JointState, 'robot_joint_commands', 1)
        self._told = None
        self._activity = self._manager.create_publisher(
            ControllerManagerActivity, '~/activity',
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self._states = positions and self._loop.create_publisher(JointState, 'joint_states', 1)
        self._state = positions and JointState(
            name=list(positions), position=list(positions.values()),
            velocity=[0.0] * len(positions))
        forwards = [self._forward_node(each, namespace) for each in self.controllers.values()
                    if each.joints]
        self._executors = [self._spin([self._manager]), self._spin([self._loop, *forwards])]

    def reset(self):
        """Be as at the start, without faults; commands that are still on their way are none."""
        self._begin = time.time_ns()
        self.efforts = {}      # of the hardware: the last value of each interface
        self.requests = []     # switch requests, as they came
        self.lists = 0         # how often controllers were asked for
        self.hardware = {}     # component -> state, told with the controllers
        self.refusal = ''      # what the hardware says to any switch
        self.failing = set()   # controllers that cannot be activated
        self.erring = set()    # controllers whose update fails
        self.stalled = False   # no update, as with hardware that blocks
        self.silent = False    # no joint states
        self.blind = False     # joint states without numbers
        self.slowness = 0.0    # s, before it switches the next time
        self.gap = 0.0         # s without joint states, from the next switch on
        self._gap_end = 0.0
        self.mute = False      # switches without an answer
        self.unanswered = 0    # how often it did
        self.untold = False    # no activity, as before March 2025
        self.joining = set()   # controllers that another client activates right after the switch
        self.velocity = 0.0    # of all joints of the mock hardware
        self.free.set()
        for each in self.controllers.values():
            each.state = self._states_at_start[each.name]
            each.activated = each.deactivated = math.nan
            each.received.clear()
        self.note_claims()

    def close(self):
        """Withdraw from the network; whoever hangs is let go."""
        self.free.set()
        self._context.try_shutdown()
        for executor, thread in self._executors:
            executor.shutdown()
            thread.join()
        for node in self._nodes:
            node.destroy_node()

    def __getitem__(self, name):
        return self.controllers[name]

    @property
    def active(self):
        return {name for name, each in self.controllers.items() if each.active}

    def _node(self, name, namespace):
        self._nodes.append(Node(name, context=self._context, namespace=namespace,
                                use_global_arguments=False))
        return self._nodes[-1]

    def _forward_node(self, controller, namespace):
        node = self._node(controller.name, namespace)
        node.declare_parameter('joints', list(controller.joints))
        node.declare_parameter('interface_name', controller.commands[0].rpartition('/')[2])

        def on_command(message, info):
            if info['source_timestamp'] < self._begin or not all(map(math.isfinite, message.data)):
                return
            controller.latched = message.data.tolist()
            controller.received.append((time.monotonic(), controller.latched))
        # The system default of a subscription is best effort.
        node.create_subscription(Float64MultiArray, '~/commands', on_command,
                                 QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
        return node

    def _spin(self, nodes):
        executor = SingleThreadedExecutor(context=self._context)
        for node in nodes:
            executor.add_node(node)

        def spin():
            while self._context.ok():
                with contextlib.suppress(ExternalShutdownException, UnansweredError):
                    executor.spin()
        thread = threading.Thread(target=spin, daemon=True)
        thread.start()
        return executor, thread

    # ---- the services -----------------------------------------------------------------------

    def _on_list(self, _request, response):
        self.free.wait()
        self.lists += 1
        for each in self.controllers.values():
            known = each.state in ('inactive', 'active')
            response.controller.append(ControllerState(
                name=each.name, type=each.type, state=each.state,
                claimed_interfaces=each.claimed,
                required_command_interfaces=each.commands if known else [],
                is_chainable=bool(each.references),
                is_chained=bool(self._preceding(each)),
                reference_interfaces=each.references if known else []))
        return response

    def _on_switch(self, request, response):
        self.free.wait()
        self.requests.append(request)
        self._gap_end, self.gap = time.monotonic() + self.gap, 0.0
        slowness, self.slowness = self.slowness, 0.0
        time.sleep(slowness)
        try:
            self._switch_as_asked(request)
        except RefusedError as error:
            response.ok, response.message = False, str(error)
        else:
            response.ok, response.message = True, 'Successfully switched controllers!'
        if self.mute:
            self.unanswered += 1
            raise UnansweredError
        return response

    def _switch_as_asked(self, request):
        activate, deactivate = list(request.activate_controllers), list(
            request.deactivate_controllers)
        strict = request.strictness == SwitchController.Request.STRICT
        self._check_known(activate, 'activate', strict)
        self._check_known(deactivate, 'deactivate', strict)
        self._keep(activate, strict, lambda name: self._check_activate(
            self.controllers[name], activate, deactivate))
        self._keep(deactivate, strict, lambda name: self._check_deactivate(
            self.controllers[name], deactivate))
        if activate or deactivate:
            self._check_available(activate, deactivate)
            if self.hardware.get(self._component, 'active') != 'active' and any(
                    self.controllers[name].commands for name in activate):
                raise RefusedError('Could not switch controllers since prepare command mode switch '
                                   'was rejected.')
            if self.refusal:
                raise RefusedError(self.refusal)
            self._switch_in_loop(activate, deactivate, strict, request.timeout)

    def _check_known(self, names, action, strict):
        unknown = [name for name in names if name not in self.controllers]
        if unknown and (strict or unknown == names):
            raise RefusedError(f"Could not {action} controller with name '{unknown[0]}' because no "
                               'controller with this name exists')
        for name in unknown:
            names.remove(name)

    def _keep(self, names, strict, check):
        """Check each; with best effort, leave out those that are refused."""
        for name in list(names):
            try:
                check(name)
            except RefusedError:
                if strict:
                    raise
                names.remove(name)

    def _check_activate(self, controller, activate, deactivate):
        if controller.active and controller.name not in deactivate:
            raise RefusedError(f"Controller with name '{controller.name}' is already active.")
        if controller.state not in ('active', 'inactive'):
            raise RefusedError(f"Controller with name '{controller.name}' is not in 'inactive' "
                               'state.')
        self._check_following(controller, activate, deactivate)

    def _check_following(self, controller, activate, deactivate):
        for interface in controller.commands:
            name, _, reference = interface.partition('/')
            following = self.controllers.get(name)
            if following is None:
                continue
            who = f"The following controller with name '{name}'"
            if reference not in following.references:
                raise RefusedError(f'{who} is not chainable.')
            if following.active and name in deactivate:
                raise RefusedError(f'{who} is currently active but it is requested to be '
                                   'deactivated.')
            if not following.active and name not in activate:
                raise RefusedError(f'{who} is currently inactive and it is not requested to be '
                                   'activated.')
            self._check_following(following, activate, deactivate)

    def _check_deactivate(self, controller, deactivate):
        if not controller.active:
            raise RefusedError(f"Controller with name '{controller.name}' can not be deactivated "
                               'since it is not active.')
        for preceding in self._preceding(controller):
            if preceding.name not in deactivate:
                raise RefusedError(
                    f"Unable to deactivate controller with name '{controller.name}' because "
                    f"preceding controller with name '{preceding.name}' is currently active and "
                    'will not be deactivated.')

    def _preceding(self, controller):
        return [each for each in self.controllers.values() if each.active
                and any(interface.startswith(f'{controller.name}/') for interface in each.commands)]

    def _check_available(self, activate, deactivate):
        claimed = {interface for each in self.controllers.values()
                   if each.active and each.name not in deactivate for interface in each.commands}
        for name in activate:
            for interface in self.controllers[name].commands:
                if interface in claimed:
                    raise RefusedError(
                        f"Unable to activate controller '{name}' since the command interface "
                        f"'{interface}' is currently claimed by another controller.")
                claimed.add(interface)

    def _switch_in_loop(self, activate, deactivate, strict, timeout):
        seconds = timeout.sec + 1e-9 * timeout.nanosec or 1.0
        self._done.clear()
        self._pending = (activate, deactivate, strict)
        if not self._done.wait(seconds):
            self._pending = None
            raise RefusedError(f'Switch controller timed out after {seconds} seconds!')
        self.note_claims()
        missing = [name for name in activate if not self.controllers[name].active]
        if missing:
            raise RefusedError('Failed switching controllers.... \nUnable to activate controllers: '
                               f'[ {" ".join(missing)} ]')

    def note_claims(self):
        """Note which interfaces controllers have, as after a switch."""
        for each in self.controllers.values():
            each.claimed = each.commands if each.active else ()

    # ---- the update loop --------------------------------------------------------------------

    def _update(self):
        if self.stalled:
            return
        if self._pending:
            self._switch(*self._pending)
            for name in self.joining:
                self.controllers[name].state = 'active'
            self._pending = None
            self._done.set()
        self._tell_activity()
        for each in self.controllers.values():
            if each.active and (each.name in self.erring
                                or len(each.latched) not in (0, len(each.commands))):
                self._switch(each.fallbacks, [each.name], strict=True)
            elif each.active and each.latched:
                self.efforts.update(zip(each.commands, each.latched, strict=True))
        drives = {interface.rpartition('/')[0]: value for interface, value in self.efforts.items()
                  if interface.endswith('/effort')}
        self._hardware.publish(JointState(name=list(drives), effort=list(drives.values())))
        if self._states and not self.silent and time.monotonic() > self._gap_end:
            self._state.velocity = [math.nan if self.blind else self.velocity] * len(
                self._state.name)
            self._states.publish(self._state)

    def _tell_activity(self):
        controllers = [(each.name, each.state) for each in self.controllers.values()]
        states = [controllers, list(self.hardware.items())]
        if states != self._told and not self.untold:
            self._told = states
            numbers = {'active': State.PRIMARY_STATE_ACTIVE,
                       'inactive': State.PRIMARY_STATE_INACTIVE,
                       'unconfigured': State.PRIMARY_STATE_UNCONFIGURED}
            controllers, hardware = (
                [NamedLifecycleState(name=name, state=State(id=numbers[state], label=state))
                 for name, state in each] for each in states)
            self._activity.publish(ControllerManagerActivity(
                controllers=controllers, hardware_components=hardware))

    def _switch(self, activate, deactivate, strict):
        for name in deactivate:
            self._deactivate(self.controllers[name])
        failed = [name for name in activate if name in self.failing]
        for name in activate:
            if name not in failed:
                each = self.controllers[name]
                each.latched = []  # what came before is not obeyed
                each.state, each.activated = 'active', time.monotonic()
                for interface in each.commands:
                    self.efforts.setdefault(interface, 0.0)
        if failed and strict:
            for name in set(activate) - set(failed):
                self._deactivate(self.controllers[name])

    def _deactivate(self, controller):
        controller.state, controller.deactivated = 'inactive', time.monotonic()
        controller.latched = []
        if controller.type == GROUP_EFFORT:
            self.efforts.update(dict.fromkeys(controller.commands, 0.0))


def main():
    """Run as a process that can be killed: domain and, as JSON, controllers are its arguments."""
    manager = FakeControllerManager(
        [Controller(**fields) for fields in json.loads(sys.argv[2])], int(sys.argv[1]))
    print('ready', flush=True)
    sys.stdin.read()
    manager.close()


if __name__ == '__main__':
    main()

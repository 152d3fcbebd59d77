# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The two routes of the controller node: what it listens to, and how it gets the joints."""

from functools import partial

from sensor_msgs.msg import JointState

from opspace_control.errors import RosInterfaceError
from opspace_control.ros.commands.command_route import CommandRoute, command_end, command_topic
from opspace_control.ros.commands.controller_manager import ControllerManager, Handover
from opspace_control.ros.commands.manager_client import command_order, connect
from opspace_control.ros.commands.plugin import PluginCommands, PluginHandover, PluginManager
from opspace_control.ros.cycle.control_cycle import ControlCycle
from opspace_control.ros.cycle.plugin_cycle import PluginCycle
from opspace_control.ros.cycle.state_input import BaseOdometry
from opspace_control.ros.middleware.endpoints import NEWEST, take
from opspace_control.ros.middleware.joint_messages import COMMAND_TYPES, EffortCommand


class TopicRoute:
    """
    The route over topics: a cycle in the node for each joint state.

    A RosInterfaceError of ``check_stop()`` ends waits. The ControllerManager ``manager`` is None
    without one.
    """

    def __init__(self, node, check_stop):
        self.node, self.parameters, self.check_stop = node, node.parameters, check_stop
        self._states = None
        self.manager = self._connect()

    def _connect(self):
        return connect(self.node, ControllerManager)

    def topics(self):
        """Return the full names of the topics on which other nodes would command the joints."""
        return [self.node.resolve_topic_name(topic(self.parameters))
                for topic in (command_topic, command_end)]

    def order(self):
        """Return the joints in the order of the command; [] if it is not given."""
        return command_order(self.parameters, self.manager, self.check_stop)

    def make(self, controller, joints):
        """Return RobotCycle, commands and BaseOdometry, or None, of a controller of joints."""
        odometry = BaseOdometry.of(controller.model, self.parameters)
        kind = COMMAND_TYPES[self.parameters['command_type']]
        commands = CommandRoute(self.node, kind, command_topic(self.parameters),
                                command_end(self.parameters))
        return ControlCycle(controller, EffortCommand(controller.model, joints, kind),
                            commands.publish, self.node.get_logger(), odometry
                            ), commands, odometry

    def handover(self, made):
        """Return the Handover of the joints for a Configuration; None without a manager."""
        return self.manager and Handover(self.manager, made.cycle, self.newest, made.commands,
                                         self.check_stop, self.node.get_logger())

    def listen(self, endpoints, cycle):
        """Run the cycle; return when it runs, in words."""
        self._states = endpoints.listen(
            JointState, 'joint_states', cycle.on_joint_state, NEWEST, raw=True)
        return f'on each message of {self._states.topic_name}'

    def newest(self):
        """Return the newest joint state, serialized, None if there is no new one."""
        return take(self._states)


class PluginRoute(TopicRoute):
    """
    The route through the plug-in of ros2_control, whose cycles the node follows.

    A RosInterfaceError is raised without a controller manager.
    """

    def _connect(self):
        manager = connect(self.node, PluginManager, 'plugin.name')
        if manager is None:
            raise RosInterfaceError(
                'There is no controller manager for the plug-in.',
                cure='Set controller_manager and install controller_manager_msgs, or set route to '
                     'topic.')
        return manager

    def topics(self):
        """Return no topics: the controller manager has the joints."""
        return ['', '']

    def order(self):
        """Return the joints of the parameter."""
        return self.parameters['command_joints']

    def make(self, controller, joints):
        """Return PluginCycle and PluginCommands of a controller, and no odometry."""
        if controller.model.floating_base and not self.parameters['plugin.base']:
            raise RosInterfaceError(
                'The plug-in has no state of the floating base.',
                cure='Set plugin.base to a component with state interfaces of its pose and twist, '
                     'or set route to topic.')
        cycle = PluginCycle(controller, self.node.get_logger())
        return cycle, PluginCommands(self.node, cycle), None

    def handover(self, made):
        """Return the Handover of the joints for a Configuration."""
        return PluginHandover(
            self.manager, made.cycle, made.commands, self.check_stop, self.node.get_logger(),
            made.interface.hold, partial(made.apply, self.parameters))

    def listen(self, endpoints, cycle):
        """Follow the cycles; return where they are, in words."""
        endpoints.repeat(1.0 / self.parameters['plugin.rate'], cycle.step)
        return f"in the plug-in '{self.parameters['plugin.name']}'"


ROUTES = {'topic': TopicRoute, 'plugin': PluginRoute}

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The node that shows a controller, over topics, services and parameters."""

import queue
import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Log
from rclpy.clock import Clock, ClockType
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from opspace_control.errors import OpspaceError
from opspace_control.ros.clients.remote import Outlook, Remote, controllers, look_for_offer
from opspace_control.ros.clients.remote_parameters import RemoteParameters
from opspace_control.ros.middleware.conversions import numbers_of
from opspace_control.ros.middleware.endpoints import LATCHED, RELIABLE
from opspace_control.view.camera import Camera, size_of
from opspace_control.view.handles import Forces, GoalHandle
from opspace_control.view.markers import Contacts, ShapeOverlay
from opspace_control.view.panel import Panel
from opspace_control.view.robot import RobotScene
from opspace_control.view.simulation import Simulation

_FRAME, _LOOK = 1.0 / 30.0, 1.0  # s, between two frames, and between two looks at the graph
_TIMEOUT = 5.0  # s, for the answer with the parameters
_HANDLE = 0.12  # of the robot's size


class ViewNode(Node):
    """
    The node ``opspace_view``, which shows the node ``controller`` on the pages of a server.

    Only the thread that spins this node changes the scene; actions of viewers are queued for it.
    """

    def __init__(self, server, controller, **options):
        super().__init__('opspace_view', **options)
        self._server = server
        self._controller = expand_topic_name(controller, self.get_name(), self.get_namespace())
        self._actions = queue.SimpleQueue()
        self._panel, self._camera = Panel(server, self._actions.put), Camera(server)
        self._remote_parameters = RemoteParameters(self, self._controller, self._panel.on_parameter)
        self._simulation = Simulation(self, server, self._actions.put, self._panel.say)
        self._offer = self._remote = self._robot = None
        self._forces = self._contacts = self._shapes = None
        self._text, self._requested, self._looked = '', None, -np.inf
        self._handles, self._positions = {}, {}
        self._states = Outlook(self, JointState, 'joint_states')
        self._base = Outlook(self, Odometry, 'odom')
        self.create_subscription(String, 'robot_description',
                                 lambda message: self._take_robot(message.data), LATCHED)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, RELIABLE)
        self.create_subscription(Log, '/rosout', self._on_log, 10)
        self.create_timer(_FRAME, self._on_frame, clock=Clock(clock_type=ClockType.STEADY_TIME))
        server.gui.configure_theme(control_width='large', show_logo=False, show_share_button=False)
        server.scene.set_up_direction('+z')
        server.scene.world_axes.visible = False

    def leave(self):
        """Close the page."""
        self._server.stop()

    def _on_frame(self):
        while not self._actions.empty():
            self._actions.get()()
        now = time.monotonic()
        if now - self._looked > _LOOK:
            self._looked = now
            self._look_for_controller(now)
            self._simulation.look()
            if self._robot:
                self._camera.follow(self._robot)
        with self._server.atomic():
            self._move_robot()
            self._simulation.update()
            if self._remote:
                self._update_goals()
                self._forces.update(self._remote.wrenches())
                markers = self._remote.markers()
                if markers:
                    self._contacts.update(markers)
                self._shapes.update(markers)
                self._panel.update(now)

    def _look_for_controller(self, now):
        """Attach to the controller, or to a new run of it; show what is missing."""
        offer = look_for_offer(self, self._controller)
        if offer != self._offer:
            self._detach()
            self._offer, self._requested = offer, None
        if offer is None:
            others = [name for name in controllers(self) if name != self._controller]
            self._panel.wait(f'Waiting for {self._controller}.' + (
                f' There is {", ".join(others)}: --controller NAME.' if others else ''))
            return
        if self._remote is None and self._remote_parameters.ready() and (
                self._requested is None or now - self._requested > _TIMEOUT):
            self._requested = now
            self._panel.wait(f'Reading the parameters of {self._controller}.')
            self._remote_parameters.load(self._attach)

    def _attach(self):
        """Show a controller whose parameters are known."""
        if self._offer is None or self._remote:
            return
        if not self._text:
            self._take_robot(self._remote_parameters.values.get('robot_description') or '')
        if self._robot is None:
            self._requested = None  # the parameters may have changed by then
            self._panel.wait('Waiting for the robot on robot_description.')
            return
        values = self._remote_parameters.values
        self._remote = Remote(self, self._controller, self._offer, markers=any(
            values.get(name, True) for name in ('contacts', 'collision.file')))
        self._forces = Forces(self._server.scene, self._robot)
        self._contacts = Contacts(self._server.scene)
        self._shapes = ShapeOverlay(self._server.scene, self._server.gui, self._robot)
        self._panel.build(self._offer, self._remote, self._remote_parameters, self._robot)
        self._panel.show_positions(self._positions)

    def _detach(self):
        self._panel.clear()
        for handle in self._handles.values():
            handle.remove()
        self._handles = {}
        if self._remote:
            self._forces.remove()
            self._contacts.remove()
            self._shapes.remove()
            self._remote.destroy()
        self._remote = None

    def _take_robot(self, text):
        """Show the robot of a URDF text, if it is a new one."""
        if text in ('', self._text):
            return
        self._detach()
        if self._robot:
            self._robot.remove()
        self._text, self._robot = text, None
        try:
            self._robot = RobotScene(self._server.scene, text)
        except OpspaceError as error:
            self._panel.say(str(error))
            return
        for doubt in self._robot.doubts:
            self.get_logger().warning(doubt)
        self._requested, self._states.newest = None, None
        self._camera.look_at(self._robot)

    def _move_robot(self):
        if self._robot is None:
            return
        if state := self._states.take():
            first = not self._positions
            self._robot.move(state.name, state.position)
            self._positions = dict(zip(state.name, state.position, strict=False))
            if first:
                self._panel.show_positions(self._positions)
        if odom := self._base.take():
            pose = numbers_of(odom.pose.pose)
            self._robot.place(odom.child_frame_id, pose[:3], np.roll(pose[3:], 1))

    def _update_goals(self):
        for task in self._offer.movable:
            pose, goal = self._remote.pose(task), self._remote.goal(task)
            if goal is None or not np.isfinite(goal[1]).all():
                continue
            if task not in self._handles:
                if not self._remote.hears(task):
                    continue
                self._handles[task] = self._make_handle(task, goal[0])
            self._handles[task].show(self._panel.acts(task))
            self._handles[task].update(pose[1][:3], goal[1])

    def _make_handle(self, task, frame):
        """Return the handle of a task whose goals are given in a frame."""
        base = self._robot.node(frame) or ''
        size = _HANDLE * size_of(*self._robot.bounds())
        axes = self._remote_parameters.values.get(f'{task}.axes', 'rx').split()
        return GoalHandle(
            self._server.scene, base, task, size, any(axis.startswith('r') for axis in axes),
            self._actions.put,
            lambda task, pose: self._remote and self._remote.send_goal(task, frame, pose))

    def _on_diagnostics(self, message):
        for status in message.status:
            if status.name.startswith(f'{self._controller[1:]}:'):
                self._panel.on_diagnostics(
                    status.level[0], status.message,
                    {value.key: value.value for value in status.values})

    def _on_log(self, message):
        """Show warnings of the controller, such as a refused goal or a trip."""
        if (message.level >= Log.WARN and
                message.name == self._controller[1:].replace('/', '.')):
            self._panel.say(message.msg)

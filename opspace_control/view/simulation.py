# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The simulator in the view: its boxes, grips and services."""

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.expand_topic_name import expand_topic_name
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from opspace_control.ros.clients.remote import RemoteNode, between
from opspace_control.ros.middleware.conversions import numbers_of
from opspace_control.ros.middleware.graph import endpoints_of
from opspace_control.view.controls import Switch, on_click

_BROWN = (176, 141, 98)


class Simulation:
    """The simulator node of the same namespace, if any; ``act`` and ``say`` are as of `Switch`."""

    def __init__(self, node, server, act, say):
        self._node, self._server, self._say = node, server, say
        # Actions that come when the simulator has gone are dropped.
        self._act = lambda do: act(lambda: self._remote and do())
        self._name = expand_topic_name(
            'opspace_simulator', node.get_name(), node.get_namespace())
        self._parameters = AsyncParameterClient(node, self._name)
        self._offer = self._folder = self._remote = None
        self._outlooks, self._boxes, self._switches = {}, {}, []

    def look(self):
        """Follow the graph: whether the simulator is there, and what it offers."""
        offer = self._look_for_offer()
        if offer == self._offer or (offer and not self._parameters.services_are_ready()):
            return
        self._clear()
        self._offer = offer
        if offer:
            self._build(*offer)

    def update(self):
        """Move the boxes to their poses."""
        for name, outlook in self._outlooks.items():
            message = outlook.take()
            if message and name in self._boxes:
                pose, box = numbers_of(message.pose), self._boxes[name]
                box.position, box.wxyz, box.visible = pose[:3], np.roll(pose[3:], 1), True

    def _look_for_offer(self):
        """Return the names of its boxes and of its grips, or None."""
        topics, _, services = endpoints_of(self._node, self._name) or ({}, {}, {})
        if f'{self._name}/pause' not in services:
            return None
        return (between(self._name, topics, 'pose', 'geometry_msgs/msg/PoseStamped'),
                between(self._name, services, 'engage', 'std_srvs/srv/SetBool'))

    def _build(self, boxes, grips):
        gui = self._server.gui
        self._remote = RemoteNode(self._node, self._name)
        self._folder = gui.add_folder('simulated robot', expand_by_default=False)
        with self._folder:
            self._add_switch('paused', 'The robot and its time stop.', 'pause')
            on_click(gui.add_button('Reset', hint='Back to the start, at rest.'), self._act,
                     lambda: self._remote.trigger(
                         'reset', lambda success, text: success or self._say(text)))
            for grip in grips:
                self._add_switch(f'grip {grip}', 'Welds the object to the gripping links.',
                                 f'{grip}/engage')
        self._outlooks = {name: self._remote.look_at(PoseStamped, f'{name}/pose') for name in boxes}
        if boxes:
            self._parameters.get_parameters(
                [f'{name}.size' for name in boxes],
                lambda answer: self._add_boxes(boxes, answer.result().values))

    def _add_switch(self, label, hint, service):
        self._switches.append(Switch(
            self._server.gui, label, hint, self._act, lambda on, answered:
            self._remote.switch(service, on, answered), self._say, on=False))

    def _add_boxes(self, names, sizes):
        for name, size in zip(names, sizes, strict=False):
            if name in self._outlooks:
                self._boxes[name] = self._server.scene.add_box(
                    f'/objects/{name}', _BROWN, tuple(parameter_value_to_python(size)),
                    opacity=0.8, visible=False)

    def _clear(self):
        for part in (self._folder, *self._boxes.values()):
            if part:
                part.remove()
        for switch in self._switches:
            switch.leave()
        if self._remote:
            self._remote.destroy()
        self._folder = self._remote = None
        self._outlooks, self._boxes, self._switches = {}, {}, []

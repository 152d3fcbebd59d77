# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The simulator in the view: its boxes, grips and services."""

from geometry_msgs.msg import PoseStamped
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import NodeNameNonExistentError
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from std_srvs.srv import SetBool, Trigger

from opspace_control.ros.clients.remote import Outlook
from opspace_control.view.controls import Switch, on_click

_BROWN = (176, 141, 98)


class Simulation:
    """The simulator node of the same namespace, if any; ``act`` and ``say`` are as of `Switch`."""

    def __init__(self, node, server, act, say, name='opspace_simulator'):
        self._node, self._server, self._act, self._say = node, server, act, say
        self._name = expand_topic_name(name, node.get_name(), node.get_namespace())
        self._parameters = AsyncParameterClient(node, self._name)
        self._offer = None
        self._folder = None
        self._outlooks, self._boxes, self._clients, self._switches = {}, {}, {}, []

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
                p, o = message.pose.position, message.pose.orientation
                self._boxes[name].position = p.x, p.y, p.z
                self._boxes[name].wxyz = o.w, o.x, o.y, o.z
                self._boxes[name].visible = True

    def _look_for_offer(self):
        """Return the names of its boxes and of its grips, or None."""
        namespace, _, name = self._name.rpartition('/')
        try:
            topics = self._node.get_publisher_names_and_types_by_node(name, namespace or '/')
            services = self._node.get_service_names_and_types_by_node(name, namespace or '/')
        except NodeNameNonExistentError:
            return None

        def those(endpoints, ending, kind):
            return tuple(sorted(
                topic[len(self._name) + 1:-len(ending)] for topic, kinds in endpoints
                if topic.startswith(f'{self._name}/') and topic.endswith(ending)
                and kind in kinds))
        if not any(service == f'{self._name}/pause' for service, _ in services):
            return None
        return (those(topics, '/pose', 'geometry_msgs/msg/PoseStamped'),
                those(services, '/engage', 'std_srvs/srv/SetBool'))

    def _build(self, boxes, grips):
        gui = self._server.gui
        self._folder = gui.add_folder('simulated robot', expand_by_default=False)
        with self._folder:
            self._add_switch('paused', 'The robot and its time stop.', 'pause')
            on_click(gui.add_button('Reset', hint='Back to the start, at rest.'), self._act,
                     lambda: self._call(Trigger, 'reset', self._answer))
            for grip in grips:
                self._add_switch(f'grip {grip}', 'Welds the object to the gripping links.',
                                 f'{grip}/engage')
        for name in boxes:
            self._outlooks[name] = Outlook(self._node, PoseStamped, f'{self._name}/{name}/pose')
        if boxes:
            self._parameters.get_parameters(
                [f'{name}.size' for name in boxes],
                lambda answer: self._add_boxes(boxes, answer.result().values))

    def _add_switch(self, label, hint, service):
        self._switches.append(Switch(
            self._server.gui, label, hint, self._act, lambda on, answered: self._call(
                SetBool, service, answered, data=on), self._say, on=False))

    def _add_boxes(self, names, sizes):
        for name, size in zip(names, sizes, strict=False):
            if name in self._outlooks:
                self._boxes[name] = self._server.scene.add_box(
                    f'/objects/{name}', _BROWN, tuple(parameter_value_to_python(size)),
                    opacity=0.8, visible=False)

    def _call(self, kind, service, answered, **fields):
        if service not in self._clients:
            self._clients[service] = self._node.create_client(kind, f'{self._name}/{service}')

        def done(future):
            answer = future.result()
            answered(answer.success, answer.message)
        self._clients[service].call_async(kind.Request(**fields)).add_done_callback(done)

    def _answer(self, success, text):
        if not success:
            self._say(text)

    def _clear(self):
        if self._folder:
            self._folder.remove()
        for outlook in self._outlooks.values():
            outlook.destroy()
        for box in self._boxes.values():
            box.remove()
        for client in self._clients.values():
            self._node.destroy_client(client)
        for switch in self._switches:
            switch.leave()
        self._folder = None
        self._outlooks, self._boxes, self._clients, self._switches = {}, {}, {}, []

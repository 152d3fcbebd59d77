# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""A real controller manager, and the controller node with its cycles in the plug-in."""

import re
import sys

import numpy as np
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from real_manager import GIVEN, NAME, STILL, Manager, goal_of

from opspace_control.safety.shared_memory import ENTRY, FRAME

PLUG = 'opspace_plugin'
ROUTE = {'controller_manager': 'controller_manager', 'route': 'plugin'}
ROUTED = {**GIVEN, **ROUTE, 'safety.node_timeout': 0.5}


class Robot(Manager):
    """A manager, and the controller node; ``reports`` are its last diagnostics, by key."""

    def __init__(self, folder, text=STILL, **options):
        super().__init__(folder, text, PLUG, **options)
        self.reports = {}
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        try:
            self.begin()
        except BaseException:
            self.close()
            raise

    def _on_diagnostics(self, message):
        for status in message.status:
            if 'control cycle' in status.name:
                self.reports = {value.key: value.value for value in status.values} | {
                    'message': status.message}

    def run_node(self, name=NAME, given=None, **changed):
        """Return the process of a node of a name with the parameters ``given``, and others."""
        given = (given or ROUTED) | changed
        blocks = {*ROUTED['tasks']} - {*given['tasks']}
        given = {key: value for key, value in given.items() if key.split('.')[0] not in blocks}
        file = self.folder / 'node.yaml'
        file.write_text(yaml.safe_dump({name: {'ros__parameters': given}}))
        return self.start([sys.executable, '-c', (
            'import sys; from opspace_control.ros.controller import main; '
            'sys.exit(main(sys.argv[1:]))'), '--ros-args', '-r', f'__node:={name}', '--params-file',
            file])

    def run_to_a_goal(self, controller, **changed):
        """Return the node's process once the robot is at a goal, and the efforts there."""
        process = self.run_node(**changed)
        self.wait_for('active')
        self.wait_for_efforts(self.wanted_efforts(controller))
        goal = goal_of(controller, 0.01, 0.0, 0.01)
        self.send_goal(goal)
        efforts = self.wanted_efforts(controller, goal)
        self.wait_for_efforts(efforts)
        return process, efforts

    def memory(self):
        """Return the plug-in's memory, of bytes, and the FRAME with which it begins."""
        path = re.findall(r'of (\S+)\.block\.', self.said())[-1]
        memory = np.memmap(path, np.uint8, 'r')
        return memory, memory[:FRAME.itemsize].view(FRAME)[0]

    def cycles(self):
        """Return the stamps of the plug-in's last cycles, ns, from its memory."""
        memory, frame = self.memory()
        count, size = frame['cycles'].item(), frame['entry_count'].item()
        entries = memory[frame['entries'].item():][:ENTRY.itemsize * size].view(ENTRY)
        return entries['stamp'][np.arange(max(0, count - size // 2), count) % size]

    def wait_for(self, state, name=PLUG):
        """Wait until a controller of the manager has a state."""
        self.wait_until(lambda: self.state(name) == state, 40.0)

    def label(self):
        """Return the state of the node; the first answer may precede the discovery of its way."""
        return self.call(GetState, f'{NAME}/get_state', again=2.0).current_state.label

    def transition(self, label):
        """Return whether the node, once it is in none, has made a transition."""
        self.wait_until(lambda: self.label() in ('active', 'inactive'))
        number = getattr(Transition, f'TRANSITION_{label}')
        return self.call(ChangeState, f'{NAME}/change_state',
                         transition=Transition(id=number)).success

    def set_parameter(self, name, value):
        """Return whether the node has taken a value of a parameter."""
        return self.call(SetParameters, f'{NAME}/set_parameters', parameters=[
            Parameter(name, value=value).to_parameter_msg()]).results[0].successful

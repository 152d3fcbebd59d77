# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The panel of the page: diagnostics of the controller, and controls."""

import math
import time
from collections import deque

from opspace_control.view import controls, gauges

_REMEMBERED = 8   # messages
_STALE = 3.0      # s, of diagnostics that come each second
_GAUGES = 0.2     # s, between two readings
_TOAST = 8.0      # s
# What is beside goal and error of a task, or of a contact; all else is behind 'more'.
_GAINS = ('kp', 'kd', 'max_linear_velocity', 'friction', 'min_normal_force', 'max_normal_force')
_GAINS_OF = {'impedance': ('stiffness', 'damping_ratio', 'max_linear_velocity'),
             'joint': ('kp', 'kd', 'max_velocity')}  # by mode and type


class Panel:
    """
    Everything beside the picture: a head, and what is built for each controller.

    ``act`` runs a function in the thread of the node.
    """

    def __init__(self, server, act):
        self._server, self._gui = server, server.gui
        # Actions that come when the controller has gone are dropped.
        self._act = lambda do: act(lambda: self._remote and do())
        self._status = self._gui.add_html(gauges.status(3, 'Connecting…'))
        self._said = deque(maxlen=_REMEMBERED)
        self._hold = self._gui.add_button(
            'Hold', hint='Every goal becomes the present pose; acknowledges a trip.',
            disabled=True)
        controls.on_click(self._hold, self._act, lambda: self._remote.trigger('hold', self._answer))
        self._facts, self._heard = {}, -math.inf
        self._tabs = self._replay = None
        self._all = []
        self.clear()

    def say(self, text):
        """Show a text to all viewers, such as why a change was refused."""
        self._said.append(f'{time.strftime("%H:%M:%S")}  {text}')
        for client in self._server.get_clients().values():
            client.add_notification('The controller', text, auto_close_seconds=_TOAST,
                                    color='orange')
        if self._tabs:
            self._words.content = gauges.words(self._said)

    def wait(self, what):
        """Show what is waited for, without controls."""
        self.clear()
        self._status.content = gauges.status(3, f'Connecting… {what}')

    def clear(self):
        """Remove the parts of a controller."""
        self._hold.disabled = True
        for part in (self._replay, self._tabs):
            if part:
                part.remove()
        for control in self._all:
            control.leave()
        self._all, self._controls, self._joints = [], {}, {}
        self._remote = self._tabs = self._replay = None

    def build(self, offer, remote, parameters, robot):
        """Build it for a controller and its robot."""
        self.clear()
        self._offer, self._remote, self._parameters = offer, remote, parameters
        self._limits = {joint: limit[2] * parameters.values.get('limits.effort_scale', 1.0)
                        for joint, limit in robot.limits.items()}
        self._read, self._heard = 0.0, time.monotonic()
        self._facts = {}
        if controls.changeable(parameters, 'replay.'):
            self._replay = self._gui.add_folder('replay')
            with self._replay:
                self._add_parameters('replay', controls.changeable(parameters, 'replay.'))
        self._tabs = self._gui.add_tab_group()
        for label, fill in (('Tasks', self._build_tasks), ('Posture', self._build_posture),
                            ('Diagnostics', self._build_diagnostics)):
            with self._tabs.add_tab(label):
                fill(robot)
        with self._tabs.add_tab('History'):
            self._history = gauges.History(self._gui, offer.tasks, offer.groups)
        with self._tabs.add_tab('Parameters'):
            for name in controls.changeable(parameters):
                if name not in self._controls:
                    self._add_parameter(name, name)
        self._hold.disabled = False

    def on_diagnostics(self, level, text, facts):
        """Show the controller's diagnostics."""
        self._facts, self._heard = facts, time.monotonic()
        if not self._tabs:
            return
        self._status.content = gauges.status(level, text)
        self._facts_table.content = gauges.facts(facts)
        for task, switch in self._acting.items():
            switch.follow(self.acts(task))
        for name, switch in self._engaged.items():
            switch.follow(facts.get(f'{name}: engaged') == 'yes')

    def acts(self, task):
        """Return whether a task acts; before the diagnostics tell, whether it does by default."""
        acting = self._facts.get('active tasks')
        return task not in self._offer.switches if acting is None else task in acting.split(', ')

    def on_parameter(self, name):
        """Show the new value of a parameter."""
        if name in self._controls:
            self._controls[name].follow()

    def update(self, now):
        """Show the messages of the controller; to be called some thirty times a second."""
        if not self._tabs or now - self._read < _GAUGES:
            return
        self._read = now
        wrenches = list(self._remote.wrenches())
        commanded = {what: six for what, _, six, kind in wrenches if kind == 'commanded'}
        errors = {task: self._remote.error(task) for task in self._offer.tasks}
        joints = {group: self._remote.joint_error(group) for group in self._offer.groups}
        for task, line in self._lines.items():
            line.content = (gauges.joint_error(joints[task]) if task in joints else
                            gauges.task(self._remote.goal(task), errors[task],
                                        commanded.get(task)))
        self._wrench_table.content = gauges.wrenches(wrenches)
        efforts = self._remote.efforts()
        self._bars.content = gauges.efforts(efforts, self._limits)
        self._history.update(now, errors, joints, gauges.load(efforts, self._limits), self._facts)
        for task, sliders in self._joints.items():
            _follow(sliders, self._remote.new_positions(task))
        for control in self._controls.values():
            control.follow()
        if now - self._heard > _STALE:
            self._status.content = gauges.status(3, 'No diagnostics: does the controller run?')

    def show_positions(self, positions):
        """Put all sliders of joints to positions by joint, rad or m."""
        for sliders in self._joints.values():
            _follow(sliders, positions)

    def _build_tasks(self, robot):
        """Add a folder for each task at a point, task of joints, grasp and contact."""
        self._lines, self._acting, self._engaged, self._joints = {}, {}, {}, {}
        offer, values = self._offer, self._parameters.values
        for name in dict.fromkeys((*offer.tasks, *offer.groups, *offer.switches)):
            with self._gui.add_folder(name):
                if name in (*offer.tasks, *offer.groups):
                    self._lines[name] = self._gui.add_html(gauges.task(None, None, None))
                if name in offer.optional:
                    self._acting[name] = self._add_switch(
                        'enabled', 'Off: the posture controls its axes.', f'{name}/enable',
                        on=True)
                if name in offer.switches:
                    self._engaged[name] = self._add_switch(
                        'engaged', 'On: engage at the present poses. Off: disengage.',
                        f'{name}/engage')
                # A task that controls motion alone has no force axes.
                if name in offer.forces and values.get(f'{name}.force_axes') != '':
                    self._build_force(name)
                if name in offer.groups:
                    self._add_joints(robot, values.get(f'{name}.joints') or (), name)
                self._add_gains(name)

    def _add_switch(self, label, hint, service, on=False):
        switch = controls.Switch(self._gui, label, hint, self._act, lambda wanted, answered:
                        self._remote.switch(service, wanted, answered), self.say, on)
        self._all.append(switch)
        return switch

    def _add_gains(self, task):
        """Add the gains of a task, and a folder of its other parameters."""
        values, names = self._parameters.values, controls.changeable(self._parameters, f'{task}.')
        first = _GAINS_OF.get(values.get(f'{task}.type'), _GAINS_OF.get(
            values.get(f'{task}.mode'), _GAINS))
        gains = [name for name in names if name.removeprefix(f'{task}.') in first]
        self._add_parameters(task, gains)
        if others := [name for name in names if name not in gains]:
            with self._gui.add_folder('more', expand_by_default=False):
                self._add_parameters(task, others)

    def _add_parameters(self, owner, names):
        for name in names:
            self._add_parameter(name, name.removeprefix(f'{owner}.'))

    def _build_force(self, task):
        """Add the fields for the wrench that a task is to apply."""
        fields = [
            self._gui.add_vector3(label, (0.0, 0.0, 0.0), step=step, hint=(
                "What the robot is to apply, along the task's own axes."))
            for label, step in (('force, N', 1.0), ('moment, N·m', 0.1))]

        def send(_value):
            self._remote.send_force(task, [*fields[0].value, *fields[1].value])
        for field in fields:
            controls.listen(field, self._act, send)

    def _build_posture(self, robot):
        self._add_joints(robot, robot.limits)
        for gain in ('kp', 'kd'):  # those of single joints are among all
            self._add_parameter(f'posture.{gain}', gain)

    def _add_joints(self, robot, joints, task=''):
        """Add the sliders of a task of joints, or of the posture; of joints of one freedom."""
        self._joints[task] = {}
        for joint in joints:
            lower, upper, _ = robot.limits.get(joint, (0.0, 0.0, 0.0))
            if lower < upper:
                self._joints[task][joint] = controls.JointSlider(
                    self._gui, joint, lower, upper, self._act, lambda position, joint=joint:
                    self._remote.send_position(task, joint, position))
                self._all.append(self._joints[task][joint])

    def _build_diagnostics(self, robot):
        self._words = self._gui.add_html(gauges.words(self._said))
        with self._gui.add_folder('efforts, N·m or N, against their limits'):
            self._bars = self._gui.add_html('')
        with self._gui.add_folder('wrenches, in the axes of their frames'):
            self._wrench_table = self._gui.add_html('')
            for sensor in self._offer.sensors:
                controls.on_click(self._gui.add_button(
                    f'Zero {sensor}', hint='Subtract the present reading.'), self._act,
                    lambda sensor=sensor: self._remote.trigger(f'{sensor}/zero', self._answer))
        with self._gui.add_folder('diagnostics'):
            self._facts_table = self._gui.add_html('')
        if robot.doubts:
            with self._gui.add_folder('not shown', expand_by_default=False):
                self._gui.add_html(gauges.words(robot.doubts))

    def _add_parameter(self, name, label):
        self._controls[name] = controls.ParameterControl(
            self._gui, self._parameters, name, label, self._act, self.say)
        self._all.append(self._controls[name])

    def _answer(self, success, text):
        if not success:
            self.say(text)


def _follow(sliders, positions):
    """Put sliders by joint to positions by joint, where there is one."""
    for joint, slider in sliders.items():
        if joint in positions:
            slider.follow(positions[joint])

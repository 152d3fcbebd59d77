# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The numbers of a recorded run: courses of tasks, efforts, timing, and log messages."""

from dataclasses import dataclass

import numpy as np

from opspace_control.errors import OpspaceError
from opspace_control.model import KinematicTree
from opspace_control.runs.run import JOINT_STATE, RunError
from opspace_control.tasks.arguments import AXES


@dataclass(frozen=True)
class Said:
    """A log message of a node, or a change of a parameter."""

    time: float  # s from the start
    level: int   # as of rcl_interfaces/Log; 0 for a change
    who: str
    text: str


class Series:
    """Rows of a width that come in time."""

    def __init__(self, width):
        self._times, self._rows, self._width = [], [], width

    def add(self, time, row):
        """Add a row at a time, s."""
        self._times.append(time)
        self._rows.append(row)

    @property
    def times(self):
        """Times of the rows (k,), s from the start."""
        return np.array(self._times)

    @property
    def values(self):
        """All rows (k, width)."""
        return np.array(self._rows, dtype=float).reshape(len(self._rows), self._width)

    def __len__(self):
        return len(self._rows)


class TaskCourse:
    """The recorded course of a task; ``controlled`` (6,) selects its axes."""

    def __init__(self, name, controlled):
        self.name, self._controlled = name, controlled
        self.error = Series(6)   # goal minus pose, m and a rotation vector in rad
        self.pose = Series(7)    # [x y z qx qy qz qw], base frame
        self.wrench = Series(6)  # commanded, N and N·m, in the axes of the frame
        self.goals = []          # when a goal came, s
        self.takers = {          # called with time, s, and message of each of its topics
            'error': lambda time, message: self.error.add(time, _six(
                message.twist.linear, message.twist.angular)),
            'current_pose': lambda time, message: self.pose.add(time, _seven(message.pose)),
            'wrench': lambda time, message: self.wrench.add(time, _six(
                message.wrench.force, message.wrench.torque)),
            'target_pose': lambda time, _message: self.goals.append(time)}

    def sizes(self):
        """Return the sizes of the error in the controlled axes, (k, 2), mm and degrees."""
        e = self.error.values * self._controlled
        return np.stack([1e3 * np.linalg.norm(e[:, :3], axis=1),
                         np.degrees(np.linalg.norm(e[:, 3:], axis=1))], axis=1)

    def left(self):
        """Return the sizes of the error when the next goal came, (goals, 2), mm and degrees."""
        limits = [*self.goals[1:], np.inf]
        rows = np.searchsorted(self.error.times, limits) - 1
        return self.sizes()[rows[rows >= 0]]


class JointCourse:
    """The recorded course of a task of joints."""

    def __init__(self, name, joints):
        self.name, self.joints = name, joints
        self.error = Series(len(joints))  # goal minus position, rad or m
        self.takers = {'joint_error': self._take_error}  # as of a `TaskCourse`

    def _take_error(self, time, message):
        if tuple(message.name) == self.joints and len(message.position) == len(self.joints):
            self.error.add(time, message.position)


class Summary:
    """The numbers of a `Run`; a RunError tells that its controller commanded nothing."""

    pictures = 3  # joint states that are kept

    def __init__(self, run):
        self.run = run
        parameters = run.parameters
        self.model = _model(run)  # KinematicTree, or None without a robot
        self.tasks, self.joint_tasks = [], []
        for name in parameters.get('tasks', ()):
            if parameters.get(f'{name}.type') == 'joint':
                self.joint_tasks.append(JointCourse(
                    name, tuple(parameters.get(f'{name}.joints', ()))))
            else:
                axes = parameters.get(f'{name}.axes', ' '.join(AXES)).split()
                self.tasks.append(TaskCourse(name, np.array([axis in axes for axis in AXES])))
        self.efforts = None    # Series (joints,), commanded, N·m or N
        self.bases = Series(7)  # pose of a floating base
        self.health = []       # diagnostics of the controller: (time, level, text, dict)
        self.said = []         # log messages and changes of parameters: `Said`
        self.ages = []         # s, of joint states when they were sent, by their stamps
        self.states = []       # (time, positions by joint): a few, over the time of control
        self._newest = None
        times = run.times(run.commands)
        if not len(times):
            raise RunError(f'{run.path} has no effort command.', path=str(run.path),
                           cure='Record while the controller is active.')
        self.began, self.ended = times[0], times[-1]
        self._measure_time()
        self._read()
        known = dict(zip(self.model.dof_names, self.model.effort_limits, strict=True)
                     ) if self.model else {}
        # (joints,), N·m or N; inf where there is none.
        self.effort_limits = parameters.get('limits.effort_scale', 1.0) * np.array(
            [known.get(joint, np.inf) for joint in self.joints])

    def loads(self):
        """Return the efforts as parts of their limits, (k, joints); zero where there is none."""
        return self.efforts.values / self.effort_limits

    def grave(self):
        """Return the log messages that are warnings or worse."""
        return [said for said in self.said if said.level >= 30]

    def _measure_time(self):
        # What the times of ``period`` are from and to.
        self.period_events = (
            'joint state to joint state' if self.run.by_plugin else 'command to command')
        states, commands = (self.run.sent.get(topic, np.empty(0, np.int64)) for topic in (
            self.run.states, self.run.commands))
        if self.run.by_plugin:  # each joint state is of a cycle, and a command of the same one
            self.period = 1e-9 * np.diff(states[(states >= commands[0]) & (states <= commands[-1])])
            self.latency, self.unanswered = np.empty(0), 0
            return
        self.period = 1e-9 * np.diff(commands)  # (k,), s, between two cycles
        last = np.searchsorted(states, commands, side='right') - 1
        # (k,), s, from joint state to command.
        self.latency = 1e-9 * (commands[last >= 0] - states[last[last >= 0]])
        during = np.count_nonzero((states >= commands[0]) & (states < commands[-1]))
        # Joint states in the time of control that no command of their own follows.
        self.unanswered = (0 if self.run.parameters.get('update_rate')
                           else max(during - len(commands), 0))

    def _read(self):
        run = self.run
        readers = {
            **{run.own(f'{task.name}/{topic}'): take
               for task in (*self.tasks, *self.joint_tasks)
               for topic, take in task.takers.items()},
            run.commands: self._take_command,
            run.odom: lambda time, message: self.bases.add(time, _seven(message.pose.pose)),
            run.states: self._take_state,
            '/diagnostics': self._take_health,
            '/rosout': lambda time, message: self.said.append(
                Said(time, message.level, message.name, message.msg)),
            '/parameter_events': self._take_change}
        self._due = list(np.linspace(self.began, self.ended, self.pictures))[::-1]
        # The names of the joints come later than the first command, which needs them.
        # Those commanded, in the order of the command.
        self.joints = next((tuple(message.name) for *_, message in run.messages(
            {run.own('controller_state')})), ())
        for topic, time, message in run.messages(readers):
            readers[topic](time, message)
        while self._due and self._newest:  # the last may come a moment before the last command
            self.states.append(self._newest)
            self._due.pop()

    def _take_command(self, time, message):
        if self.run.topics[self.run.commands] == JOINT_STATE:
            self.joints, values = tuple(message.name), message.effort
        else:
            values = message.data
        if len(values) != len(self.joints):
            self.joints = tuple(f'joint {i + 1}' for i in range(len(values)))
        if self.efforts is None:
            self.efforts = Series(len(values))
        self.efforts.add(time, values)

    def _take_state(self, time, message):
        self._newest = time, dict(zip(message.name, message.position, strict=False))
        sent, stamp = self.run.sent[self.run.states][len(self.ages)], message.header.stamp
        self.ages.append(1e-9 * (int(sent) - 1_000_000_000 * stamp.sec - stamp.nanosec))
        while self._due and time >= self._due[-1]:
            self.states.append(self._newest)
            self._due.pop()

    def _take_health(self, time, message):
        for status in message.status:
            if status.name.startswith(f'{self.run.controller[1:]}:'):
                level = status.level if isinstance(status.level, int) else status.level[0]
                self.health.append((time, level, status.message,
                                    {value.key: value.value for value in status.values}))

    def _take_change(self, time, message):
        if message.node == self.run.controller:
            for parameter in message.changed_parameters:
                self.said.append(Said(time, 0, self.run.controller[1:],
                                      f'{parameter.name} = {_plain(parameter.value)}'))


def _six(linear, angular):
    return linear.x, linear.y, linear.z, angular.x, angular.y, angular.z


def _seven(pose):
    """Return a geometry_msgs/Pose as a tuple ``(x y z qx qy qz qw)``."""
    p, o = pose.position, pose.orientation
    return p.x, p.y, p.z, o.x, o.y, o.z, o.w


def _model(run):
    """Return the robot of a run, or None."""
    if not run.robot:
        return None
    try:
        return KinematicTree.from_urdf(
            run.robot, floating_base=bool(run.parameters.get('floating_base')))
    except OpspaceError:
        return None


# The fields of rcl_interfaces/ParameterValue by its type.
_VALUES = ('', 'bool', 'integer', 'double', 'string', 'byte_array', 'bool_array', 'integer_array',
           'double_array', 'string_array')


def _plain(value):
    """Return a rcl_interfaces/ParameterValue as Python has it."""
    return getattr(value, f'{_VALUES[value.type]}_value') if value.type else None

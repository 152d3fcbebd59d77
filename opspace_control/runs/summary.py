# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The numbers of a recorded run: errors, efforts against limits, timing, and what was said."""

from dataclasses import dataclass

import numpy as np

from opspace_control.errors import OpspaceError
from opspace_control.model import KinematicTree
from opspace_control.runs.run import JOINT_STATE, RunError

_AXES = ('x', 'y', 'z', 'rx', 'ry', 'rz')


@dataclass(frozen=True)
class Said:
    """Something that a node has logged, or a change of a parameter: when, how grave, by whom."""

    time: float  # s from the start
    level: int   # as of rcl_interfaces/Log; 0 for a change
    who: str
    text: str


class Series:
    """Rows that come in time: ``times`` (k,), s, and ``values`` (k, ...)."""

    def __init__(self, width):
        self._times, self._rows, self._width = [], [], width

    def add(self, time, row):
        """Add a row at a time, s."""
        self._times.append(time)
        self._rows.append(row)

    @property
    def times(self):
        """When each row was seen, s from the start."""
        return np.array(self._times)

    @property
    def values(self):
        """All rows."""
        return np.array(self._rows, dtype=float).reshape(-1, self._width)

    def __len__(self):
        return len(self._rows)


@dataclass
class TaskCourse:
    """
    What was seen of a task.

    Attributes
    ----------
    name, frame : str
    error : Series
        (6,) goal minus pose, m and a rotation vector in rad.
    pose : Series
        (7,) ``[x y z qx qy qz qw]``, base frame.
    wrench : Series
        (6,) commanded, N and N·m, in the axes of the frame.
    goals : list of float
        When a goal came, s.
    counts : (6,) bool array
        Axes that the task controls; its error in others is none.

    """

    name: str
    frame: str
    error: Series
    pose: Series
    wrench: Series
    goals: list
    counts: np.ndarray

    def sizes(self):
        """Return the sizes of the error, (k, 2), mm and degrees."""
        e = self.error.values * self.counts
        return np.stack([1e3 * np.linalg.norm(e[:, :3], axis=1),
                         np.degrees(np.linalg.norm(e[:, 3:], axis=1))], axis=1)

    def left(self):
        """Return what was left of each goal when the next came, (goals, 2), mm and degrees."""
        ends = [*self.goals[1:], np.inf]
        rows = np.searchsorted(self.error.times, ends) - 1
        return self.sizes()[rows[rows >= 0]]


class Summary:
    """
    The numbers of a run.

    Parameters
    ----------
    run : Run

    Attributes
    ----------
    run : Run
    model : KinematicTree, or None without a robot
    tasks : list of TaskCourse
    joints : tuple of str
        Those that are commanded, in the order of the command.
    effort_limits : (joints,) array
        N·m or N; inf where there is none.
    efforts : Series
        (joints,) commanded, N·m or N.
    states : list of (time, dict)
        A few joint states, evenly over the time of control, the first and the last among them.
    bases : Series
        (7,) pose of a floating base.
    period, latency : (k,) array
        s from command to command, and from joint state to command.
    unanswered : int
        Joint states in the time of control that were followed by no command of their own.
    health : list of (time, level, text, dict)
        The controller's diagnostics.
    said : list of Said

    Raises
    ------
    RunError
        The controller has commanded nothing.

    """

    pictures = 3  # joint states that are kept

    def __init__(self, run):
        self.run = run
        parameters = run.parameters
        self.model = _model(run)
        self.tasks = [TaskCourse(name, parameters.get(f'{name}.frame') or name, Series(6),
                                 Series(7), Series(6), [], _counts(parameters, name))
                      for name in parameters.get('tasks', ())
                      if parameters.get(f'{name}.type') != 'joint']
        self.joints, self.efforts, self.bases = (), None, Series(7)
        self.health, self.said, self.states = [], [], []
        self._newest = None
        times = run.times(run.commands)
        if not len(times):
            raise RunError(f'{run.path} has no effort command.', path=str(run.path),
                           cure='Record while the controller is active.')
        self.began, self.ended = times[0], times[-1]
        self._measure_time()
        self._read()
        self.effort_limits = self._limits()

    def loads(self):
        """Return the efforts as parts of their limits, (k, joints); zero where there is none."""
        return self.efforts.values / self.effort_limits

    def grave(self, least=30):
        """Return what was said of a level, 30 for warnings, or above."""
        return [said for said in self.said if said.level >= least]

    def _measure_time(self):
        states, commands = (self.run.sent.get(topic, np.empty(0, np.int64)) for topic in (
            self.run.states, self.run.commands))
        self.period = 1e-9 * np.diff(commands)
        last = np.searchsorted(states, commands, side='right') - 1
        self.latency = 1e-9 * (commands[last >= 0] - states[last[last >= 0]])
        during = np.count_nonzero((states >= commands[0]) & (states < commands[-1]))
        self.unanswered = (0 if self.run.parameters.get('update_rate')
                           else max(during - len(commands), 0))

    def _read(self):
        run, task_topics = self.run, {}
        for task in self.tasks:
            for topic, take in (('error', _take_error), ('current_pose', _take_pose),
                                ('wrench', _take_wrench), ('target_pose', _take_goal)):
                task_topics[run.own(f'{task.name}/{topic}')] = task, take
        readers = {
            **{topic: lambda time, message, task=task, take=take: take(task, time, message)
               for topic, (task, take) in task_topics.items()},
            run.own('controller_state'): self._take_names,
            run.commands: self._take_command,
            run.odom: self._take_base,
            run.states: self._take_state,
            '/diagnostics': self._take_health,
            '/rosout': self._take_log,
            '/parameter_events': self._take_change}
        self._due = list(np.linspace(self.began, self.ended, self.pictures))[::-1]
        # The names of the joints come later than the first command, but are needed for it.
        for _, time, message in run.messages({run.own('controller_state')}):
            self._take_names(time, message)
            break
        for topic, time, message in run.messages(readers):
            readers[topic](time, message)
        while self._due and self._newest:  # the last may come a moment before the last command
            self.states.append(self._newest)
            self._due.pop()

    def _take_names(self, _time, message):
        self.joints = self.joints or tuple(message.name)

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
        while self._due and time >= self._due[-1]:
            self.states.append(self._newest)
            self._due.pop()

    def _take_base(self, time, message):
        self.bases.add(time, _seven(message.pose.pose))

    def _take_health(self, time, message):
        for status in message.status:
            if status.name.startswith(f'{self.run.controller[1:]}:'):
                level = status.level if isinstance(status.level, int) else status.level[0]
                self.health.append((time, level, status.message,
                                    {value.key: value.value for value in status.values}))

    def _take_log(self, time, message):
        self.said.append(Said(time, message.level, message.name, message.msg))

    def _take_change(self, time, message):
        if message.node == self.run.controller:
            for parameter in message.changed_parameters:
                self.said.append(Said(time, 0, self.run.controller[1:],
                                      f'{parameter.name} = {_plain(parameter.value)}'))

    def _limits(self):
        limits = np.full(len(self.joints), np.inf)
        if self.model is not None:
            scale = self.run.parameters.get('limits.effort_scale', 1.0)
            known = dict(zip(self.model.dof_names, self.model.effort_limits, strict=True))
            limits = scale * np.array([known.get(joint, np.inf) for joint in self.joints])
        return limits


def _model(run):
    """Return the robot of a run, or None."""
    if not run.robot:
        return None
    try:
        return KinematicTree.from_urdf(
            run.robot, floating_base=bool(run.parameters.get('floating_base')))
    except OpspaceError:
        return None


def _counts(parameters, task):
    axes = parameters.get(f'{task}.axes', ' '.join(_AXES)).split()
    return np.array([axis in axes for axis in _AXES])


def _take_error(task, time, message):
    task.error.add(time, _six(message.twist.linear, message.twist.angular))


def _take_pose(task, time, message):
    task.pose.add(time, _seven(message.pose))


def _take_wrench(task, time, message):
    task.wrench.add(time, _six(message.wrench.force, message.wrench.torque))


def _take_goal(task, time, _message):
    task.goals.append(time)


def _six(first, second):
    return (first.x, first.y, first.z, second.x, second.y, second.z)


def _seven(pose):
    p, o = pose.position, pose.orientation
    return (p.x, p.y, p.z, o.x, o.y, o.z, o.w)


# The fields of rcl_interfaces/ParameterValue by its type.
_VALUES = ('', 'bool', 'integer', 'double', 'string', 'byte_array', 'bool_array', 'integer_array',
           'double_array', 'string_array')


def _plain(value):
    """Return a rcl_interfaces/ParameterValue as Python has it."""
    return getattr(value, f'{_VALUES[value.type]}_value') if value.type else None

# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The numbers of a recorded run: errors, efforts against limits, timing, and log messages."""

from dataclasses import dataclass

import numpy as np

from opspace_control.errors import OpspaceError
from opspace_control.model import KinematicTree
from opspace_control.runs.courses import JointCourse, Series, TaskCourse, seven
from opspace_control.runs.run import JOINT_STATE, RunError

_AXES = ('x', 'y', 'z', 'rx', 'ry', 'rz')


@dataclass(frozen=True)
class Said:
    """Something that a node has logged, or a change of a parameter: when, how grave, by whom."""

    time: float  # s from the start
    level: int   # as of rcl_interfaces/Log; 0 for a change
    who: str
    text: str


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
    joint_tasks : list of JointCourse
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
        groups = {name: tuple(parameters.get(f'{name}.joints', ()))
                  for name in parameters.get('tasks', ())
                  if parameters.get(f'{name}.type') == 'joint'}
        self.joint_tasks = [JointCourse(name, joints, Series(len(joints)))
                            for name, joints in groups.items()]
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
        run = self.run
        readers = {
            **{run.own(f'{task.name}/{topic}'): take
               for task in (*self.tasks, *self.joint_tasks)
               for topic, take in task.takers.items()},
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
        self.bases.add(time, seven(message.pose.pose))

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


# The fields of rcl_interfaces/ParameterValue by its type.
_VALUES = ('', 'bool', 'integer', 'double', 'string', 'byte_array', 'bool_array', 'integer_array',
           'double_array', 'string_array')


def _plain(value):
    """Return a rcl_interfaces/ParameterValue as Python has it."""
    return getattr(value, f'{_VALUES[value.type]}_value') if value.type else None

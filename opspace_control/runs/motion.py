# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""The motion of a recorded run and its efforts, at evenly spaced times."""

from dataclasses import dataclass

import numpy as np

from opspace_control.control.planning.postures import named_posture
from opspace_control.runs.run import JOINT_STATE, RunError

# Longer than so many periods without a state or a command nothing is known in between.
_GAP = 4


@dataclass(frozen=True, eq=False)
class RecordedMotion:
    """Joint vectors in dof order."""

    time: np.ndarray
    """(k,) s of the clock of the joint states, from zero, evenly spaced by their period."""
    q: np.ndarray
    """(k, nq) rad or m; joints that turn freely do not wrap."""
    v: np.ndarray
    """(k, nv) rad/s or m/s as the joint states tell them; of joints without, from positions."""
    commanded: np.ndarray
    """(k, nv) N·m or N, NaN of joints without a command."""
    measured: np.ndarray
    """(k, nv) N·m or N as the joint states tell them, NaN of joints without."""
    valid: np.ndarray
    """(k,) bool: states and commands came regularly."""

    @property
    def rate(self):
        """Samples by second, Hz."""
        return (len(self.time) - 1) / float(self.time[-1])


def read_motion(run, model, joints):
    """
    Return the `RecordedMotion` of a run, of a robot whose base is fixed.

    Commands are placed by when they were sent between two joint states, and act until the next one:
    on average half a period later. Those of a plug-in, of which the node publishes some, act from
    the joint state of their stamp to the next one. The joints of the ``model`` have one coordinate
    each; ``joints`` is the order of the command. Raises a RunError if the run has too few joint
    states or commands.
    """
    stamps, rows, commands, command_stamps = [], [], [], []
    for topic, _, message in run.messages({run.states, run.commands}):
        if topic == run.states:
            stamps.append(_stamp(message))
            rows.append((message.name, message.position, message.velocity, message.effort))
        elif run.topics[topic] == JOINT_STATE:
            commands.append((message.name, message.effort))
            command_stamps.append(_stamp(message))
        else:
            commands.append((joints, message.data))
    if len(rows) < _GAP or len(commands) < _GAP:
        raise RunError(f'{run.path} has {len(rows)} joint states and {len(commands)} commands.',
                       path=str(run.path), cure='Record while the controller is active.')
    q = np.tile(named_posture(model, {}), (len(rows), 1))
    v, measured, commanded = (np.full((len(part), model.nv), np.nan)
                              for part in (rows, rows, commands))
    places = {name: dofs[0] for name, dofs in model.joint_dofs.items()}
    coordinates = {name: model.q_index[place] for name, place in places.items()}
    for k, (names, positions, velocities, efforts) in enumerate(rows):
        _fill(q[k], coordinates, names, positions)
        _fill(v[k], places, names, velocities)
        _fill(measured[k], places, names, efforts)
    for k, (names, efforts) in enumerate(commands):
        _fill(commanded[k], places, names, efforts)
    sent = 1e-9 * (run.sent[run.states] - run.start)
    stamps = np.array(stamps)
    fresh = np.r_[True, np.diff(stamps) > 0.0]
    empty = fresh.sum() < 0.5 * len(stamps)  # drivers that leave stamps empty
    if empty:
        stamps, fresh = sent, np.r_[True, np.diff(sent) > 0.0]
    stamps, sent, q, v, measured = (values[fresh] for values in (stamps, sent, q, v, measured))
    free = model.q_index[model.turns_freely]
    q[:, free] = np.unwrap(q[:, free], axis=0)
    period = float(np.median(np.diff(stamps)))
    when = np.array(command_stamps) if run.by_plugin and not empty else np.interp(
        1e-9 * (run.sent[run.commands] - run.start), sent, stamps)
    newer = np.r_[True, np.diff(np.maximum.accumulate(when)) > 0.0]
    when, commanded = when[newer], commanded[newer]
    hold = period if run.by_plugin else float(np.median(np.diff(when)))
    begin, end = max(stamps[0], when[0]), min(stamps[-1], when[-1])
    time = begin + period * np.arange(max(2, int((end - begin) / period)))
    q, v, measured = (_interpolated(time, stamps, values) for values in (q, v, measured))
    v = np.where(np.isnan(v), np.gradient(q[:, model.q_index], period, axis=0), v)
    commanded = _interpolated(time, when + 0.5 * hold, commanded)
    return RecordedMotion(time - time[0], q, v, commanded, measured,
                          _regular(time, stamps) & _regular(time, when))


def _stamp(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def _fill(row, places, names, values):
    """Write the values of named joints at their places in a row."""
    for name, value in zip(names, values, strict=False):
        if name in places:
            row[places[name]] = value


def _interpolated(time, times, values):
    """Return values (t, n) at other times."""
    return np.stack([np.interp(time, times, column) for column in values.T], axis=1)


def _regular(time, times):
    """Return at which times (t,) others (k,) come without a gap."""
    after = np.searchsorted(times, time, side='right').clip(1, len(times) - 1)
    gap = times[after] - times[after - 1]
    return gap <= _GAP * np.median(np.diff(times))

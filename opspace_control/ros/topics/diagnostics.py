# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of the controller, and log messages about goals that are not reached."""

import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from opspace_control.control.constraints.contact_bounds import BOUND_NAMES
from opspace_control.control.diagnosis.causes_at_rest import causes_at_rest, distance_to_goal
from opspace_control.control.diagnosis.freedom import nearly_lost, scaled_freedom
from opspace_control.control.diagnosis.margins import loop_margins, loop_time, too_slow
from opspace_control.ros.middleware.endpoints import Part
from opspace_control.ros.parameters.joints import named_dofs
from opspace_control.tasks.joint import JointTask

_PERIOD = 1.0  # s
_LOST = 'singular or nearly singular directions'
_TRUNCATED = 'truncated directions'
_AT_LIMITS = 'joints at a limit', 'contacts at a limit', 'distances at a limit'
# Part of the cycles. Noise has single cycles of a robot that stands well, such as talos_standing,
# at bounds: 6 of 900 at most.
_SPORADIC = 0.02
_SMALL = 0.05  # components of a direction smaller than this are left out


class Diagnostics(Part):
    """
    Publisher of ``/diagnostics``: the active trip, and the statistics of the cycle.

    Each of ``parts`` has ``facts()``, which returns further values, a dict of text, and warnings.
    """

    def __init__(self, parts, *common):
        super().__init__(*common)
        self._parts = parts
        self._name = f'{self._node.get_fully_qualified_name().lstrip("/")}: control cycle'
        self._since = time.perf_counter()
        self._publisher = self._endpoints.publisher(DiagnosticArray, '/diagnostics')
        self._endpoints.repeat(_PERIOD, self._on_timer)

    def _on_timer(self):
        now = time.perf_counter()
        elapsed, self._since = now - self._since, now
        if not self._publisher.get_subscription_count():
            self._cycle.statistics.start_over()
            return
        facts = self._cycle.statistics.take()
        facts['rate'] = facts['cycles'] / elapsed
        message = DiagnosticArray(status=[self._status(facts, now)])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def _status(self, facts, now):
        values = self._values(facts, now)
        warnings = self._warnings(facts, values)
        for part in self._parts:
            more, wrong = part.facts()
            values |= more
            warnings += wrong
        level, summary = DiagnosticStatus.OK, 'Active.'
        if not self._is_active():
            summary = 'Inactive.'
        elif self._cycle.fault:
            level, summary = DiagnosticStatus.ERROR, self._cycle.fault
        elif warnings:
            level, summary = DiagnosticStatus.WARN, ' '.join(warnings)
        return DiagnosticStatus(
            level=level, name=self._name, hardware_id=self._controller.model.name, message=summary,
            values=[KeyValue(key=key, value=value) for key, value in values.items()])

    def _warnings(self, facts, values):
        warnings = []
        if not facts['cycles']:
            warnings.append('The simulation pauses.' if self._cycle.is_paused
                            else 'No joint states.')
        if facts.get('missed'):
            warnings.append(f'{facts["missed"]} joint-state messages were skipped.')
        warnings.append(delay_in_words(self._controller, facts))
        if facts['limited']:
            warnings.append('Effort limits are reached.')
        if facts['unsolved']:
            warnings.append(unsolved_in_words(facts))
        warnings.append(singular_in_words(self._controller, facts, values))
        return [*filter(None, warnings)]

    def _values(self, facts, now):
        values = {
            'fault': self._cycle.fault or 'none',
            'state age [s]': f'{self._cycle.statistics.age(now):.4f}',
            'rate [Hz]': f'{facts["rate"]:.1f}'}
        if facts['cycles']:
            values |= {f'period {which} [ms]': f'{1e3 * facts[which]:.3f}'
                       for which in ('min', 'mean', 'max', 'p99')}
            values['missed cycles'] = str(facts['missed'])
            values['loop delay [ms]'] = f'{1e3 * _loop_time(facts):.2f}'
            values |= {f'delay margin of {margin.name} [ms]': f'{1e3 * margin.delay:.1f}'
                       for margin in loop_margins(self._controller)}
        limits = self._controller.effort_limits
        at_limit = (abs(self._cycle.commanded) >= limits) & (limits > 0.0)  # at the last cycle
        values |= {
            'cycles at an effort limit': str(facts['limited']),
            'joints at an effort limit': named_dofs(self._controller.model, at_limit),
            **limits_in_words(self._controller.active_limits),
            'residual accelerations': residuals_in_words(self._controller.residual_accelerations),
            'share of applied forces': f'{self._controller.force_share:.3g}',
            'efforts at their rate limit': str(self._cycle.rate_limited),
            'cycles with singular directions': str(facts['singular']),
            'cycles with unsolved limits': str(facts['unsolved']),
            'cycles that skipped tasks': str(facts['levels_skipped']),
            'passive joints': named_dofs(self._controller.model, self._controller.passive),
            'locked joints': named_dofs(self._controller.model, self._controller.locked)}
        tasks = self._controller.tasks.values()
        values['active tasks'] = ', '.join(task.name for task in tasks if task.enabled) or 'none'
        first = np.cumsum([0, *(task.points for task in tasks)])
        acting = [(e, task) for e, task in zip(first, tasks, strict=False)
                  if task.enabled and not isinstance(task, JointTask)]
        inverse_inertia = self._controller.inverse_inertia
        if acting and np.isfinite(inverse_inertia).all():
            values |= self._freedom(inverse_inertia, acting)
            truncated = self._controller.truncated_directions
            values[_TRUNCATED] = '; '.join(map(str, truncated)) or 'none'
        return values

    def _freedom(self, inverse_inertia, acting):
        """Return the conditioning of the active tasks at the last cycle."""
        index = np.concatenate([np.arange(6 * e, 6 * e + 6) for e, _ in acting])
        below = nearly_lost(sum(len(task.axes) for _, task in acting),
                            self._controller.singularity_threshold)
        freedom = scaled_freedom(
            inverse_inertia[np.ix_(index, index)], [task for _, task in acting],
            self._controller.row_scales[index], below)
        immovable = [f'{task} {axis}' for task, axis in freedom.immovable]
        weak = [_in_words(direction.wrench) for direction in freedom.weak]
        return {'condition number': f'{freedom.condition:.3g}',
                'least eigenvalue': f'{freedom.eigenvalues.min():.3g}',
                _LOST: '; '.join([*immovable, *weak]) or 'none'}


def singular_in_words(controller, facts, values):
    """Return the singular directions of tasks with their cause, as text; '' if sporadic."""
    if facts['singular'] <= _SPORADIC * facts['cycles']:
        return ''
    for key in _LOST, _TRUNCATED:
        if values.get(key, 'none') != 'none':
            return f'Directions of the tasks are singular: {values[key]}.'
    if not controller.attained and controller.active_limits:
        limits = '; '.join(f'{key}: {values[key]}' for key in _AT_LIMITS if values[key] != 'none')
        return f'Limits leave the tasks fewer directions: {limits}.'
    last = '; the last one had none' if controller.attained else ''
    return (f'{facts["singular"]} of {facts["cycles"]} cycles had singular directions of the '
            f'tasks{last}.')


def delay_in_words(controller, facts):
    """Return that the delay of the loop is more than half of what it may be, as text, or ''."""
    if not facts['cycles']:
        return ''
    delay = _loop_time(facts)
    margin = too_slow(loop_margins(controller), delay)
    if margin is None:
        return ''
    return (f'From a joint state until its effort acts, and half of the time for which it does, '
            f'are {1e3 * delay:.1f} ms; the loop of {margin.name} is unstable above '
            f'{1e3 * margin.delay:.1f} ms. Lower its gains or rates, or send joint states more '
            'often.')


def _loop_time(facts):
    return loop_time(facts['hold'], facts['delay'] or 0.0)


def unsolved_in_words(facts):
    """Return how many cycles did not solve the problem of limits, with a cure, as text."""
    return (f'{facts["unsolved"]} of {facts["cycles"]} cycles did not solve the problem of joint '
            'limits, so joints may pass these. Lower gains and feed-forward of the tasks, or raise '
            'singularity_threshold.')


def limits_in_words(active):
    """Return active limits as text, a dict: those of joints, of contacts, and pairs of shapes."""
    found = {key: [] for key in _AT_LIMITS}
    joints, contacts, distances = found.values()
    for one in active:
        side = 'upper' if one.side > 0 else 'lower'
        if one.limit == 'distance':
            distances.append(one.name)
        else:
            (contacts if one.limit in BOUND_NAMES else joints).append(
                f'{one.name} ({side} {one.limit})')
    return {key: ', '.join(names) or 'none' for key, names in found.items()}


def residuals_in_words(accelerations):
    """Return the residual acceleration of each task, along its axes, as text."""
    return '; '.join(f'{task} [{" ".join(f"{a:.2g}" for a in residual)}]'
                     for task, residual in accelerations.items()) or 'none'


def _in_words(wrench):
    """Return the larger components of a direction, each with its task's axis, as text."""
    return ', '.join(f'{part:+.2g} {task} {axis}' for (task, axis), part in wrench.items()
                     if abs(part) > _SMALL)


_LOOK_PERIOD = 0.25  # s, between two checks
_REST_TIME = 1.0   # s, in which the distance at rest ...
_REST_CHANGE = 0.1  # ... changes by no more than this fraction of the tolerance


class UnreachedGoals(Part):
    """
    Logs, once for each goal, that a task rests away from its goal.

    A task rests if its goal is constant and its distance to the goal changes by less than a tenth
    of the tolerance within a second of the robot's time. ``tolerances`` are the largest distances
    of a reached goal: m, and rad.
    """

    def __init__(self, *common):
        super().__init__(*common)
        self.tolerances = np.inf, np.inf
        self._seen = {}
        self._endpoints.repeat(_LOOK_PERIOD, self._on_timer)

    def _on_timer(self):
        if not self._is_active() or self._cycle.fault or not self._cycle.known:
            self._seen.clear()
            return
        now = 1e-9 * self._cycle.time  # a robot does not rest because a simulation pauses
        for task in self._controller.tasks.values():
            self._look_at(task, now)

    def _look_at(self, task, now):
        distance, goal = distance_to_goal(task), task.target
        if not task.enabled or distance is None or goal is None:
            self._seen.pop(task.name, None)
            return
        seen = self._seen.get(task.name)
        if seen is None or not np.array_equal(seen.goal, goal):
            seen = self._seen[task.name] = _Approach(goal, distance, now)
        if seen.told or not seen.rests(distance, self.tolerances, now):
            return
        if any(part > most for part, most in zip(distance, self.tolerances, strict=True)):
            seen.told = True
            causes = causes_at_rest(
                self._controller, task, self._cycle.state, self._cycle.commanded)
            self._logger.warning(
                f"'{task.name}' rests {1e3 * distance[0]:.1f} mm and {distance[1]:.3f} rad away "
                f'from its goal. {" ".join(causes) or "No cause is known."}')


class _Approach:
    """The approach of a task to one goal."""

    def __init__(self, goal, distance, now):
        self.goal, self.told = goal, False
        self._distance, self._since = distance, now

    def rests(self, distance, tolerances, now):
        """Return whether the distances have been constant for the rest time."""
        if any(abs(part - before) > _REST_CHANGE * most for part, before, most in zip(
                distance, self._distance, tolerances, strict=True)):
            self._distance, self._since = distance, now
        return now - self._since >= _REST_TIME

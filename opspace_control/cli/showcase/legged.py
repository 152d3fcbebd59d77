# Copyright 2026 The opspace_control developers
# SPDX-License-Identifier: Apache-2.0
"""
Experiments with a quadruped on a floor that only pushes: gaits, and what the law is good for.

The trot of [WPO15] and other gaits; a trot without the dynamics of swinging legs; and one without
bounds on friction. All in lock-step, with noise and delay of the state, without ROS.
"""

from dataclasses import dataclass

import numpy as np

from opspace_control.cli.showcase.experiment import Experiment, Panel
from opspace_control.cli.showcase.legged_scene import FEET, STEP, LeggedScene, tilt
from opspace_control.cli.showcase.record import Finding
from opspace_control.locomotion import Stepping
from opspace_control.model.state import RobotState

_STAND, _START = 0.2, 0.4  # s, before the gait, and before the command
_SETTLE, _SHOWN = 1.0, 3.0  # s, from the end of the command's ramp to what is judged, and its time
_ACCELERATION = 2.0  # m/s², of the command
_MEAN = 0.1   # s, over which tilts and forces are drawn
_DRAWN = 1.5  # parts of a limit that are drawn; a robot that falls passes them far


@dataclass(frozen=True)
class LeggedTrial:
    """A recorded run, a row for each of k steps; ``late`` begins when the command is reached."""

    label: str
    times: np.ndarray    # (k,), s
    reports: np.ndarray  # (k, 8) of the `LeggedScene`
    late: int            # first step that is judged
    fallen: bool

    @property
    def speed(self):
        """Mean speed ahead, m/s; 0 for a robot that falls."""
        return 0.0 if self.fallen else float(self.reports[self.late:, 2].mean())

    @property
    def tilt(self):
        """RMS tilt of the trunk, degrees; 90 for a robot that falls."""
        return 90.0 if self.fallen else tilt(self.reports[self.late:])


class WithoutSwingDynamics(LeggedScene):
    """
    A scene whose controller does not account for the inertial forces of swinging legs.

    The law chooses contact forces λ that balance the wrench w on the trunk, from what swinging legs
    are accelerated and their velocities relative to it. From λ the least δλ with ``G δλ = w`` is
    taken away here, G being the grasp map of the feet on the ground; swinging legs keep their
    efforts.
    """

    def compute_torque(self, state, tau):
        """Write generalized forces (nv,) into ``tau``, N and N·m."""
        super().compute_torque(state, tau)
        model, on_ground = self.model, self.locomotion.on_ground
        contacts = [contact for contact in self.controller.constraints.values() if contact.closed]
        if not contacts:
            return
        J = np.vstack([model.jacobian(state, contact.frame)[:3] for contact in contacts])
        forces = np.concatenate([contact.force[:3] for contact in contacts])
        acceleration = model.forward_dynamics(state, tau + J.T @ forces)
        legs = tuple(foot[:2] for foot, down in zip(FEET, on_ground, strict=True) if not down)
        carried = np.array([not joint.startswith(legs) for joint in model.dof_names])
        rigid = RobotState(model, state.q, state.v * carried)
        wrench = (model.inverse_dynamics(state, acceleration)
                  - model.inverse_dynamics(rigid, acceleration * carried))[:6]
        tau[6:] += J[:, 6:].T @ np.linalg.lstsq(J[:, :6].T, wrench, rcond=None)[0]


def run(label, gait, speed, scene=LeggedScene, **options):
    """Return the `LeggedTrial` of a b1 that is commanded to go ahead at a speed, m/s."""
    it = scene('b1', noise=1.0, delay=2, stepping=Stepping(acceleration=_ACCELERATION), **options)
    it.run(_STAND)
    it.locomotion.gait = gait
    it.run(_START)
    it.locomotion.command(speed)
    it.run(speed / _ACCELERATION + _SETTLE)
    late = len(it.reports)
    it.run(_SHOWN)
    reports = np.array(it.reports)
    return LeggedTrial(label, STEP * np.arange(len(reports)), reports, late, it.fallen)


def _limits(each):
    """Return findings of the limits of joints and contact forces in a run."""
    joint, effort, friction = 100.0 * each.reports[each.late:, 5:].max(axis=0)
    return [Finding(f'{each.label}: joint velocity', joint, 102.0, '%'),
            Finding(f'{each.label}: joint effort', effort, 100.0, '%'),
            Finding(f'{each.label}: friction in use', friction, 100.1, '%')]


# Each with its speed, the least mean speed that it is to have, m/s, and its greatest tilt, degrees.
_GAITS = (('running_trot', 3.6, 3.6, 3.0), ('trot', 1.5, 1.45, 1.0), ('pronk', 1.0, 0.95, 6.0),
          ('bound', 1.5, 1.4, 10.0))


def _gaits():
    return [run(gait.replace('_', ' '), gait, speed) for gait, speed, *_ in _GAITS]


def _judge_gaits(*runs):
    findings = []
    for each, (*_, least, most) in zip(runs, _GAITS, strict=True):
        findings += [Finding(f'{each.label}: speed', each.speed, least, 'm/s', True),
                     Finding(f'{each.label}: tilt, RMS', each.tilt, most, 'deg'),
                     *_limits(each)]
    return findings


def _swing():
    return [run(label, 'running_trot', 3.6, scene) for label, scene in (
        ('with swing dynamics', LeggedScene), ('without', WithoutSwingDynamics))]


def _judge_swing(whole, partial):
    return [Finding('speed', whole.speed, 3.6, 'm/s', True),
            Finding('tilt, RMS', whole.tilt, 1.8, 'deg'), *_limits(whole),
            Finding('without: tilt, RMS', partial.tilt, 1.3 * whole.tilt, 'deg', True)]


_SLIPPERY = 0.3


def _friction():
    return [run(label, 'running_trot', 3.0, friction=_SLIPPERY, tasks=tasks) for label, tasks in (
        ('with friction bounds', {}), ('without', {'friction': 1e6}))]


def _judge_friction(bounded, free):
    return [Finding('speed', bounded.speed, 2.95, 'm/s', True),
            Finding('tilt, RMS', bounded.tilt, 3.0, 'deg'), *_limits(bounded),
            Finding('without: speed', free.speed, 0.3, 'm/s'),
            Finding('without: tilt, RMS', free.tilt, 3.0 * bounded.tilt, 'deg', True)]


def _mean(column):
    """Return a running mean over _MEAN of the values of a column."""
    width = round(_MEAN / STEP)
    return np.convolve(np.pad(column, (width // 2, width - 1 - width // 2), 'edge'),
                       np.full(width, 1.0 / width), 'valid')


_PANELS = (
    Panel('Speed ahead, m/s', lambda each: each.reports[:, 2]),
    Panel(f'Tilt of the trunk, degrees, RMS over {_MEAN:g} s',
          lambda each: np.degrees(np.sqrt(_mean(np.square(each.reports[:, :2]).sum(axis=1))))),
    Panel('Greatest joint velocity, % of its limit',
          lambda each: 100.0 * np.minimum(each.reports[:, 5], _DRAWN)),
    Panel(f'Friction that contact forces need, % of that of the floor, mean over {_MEAN:g} s',
          lambda each: 100.0 * _mean(np.minimum(each.reports[:, 7], _DRAWN))))

LEGGED = tuple(
    Experiment(name, summary, judge, compare=compare, panels=_PANELS)
    for name, summary, compare, judge in (
        ('trot', 'a quadruped of 56 kg runs at 3.6 m/s, trots, pronks and bounds, [WPO15] abstract',
         _gaits, _judge_gaits),
        ('swing', 'a trot at 3.6 m/s, and without the dynamics of swinging legs, [WPO15] abstract',
         _swing, _judge_swing),
        ('friction', 'a trot at 3 m/s on a slippery floor, and without friction bounds, '
         '[WPO15] note 3', _friction, _judge_friction)))
